package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/worker/core"
	"qb/worker/shim"
)

// simShim is the parent of one instance's processes, as worker/shim has it: it holds the lock of its
// intent while it lives, freezes its item at the lease's end by its own clock, and writes each end to the
// spool before it says so.
type simShim struct {
	host       *simHost
	intent     *simIntent
	alive      bool
	folderGone bool
	lease      core.Moment
	item       *simProcess
	last       api.AttemptID
	closing    bool
	program    bool          // of a load-once job, that takes one item after another
	keeps      int64         // memory that it has between two items
	reported   api.AttemptID // that the program has reported last
	slow       bool          // the program does not end before it is killed
	conn       *simConn
	deafTill   time.Duration // it answers no one, though its timer rings
	timer      int           // of the lease; an older one rings for nothing
}

// simProcess is the attempt that a shim runs.
type simProcess struct {
	attempt   api.AttemptID
	instance  int
	run       *simRun // nil until it is forked
	remaining time.Duration
	resumed   time.Duration
	running   bool
	ring      int
	began     time.Duration
	exit      int
	stubborn  bool // ignores TERM
	frozen    bool
	suspended bool // by order, since
	since     time.Duration
	stood     time.Duration // suspended before
	wentOn    int           // how often it was ordered to go on
	number    int64         // of the suspension that it was last sent
	ending    bool          // it is stopped, and may wake for its TERM
	stopped   bool
	signalled bool // TERM was sent while it ran
	killing   bool
	killedAt  time.Duration
	exited    bool
	over      bool
	loadOnce  bool
	fault     string // of its program; empty: none
	reported  bool   // as failed; its program is about to end
	mute      bool   // its program ends without a report
	untrue    bool   // what was reported of it is not so
	reason    string
	code      string
	outcome   string // of a stop or a kill, if not the usual
	limit     bool
}

// simStuckAfter is how long a tree may outlive KILL until it is called unkillable.
const simStuckAfter = 20 * time.Second

func sortedKeys[V any](m map[core.Key]V) []core.Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b core.Key) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Instance, b.Instance))
	})
}

func newSimShim(h *simHost, in *simIntent) *simShim {
	s := &simShim{host: h, intent: in, alive: true}
	if old := h.shims[in.key]; old != nil && old.alive {
		h.world.fail("%s: two shims for instance %s", h.name, in.key)
	}
	h.shims[in.key] = s
	s.tick()
	return s
}

func (s *simShim) do(d time.Duration, f func()) {
	s.host.do(d, func() {
		if s.alive {
			f()
		}
	})
}

// tick ends a shim that no agent can ask any more.
func (s *simShim) tick() {
	s.do(2*time.Second, func() {
		switch it := s.item; {
		case !s.folderGone || it == nil:
		case it.run == nil: // nothing of it runs yet, as when it was suspended before its start
			s.stop(core.StopItem{Attempt: it.attempt})
			return
		default:
			s.kill(it)
		}
		if s.item == nil && (s.folderGone || (s.conn == nil && s.host.moment() >= s.lease)) {
			s.exit()
			return
		}
		s.tick()
	})
}

// vanish is the end of the shim and, by their death signal, of its processes, with no word to anybody.
func (s *simShim) vanish() {
	if it := s.item; it != nil && it.run != nil {
		s.host.world.truth.end(it.run, false)
	}
	s.exit()
}

func (s *simShim) exit() {
	s.alive = false
	s.hangUp()
}

func (s *simShim) hangUp() {
	if s.conn != nil {
		s.conn.cut()
		s.conn = nil
	}
}

func (s *simShim) hello() core.Adopted {
	return core.Adopted{Key: s.intent.key, Attempt: s.attempt(), State: s.state(), Loaded: s.program}
}

func (s *simShim) attempt() api.AttemptID {
	if s.item != nil {
		return s.item.attempt
	}
	return s.last
}

func (s *simShim) state() string {
	switch {
	case s.item == nil:
		return "idle"
	case s.item.stopped || s.item.killing:
		return "stopping"
	case s.item.run == nil:
		return "starting"
	case s.item.frozen && s.item.suspended:
		return "suspended"
	case s.item.frozen:
		return "frozen"
	}
	return "running"
}

// order takes an attempt once: the same order again changes nothing.
func (s *simShim) order(d api.Desired, loadOnce bool, lease core.Moment) {
	id := d.Attempt
	if s.item != nil || id == s.last || s.closing {
		return
	}
	w := s.host.world
	if s.program {
		w.some("a program took another item")
	}
	it := &simProcess{attempt: id, instance: d.Instance, loadOnce: loadOnce, suspended: d.Suspended, number: d.SuspensionID}
	it.remaining, it.exit, it.stubborn = w.clients.fate(id)
	if s.host.broken {
		it.remaining, it.exit = 50*time.Millisecond, 1
	}
	if loadOnce && it.exit != simKillsShim {
		it.fault = w.programFault(id)
	}
	s.item = it
	s.intent.now, s.intent.ended = id, false
	s.setLease(lease)
	s.sayUnstarted(it)
	s.do(w.mostly(4*time.Millisecond, 2*time.Second, 10), func() { s.maybeLaunch(it) })
}

// maybeLaunch starts the process if the lease lasts; else the next lease starts it.
func (s *simShim) maybeLaunch(it *simProcess) {
	if it.over || s.item != it || it.run != nil || it.suspended || s.host.moment() >= s.lease {
		return
	}
	w := s.host.world
	if it.exit == simCannotLaunch {
		s.finish(it, api.Finished{Outcome: "launch", Reason: "no such program"})
		return
	}
	w.note("%s runs %v", s.host.name, it.attempt)
	it.began = w.now
	it.run = w.truth.begin(it.attempt, s.host)
	it.run.loadOnce, it.run.fault, it.run.exit = it.loadOnce, it.fault, it.exit
	if it.over || it.exited {
		return
	}
	s.settle()
	s.begins(it)
	s.say(func(l *simLink) { l.a.post(core.ItemStarted{Key: l.key, Attempt: it.attempt}) })
	s.measure(it)
}

// settle makes the process run or stand still, as freezer and host will have it.
func (s *simShim) settle() {
	it := s.item
	if it == nil || it.run == nil {
		return
	}
	w := s.host.world
	runs := !it.frozen && !it.exited && !it.killing && !s.host.suspended && s.alive
	switch {
	case runs && !it.running:
		it.running, it.resumed = true, w.now
		it.ring++
		ring := it.ring
		w.truth.resume(it.run)
		s.do(it.remaining, func() {
			switch {
			case it.ring != ring || !it.running:
			case it.exit == simKillsShim:
				s.vanish()
			default:
				s.worked(it)
			}
		})
	case !runs && it.running:
		it.running = false
		it.ring++
		it.remaining = max(0, it.remaining-(w.now-it.resumed))
		w.truth.pause(it.run)
	}
}

// ended is the end of the whole tree; then the record is written.
func (s *simShim) ended(it *simProcess, killed bool) {
	if it.exited || it.over {
		return
	}
	w := s.host.world
	it.exited = true
	it.running = false
	s.keeps, _ = s.host.machine.resident(it.run)
	w.truth.end(it.run, !killed && it.exit == 0 && !it.mute)
	code, signal := it.exit, 9
	f := api.Finished{Code: it.code, Reason: it.reason, Wall: it.ran(w.now).Seconds(), Suspended: it.suspendedUntil(w.now).Seconds(), CPU: 1, Limit: it.limit}
	_, f.PeakMemory = s.host.machine.resident(it.run)
	switch {
	case it.outcome != "" && !it.stopped, shim.EndedByStop(it.stopped, it.signalled, killed):
		f.Outcome = cmp.Or(it.outcome, "stopped")
	case killed:
		f.Outcome, f.Signal = "signal", &signal
	case it.mute && !it.untrue:
		f.Outcome, f.Code, f.Reason = "launch", string(facts.ReasonNoReport), "the program did not report its item"
	default:
		f.Outcome, f.ExitCode, f.Code, f.Reason = "exit", &code, "", ""
		w.clients.licences.end(w, it.attempt, &f)
	}
	switch {
	case killed || !it.stopped:
	case it.signalled:
		w.some("an item ended by itself after its stop signal")
	default:
		w.some("a stop met the natural end")
		if f.Outcome != "exit" && !it.mute {
			w.fail("W1: %v ended by itself before its stop signal, and is told as %s", it.attempt, f.Outcome)
		}
	}
	s.program = it.loadOnce && !killed && !it.stopped && !w.chance(100) && it.exit == 0 && !it.mute
	if s.program {
		s.stays(it)
	}
	s.do(w.mostly(time.Millisecond, 2*time.Second, 10), func() { s.finish(it, f) })
}

func (s *simShim) stop(o core.StopItem) {
	it, grace, reason := s.item, o.Grace, o.Reason
	if it == nil || it.attempt != o.Attempt || it.stopped || it.over || it.reported {
		return
	}
	if it.run == nil {
		s.finish(it, api.Finished{Outcome: "stopped", Code: o.Code, Reason: reason})
		return
	}
	it.ending = true
	s.release(it)
	if !it.exited {
		it.stopped, it.reason, it.code, it.outcome, it.limit = true, reason, o.Code, o.Outcome, o.Limit
		if it.fault == programLate {
			s.misreports(it.attempt, it.fault)
		}
	}
	if it.frozen || it.exited || grace <= 0 {
		s.kill(it)
		return
	}
	s.do(grace, func() { s.kill(it) })
	s.do(s.host.world.mostly(20*time.Millisecond, 3*time.Second, 20), func() { s.terminate(it, grace) })
}

// terminate is the TERM of a stop, which comes after its order: an exit takes long where much memory is given back.
func (s *simShim) terminate(it *simProcess, grace time.Duration) {
	switch {
	case it.exited || it.over || it.killing:
		return
	case it.frozen:
		s.kill(it)
		return
	}
	it.signalled = true
	if !it.stubborn {
		s.do(s.host.world.between(0, grace), func() { s.ended(it, true) })
	}
}

func (s *simShim) kill(it *simProcess) {
	if it.exited || it.over || it.run == nil || it.killing {
		return
	}
	w := s.host.world
	it.killing, it.killedAt = true, w.now
	s.settle()
	dies := w.between(0, 20*time.Millisecond)
	if !w.calm && w.chance(w.faults.unkillable) { // it hangs in the kernel, and computes no more
		w.note("%s: %v outlives KILL", s.host.name, it.attempt)
		dies, it.run.stuck = w.between(simStuckAfter, 3*simStuckAfter), true
	}
	s.do(dies, func() { s.ended(it, true) })
}

// finish writes the record, as often as it takes, and only then says that the attempt has ended.
func (s *simShim) finish(it *simProcess, f api.Finished) {
	it.over = true
	f.Attempt, f.Instance = it.attempt, it.instance
	f.Loaded = s.program
	f.InLease = s.host.moment() < s.lease
	s.record(it, f)
}

func (s *simShim) record(it *simProcess, f api.Finished) {
	h := s.host
	if !s.folderGone {
		if h.full {
			h.world.some("a record waited for room on the disk")
			s.say(func(l *simLink) {
				l.a.post(core.ShimMeasured{Key: s.intent.key, CPU: f.CPU, Wall: f.Wall, Frozen: it.frozen})
			})
			s.do(time.Second, func() { s.record(it, f) })
			return
		}
		h.disk.spool[f.Attempt] = simRecord{s.intent.boot, f}
		s.intent.ended = true
	}
	s.last, s.item = it.attempt, nil
	h.world.note("%s: %v has ended: %s", h.name, it.attempt, f.Outcome)
	s.say(func(l *simLink) { l.end(f) })
	if s.closing || s.folderGone {
		s.exit()
	}
	if s.program && h.world.chance(30) { // it dies between two items
		s.unload()
	}
}

// setLease sets the lease end that the agent sent. It may be later or earlier than the last one.
func (s *simShim) setLease(end core.Moment) {
	s.lease = end
	s.timer++
	timer := s.timer
	s.do(s.host.till(end), func() {
		if s.timer == timer {
			s.checkLease()
		}
	})
	s.checkLease()
}

// checkLease freezes or thaws, as the lease and the order to suspend it say now.
func (s *simShim) checkLease() {
	w := s.host.world
	over := s.host.moment() >= s.lease
	switch it := s.item; {
	case it == nil:
		if over && s.program { // it has nothing that could go on later
			s.do(10*time.Millisecond, func() {
				if s.item == nil {
					s.unload()
				}
			})
		}
	case it.run == nil:
		if !over && !it.suspended {
			s.maybeLaunch(it)
		}
	case (over || it.suspended) && !it.frozen && !it.exited && !it.killing:
		w.note("%s freezes %v", s.host.name, it.attempt)
		if over {
			w.some("freeze ran")
		}
		if over && s.host.agent == nil {
			w.some("freeze ran without an agent")
		}
		it.frozen = true
		s.settle()
		s.sample(it)
	case !over && !it.suspended && it.frozen:
		w.note("%s thaws %v", s.host.name, it.attempt)
		w.rows.checkThaw(it)
		w.some("thaw ran")
		it.frozen = false
		s.settle()
		s.sample(it)
	}
}

// measure tells the agent how the item is, again and again: often while it is young, as much changes then.
func (s *simShim) measure(it *simProcess) {
	wait := 4 * time.Second
	if s.host.world.now-it.began < 4*time.Second {
		wait = 500 * time.Millisecond
	}
	s.do(wait, func() {
		if s.item == it && !it.over {
			s.sample(it)
			s.measure(it)
		}
	})
}

func (s *simShim) sample(it *simProcess) {
	m := core.ShimMeasured{Key: s.intent.key, CPU: 1, Wall: it.ran(s.host.world.now).Seconds(), Frozen: it.frozen, Suspended: it.frozen && it.suspended, SuspensionID: it.provenSuspension()}
	if it.run != nil {
		m.Memory, _ = s.host.machine.resident(it.run)
	}
	m.Unkillable = it.killing && !it.exited && s.host.world.now-it.killedAt > simStuckAfter
	s.say(func(l *simLink) { l.a.post(m) })
}

// say tells the agent, if one listens.
func (s *simShim) say(f func(*simLink)) {
	if s.conn != nil {
		s.conn.toAgent(f)
	}
}
