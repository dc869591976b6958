package reads

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Outage logs the first failure of a kind of database call, and the first success after it, however many calls
// fail in between.
type Outage struct {
	log   *slog.Logger
	doing string

	mu    sync.Mutex
	since time.Time // zero: the last call worked
}

// NewOutage logs calls of the kind that doing names.
func NewOutage(log *slog.Logger, doing string) *Outage { return &Outage{log: log, doing: doing} }

// Note records how a call ended. A cancelled call does not count.
func (o *Outage) Note(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil && o.since.IsZero():
		o.since = time.Now()
		o.log.Error("database calls fail; further failures are not logged until they recover", "doing", o.doing, "what", what, "error", err)
	case err == nil && !o.since.IsZero():
		o.log.Warn("database calls work again", "doing", o.doing, "after", time.Since(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
}
