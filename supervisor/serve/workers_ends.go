package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"qb/api"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store/endsaudit"
)

const (
	endsFor      = 10 * time.Minute // longest audit
	endsPageMost = 2000             // records, and clock checks
)

type shipEndsIn struct{ Body api.EndsPage }

// shipEnds takes a page of a worker's end records.
func (s *workerService) shipEnds(ctx context.Context, in *shipEndsIn) (*jsonOf[api.EndsReply], error) {
	page := &in.Body
	if len(page.Records) > endsPageMost || len(page.Clocks) > endsPageMost || page.Host == "" {
		return nil, problem.Invalid("records",
			"a page has the name of its host, and at most %d records and as many clock checks", endsPageMost)
	}
	if err := s.isHost(ctx, page.Host); err != nil {
		return nil, err
	}
	return &jsonOf[api.EndsReply]{api.EndsReply{Wanted: s.ends.Put(ctx, page)}}, nil
}

// readEnds asks every worker, with the answer to its next sync, and passes on what they ship until the caller leaves.
func (s *workerService) readEnds(context.Context, *nothing) (answer, error) {
	if _, err := s.leading(); err != nil {
		return nil, err
	}
	pages, _, end, ok := s.ends.Begin(false, endsaudit.AtOnce)
	if !ok {
		return nil, api.Errorf(api.KindConflict,
			"somebody reads the workers' end records already; try again when that audit is over")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		defer end()
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
		s.passOn(w, r, pages)
	}, nil
}

func (s *workerService) passOn(w http.ResponseWriter, r *http.Request, pages <-chan *api.EndsPage) {
	send := sender(w)
	ctx, cancel := context.WithTimeout(r.Context(), endsFor)
	defer cancel()
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	for more := send("\n"); more; {
		select {
		case page := <-pages:
			line, err := json.Marshal(page)
			more = err == nil && send(string(line)+"\n")
		case <-heartbeat.C:
			more = send("\n")
		case <-ctx.Done():
			more = false
		}
	}
}
