package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/problem"
)

// endsAudit is one question to all workers for their end records: an answer to each sync asks its worker, which ships
// its pages, and the asker reads them as they come. Nothing of them stays here. One goes on at a time.
type endsAudit struct {
	mu    sync.Mutex
	id    string // empty: none
	done  map[string]bool
	asked map[string]time.Time // hosts that ship now, and when each was last heard
	pages chan *api.EndsPage
	over  chan struct{} // closed when the asker is gone
}

const (
	endsFor      = 10 * time.Minute // longest audit
	endsWaiting  = 16               // pages that wait for the asker
	endsPageMost = 2000             // records, and clock checks
	endsAsked    = 256              // hosts that ship at a time: each has a page here that waits for its turn
	endsSilent   = time.Minute      // after which another is asked in a host's place
)

// begin makes the caller the asker, unless somebody is.
func (a *endsAudit) begin() (pages <-chan *api.EndsPage, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id != "" {
		return nil, false
	}
	a.id, a.done, a.asked = rand.Text(), map[string]bool{}, map[string]time.Time{}
	a.pages, a.over = make(chan *api.EndsPage, endsWaiting), make(chan struct{})
	return a.pages, true
}

func (a *endsAudit) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.done, a.asked, a.pages = "", nil, nil, nil
	close(a.over)
}

// asks is the audit that has not all of the host's pages yet, if it is the host's turn.
func (a *endsAudit) asks(host string, now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id == "" || a.done[host] {
		return ""
	}
	if _, again := a.asked[host]; again {
		return a.id
	}
	if len(a.asked) >= endsAsked {
		maps.DeleteFunc(a.asked, func(_ string, heard time.Time) bool { return now.Sub(heard) > endsSilent })
	}
	if len(a.asked) >= endsAsked {
		return ""
	}
	a.asked[host] = now
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
	if _, asked := a.asked[page.Host]; asked {
		a.asked[page.Host] = time.Now()
	}
	a.mu.Unlock()
	if !wanted {
		return false
	}
	if page.Last {
		defer a.next(page.Host)
	}
	select {
	case pages <- page:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// next gives a host's turn to another.
func (a *endsAudit) next(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, host)
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
		return nil, problem.Invalid("records", "a page has the name of its host, and at most %d records and as many clock checks", endsPageMost)
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
