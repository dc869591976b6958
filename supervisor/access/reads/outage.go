package reads

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// settled is for how long no call may have failed before a success ends an outage: on a database that answers now and
// then the log would alternate between the two lines.
const settled = 10 * time.Second

// Outage logs the first failure of a kind of database call, and the first success after it that no failure has come
// before for a while, however many calls fail in between.
type Outage struct {
	log   *slog.Logger
	doing string

	mu    sync.Mutex
	since time.Time // of the first failure; zero: there is no outage
	last  time.Time // of the last failure
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
	now := time.Now()
	if err != nil {
		o.last = now
	}
	switch {
	case err != nil && o.since.IsZero():
		o.since = now
		o.log.Error("database calls fail; further failures are not logged until they recover", "doing", o.doing, "what", what,
			"error", err)
	case err == nil && !o.since.IsZero() && now.Sub(o.last) >= settled:
		o.log.Warn("database calls work again", "doing", o.doing, "after", o.last.Sub(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
}
