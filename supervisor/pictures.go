package supervisor

import (
	"context"
	"net/http"
	"strconv"

	"qb/api"
	"qb/supervisor/web"
)

type appendPictureIn struct{ Body api.Picture }

type appendPictureOut struct{ Body struct{} }

// appendPicture keeps the picture of an attempt's output beside its log. As with logs, only attempts that were given to the host are taken.
func (s *server) appendPicture(ctx context.Context, in *appendPictureIn) (*appendPictureOut, error) {
	id, err := s.mayAppend(ctx, in.Body.Attempt, len(in.Body.Data))
	if err != nil {
		return nil, err
	}
	return &appendPictureOut{}, s.logs.PutPicture(id, in.Body.Data, in.Body.Code)
}

type itemPictureIn struct {
	Job     int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item    string `path:"item" maxLength:"1024" doc:"The item's name."`
	Attempt int    `query:"attempt" minimum:"0" doc:"0: the latest."`
}

// itemPicture answers with the picture of an attempt's output to those who may read its log.
func (s *server) itemPicture(ctx context.Context, in *itemPictureIn) (answer, error) {
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
