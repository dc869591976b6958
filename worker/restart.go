package worker

import (
	"context"
	"errors"

	"qb/worker/core"
)

// ErrRestart ends Run when an admin has the worker start again: the caller becomes its program again, with the same
// process id. Items run on.
var ErrRestart = errors.New("the worker is to start again")

// Check says what would keep a worker that started now from coming up.
type Check func(context.Context) error

// restart is what has become of orders to start again.
type restart struct {
	check        Check
	checked      chan checked
	refused, why string // the last order that was not carried out
}

type checked struct {
	id  string // of the order
	err error
}

// checkRestart looks whether a worker that started now would come up, which may take a while.
func (a *agent) checkRestart(id string) {
	a.linked.Go(func() {
		select {
		case a.restart.checked <- checked{id, a.restart.check(a.ctx)}:
		case <-a.ctx.Done():
		}
	})
}

// restarts says whether to start again now; if not, the next sync says why.
func (a *agent) restarts(r checked) bool {
	if r.err == nil {
		a.log.Info("restarting the worker as an admin ordered; items continue")
		return true
	}
	a.log.Warn("the worker does not restart as an admin ordered: it could not start with its present files; correct the configuration and order the restart again", "error", r.err)
	a.restart.refused, a.restart.why = r.id, r.err.Error()
	a.post(core.Configured{Identity: a.identity(), Stress: a.stress()})
	return false
}
