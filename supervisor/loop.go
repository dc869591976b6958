package supervisor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"qb/supervisor/accounting"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/planner"
	"qb/supervisor/problem"
	"qb/supervisor/termwatch"
)

// machine is what the loop needs of a farm; *farm.Farm is the only one outside tests.
type machine interface {
	Step(now time.Time, e farm.Event)
	Plan(now time.Time)
	Take(now time.Time) outbox.Batch
	Full() bool
	View(now time.Time) *farm.View
	Changed(now time.Time, replies []outbox.Reply) (part farm.Part, all bool)
	Snapshot(now time.Time) planner.Snapshot
	Explain(now time.Time, id facts.JobID) (explain.Explanation, bool)
	Shares(now time.Time) accounting.Report
}

// loop owns the farm while a term lasts.
type loop struct {
	farm    machine
	epoch   int64
	watch   *termwatch.Watch
	ends    chan struct{} // the watch found out that the term must end
	clock   Clock
	inbox   chan farm.Event               // of people
	syncs   chan farm.Event               // of workers: a large farm has thousands wait, and nobody else waits behind them
	looks   chan func(machine, time.Time) // read-only questions, answered between two events
	desk    *desk
	memo    *memo
	over    chan struct{}     // closed when the loop turns no more
	commits chan outbox.Batch // to the keeper of the session; at most one in flight
	done    chan outbox.Batch // what it has made durable
	proof   proofClock        // when the last successful check or commit began
	publish func(display, []facts.Write)
	// standing is why nothing can be written now, "" if it can. Such a term lengthens leases and answers
	// questions, so that what runs goes on; it plans nothing, lets nothing lapse and takes no change.
	standing string

	inFlight bool
	since    time.Time // of the commit in flight
	next     display   // made with the batch in flight, shown once that is durable
	lastView time.Time
	viewTook time.Duration
	news     bool // something happened since the last view
	soon     bool // a person did
}

func newLoop(m machine, epoch int64, watch *termwatch.Watch, clock Clock, publish func(display, []facts.Write)) *loop {
	memo := newMemo()
	return &loop{
		farm: m, epoch: epoch, watch: watch, ends: make(chan struct{}, 1), clock: clock, publish: publish, desk: newDesk(memo), memo: memo, over: make(chan struct{}),
		inbox: make(chan farm.Event, inboxSize), syncs: make(chan farm.Event, inboxSize), looks: make(chan func(machine, time.Time)),
		commits: make(chan outbox.Batch, 1), done: make(chan outbox.Batch, 1),
	}
}

var errPanic = errors.New("the farm's state broke an invariant")

// run turns until ctx ends or the farm panics: plan, whenever no commit is in flight hand over what there is
// to write or say what needs no write, then step what comes in, unless the next commit is full.
func (l *loop) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		l.decide(l.clock.now())
		inbox, syncs := l.inbox, l.syncs
		if l.farm.Full() {
			inbox, syncs = nil, nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-inbox:
			l.drain(e)
		case e := <-syncs:
			l.drain(e)
		case look := <-l.looks:
			look(l.farm, l.clock.now())
		case b := <-l.done:
			l.onDurable(b)
		case <-tick.C:
			if l.standing == "" {
				l.farm.Step(l.clock.now(), farm.Ticked{})
			}
			l.maybeTellStalled()
		}
	}
}

// decide plans and hands over what came of it. What a farm would write while it takes itself up again waits
// for a term that can write.
func (l *loop) decide(now time.Time) {
	if l.standing == "" {
		l.farm.Plan(now)
	}
	if l.inFlight {
		return
	}
	b := l.farm.Take(now)
	if l.standing != "" {
		b.Writes = nil
	}
	l.hand(now, b)
}

// drain steps what waits, up to a limit, so that one commit carries many events: what people ask first.
func (l *loop) drain(e farm.Event) {
	l.news = true
	began := time.Now()
	l.farm.Step(l.clock.now(), e)
	l.drainOf(l.inbox, began)
	l.drainOf(l.syncs, began)
}

func (l *loop) drainOf(inbox chan farm.Event, began time.Time) {
	for range turnEvents {
		if l.farm.Full() || time.Since(began) > turnFor {
			return
		}
		select {
		case e := <-inbox:
			l.farm.Step(l.clock.now(), e)
		default:
			return
		}
	}
}

// hand gives the batch to the keeper of the session. What needs no write needs no commit; but a person is
// told nothing, not even that there is no such job, by one who was replaced and does not know it yet: the
// keeper proves the term first. (Answers to workers carry the term, and the age of its proof.)
func (l *loop) hand(now time.Time, b outbox.Batch) {
	b.Writes = append(append(b.Writes, l.desk.answers(now, b.Replies)...), l.desk.audits(now, b.Replies)...)
	l.maybeLook(now, b)
	if len(b.Writes) == 0 && !l.desk.toPeople(b.Replies) {
		l.say(b)
		return
	}
	l.inFlight, l.since = true, time.Now()
	l.commits <- b
}

// maybeLook makes what is shown with the batch: now the farm is exactly what the batch makes durable. A view costs the
// more the larger the farm is, so a bounded part of the time goes into them, and a person who changes a job or a host
// does not wait for one: until it is made, right after the answer if its time has come, the next list shows that job or
// host as the change left it.
func (l *loop) maybeLook(now time.Time, b outbox.Batch) {
	part, all := l.farm.Changed(now, b.Replies)
	changed := len(part.Jobs)+len(part.Hosts) > 0
	l.news, l.soon = l.news || len(b.Writes) > 0, l.soon || changed
	age, pace := now.Sub(l.lastView), viewPace*l.viewTook
	due := age >= pace && (l.soon || l.news && age >= viewEvery || age >= viewAtLeast)
	if overdue := age >= 2*max(pace, viewAtLeast); !all && !overdue && (changed || !due) {
		l.next = display{part: part}
		return
	}
	began := time.Now()
	l.next, l.lastView, l.news, l.soon = display{view: l.farm.View(now)}, now, false, false
	l.viewTook = time.Since(began)
}

func (l *loop) onDurable(b outbox.Batch) {
	l.inFlight = false
	l.say(b)
}

func (l *loop) say(b outbox.Batch) {
	l.publish(l.next, b.Writes)
	l.desk.say(b.Replies)
}

// maybeTellStalled spares people the wait for a database that does not answer.
func (l *loop) maybeTellStalled() {
	if l.inFlight && len(l.done) == 0 && time.Since(l.since) > problem.StalledAfter { // it may be done, and the loop late
		l.desk.refuse(problem.ErrStalled, false, false)
	}
}

// look runs a read-only question between two events of the loop and waits until it has run.
func (l *loop) look(ctx context.Context, question func(machine, time.Time)) error {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	ran := make(chan struct{})
	asked := func(m machine, now time.Time) {
		question(m, now)
		close(ran)
	}
	select {
	case l.looks <- asked:
	case <-l.over:
		return termwatch.ErrTermEnds
	case <-ctx.Done():
		return problem.ErrNoAnswer
	}
	select {
	case <-ran:
		return nil
	case <-l.over: // it broke on the question
		return termwatch.ErrTermEnds
	case <-ctx.Done():
		return problem.ErrNoAnswer
	}
}

// proofAge is the age of the last proof that the term stands, counted from the moment the proof was
// asked for.
func (l *loop) proofAge() time.Duration { return l.proof.age() }
