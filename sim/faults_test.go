package sim

import (
	"slices"
	"time"
)

// simFaults is what may go wrong in a world. Each world draws its own kinds, for faults that are always
// all there hide each other.
type simFaults struct {
	lasts      time.Duration // of the time in which they happen
	every      time.Duration // between two of them, about
	kinds      []simFault
	dieInStep  int // in 1000, of each order of an agent
	unkillable int // in 1000, of each process that is killed

	programs []string // what programs of load-once jobs do wrong

	putBack simPutBack // what becomes of the database, if anything

	onlySupervisors bool // nothing but supervisors, database and people: then nothing may be lost
}

type simFault struct {
	name  string
	outer bool // strikes hosts or the network
	do    func(*simWorld)
}

var simFaultKinds = []simFault{
	{"supervisor killed", false, killSupervisor}, {"supervisor stopped", false, stopSupervisor}, {"leader stopped", false, stopLeader},
	{"session terminated", false, func(w *simWorld) {
		w.note("db: the leader's session is terminated")
		w.database.leads = 0
		w.database.memory.Depose()
	}},
	{"session ended unnoticed", false, (*simWorld).endUnnoticed}, {"database down", false, func(w *simWorld) { w.note("db: down"); w.database.fall(w.between(time.Second, 10*time.Second)) }},
	{"database bad", false, badDatabase}, {"database full", false, fillDatabase},
	{"agent killed", true, killAgent}, {"agent left dead", true, leaveAgentDead}, {"worker stopped", true, stopWorker},
	{"shim killed", true, killShim}, {"shim deaf", true, deafenShim}, {"host loses power", true, crashHost}, {"host suspended", true, suspendHost},
	{"host split", true, splitHost}, {"one way cut", true, cutOneWay}, {"folder wiped", true, func(w *simWorld) { someHost(w).wipe() }},
	{"disk full", true, fillDisk}, {"host fails all", true, breakHost}, {"slots changed", true, changeSlots}, {"clock set", false, setClock}, {"network bad", true, badNetwork}, {"answers slow", true, slowAnswers}, {"many hosts silent", true, splitMany},
}

func drawFaults(w *simWorld) simFaults {
	f := simFaults{lasts: w.between(90*time.Second, 180*time.Second), every: w.between(1500*time.Millisecond, 10*time.Second)}
	f.onlySupervisors = w.chance(150)
	for _, kind := range simFaultKinds {
		if w.chance(600) && !(kind.outer && f.onlySupervisors) {
			f.kinds = append(f.kinds, kind)
		}
	}
	if !f.onlySupervisors && w.chance(400) {
		f.dieInStep = 1 + w.random.IntN(8)
	}
	if !f.onlySupervisors && w.chance(200) {
		f.unkillable = w.random.IntN(200)
	}
	f.drawTwins(w)
	f.drawPrograms(w)
	return f
}

// scheduleFaults lets them happen until calm returns.
func (w *simWorld) scheduleFaults() {
	if len(w.faults.kinds) == 0 {
		return
	}
	w.after(w.between(w.faults.every/4, w.faults.every*2), func() {
		if !w.calm {
			fault := simPick(w, w.faults.kinds)
			w.note("FAULT %s", fault.name)
			w.some("fault: " + fault.name)
			fault.do(w)
			w.scheduleFaults()
		}
	})
}

func someHost(w *simWorld) *simHost { return simPick(w, w.hosts) }

func killSupervisor(w *simWorld) {
	s := simPick(w, w.supervisors)
	s.kill()
	w.after(w.between(500*time.Millisecond, 20*time.Second), func() {
		if !s.alive {
			s.start()
		}
	})
}

func stopSupervisor(w *simWorld) { stopFor(w, simPick(w, w.supervisors)) }

func stopFor(w *simWorld, s *simSupervisor) {
	s.freeze()
	w.after(w.between(200*time.Millisecond, 40*time.Second), s.wake)
}

func stopLeader(w *simWorld) {
	for _, s := range w.supervisors {
		if s.term != nil {
			stopFor(w, s)
			return
		}
	}
}

// endUnnoticed frees the leader's lock, and the leader hears nothing of it nor of anything else from the
// database: it leads on, as far as it knows.
func (w *simWorld) endUnnoticed() {
	for _, s := range w.supervisors {
		if s.term != nil && w.database.leads == s.term.epoch {
			w.note("db: the session of epoch %d ends unnoticed", s.term.epoch)
			s.term.session.mute = true
			s.term.session.end()
		}
	}
}

func badDatabase(w *simWorld) {
	d := w.database
	d.slow, d.cutEarly, d.cutLate = w.random.IntN(100), w.random.IntN(80), w.random.IntN(80)
	w.after(w.between(2*time.Second, 20*time.Second), d.heal)
}

func (d *simDatabase) heal() { d.slow, d.cutEarly, d.cutLate = 0, 0, 0 }

func killAgent(w *simWorld) {
	h := someHost(w)
	h.killAgent()
	h.startAgent(w.mostly(time.Second, 20*time.Second, 200))
}

// leaveAgentDead lets shims meet the end of their leases alone.
func leaveAgentDead(w *simWorld) {
	h := someHost(w)
	h.killAgent()
	h.startAgent(w.between(15*time.Second, 50*time.Second))
}

func stopWorker(w *simWorld) {
	if h := someHost(w); h.agent != nil && !h.agent.leaving {
		h.agent.leave()
	}
}

func killShim(w *simWorld) {
	if shims := someHost(w).everyShim(); len(shims) > 0 {
		s := simPick(w, shims)
		w.note("%s: the shim of %s is killed", s.host.name, s.intent.key)
		s.vanish()
	}
}

func deafenShim(w *simWorld) {
	if shims := someHost(w).everyShim(); len(shims) > 0 {
		s := simPick(w, shims)
		w.note("%s: the shim of %s is deaf", s.host.name, s.intent.key)
		s.deafTill = w.now + w.between(time.Second, 15*time.Second)
		s.hangUp()
	}
}

func crashHost(w *simWorld) {
	h := someHost(w)
	for _, o := range h.machine.hosts {
		o.powerOff()
	}
	if w.chance(300) {
		w.after(w.between(6*time.Second, 15*time.Second), func() {
			if !h.on {
				w.clients.confirmDead(h)
			}
		})
	}
	w.after(w.between(2*time.Second, 50*time.Second), func() {
		for _, o := range h.machine.hosts {
			o.powerOn()
		}
	})
}

func suspendHost(w *simWorld) {
	h := someHost(w)
	for _, o := range h.machine.hosts {
		o.suspend()
	}
	w.after(w.between(time.Second, 50*time.Second), func() {
		for _, o := range h.machine.hosts {
			o.resume()
		}
	})
}

// splitHost cuts a host from some or all supervisors, both ways.
func splitHost(w *simWorld) { split(w, someHost(w), w.between(time.Second, 50*time.Second)) }

func split(w *simWorld, h *simHost, lasts time.Duration) {
	all := w.chance(600)
	for _, s := range w.supervisors {
		if all || w.chance(500) {
			w.network.cut(h.name, s.name, lasts)
			w.network.cut(s.name, h.name, lasts)
		}
	}
}

func splitMany(w *simWorld) {
	lasts, part := w.between(5*time.Second, 50*time.Second), simPick(w, []int{500, 700, 1000})
	for _, h := range w.hosts {
		if w.chance(part) {
			split(w, h, lasts)
		}
	}
}

// cutOneWay cuts one direction between some ends and some supervisors.
func cutOneWay(w *simWorld) {
	ends := []string{"c"}
	for _, h := range w.hosts {
		ends = append(ends, h.name)
	}
	end, lasts, up, whole := simPick(w, ends), w.between(time.Second, 60*time.Second), w.chance(400), w.chance(500)
	for _, s := range w.supervisors {
		if !whole && !w.chance(500) {
			continue
		}
		if up {
			w.network.cut(end, s.name, lasts)
		} else {
			w.network.cut(s.name, end, lasts)
		}
	}
}

func fillDisk(w *simWorld) {
	h := someHost(w)
	h.full = true
	w.after(w.between(time.Second, 20*time.Second), func() { h.full = false })
}

// breakHost makes every item fail there that starts, until somebody repairs it.
func breakHost(w *simWorld) {
	h := someHost(w)
	h.broken = true
	w.after(w.between(5*time.Second, 40*time.Second), func() { h.broken = false })
}

func badNetwork(w *simWorld) {
	n := w.network
	n.drop, n.double, n.late = w.random.IntN(250), w.random.IntN(150), w.random.IntN(150)
	w.after(w.between(3*time.Second, 30*time.Second), func() { n.drop, n.double, n.late = 0, 0, 0 })
}

// slowAnswers has a host's answers take a second longer, as those of a supervisor that is busy.
func slowAnswers(w *simWorld) {
	n, host := w.network, someHost(w).name
	n.slow[host]++
	w.after(w.between(3*time.Second, 30*time.Second), func() { n.slow[host] = max(0, n.slow[host]-1) })
}

// endFaults makes everything whole again, except for a host that is gone for good now and then.
func (w *simWorld) endFaults() {
	w.note("CALM")
	w.calm = true
	w.network.healAll()
	w.database.heal()
	w.database.down = false
	w.database.memory.Fill(false)
	for _, s := range w.supervisors {
		s.wake()
		if !s.alive {
			s.start()
		}
	}
	var gone *simMachine
	if w.chance(150) && slices.ContainsFunc(w.faults.kinds, func(f simFault) bool { return f.outer }) {
		if m := someHost(w).machine; len(m.hosts) < len(w.hosts) {
			gone = m
			m.lose()
		}
	}
	for _, t := range w.twins {
		t.scrap()
	}
	for _, h := range w.hosts {
		h.full, h.broken = false, false
		if h.machine == gone {
			continue
		}
		h.resume()
		h.powerOn()
		h.startAgent(w.between(0, time.Second))
	}
}

// changeSlots restarts a worker under another worker_slots, as an admin does; what runs there goes on.
func changeSlots(w *simWorld) {
	h := someHost(w)
	was := h.slots
	h.slots = 1 + w.random.IntN(4)
	w.note("%s: %d slots become %d", h.name, was, h.slots)
	h.killAgent()
	h.startAgent(w.between(0, 3*time.Second))
}

// setClock puts the database's wall clock forward or back. (That of a supervisor is read by no one.)
func setClock(w *simWorld) {
	by := w.mostly(10*time.Minute, 24*time.Hour, 300)
	if w.chance(500) {
		by = -by
	}
	w.note("db: the clock is set by %s", by)
	w.database.skew += by
}
