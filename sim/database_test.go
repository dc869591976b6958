package sim

import (
	"context"
	"errors"
	"time"

	"qb/supervisor/job/facts"
	terms "qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

// simDatabase is the store with the time that it takes and the ways in which it fails. A session uses it
// for one thing after another; what is under way when its client dies may still be done.
type simDatabase struct {
	world  *simWorld
	memory *storetest.Memory
	down   bool
	epoch  int64 // highest ever given
	side   int
	leads  int64 // the epoch whose session holds the lock, 0 for none

	skew time.Duration // of its wall clock

	slow      int           // in 1000, of each use
	perRow    time.Duration // what each row adds to a commit
	cancelled int           // commits that took too long
	cutEarly  int           // in 1000, of each commit: broken before it is made
	cutLate   int           // in 1000, of each commit: made, but the answer is lost
}

// simSession is a leader's session.
type simSession struct {
	database *simDatabase
	term     store.Term
	epoch    int64
	clock    terms.Clock
	began    time.Time
	skew     time.Duration // of that clock
	busy     bool
	waiting  []func() // uses that wait for their turn
	lastUse  time.Duration
	closed   bool
	mute     bool // nothing comes through to the client
	gone     bool // no one is at the other end any more
	replaced bool // the rows were put back under it; another term may have its number
}

var (
	errSimDown = errors.New("the database does not answer")
	errSimCut  = errors.New("the connection was lost")
)

// lead takes the lock if it is free.
func (d *simDatabase) lead() *simSession {
	if d.down {
		return nil
	}
	once, cancel := context.WithCancel(context.Background())
	cancel()
	d.memory.Now = func() time.Time { return simStart.Add(d.world.now + d.skew) }
	term, err := d.memory.Lead(once)
	if err != nil {
		return nil
	}
	if term.Epoch() <= d.epoch {
		d.world.fail("S8: epoch %d follows epoch %d", term.Epoch(), d.epoch)
	}
	d.epoch, d.leads = term.Epoch(), term.Epoch()
	s := &simSession{database: d, term: term, epoch: term.Epoch(), clock: terms.NewClock(term.Began(), d.world.now), began: term.Began(), skew: d.skew, lastUse: d.world.now}
	s.watch()
	return s
}

// watch is the server's own look at idle sessions: it frees the lock of a client that says nothing.
func (s *simSession) watch() {
	w := s.database.world
	w.after(time.Second, func() {
		switch {
		case s.database.leads != s.epoch:
		case w.now-s.lastUse > store.TrustFor:
			w.note("db: the idle session of epoch %d is ended", s.epoch)
			w.some("a silent leader's session ended by the database")
			s.end()
		default:
			s.watch()
		}
	})
}

// end frees the lock if this session holds it.
func (s *simSession) end() {
	s.closed = true
	if !s.replaced && s.database.leads == s.epoch {
		s.database.leads = 0
		s.database.memory.Depose()
	}
}

// close is the client's end of it, by will or by death. What the server has received before, it may still do.
func (s *simSession) close() {
	s.waiting, s.gone = nil, true
	if s.database.world.calm || s.database.world.chance(700) {
		s.end() // else it ends after what is under way, or when the database finds it idle
	}
}

// use runs something that writes so many rows on the session, when its turn comes; then is called with the outcome,
// unless the answer never comes. What takes longer than its client waits is cancelled.
func (s *simSession) use(rows int, do func() error, then func(error)) {
	if s.busy {
		s.waiting = append(s.waiting, func() { s.use(rows, do, then) })
		return
	}
	w := s.database.world
	s.busy = true
	work := time.Duration(rows) * s.database.perRow
	w.after(work+w.mostly(3*time.Millisecond, 12*time.Second, s.database.slow), func() {
		defer w.enter(s.database.side)()
		err := errSimDown
		switch {
		case s.database.down:
		case work > store.TrustFor:
			w.note("db: %d rows of epoch %d take %s and are cancelled", rows, s.epoch, work)
			s.database.cancelled++
			err = errSimCut
		default:
			s.lastUse = w.now
			err = do()
		}
		if s.closed && err == nil {
			err = errSimCut
		}
		if err != nil || s.gone {
			s.end()
		}
		w.after(w.mostly(2*time.Millisecond, 200*time.Millisecond, 10), func() {
			s.busy = false
			if s.mute {
				return
			}
			then(err)
			if len(s.waiting) > 0 && !s.busy {
				next := s.waiting[0]
				s.waiting = s.waiting[1:]
				next()
			}
		})
	})
}

// commit makes the writes durable, or seems to, or seems not to.
func (s *simSession) commit(writes []facts.Write) error {
	w := s.database.world
	if w.chance(s.database.cutEarly) {
		w.note("db: the connection of epoch %d breaks before its commit", s.epoch)
		w.some("commit unknown resolved as not committed")
		return errSimCut
	}
	fenced := s.replaced || s.database.leads != s.epoch
	err := s.term.Commit(context.Background(), writes)
	switch {
	case fenced && err == nil:
		w.fail("S8: epoch %d commits while epoch %d leads", s.epoch, s.database.leads)
		return err
	case fenced:
		w.note("db: the commit of epoch %d is refused", s.epoch)
		w.some("a replaced leader's commit refused")
		return err
	case errors.Is(err, store.ErrFull):
		w.note("db: no room for the commit of epoch %d", s.epoch)
		return err
	case err != nil:
		w.note("db: the rows refuse: %v", err)
		w.rows.refused(err)
		return err
	}
	w.rows.apply(s.epoch, s.skew, writes)
	if w.chance(s.database.cutLate) {
		w.note("db: the connection of epoch %d breaks after its commit", s.epoch)
		w.some("commit unknown resolved as committed")
		return errSimCut
	}
	return nil
}

// check proves the term.
func (s *simSession) check() error { return s.term.Check(context.Background()) }

// fall ends all sessions and answers no one for a while.
func (d *simDatabase) fall(lasts time.Duration) {
	w := d.world
	d.down, d.leads = true, 0
	d.memory.Depose()
	w.after(lasts, func() { d.down = false })
}
