package term

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"qb/api"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/share/planner"
	"qb/supervisor/store"
	"qb/supervisor/why/explain"
)

// Machine is what the loop needs of a farm; *farm.Farm is the only one outside tests.
type Machine interface {
	Step(now time.Time, e message.Event)
	Plan(now time.Time)
	Take(now time.Time) outbox.Batch
	Full() bool
	View(now time.Time) *message.View
	Check() error
	Doing() (facts.JobID, facts.HostID)
	PlanBreaks() []message.PlanBreak
	Changed(now time.Time, replies []outbox.Reply) (part message.ViewDelta, all bool)
	Snapshot(now time.Time) planner.Snapshot
	SnapshotWith(now time.Time, list []message.JobSubmitted) (planner.Snapshot, message.TrialReply, *outbox.Refusal)
	Explain(now time.Time, id facts.JobID) (explain.Explanation, bool)
	ExplainSubmission(now time.Time, e message.JobSubmitted) facts.Why
	PlacingsOn(now time.Time, host facts.HostID) ([]explain.Placement, bool)
	HostsFor(now time.Time, id facts.JobID) ([]explain.Placement, bool)
	CheckSubmission(now time.Time, e message.JobSubmitted) (remarks []string, refusal *outbox.Refusal)
	Shares(now time.Time) accounting.Report
	Budgets(now time.Time) []accounting.ExceededBudget
	Publications() []facts.PublicationFacts
	Resources(now time.Time) []licences.Status
	Profiles(now time.Time, of facts.ProfileKey) []profiles.Profile
	Accounts() (known []facts.AccountFacts, past map[string][]string)
}

// Loop owns the farm while a term lasts.
type Loop struct {
	farm  Machine
	Epoch int64
	Watch *termwatch.Watch
	ends  chan struct{} // the watch found out that the term must end
	clock Clock
	inbox chan message.Event // of people
	// from workers, in a separate queue: a large farm has thousands waiting, and other requests must not wait behind them
	syncs   *SyncInbox
	looks   chan func(Machine, time.Time) // read-only questions, answered between two events
	waiters *waiters
	keys    *inFlightKeys
	over    chan struct{}     // closed when the loop turns no more
	commits chan outbox.Batch // to the committer of the session; at most one in flight
	done    chan outbox.Batch // what it has made durable
	proof   proofClock        // when the last successful check or commit began
	publish func(Display, []facts.Write)
	changes store.ChangeLog
	noteOf  func(context.Context) Note // may be nil
	log     *slog.Logger
	metrics *metrics.Metrics // may be nil
	senders *Senders
	lifted  []facts.Write // of senders
	at      facts.Sender  // of what the farm does now
	hearing time.Time     // no plan is made before
	// readOnly is why nothing can be written now, "" if it can. Such a term lengthens leases and answers
	// questions, so that what runs goes on; it plans nothing, lets nothing lapse and takes no change.
	readOnly string

	ticked   time.Time
	inFlight bool
	since    time.Time // of the commit in flight
	next     Display   // made with the batch in flight, shown once that is durable
	lastView time.Time
	viewTook time.Duration
	unshown  bool // something happened since the last view
	soon     bool // a person did
}

// NewLoop is the loop of a term; publish gets what each commit has made durable.
func NewLoop(m Machine, epoch int64, watch *termwatch.Watch, clock Clock, publish func(Display, []facts.Write)) *Loop {
	keys := newInFlightKeys()
	return &Loop{
		farm: m, Epoch: epoch, Watch: watch, ends: make(chan struct{}, 1), clock: clock, publish: publish,
		waiters: newWaiters(keys), keys: keys, over: make(chan struct{}),
		log: slog.New(slog.DiscardHandler), senders: NewSenders(nil),
		inbox: make(chan message.Event, inboxSize), syncs: NewSyncInbox(), looks: make(chan func(Machine, time.Time)),
		commits: make(chan outbox.Batch, 1), done: make(chan outbox.Batch, 1),
	}
}

// Began is when the term began, by the database's clock.
func (l *Loop) Began() time.Time { return l.clock.began }

// ErrPanic ends a term whose farm broke an invariant.
var ErrPanic = errors.New("the farm's state broke an invariant")

// Run turns until ctx ends or the farm panics: plan, whenever no commit is in flight hand over what there is
// to write or say what needs no write, then step what comes in, unless the next commit is full.
func (l *Loop) Run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenError{l.at, fmt.Sprint(p), string(debug.Stack())}
		}
	}()
	l.begin(l.clock.Now())
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		l.maybeTick()
		l.decide(l.clock.Now())
		inbox, syncs := l.inbox, l.syncs.ready
		if l.farm.Full() {
			inbox, syncs = nil, nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-inbox:
			l.maybeTick()
			l.step(e)
			l.drain()
		case <-syncs:
			l.maybeTick()
			l.drain()
		case look := <-l.looks:
			l.at = facts.Sender{Kind: askSender}
			look(l.farm, l.clock.Now())
		case b := <-l.done:
			l.onDurable(b)
		case <-tick.C:
			l.maybeTellStalled()
		}
	}
}

// decide plans and hands over what came of it. What a farm would write while it takes itself up again waits
// for a term that can write.
func (l *Loop) decide(now time.Time) {
	if l.readOnly == "" {
		l.plan(now)
	}
	if l.inFlight {
		return
	}
	l.at = facts.Sender{Kind: takeSender}
	b := l.take(now)
	if l.readOnly != "" {
		b.Writes = nil
	}
	l.hand(now, b)
}

// maybeTick passes the current time to the farm before anything is judged by it. Time during which the loop was busy or
// stopped, and workers' reports remained unread, does not count as silence of a worker.
func (l *Loop) maybeTick() {
	now := l.clock.Now()
	if now.Sub(l.ticked) < tickEvery {
		return
	}
	l.ticked = now
	if l.readOnly == "" {
		l.step(message.Ticked{Unread: l.syncs.Waited(now)})
	}
}

// drain steps what waits, up to a limit, so that one commit carries many events: what people ask first.
func (l *Loop) drain() {
	l.unshown = true
	began := time.Now()
	l.drainOf(began, l.asked)
	l.drainOf(began, l.syncs.Next)
	l.syncs.again()
}

// asked is the next event of people that waits.
func (l *Loop) asked() (message.Event, bool) {
	select {
	case e := <-l.inbox:
		return e, true
	default:
		return nil, false
	}
}

func (l *Loop) drainOf(began time.Time, next func() (message.Event, bool)) {
	for range turnEvents {
		if l.farm.Full() || time.Since(began) > turnFor {
			return
		}
		e, ok := next()
		if !ok {
			return
		}
		l.step(e)
	}
}

// hand passes the batch to the committer. A batch without writes needs no commit, but if it has replies to people the
// committer first proves the term: a replaced leader must not even answer that a job does not exist. (Answers to
// workers carry the term, and the age of its proof.)
func (l *Loop) hand(now time.Time, b outbox.Batch) {
	b.Writes = append(b.Writes, l.changes.Note(now, b.Writes)...)
	b.Writes, l.lifted = append(b.Writes, l.lifted...), nil
	b.Writes = append(b.Writes, l.waiters.writes(now, b.Replies)...)
	l.maybeLook(now, b)
	if len(b.Writes) == 0 && !l.waiters.toPeople(b.Replies) {
		l.deliver(b)
		return
	}
	l.inFlight, l.since = true, time.Now()
	l.commits <- b
}

// maybeLook makes what is shown with the batch: now the farm is exactly what the batch makes durable. A view costs the
// more the larger the farm is, so a bounded part of the time goes into them, and a person who changes a job or a host
// does not wait for one: until it is made, right after the answer if its time has come, the next list shows that job or
// host as the change left it.
func (l *Loop) maybeLook(now time.Time, b outbox.Batch) {
	part, all := l.farm.Changed(now, b.Replies)
	changed := len(part.Jobs)+len(part.Hosts) > 0
	l.unshown, l.soon = l.unshown || len(b.Writes) > 0, l.soon || changed
	age, pace := now.Sub(l.lastView), viewPace*l.viewTook
	due := age >= pace && (l.soon || l.unshown && age >= viewEvery || age >= viewAtLeast)
	if overdue := age >= 2*max(pace, viewAtLeast); !all && !overdue && (changed || !due) {
		l.next = Display{Part: part}
		return
	}
	began := time.Now()
	l.next = Display{Part: part}
	l.lastView = now
	l.unshown = false
	l.soon = false
	if view := (*message.View)(nil); l.survives("view", func() { view = l.farm.View(now) }) {
		l.next = Display{View: view}
	}
	l.viewTook = time.Since(began)
}

func (l *Loop) onDurable(b outbox.Batch) {
	l.inFlight = false
	l.deliver(b)
}

func (l *Loop) deliver(b outbox.Batch) {
	l.publish(l.next, b.Writes)
	l.waiters.deliver(b.Replies)
}

// maybeTellStalled spares people the wait for a database that does not answer.
func (l *Loop) maybeTellStalled() {
	if l.inFlight && len(l.done) == 0 && time.Since(l.since) > problem.StalledAfter { // it may be done, and the loop late
		l.waiters.refuse(problem.ErrStalled, false)
	}
}

// Look runs a read-only question between two events of the loop and waits until it has run.
func (l *Loop) Look(ctx context.Context, question func(Machine, time.Time)) error {
	ctx, cancel := context.WithTimeout(ctx, store.ReadFor)
	defer cancel()
	ran, broke := make(chan struct{}), false
	asked := func(m Machine, now time.Time) {
		broke = !l.survives("question", func() { question(m, now) })
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
		if broke {
			return ErrQuestion
		}
		return nil
	case <-l.over: // it broke on the question
		return termwatch.ErrTermEnds
	case <-ctx.Done():
		return problem.ErrNoAnswer
	}
}

// ProofAge returns the age of the last proof that the term is valid, counted from the moment when the proof was
// requested.
func (l *Loop) ProofAge() time.Duration { return l.proof.age() }

// Proven records a proof of the term that was requested at this time since boot.
func (l *Loop) Proven(asked time.Duration) { l.proof.set(asked) }

// Now is the time of the term.
func (l *Loop) Now() time.Time { return l.clock.Now() }

// Over is closed when the loop turns no more.
func (l *Loop) Over() <-chan struct{} { return l.over }

// ReadOnly reports whether the term can write nothing.
func (l *Loop) ReadOnly() bool { return l.readOnly != "" }

// Trouble is why nothing can be changed in this term now, empty if it can.
func (l *Loop) Trouble() string {
	if why := l.Watch.Why(SinceBoot()); why != "" {
		return why
	}
	return l.readOnly
}

// Listens reports whether the term waits for workers to come and report, as its rows were put back or copied.
func (l *Loop) Listens() bool { return l.Watch.Listens(SinceBoot()) }

// Hear compares the terms that a worker knows with the own one, before its report counts, and ends the term if they
// show that it must.
func (l *Loop) Hear(in *api.Sync) error {
	err := l.Watch.Hear(SinceBoot(), in)
	if l.Watch.End() != nil {
		select {
		case l.ends <- struct{}{}:
		default:
		}
	}
	return err
}
