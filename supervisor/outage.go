package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// outage tells the log once that calls of the database fail, and once that they work again, however many ask
// meanwhile.
type outage struct {
	log   *slog.Logger
	doing string

	mu    sync.Mutex
	since time.Time // zero: the last call worked
}

// note takes in how a call ended. One that was given up says nothing of the database.
func (o *outage) note(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil && o.since.IsZero():
		o.since = time.Now()
		o.log.Error(o.doing+" fails; no more is told of it until it works again", "what", what, "error", err)
	case err == nil && !o.since.IsZero():
		o.log.Warn(o.doing+" works again", "after", time.Since(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
}
