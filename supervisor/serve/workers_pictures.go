package serve

import (
	"context"

	"qb/api"
)

type appendPictureIn struct{ Body api.Picture }

type appendPictureOut struct{ Body struct{} }

// appendPicture keeps the picture of an attempt's output beside its log. As with logs, only attempts that were given to
// the host are taken.
func (s *workerService) appendPicture(ctx context.Context, in *appendPictureIn) (*appendPictureOut, error) {
	id, _, err := s.mayAppend(ctx, in.Body.Attempt, false, len(in.Body.Data))
	if err != nil {
		return nil, err
	}
	return &appendPictureOut{}, s.logs.PutPicture(id.AttemptID, in.Body.Data, in.Body.Code)
}
