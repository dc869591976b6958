package sim

import (
	"context"
	"fmt"
	"time"

	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	terms "qb/supervisor/lead/term"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store"
)

// simSupervisor is a supervisor's process: it dies, freezes, wakes and leads as the real one does. What it
// would do while it is frozen waits, and happens in any order when it wakes, for goroutines and sockets
// have none.
type simSupervisor struct {
	world     *simWorld
	name      string
	life      int // rises with each start
	alive     bool
	frozen    bool
	stoppedAt time.Duration
	held      []func()
	term      *simTerm      // nil unless it leads
	pause     time.Duration // before it tries to lead again
	memo      map[string]*simMemo
	disk      simDiskNews
	side      int           // which database it is for
	lease     time.Duration // by its configuration; 0: the world's
}

// simTerm is a period of leadership: the loop and the committer of supervisor/lead/term, without
// their goroutines.
type simTerm struct {
	supervisor *simSupervisor
	session    *simSession
	epoch      int64
	clock      terms.Clock
	farm       *farm.Farm
	watch      *termwatch.Watch
	inbox      []message.Event
	reports    *terms.SyncInbox // of workers, which the loop reads after what people ask
	busyFor    time.Duration    // for how long the loop was busy or its process stopped, in all
	busyUntil  time.Duration    // when the loop was or will be done with what it does before its next turn
	loaded     bool
	turning    bool
	inFlight   bool
	proof      time.Duration // when the last successful check or commit was asked for
	checking   bool
	last       outbox.Ticket
	desk       map[outbox.Ticket]func(outbox.Reply, error)
	syncs      map[outbox.Ticket]bool // tickets of workers
	words      *simWords
	keys       map[string]*simKeyed // empty but in worlds of keyed changes
	keyOf      map[outbox.Ticket]string
	over       bool
	yielding   bool
	senders    *terms.Senders
	lifted     []facts.Write
	readOnly   bool // it writes nothing, for the database has no room
}

func newSimSupervisor(w *simWorld, n int) *simSupervisor {
	return &simSupervisor{world: w, name: fmt.Sprintf("s%d", n)}
}

func (s *simSupervisor) start() {
	w := s.world
	s.life++
	s.alive, s.frozen, s.held, s.term = true, false, nil, nil
	s.memo, s.disk = map[string]*simMemo{}, simDiskNews{}
	s.pause = 200 * time.Millisecond
	w.note("%s starts", s.name)
	s.do(w.between(0, 200*time.Millisecond), s.standBy)
}

// now is the term's clock: what the database said when the term began, and the time since.
func (t *simTerm) now() time.Time { return t.clock.At(t.supervisor.world.now) }

// do does something later in the same life; a frozen process does it when it wakes.
func (s *simSupervisor) do(d time.Duration, f func()) {
	life := s.life
	var run func()
	run = func() {
		switch {
		case s.life != life || !s.alive:
		case s.frozen:
			s.held = append(s.held, run)
		default:
			leave := s.world.enter(s.side)
			f()
			leave()
		}
	}
	s.world.after(d, run)
}

func (s *simSupervisor) kill() {
	if !s.alive {
		return
	}
	s.world.note("%s is killed", s.name)
	s.alive, s.held = false, nil
	if s.term != nil {
		s.term.over = true
		s.term.session.close()
		s.term = nil
	}
}

func (s *simSupervisor) freeze() {
	if s.alive && !s.frozen {
		s.world.note("%s is stopped", s.name)
		s.frozen, s.stoppedAt = true, s.world.now
	}
}

func (s *simSupervisor) wake() {
	if !s.frozen {
		return
	}
	s.world.note("%s wakes", s.name)
	s.frozen = false
	if s.term != nil { // what it was busy for anyway, its turn counts
		s.term.busyFor += max(0, s.world.now-max(s.stoppedAt, s.term.busyUntil))
	}
	if s.term != nil && s.world.database.epoch > s.term.epoch {
		s.world.some("a stopped leader woke after another took over")
	}
	held := s.held
	s.held = nil
	s.world.random.Shuffle(len(held), func(a, b int) { held[a], held[b] = held[b], held[a] })
	for _, f := range held {
		s.do(s.world.between(0, 3*time.Millisecond), f)
	}
}

// standBy waits for the lock.
func (s *simSupervisor) standBy() {
	w := s.world
	session := w.database.lead()
	if session == nil {
		s.do(w.between(100*time.Millisecond, 500*time.Millisecond), s.standBy)
		return
	}
	w.note("%s leads with epoch %d", s.name, session.epoch)
	if session.epoch > 1 {
		w.some("leadership changed hands")
	}
	t := &simTerm{supervisor: s, session: session, epoch: session.epoch, clock: session.clock, readOnly: s.disk.readOnly(), desk: map[outbox.Ticket]func(outbox.Reply, error){}, syncs: map[outbox.Ticket]bool{}, reports: terms.NewSyncInbox(), words: newSimWords(), keys: map[string]*simKeyed{}, keyOf: map[outbox.Ticket]string{}}
	s.term = t
	var rows facts.Facts
	load := func() (err error) {
		rows, err = session.term.Load(context.Background())
		return err
	}
	session.use(0, load, func(err error) {
		t.loaded = true
		s.do(0, func() { t.rebuild(rows, err) })
	})
	t.keepAlive()
}

// keepAlive is the kernel's: a connection through which nothing comes any more breaks under who waits for it.
func (t *simTerm) keepAlive() {
	t.supervisor.do(store.TrustFor, func() {
		switch {
		case t.over || t.loaded:
		case t.session.mute:
			t.end(errSimCut)
		default:
			t.keepAlive()
		}
	})
}

func (t *simTerm) rebuild(rows facts.Facts, err error) {
	if t.over {
		return
	}
	if err != nil {
		t.end(err)
		return
	}
	s := t.supervisor
	policy := s.policy()
	if t.readOnly || t.session.term.Descent().PutBack {
		policy = policy.Within(rows.Promise)
	}
	f, err := farm.Rebuild(policy, rows, t.now())
	if err != nil {
		s.world.fail("the rows cannot be read: %v", err)
		return
	}
	t.watch = termwatch.New(simFarmKey, t.epoch, t.session.began, t.session.term.Descent(), rows, rows.Promise.With(policy.Promise()).Grace, s.world.now)
	t.readOnly = t.readOnly || t.watch.Why(s.world.now) != ""
	if s.world.database.leads == t.epoch { // else it was stopped since it read, and the next check says so
		s.world.rows.agree(f, t.now(), "a rebuilt farm")
	}
	t.comeBack(func() {
		t.farm, t.senders = f, terms.NewSenders(rows.Breakages)
		for _, held := range t.senders.Held(t.now()) {
			f.Step(t.now(), held)
		}
		t.turn()
		s.do(t.every(), t.keep)
		s.do(0, t.tick)
	})
}

// end ends the term, whatever the reason, and leads again after a pause.
func (t *simTerm) end(err error) {
	if t.over {
		return
	}
	s := t.supervisor
	t.over = true
	s.world.note("%s: the term of epoch %d is over: %v", s.name, t.epoch, err)
	t.session.close()
	for ticket := outbox.Ticket(1); ticket <= t.last; ticket++ {
		if answer := t.desk[ticket]; answer != nil {
			delete(t.desk, ticket)
			answer(outbox.Reply{}, errSimNoTerm)
		}
	}
	s.term = nil
	if s.noteDisk(err) {
		s.do(0, s.standBy)
		return
	}
	wait := s.pause/2 + s.world.between(0, s.pause/2)
	s.pause = min(2*s.pause, 5*time.Second)
	s.do(wait, s.standBy)
}

// check proves the term; a proof counts from the moment at which it was asked for.
func (t *simTerm) check(then func()) {
	asked := t.supervisor.world.now
	t.checking = true
	t.use(t.session.check, func() {
		t.proof, t.checking = asked, false
		then()
	})
}

func (t *simTerm) keep() {
	if t.over {
		return
	}
	if !t.checking {
		t.check(func() {
			t.look()
			t.settle()
		})
	}
	t.supervisor.do(t.every(), t.keep)
}

// every is the time between two checks.
func (t *simTerm) every() time.Duration {
	if t.readOnly && !t.supervisor.disk.readOnly() {
		return termwatch.ListenBeat
	}
	return store.CheckEvery
}

// use is a use of the session that writes little.
func (t *simTerm) use(do func() error, then func()) { t.useFor(0, do, then) }

// useFor is one use of the session, for so many rows: an error or the lack of an answer ends the term.
func (t *simTerm) useFor(rows int, do func() error, then func()) {
	answered := false
	t.session.use(rows, do, func(err error) {
		t.supervisor.do(0, func() {
			if answered || t.over {
				return
			}
			answered = true
			if err != nil {
				t.end(err)
				return
			}
			then()
		})
	})
	t.supervisor.do(store.TrustFor, func() {
		if !answered {
			answered = true
			t.end(fmt.Errorf("no answer for %s", store.TrustFor))
		}
	})
}

func (t *simTerm) tick() {
	if t.over {
		return
	}
	if !t.readOnly {
		t.inbox = append(t.inbox, message.Ticked{})
		t.turnSoon()
	}
	w := t.supervisor.world
	t.supervisor.do(w.between(100*time.Millisecond, 300*time.Millisecond), t.tick)
}

func (t *simTerm) turnSoon() {
	if t.turning {
		return
	}
	t.turning = true
	w := t.supervisor.world
	busy := w.busy.turn(w.now, w.calm)
	t.busyUntil = w.now + busy
	t.supervisor.do(w.between(0, time.Millisecond)+busy, func() {
		t.busyFor += busy
		t.turn()
	})
}

// turn is one turn of the loop.
func (t *simTerm) turn() {
	t.turning = false
	if t.over || t.farm == nil {
		return
	}
	s := t.supervisor
	t.read()
	if t.over {
		return
	}
	s.world.questions.ask(t)
	if !t.readOnly {
		t.farm.Plan(t.now())
	}
	if broke := t.farm.PlanBreaks(); len(broke) > 0 && s.world.policy.Divide == nil {
		s.world.fail("R3: a plan broke: %+v", broke)
	}
	if err := t.farm.Check(); err != nil {
		s.world.fail("%s: the farm is broken: %v", s.name, err)
		return
	}
	if t.inFlight {
		return
	}
	batch := t.farm.Take(t.now())
	if t.readOnly {
		batch.Writes = nil
	}
	batch.Writes = append(batch.Writes, t.answers(batch.Replies)...)
	batch.Writes, t.lifted = append(batch.Writes, t.lifted...), nil
	t.checkDeaf(batch)
	if len(batch.Writes) == 0 && !t.toPeople(batch.Replies) {
		t.say(batch)
		return
	}
	t.inFlight = true
	asked := s.world.now
	prove := func() error { return t.session.commit(batch.Writes) }
	if len(batch.Writes) == 0 {
		prove = t.session.check
	}
	t.useFor(len(batch.Writes), prove, func() {
		t.proof, t.inFlight = asked, false
		s.pause = 200 * time.Millisecond
		t.say(batch)
		t.maybeCompare()
		t.turnSoon()
	})
}

// read steps what waits: what people ask first, then the reports of workers.
func (t *simTerm) read() {
	w := t.supervisor.world
	for !t.over {
		if t.farm.Full() {
			w.some("an event that waited for room in a commit")
			return
		}
		var e message.Event
		if len(t.inbox) > 0 {
			e, t.inbox = t.inbox[0], t.inbox[1:]
		} else if report, is := t.reports.Next(); is {
			e = report
		} else {
			return
		}
		if _, is := e.(message.Ticked); is {
			e = t.ticked()
		}
		if t.takesIn(e) {
			t.step(e)
		}
	}
}

// ticked is what the farm hears of time as it passes.
func (t *simTerm) ticked() message.Ticked {
	unread := t.reports.Waited(t.now())
	if unread > time.Second {
		t.supervisor.world.some("time passed while reports waited unread")
	}
	return message.Ticked{Unread: unread}
}

// toPeople says whether anybody but workers waits for one of the replies.
func (t *simTerm) toPeople(replies []outbox.Reply) bool {
	for _, r := range replies {
		if t.desk[r.Ticket] != nil && !t.syncs[r.Ticket] {
			return true
		}
	}
	return false
}

func (t *simTerm) say(batch outbox.Batch) {
	for _, r := range batch.Replies {
		if answer := t.desk[r.Ticket]; answer != nil {
			delete(t.desk, r.Ticket)
			delete(t.syncs, r.Ticket)
			answer(r, nil)
		}
	}
	t.resolveKeyed(batch.Replies)
}

// maybeCompare now and then rebuilds a farm from the rows at a moment when they tell all that the living
// one knows: both must say the same.
func (t *simTerm) maybeCompare() {
	w := t.supervisor.world
	if w.chance(980) || t.readOnly || t.farm.Pending() || w.database.leads != t.epoch {
		return
	}
	t.compare()
}

func (t *simTerm) compare() {
	w := t.supervisor.world
	rows, err := t.session.term.Load(context.Background())
	if err != nil {
		w.fail("the leader cannot read: %v", err)
		return
	}
	now := t.now()
	f, err := farm.Rebuild(t.supervisor.policy(), rows, now)
	if err != nil {
		w.fail("the rows cannot be read: %v", err)
		return
	}
	view := t.farm.View(now)
	w.rows.same(view, f.View(now))
	w.sameProfiles(now, t.farm, f)
	w.sameResources(now, t.farm, f, view)
}

// ask sends an event to the farm and waits for the reply, no longer than wait.
func (t *simTerm) ask(wait time.Duration, event func(outbox.Ticket) message.Event, answer func(outbox.Reply, error)) {
	if t.over || t.farm == nil {
		answer(outbox.Reply{}, errSimNoTerm)
		return
	}
	t.last++
	ticket := t.last
	e := event(ticket)
	sync, isSync := e.(message.WorkerSynced)
	if t.readOnly && !isSync {
		answer(outbox.Reply{}, errSimFull)
		return
	}
	t.desk[ticket] = answer
	if isSync {
		t.report(sync)
	} else {
		t.inbox = append(t.inbox, e)
	}
	t.turnSoon()
	t.supervisor.do(wait, func() {
		if answer := t.desk[ticket]; answer != nil {
			delete(t.desk, ticket)
			answer(outbox.Reply{}, errSimNoWord)
			if isSync {
				t.reports.Leave(t.now(), sync)
			}
		}
	})
}

// report puts a worker's report to the ones that wait to be read, and answers one whose place it takes.
func (t *simTerm) report(sync message.WorkerSynced) {
	w := t.supervisor.world
	superseded, ok := t.reports.Put(t.now(), sync)
	if !ok {
		w.fail("%s: there is no room for a report", t.supervisor.name)
	}
	if superseded != 0 {
		w.some("a report took the place of an older one")
		t.say(outbox.Batch{Replies: []outbox.Reply{terms.Superseded(superseded)}})
	}
}
