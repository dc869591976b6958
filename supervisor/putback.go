package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/termwatch"
)

// Ends of terms that have to do with a restore: the next one follows at once.
var (
	errPutBack    = errors.New("the rows are older than what a host has proof of")
	errSettled    = errors.New("everybody was listened to after the restore")
	errSuperseded = errors.New("hosts obey a copy of this database")
)

// listening refuses as a standby does; a leader whose rows were put back or copied adds that workers should come and report,
// unless it knows that they obey another database.
func (s *server) listening(l *loop) error {
	err := s.standingBy()
	var p *problem.Problem
	if l != nil && l.watch.Listens(sinceBoot()) && errors.As(err, &p) {
		p.Standby = api.StandbyListens
	}
	return err
}

// hearTerm compares the terms that a worker knows with the own one, before its report counts.
func (s *server) hearTerm(l *loop, in *api.Sync) error {
	err := l.watch.Hear(sinceBoot(), in)
	if host := l.watch.Unverified(); host != "" {
		s.unverified.tell(func() {
			s.log.Warn("a worker reports a term that is not signed with this farm's key; ignored", "host", host, "epoch", in.Epoch)
		})
	}
	if errors.Is(err, termwatch.ErrOtherDatabase) {
		s.rivals.tell(func() {
			s.log.Warn("host gets no items: hosts obey another database of this farm", "host", in.Host, "own_lineage", l.watch.Term().Lineage, "why", l.watch.Why(sinceBoot()), "remark", l.watch.Remark(in.Host))
		})
	}
	if l.watch.End() != nil {
		select {
		case l.ends <- struct{}{}:
		default:
		}
	}
	return err
}

// yield ends the term for what a worker had proof of.
func (k *keeper) yield(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	end := k.loop.watch.End()
	if end.Superseded {
		return errors.Join(errSuperseded, k.term.Supersede(ctx, end.Heard))
	}
	return errors.Join(fmt.Errorf("%w: host %s, term %d of lineage %s", errPutBack, end.Heard.Host, end.Heard.Epoch, end.Heard.Lineage),
		k.term.Succeed(ctx, end.Heard))
}

// settle ends the term, which gave nothing out, once everybody was listened to after a restore: the next one works.
func (k *keeper) settle(ctx context.Context) error {
	job, attempt, settled := k.loop.watch.Settled(sinceBoot())
	if !settled || k.full {
		return nil
	}
	for some := range slices.Chunk(k.loop.watch.Stops(), settleStops) {
		if err := k.commit(ctx, outbox.Batch{Writes: some}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	return errors.Join(errSettled, k.term.Settle(ctx, facts.JobID(job), attempt))
}

// atOnce says whether the next term follows without a pause.
func (t *terms) atOnce(err error) bool {
	if errors.Is(err, store.ErrTermOver) { // the change was not made
		return false
	}
	switch {
	case errors.Is(err, errRoom), errors.Is(err, errSettled):
		return true
	case errors.Is(err, errPutBack):
		t.announce("restored", err.Error())
		return true
	case errors.Is(err, errSuperseded):
		t.announce("superseded", err.Error())
	}
	return false
}

// readNumbers looks which jobs and attempts the log folder knows. What cannot be read holds nothing up.
func (t *terms) readNumbers(w *termwatch.Watch) {
	job, attempt, err := t.numbers()
	if err != nil {
		t.log.Warn("cannot read the log folder to find the highest numbers of jobs and attempts", "error", err)
	}
	w.Numbers(job, attempt)
}

// seldom runs something at most once a minute.
type seldom struct {
	mu   sync.Mutex
	last time.Time
}

func (s *seldom) tell(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) > time.Minute {
		s.last = time.Now()
		f()
	}
}
