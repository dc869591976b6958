package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"qb/supervisor/eventstream"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/farmkey"
	"qb/supervisor/metrics"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/termwatch"
)

// terms leads again and again until ctx ends. Whatever ends a term, the next one starts from the rows.
type terms struct {
	store   store.Store
	policy  func() farm.Policy // the one in force when a term begins
	rebuild func(farm.Policy, facts.Facts, time.Time) (machine, error)
	log     *slog.Logger
	metrics *metrics.Metrics
	check   time.Duration
	begin   func(*loop) // the loop takes requests now
	end     func()      // it does not any more
	publish func(display, []facts.Write)
	room    func(context.Context) error // whether the database could write again
	tell    func(eventstream.Event)
	age     func(context.Context, *loop, int64) // beside a loop that writes, until ctx ends; nil: nothing ages
	disk    disk
	key     farmkey.Key
	numbers func() (job int64, attempt int, err error) // highest in the log folder
}

func (t *terms) run(ctx context.Context) {
	wait := backoffLeast
	for ctx.Err() == nil {
		began := time.Now()
		err := t.one(ctx)
		if ctx.Err() != nil {
			return
		}
		t.noteEnd(err)
		if t.atOnce(err) {
			continue
		}
		t.metrics.TermEnds.Inc()
		if time.Since(began) > backoffMost {
			wait = backoffLeast
		}
		pause := wait/2 + rand.N(wait/2)
		t.log.Error("term ended; trying to lead again", "error", err, "in", pause)
		sleep(ctx, pause)
		wait = min(2*wait, backoffMost)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// one is a whole term: lead, load, rebuild, loop until something ends it.
func (t *terms) one(ctx context.Context) error {
	term, err := t.store.Lead(ctx)
	if err != nil {
		return fmt.Errorf("waiting to lead: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeFor)
		defer cancel()
		term.Close(ctx)
	}()
	asked, clock := time.Now(), NewClock(term.Began(), sinceBoot())
	rows, err := term.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the farm: %w", err)
	}
	var m machine
	t.beating(ctx, term, func() { m, err = t.safely(rows, clock.now()) })
	if err != nil {
		return fmt.Errorf("rebuilding the farm: %w", err)
	}
	if err := t.comeBack(ctx, term, clock.now()); err != nil {
		return err
	}
	watch := termwatch.New(t.key, term.Epoch(), term.Began(), term.Descent(), rows, t.policy().KillGrace, sinceBoot())
	if term.Descent().PutBack {
		watch.Await()
		go t.readNumbers(watch)
	}
	t.log.Info("leading", "epoch", term.Epoch(), "jobs", len(rows.Jobs), "hosts", len(rows.Hosts), "lineage", term.Descent().Lineage, "after", time.Since(asked))
	return t.lead(ctx, term, clock, watch, m)
}

// beating proves the term beside work that does not use its session: rebuilding a large farm on a busy machine may take
// longer than Postgres waits for a silent leader.
func (t *terms) beating(ctx context.Context, term store.Term, work func()) {
	done := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		tick := time.NewTicker(t.check)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				limited, cancel := context.WithTimeout(ctx, store.TrustFor)
				_ = term.Check(limited) // a term that is over shows at the next use of its session
				cancel()
			}
		}
	})
	work()
	close(done)
	beat.Wait()
}

// safely rebuilds; rows that break an invariant must not bring the process down.
func (t *terms) safely(rows facts.Facts, now time.Time) (m machine, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return t.rebuild(t.policy(), rows, now)
}

// lead turns the loop and keeps the session; the first of the two to stop stops the other. An end asked
// for by ctx lets a commit in flight come home, so that those who wait for it are told.
func (t *terms) lead(ctx context.Context, term store.Term, clock Clock, watch *termwatch.Watch, m machine) error {
	l := newLoop(m, term.Epoch(), watch, clock, t.publish)
	l.standing = watch.Why(sinceBoot())
	if t.disk.standing() {
		l.standing = t.disk.text()
	}
	k := &keeper{term: term, loop: l, metrics: t.metrics, every: t.check, room: t.room, full: t.disk.standing(), began: time.Now()}
	if l.standing != "" && !k.full {
		k.every = min(k.every, termwatch.ListenBeat)
	}
	if err := k.check(ctx); err != nil {
		return err
	}
	t.metrics.Epoch.Set(float64(term.Epoch()))
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		stop(k.keep(working))
	}()
	aged := make(chan struct{})
	go func() {
		defer close(aged)
		if t.age != nil && l.standing == "" {
			t.age(working, l, term.Epoch())
		}
	}()
	t.begin(l)
	err := l.run(working)
	close(l.over)
	t.end()
	stop(err)
	<-kept
	<-aged
	if ctx.Err() != nil && l.inFlight {
		l.lastWords()
	}
	t.metrics.Epoch.Set(0)
	if cause := context.Cause(working); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	if errors.Is(err, store.ErrFull) {
		l.desk.refuse(problem.ErrFull, false, false)
	}
	l.desk.refuse(termwatch.ErrTermEnds, true, true)
	return err
}

// lastWords says what the commit that was in flight at the end has made durable.
func (l *loop) lastWords() {
	select {
	case b := <-l.done:
		l.onDurable(b)
	default:
	}
}

// keeper owns the term's database session: one commit or check at a time. Any failure of either is the
// end of the term, for the outcome is unknown.
type keeper struct {
	term    store.Term
	loop    *loop
	metrics *metrics.Metrics
	every   time.Duration
	room    func(context.Context) error
	full    bool // the database has no room
	began   time.Time
	looked  time.Time // for room
}

func (k *keeper) keep(ctx context.Context) error {
	beat := time.NewTicker(k.every)
	defer beat.Stop()
	for {
		select {
		case b := <-k.loop.commits:
			if err := k.commit(ctx, b); err != nil {
				return err
			}
			k.loop.done <- b
		case <-beat.C:
			if err := k.check(ctx); err != nil {
				return err
			}
			if err := k.look(ctx); err != nil {
				return err
			}
			if err := k.settle(ctx); err != nil {
				return err
			}
		case <-k.loop.ends:
			return k.yield(ctx)
		case <-ctx.Done():
			return k.finish(ctx)
		}
	}
}

// finish commits what was handed over just before an end that was asked for. After a failure nothing more
// is written: the rows as they are start the next term.
func (k *keeper) finish(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	select {
	case b := <-k.loop.commits:
		if err := k.commit(ctx, b); err != nil {
			return err
		}
		k.loop.done <- b
	default:
	}
	return ctx.Err()
}

func (k *keeper) commit(ctx context.Context, b outbox.Batch) error {
	if len(b.Writes) == 0 {
		return k.check(ctx)
	}
	asked, began := sinceBoot(), time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.TrustFor)
	defer cancel()
	if err := k.term.Commit(ctx, b.Writes); err != nil {
		return fmt.Errorf("committing %d writes: %w", len(b.Writes), err)
	}
	k.loop.proof.set(asked)
	k.metrics.Committed(len(b.Writes), time.Since(began))
	return nil
}

func (k *keeper) check(ctx context.Context) error {
	asked := sinceBoot()
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	if err := k.term.Check(ctx); err != nil {
		return fmt.Errorf("proving the term: %w", err)
	}
	k.loop.proof.set(asked)
	return nil
}
