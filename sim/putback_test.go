package sim

import (
	"context"
	"errors"

	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
)

// A database whose rows were put back: supervisor/lead/term/putback.go without its goroutines.

// simFarmKey is the key of all simulated farms.
var simFarmKey = farmkey.New()

var (
	errSimPutBack    = errors.New("the rows are older than what a host has proof of")
	errSimSettled    = errors.New("everybody was listened to after the restore")
	errSimSuperseded = errors.New("hosts obey a copy of this database")
)

// yield ends the term for what a worker had proof of.
func (t *simTerm) yield() {
	if t.yielding || t.over {
		return
	}
	t.yielding = true
	end, w := t.watch.End(), t.supervisor.world
	if end.Superseded {
		t.use(func() error { return t.session.term.Supersede(context.Background(), end.Heard) }, func() {
			w.some("a leader stopped for a copy of its database")
			t.giveUp(errSimSuperseded)
		})
		return
	}
	t.use(func() error { return t.session.term.Succeed(context.Background(), end.Heard) }, func() {
		w.some("a higher term was heard of")
		t.giveUp(errSimPutBack)
	})
}

// settle ends a term that gave nothing out, once everybody was listened to.
func (t *simTerm) settle() {
	if t.over {
		return
	}
	job, attempt, settled := t.watch.Settled(t.supervisor.world.now)
	if !settled || t.supervisor.disk.readOnly() {
		return
	}
	stops := t.watch.Stops()
	t.use(func() error {
		if len(stops) > 0 {
			t.supervisor.world.some("an attempt that no host reported stopped after a restore")
			if err := t.session.commit(stops); err != nil {
				return err
			}
		}
		return t.session.term.Settle(context.Background(), facts.JobID(job), attempt)
	}, func() {
		t.supervisor.world.some("hosts were listened to after a restore")
		t.giveUp(errSimSettled)
	})
}

// giveUp ends a term by will, with a session that answers: its lock is free at once.
func (t *simTerm) giveUp(err error) {
	t.session.end()
	t.end(err)
}
