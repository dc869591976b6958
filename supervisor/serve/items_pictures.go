package serve

import (
	"context"
	"net/http"
	"strconv"

	"qb/api"
	"qb/supervisor/page/web"
)

type itemPictureIn struct {
	Job     int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item    string `path:"item" maxLength:"1024" doc:"The item's name."`
	Attempt int    `query:"attempt" minimum:"0" doc:"0: the latest."`
}

// itemPicture answers with the picture of an attempt's output if the caller may read the attempt's log.
func (s *itemService) itemPicture(ctx context.Context, in *itemPictureIn) (answer, error) {
	o, err := s.outputOf(ctx, in.Job, in.Item, in.Attempt, false)
	if err != nil {
		return nil, err
	}
	data, code, err := s.logs.Picture(o.id)
	if code != "" {
		err = &api.Error{Kind: api.KindNotFound, Code: code, Text: api.PictureReasons[code]}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.AttemptHeader, strconv.Itoa(o.id.Number))
		web.Picture(w, r, data)
	}, err
}
