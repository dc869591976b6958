package sim

import (
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
)

// simLink is the agent's end of one instance, as worker/shimconn.go has it.
type simLink struct {
	a          *simAgent
	key        core.Key
	conn       *simConn
	attempt    api.AttemptID // last handed or adopted
	ended      bool          // its record has been seen
	loaded     bool          // its program was there after that end
	told       *simTold
	ordered    bool // an item went out on this connection
	closing    bool
	gone       bool
	forced     string
	forcedCode string
	pause      time.Duration

	started bool // before that nothing is taken from the queue
	busy    bool
	queue   []func()
}

// simTold is done when the core has received an end.
type simTold struct {
	done bool
	then []func()
}

func (t *simTold) close() {
	t.done = true
	for _, f := range t.then {
		f()
	}
	t.then = nil
}

// simConn is a connection between a link and its shim. Each way keeps its order.
type simConn struct {
	link     *simLink
	shim     *simShim
	up, down time.Duration // when the last message of each way arrives
	severed  bool
}

func newSimLink(a *simAgent, key core.Key) *simLink {
	return &simLink{a: a, key: key, ended: true, told: &simTold{done: true}, pause: 2 * time.Millisecond}
}

// open lets the link take up its work.
func (l *simLink) open() {
	l.started = true
	l.workSoon()
}

// work queues what the link's goroutine does, one after another.
func (l *simLink) work(f func()) {
	l.queue = append(l.queue, f)
	l.workSoon()
}

func (l *simLink) workSoon() {
	if !l.started || l.busy || l.gone || len(l.queue) == 0 {
		return
	}
	l.busy = true
	l.a.do(l.a.host.world.mostly(500*time.Microsecond, 50*time.Millisecond, 10), func() {
		l.busy = false
		if l.gone || len(l.queue) == 0 {
			return
		}
		f := l.queue[0]
		l.queue = l.queue[1:]
		f()
		l.workSoon()
	})
}

// wait keeps the link from all other work until the core has received it.
func (l *simLink) wait(then func()) {
	if l.told.done {
		then()
		return
	}
	l.busy = true
	l.told.then = append(l.told.then, func() {
		l.busy = false
		then()
		l.workSoon()
	})
}

func (l *simLink) take(o core.Command) { l.work(func() { l.carryOut(o) }) }

func (l *simLink) carryOut(o core.Command) {
	switch o := o.(type) {
	case core.StartShim:
		l.start(o)
	case core.HandItem:
		l.prepare(o.Item)
		l.run(o.Item, o.Lease)
	case core.StopItem:
		l.sendOrForce(o.Reason, o.Code, func(s *simShim) { s.stop(o) })
		if o.Close && l.conn != nil {
			l.closing = true
			l.send(func(s *simShim) { s.close() })
		}
	case core.SuspendItem:
		l.send(func(s *simShim) { s.suspend(o) })
	case core.WriteLease:
		l.send(func(s *simShim) { s.setLease(o.End) })
	case core.AnswerProgram:
		l.a.host.world.some("a program told to wait")
	case core.CloseShim:
		l.closing = true
		l.sendOrForce("", "", func(s *simShim) { s.close() })
	}
}

// sendOrForce is for orders that end something: a shim that cannot be reached is killed.
func (l *simLink) sendOrForce(reason, code string, f func(*simShim)) {
	if l.conn != nil || l.connect(false) {
		l.send(f)
		return
	}
	l.force(reason, code)
}

func (s *simShim) close() {
	if s.closing {
		return
	}
	s.closing = true
	switch {
	case s.item != nil:
	case s.program:
		s.host.world.some("a program ended by order")
		ends := s.host.world.mostly(20*time.Millisecond, 20*time.Second, 10)
		if s.slow {
			s.errs(s.last, programStays)
			ends = 2 * s.host.world.policy.KillGrace
		}
		s.do(ends, s.exit)
	default:
		s.exit()
	}
}

func (l *simLink) prepare(item core.Item) {
	l.attempt, l.ended, l.told = item.Desired.Attempt, false, &simTold{}
}

func (l *simLink) run(item core.Item, lease core.Moment) {
	d := item.Desired
	l.ordered = true
	l.send(func(s *simShim) { s.order(d, item.Spec.LoadOnce, lease) })
}

// start declares the instance, forks its shim, connects, and gives the first order; the agent may die
// between any two of these.
func (l *simLink) start(o core.StartShim) {
	w, h := l.a.host.world, l.a.host
	l.prepare(o.Item)
	if h.full || l.a.folderGone {
		h.couldNot = true
		l.endHere(api.Finished{Attempt: l.attempt, Instance: l.key.Instance, Outcome: "refused",
			Reason: shim.RefusedPrefix + "the item's shim cannot be started"})
		l.wait(l.over)
		return
	}
	l.busy = true
	l.a.do(w.mostly(time.Millisecond, 2*time.Second, 20), func() {
		if old := h.shims[l.key]; old != nil && old.alive {
			w.fail("%s: instance %s is declared while its former shim lives", h.name, l.key)
		}
		in := &simIntent{key: l.key, first: l.attempt, boot: h.boot()}
		h.disk.intents[l.key] = in
		l.a.do(w.mostly(time.Millisecond, time.Second, 20), func() { l.fork(in, o) })
	})
}

func (l *simLink) fork(in *simIntent, o core.StartShim) {
	if !l.a.folderGone {
		newSimShim(l.a.host, in)
	}
	l.a.do(l.a.host.world.mostly(2*time.Millisecond, 100*time.Millisecond, 10), func() {
		l.busy = false
		if l.connect(false) {
			l.run(o.Item, o.Lease)
		} else {
			l.lose()
		}
		l.workSoon()
	})
}

// over ends the link.
func (l *simLink) over() {
	l.gone = true
	l.hangUp()
	l.a.post(core.ShimGone{Key: l.key})
}

// endHere is for an attempt that never began here, or whose end is acknowledged. On a disk that is full it is reported
// without a record.
func (l *simLink) endHere(f api.Finished) {
	if h := l.a.host; h.full {
		h.world.some("an end told without a record on a full disk")
	} else if !l.a.folderGone {
		h.disk.spool[f.Attempt] = simRecord{h.boot(), f}
	}
	l.end(f)
}

// record writes what a dead shim could not; a full disk may still have the space that the shim set aside.
func (l *simLink) record() (api.Finished, bool) {
	h, f := l.a.host, l.lost()
	switch {
	case h.full && h.world.chance(500):
		h.world.some("a loss waited for room on the disk")
		return f, false
	case h.full:
		h.world.some("a loss recorded in the room set aside")
	}
	if !l.a.folderGone {
		h.disk.spool[f.Attempt] = simRecord{h.boot(), f}
	}
	return f, true
}

// end tells the core, once the log has been shipped as far as is worth waiting for.
func (l *simLink) end(f api.Finished) {
	if l.ended || f.Attempt != l.attempt {
		return
	}
	l.ended, l.loaded = true, f.Loaded
	told := l.told
	l.a.do(l.a.host.world.mostly(10*time.Millisecond, 5*time.Second, 30), func() {
		l.a.post(core.ItemEnded{Key: l.key, Finished: f})
		told.close()
	})
}

// connect takes up the conversation; the shim says hello first, which an agent that starts hears by itself.
func (l *simLink) connect(adopting bool) bool {
	s := l.a.host.shims[l.key]
	if s == nil || !s.alive || s.deafTill > l.a.host.world.now {
		return false
	}
	s.hangUp()
	c := &simConn{link: l, shim: s}
	l.conn, s.conn, l.ordered = c, c, false
	if hello := s.hello(); !adopting {
		c.toAgent(func(l *simLink) { l.greet(hello) })
	}
	return true
}

func (l *simLink) send(f func(*simShim)) {
	if l.conn == nil || l.conn.severed {
		l.lose()
		return
	}
	l.conn.toShim(f)
}

func (l *simLink) hangUp() {
	if c := l.conn; c != nil {
		l.conn = nil
		c.severed = true
		l.a.host.do(time.Millisecond, func() {
			if c.shim.conn == c {
				c.shim.conn = nil
			}
		})
	}
}

func (l *simLink) lose() {
	l.hangUp()
	l.a.post(core.ShimUnreachable{Key: l.key})
	l.retrySoon()
}

func (l *simLink) retrySoon() {
	pause := l.pause
	l.pause = min(2*l.pause, 500*time.Millisecond)
	l.a.do(pause, func() { l.work(l.reconnect) })
}

// greet compares the shim's report with what was last known.
func (l *simLink) greet(h core.Adopted) {
	l.pause = 2 * time.Millisecond
	if h.Attempt != l.attempt && l.ordered {
		h.Attempt, h.State = l.attempt, "starting"
	}
	if h.Attempt != l.attempt {
		l.attempt, l.ended, l.told = h.Attempt, h.State == "idle", &simTold{done: true}
	}
	if h.State == "idle" && !l.ended {
		if r, ok := l.a.host.disk.spool[l.attempt]; ok {
			l.end(r.finished)
		} else {
			l.endHere(l.lost())
		}
	}
	l.a.post(core.ShimReached{Adopted: h, Awaited: l.ended && !l.told.done})
	if l.closing {
		l.send(func(s *simShim) { s.close() })
	}
}

// lockFree says whether no shim holds the instance's lock.
func (l *simLink) lockFree() bool {
	s := l.a.host.shims[l.key]
	return s == nil || !s.alive
}

// reconnect tries again, and settles what is left when the lock says that the shim is gone.
func (l *simLink) reconnect() {
	switch {
	case l.conn != nil:
	case l.lockFree():
		l.settle()
	case l.connect(false):
	default:
		l.retrySoon()
	}
}

// settle ends the instance of a dead shim and writes the record that the shim could not write.
func (l *simLink) settle() {
	if !l.ended && !l.cleared() {
		l.retrySoon()
		return
	}
	if !l.ended {
		f, ok := api.Finished{}, true
		if r, spooled := l.a.host.disk.spool[l.attempt]; spooled {
			f = r.finished
		} else if f, ok = l.record(); !ok {
			l.retrySoon()
			return
		}
		l.end(f)
	}
	l.wait(func() {
		if !l.a.folderGone {
			delete(l.a.host.disk.intents, l.key)
		}
		l.over()
	})
}

// cleared kills what runs with the instance's mark, also under a shim whose folder was removed, and says
// whether there was nothing any more.
func (l *simLink) cleared() bool {
	for _, s := range l.a.host.everyShim() {
		if it := s.item; s.intent.key == l.key && it != nil && it.run != nil && !it.exited {
			s.ended(it, true)
			return false
		}
	}
	return true
}

func (l *simLink) lost() api.Finished {
	f := api.Finished{Attempt: l.attempt, Instance: l.key.Instance, Outcome: "lost", Reason: "the item's shim ended without a record"}
	if l.forced != "" {
		f.Outcome, f.Code, f.Reason = "stopped", l.forcedCode, l.forced
	}
	return f
}

// force kills a shim that does not answer, and its tree.
func (l *simLink) force(reason, code string) {
	l.forced, l.forcedCode = reason+"; the item's shim did not answer and was killed", code
	if s := l.a.host.shims[l.key]; s != nil && s.alive {
		l.a.host.world.note("%s: the shim of %s is killed by its agent", l.a.host.name, l.key)
		l.a.host.world.some("a shim that did not answer killed by its agent")
		s.vanish()
	}
	l.pause = 2 * time.Millisecond
	l.retrySoon()
}

// adopt connects to the instance's shim. Nil says that the instance is over.
func (l *simLink) adopt(in *simIntent) *core.Adopted {
	w, disk := l.a.host.world, l.a.host.disk
	l.attempt, l.ended, l.told = in.first, false, &simTold{}
	if in.now != (api.AttemptID{}) {
		l.attempt = in.now
	}
	if l.lockFree() {
		if _, spooled := disk.spool[l.attempt]; !spooled && !in.ended {
			if _, ok := l.record(); !ok {
				l.retrySoon()
				return &core.Adopted{Key: l.key, Attempt: l.attempt, State: "unknown"}
			}
		}
		delete(disk.intents, l.key)
		return nil
	}
	if w.chance(50) || !l.connect(true) { // it did not answer in time
		w.some("a shim did not answer a restarted agent")
		l.retrySoon()
		return &core.Adopted{Key: l.key, Attempt: l.attempt, State: "unknown"}
	}
	h := l.a.host.shims[l.key].hello()
	l.attempt, l.ended = h.Attempt, h.State == "idle"
	if l.ended {
		l.told = &simTold{done: true}
	}
	if h.Attempt == (api.AttemptID{}) { // never got an order: nothing of it ever ran
		l.closing = true
		l.send(func(s *simShim) { s.close() })
		return &core.Adopted{Key: l.key, State: "closing"}
	}
	return &h
}

// toAgent and toShim carry messages in order; the shim reads nothing of a former connection.
func (c *simConn) toAgent(f func(*simLink)) {
	w := c.link.a.host.world
	c.up = max(c.up, w.now+w.mostly(500*time.Microsecond, 20*time.Millisecond, 10))
	c.link.a.do(c.up-w.now, func() {
		c.link.work(func() {
			if c.link.conn == c {
				f(c.link)
			}
		})
	})
}

func (c *simConn) toShim(f func(*simShim)) {
	w := c.link.a.host.world
	c.down = max(c.down, w.now+w.mostly(500*time.Microsecond, 20*time.Millisecond, 10))
	c.shim.do(c.down-w.now, func() {
		if c.shim.conn == c {
			f(c.shim)
		}
	})
}

// cut is the shim's end of it: the agent reads what was said before, and then that it is over.
func (c *simConn) cut() {
	c.toAgent(func(l *simLink) {
		l.pause = 2 * time.Millisecond
		l.lose()
	})
}
