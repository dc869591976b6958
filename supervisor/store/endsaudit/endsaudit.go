package endsaudit

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"qb/api"
)

// Audit is one question to all workers for their end records: an answer to each sync asks its worker, which ships
// its pages, and the asker reads them as they come. Nothing of them stays here. One goes on at a time.
type Audit struct {
	mu     sync.Mutex
	id     string // empty: none
	farms  bool   // started by the farm itself, not by a caller
	atOnce int
	done   map[string]bool
	asked  map[string]time.Time // hosts that ship now, and when each was last heard
	pages  chan *api.EndsPage
	over   chan struct{} // closed when the asker is gone
}

const (
	waiting = 16          // pages that wait for the asker
	silent  = time.Minute // after which another is asked in a host's place
)

// AtOnce is how many hosts ship at a time at most: each has a page here that waits for its turn.
const AtOnce = 256

// Begin makes the caller the asker, unless somebody is, of at most so many hosts at a time. Who asks for the farm
// itself gives way to others: given is then closed. The caller calls end.
func (a *Audit) Begin(farms bool, hosts int) (pages <-chan *api.EndsPage, given <-chan struct{}, end func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id != "" && (farms || !a.farms) {
		return nil, nil, nil, false
	}
	if a.id != "" {
		close(a.over)
	}
	id := rand.Text()
	a.id = id
	a.farms = farms
	a.atOnce = min(hosts, AtOnce)
	a.done = map[string]bool{}
	a.asked = map[string]time.Time{}
	a.pages, a.over = make(chan *api.EndsPage, waiting), make(chan struct{})
	return a.pages, a.over, func() { a.end(id) }, true
}

// end ends the audit unless another one has replaced it.
func (a *Audit) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id == id {
		a.id = ""
		a.done = nil
		a.asked = nil
		a.pages = nil
		close(a.over)
	}
}

// Asks is the id of the audit if it lacks pages of the host and it is the host's turn, else "".
func (a *Audit) Asks(host string, now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id == "" || a.done[host] {
		return ""
	}
	if _, again := a.asked[host]; again {
		return a.id
	}
	if len(a.asked) >= a.atOnce {
		maps.DeleteFunc(a.asked, func(_ string, heard time.Time) bool { return now.Sub(heard) > silent })
	}
	if len(a.asked) >= a.atOnce {
		return ""
	}
	a.asked[host] = now
	return a.id
}

// Put hands a page to the asker, and says whether there is still one.
func (a *Audit) Put(ctx context.Context, page *api.EndsPage) bool {
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
func (a *Audit) next(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, host)
}
