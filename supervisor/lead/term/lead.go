package term

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"qb/internal/guard"
	"qb/internal/pause"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store"
)

// Leader leads again and again until its context ends. Whatever ends a term, the next one starts from the rows.
type Leader struct {
	Store   store.Store
	Policy  func() message.Policy // the one in force when a term begins
	Rebuild func(message.Policy, facts.Facts, time.Time) (Machine, error)
	Log     *slog.Logger
	Metrics *metrics.Metrics
	Check   time.Duration // between two proofs of the term
	Begin   func(*Loop)   // the loop takes requests now
	End     func()        // it does not any more
	Publish func(Display, []facts.Write)
	Room    func(context.Context) error  // whether the database could write again
	Tell    func(facts.EventFacts)       // sends an event to the readers of the event stream
	NoteOf  func(context.Context) Note   // of a change, for the audit trail; may be nil
	Age     func(context.Context, *Loop) // beside a loop that writes, until ctx ends
	Key     farmkey.Key
	Numbers func() (job int64, attempt int, err error) // highest in the log folder

	disk    disk
	unnoted []facts.PutBreakage // for want of a database, when a term ended
	epoch   int64               // of the term that is led, or was last
	ended   atomic.Pointer[Ended]
}

// Run leads until ctx ends.
func (t *Leader) Run(ctx context.Context) {
	wait := backoffLeast
	for ctx.Err() == nil {
		began := time.Now()
		t.epoch = 0
		err := t.one(ctx)
		if ctx.Err() != nil {
			return
		}
		t.noteEnd(err)
		t.noteEnded(t.epoch, err)
		if t.atOnce(err) {
			continue
		}
		t.Metrics.TermEnds.Inc()
		if time.Since(began) > backoffMost {
			wait = backoffLeast
		}
		rest := wait/2 + rand.N(wait/2)
		t.Log.Error("term ended; trying to lead again", "error", err, "in", rest)
		_ = pause.For(ctx, rest)
		wait = min(2*wait, backoffMost)
	}
}

// one is a whole term: lead, load, rebuild, loop until something ends it.
func (t *Leader) one(ctx context.Context) error {
	term, err := t.Store.Lead(ctx)
	if err != nil {
		return fmt.Errorf("waiting to lead: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeFor)
		defer cancel()
		term.Close(ctx)
	}()
	t.epoch = term.Epoch()
	asked, clock := time.Now(), NewClock(term.Began(), SinceBoot())
	rows, err := term.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the farm: %w", err)
	}
	policy := t.Policy()
	if t.disk.readOnly() || term.Descent().PutBack { // what it promised beyond the row would not be durable
		policy = policy.Within(rows.Promise)
	}
	var m Machine
	t.beating(ctx, term, func() { m, err = t.safely(policy, rows, clock.Now()) })
	if err != nil {
		return fmt.Errorf("rebuilding the farm: %w", err)
	}
	if err := t.comeBack(ctx, term, clock.Now()); err != nil {
		return err
	}
	watch := termwatch.New(t.Key, term.Epoch(), term.Began(), term.Descent(), rows,
		rows.Promise.With(policy.Promise()).Grace, SinceBoot())
	if term.Descent().PutBack {
		watch.Await()
		go guard.Keeper{Log: t.Log}.Keep(ctx, "numbers in the log folder", func(context.Context) { t.readNumbers(watch) })
	}
	t.Log.Info("leading", "epoch", term.Epoch(), "jobs", len(rows.Jobs), "hosts", len(rows.Hosts),
		"lineage", term.Descent().Lineage, "after", time.Since(asked))
	return t.lead(ctx, term, clock, watch, m, NewSenders(rows.Breakages))
}

// beating proves the term beside work that does not use its session: rebuilding a large farm on a busy machine may take
// longer than Postgres waits for a silent leader.
func (t *Leader) beating(ctx context.Context, term store.Term, work func()) {
	working, done := context.WithCancel(ctx)
	var beat sync.WaitGroup
	beat.Go(func() {
		for pause.For(working, t.Check) == nil {
			limited, cancel := context.WithTimeout(ctx, store.TrustFor)
			// a term that is over shows at the next use of its session
			_ = guard.Once(func() error { return term.Check(limited) })
			cancel()
		}
	})
	work()
	done()
	beat.Wait()
}

// safely rebuilds; rows that break an invariant must not bring the process down.
func (t *Leader) safely(policy message.Policy, rows facts.Facts, now time.Time) (m Machine, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return t.Rebuild(policy, rows, now)
}

// lead runs the loop and uses the session; the first of the two to stop stops the other. When ctx asks for the end, it
// waits for a commit in flight, so that the requests that wait for it get their answer.
func (t *Leader) lead(ctx context.Context, term store.Term, clock Clock, watch *termwatch.Watch, m Machine,
	senders *Senders) error {
	l := NewLoop(m, term.Epoch(), watch, clock, t.Publish)
	l.noteOf = t.NoteOf
	l.readOnly = watch.Why(SinceBoot())
	l.log = t.Log
	l.metrics = t.Metrics
	l.senders = senders
	if t.disk.readOnly() {
		l.readOnly = t.disk.text()
	}
	k := &committer{term: term, loop: l, metrics: t.Metrics, every: t.Check, room: t.Room, full: t.disk.readOnly(),
		began: time.Now()}
	if l.readOnly != "" && !k.full {
		k.every = min(k.every, termwatch.ListenBeat)
	}
	if err := k.check(ctx); err != nil {
		return err
	}
	if err := t.noteUnnoted(ctx, term, l); err != nil {
		return err
	}
	t.Metrics.Epoch.Set(float64(term.Epoch()))
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	beside.Go(func() { stop(guard.Once(func() error { return k.run(working) })) })
	if l.readOnly == "" {
		beside.Go(func() { t.Age(working, l) })
	}
	t.Begin(l)
	err := l.Run(working)
	close(l.over)
	t.End()
	stop(err)
	beside.Wait()
	if ctx.Err() != nil && l.inFlight {
		l.lastWords()
	}
	t.Metrics.Epoch.Set(0)
	if broke := (*BrokenError)(nil); errors.As(err, &broke) {
		t.noteBroken(ctx, term, l, broke)
	}
	if cause := context.Cause(working); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	if errors.Is(err, store.ErrFull) {
		l.waiters.refuse(problem.ErrFull, false)
	}
	l.waiters.refuse(termwatch.ErrTermEnds, true)
	return err
}

// lastWords says what the commit that was in flight at the end has made durable.
func (l *Loop) lastWords() {
	select {
	case b := <-l.done:
		l.onDurable(b)
	default:
	}
}

// committer owns the term's database session: one commit or check at a time. Any failure of either is the
// end of the term, for the outcome is unknown.
type committer struct {
	term    store.Term
	loop    *Loop
	metrics *metrics.Metrics
	every   time.Duration
	room    func(context.Context) error
	full    bool // the database has no room
	began   time.Time
	looked  time.Time // for room
}

func (k *committer) run(ctx context.Context) error {
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
			if err := k.finishRestore(ctx); err != nil {
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
func (k *committer) finish(ctx context.Context) error {
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

func (k *committer) commit(ctx context.Context, b outbox.Batch) error {
	if len(b.Writes) == 0 {
		return k.check(ctx)
	}
	asked, began := SinceBoot(), time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.TrustFor)
	defer cancel()
	if err := k.term.Commit(ctx, b.Writes); err != nil {
		return fmt.Errorf("committing %d writes: %w", len(b.Writes), err)
	}
	k.loop.proof.set(asked)
	k.metrics.Committed(len(b.Writes), time.Since(began))
	return nil
}

func (k *committer) check(ctx context.Context) error {
	asked := SinceBoot()
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	if err := k.term.Check(ctx); err != nil {
		return fmt.Errorf("proving the term: %w", err)
	}
	k.loop.proof.set(asked)
	return nil
}
