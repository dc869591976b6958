package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// A database without room refuses each commit, and can be read: supervisor/lead/term/readonly.go without its
// goroutines.

var (
	errSimFull = api.Errorf(api.KindUnavailable, "read-only: the disk of the database is full")
	errSimRoom = errors.New("the database has room again")
)

// simDiskNews is what a supervisor knows of the database's disk.
type simDiskNews struct{ full, room bool }

func (d simDiskNews) readOnly() bool { return d.full && !d.room }

// fillDatabase leaves no room for a commit for a while.
func fillDatabase(w *simWorld) {
	w.note("db: full")
	w.database.memory.Fill(true)
	w.after(w.between(time.Second, 45*time.Second), func() {
		w.note("db: has room")
		w.database.memory.Fill(false)
	})
}

// noteDisk draws from a term's end whether the next one is; true: that one begins at once.
func (s *simSupervisor) noteDisk(err error) bool {
	switch {
	case errors.Is(err, store.ErrFull):
		s.disk = simDiskNews{full: true}
	case errors.Is(err, errSimRoom):
		s.disk.room = true
		return true
	case errors.Is(err, errSimPutBack), errors.Is(err, errSimSettled):
		return true
	}
	return false
}

// comeBack proves the term; the first that may write again after a time without room does so by writing of it.
func (t *simTerm) comeBack(then func()) {
	s := t.supervisor
	if !s.disk.full || s.disk.readOnly() {
		if t.readOnly {
			s.world.some("a term was read-only for want of room")
		}
		t.check(then)
		return
	}
	event := facts.AddEvent{Event: facts.EventFacts{At: t.now(), Type: "writable", Item: -1, Instance: -1}}
	asked := s.world.now
	t.use(func() error { return t.session.commit([]facts.Write{event}) }, func() {
		s.world.some("the farm wrote again after want of room")
		t.proof, s.disk = asked, simDiskNews{}
		then()
	})
}

// look ends a read-only term as soon as there is room.
func (t *simTerm) look() {
	if t.readOnly && t.supervisor.disk.readOnly() && t.supervisor.world.database.memory.Room(context.Background()) == nil {
		t.end(errSimRoom)
	}
}

// keepRecords is what a read-only term adds to an answer: whatever the worker reported is listed in it, or the worker
// forgets what no row knows (S5).
func (w *simWorld) keepRecords(reply *api.SyncReply, finished []api.Finished) {
	before := len(reply.Instances)
	if translate.KeepRecords(reply, finished); len(reply.Instances) > before {
		w.some("a read-only term had its worker keep a record")
	}
	for _, f := range finished {
		if !slices.ContainsFunc(reply.Instances, func(d api.Desired) bool { return d.Attempt == f.Attempt }) {
			w.fail("S5: a read-only term lets a worker forget how %v ended", truthID(f.Attempt))
		}
	}
}
