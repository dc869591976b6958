package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"qb/api"
)

// endsAudit is one question to all workers for their end records: an answer to each sync asks its worker, which ships
// its pages, and the asker reads them as they come. Nothing of them stays here. One goes on at a time.
type endsAudit struct {
	mu    sync.Mutex
	id    string // empty: none
	done  map[string]bool
	pages chan *api.EndsPage
	over  chan struct{} // closed when the asker is gone
}

const (
	endsFor      = 10 * time.Minute // longest audit
	endsWaiting  = 16               // pages that wait for the asker
	endsPageMost = 2000             // records, and clock checks
)

// begin makes the caller the asker, unless somebody is.
func (a *endsAudit) begin() (pages <-chan *api.EndsPage, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id != "" {
		return nil, false
	}
	a.id, a.done, a.pages, a.over = rand.Text(), map[string]bool{}, make(chan *api.EndsPage, endsWaiting), make(chan struct{})
	return a.pages, true
}

func (a *endsAudit) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.done, a.pages = "", nil, nil
	close(a.over)
}

// asks is the audit that has not all of the host's pages yet.
func (a *endsAudit) asks(host string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done[host] {
		return ""
	}
	return a.id
}

// put hands a page to the asker, and says whether there is still one.
func (a *endsAudit) put(ctx context.Context, page *api.EndsPage) bool {
	a.mu.Lock()
	pages, over := a.pages, a.over
	wanted := a.id != "" && page.Audit == a.id && !a.done[page.Host]
	if wanted && page.Last {
		a.done[page.Host] = true
	}
	a.mu.Unlock()
	if !wanted {
		return false
	}
	select {
	case pages <- page:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

type shipEndsIn struct{ Body api.EndsPage }

type shipEndsOut struct{ Body api.EndsReply }

// shipEnds takes a page of a worker's end records.
func (s *server) shipEnds(ctx context.Context, in *shipEndsIn) (*shipEndsOut, error) {
	if _, err := s.leading(); err != nil {
		return nil, err
	}
	page := &in.Body
	if len(page.Records) > endsPageMost || len(page.Clocks) > endsPageMost || page.Host == "" {
		return nil, invalid("records", "a page has the name of its host, and at most %d records and as many clock checks", endsPageMost)
	}
	if err := s.isHost(ctx, page.Host); err != nil {
		return nil, err
	}
	return &shipEndsOut{api.EndsReply{Wanted: s.ends.put(ctx, page)}}, nil
}

// readEnds asks every worker, with the answer to its next sync, and passes on what they ship until the caller leaves.
func (s *server) readEnds(context.Context, *nothing) (answer, error) {
	if _, err := s.leading(); err != nil {
		return nil, err
	}
	pages, ok := s.ends.begin()
	if !ok {
		return nil, api.Errorf(api.KindConflict, "somebody reads the workers' end records already; try again when that audit is over")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		defer s.ends.end()
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
		s.passOn(w, r, pages)
	}, nil
}

func (s *server) passOn(w http.ResponseWriter, r *http.Request, pages <-chan *api.EndsPage) {
	control := http.NewResponseController(w)
	send := func(line []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
		_, err := w.Write(append(line, '\n'))
		return err == nil && control.Flush() == nil
	}
	deadline := time.After(endsFor)
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	for more := send(nil); more; {
		select {
		case page := <-pages:
			line, err := json.Marshal(page)
			more = err == nil && send(line)
		case <-heartbeat.C:
			more = send(nil)
		case <-deadline:
			more = false
		case <-r.Context().Done():
			more = false
		case <-s.stopping:
			more = false
		}
	}
}
