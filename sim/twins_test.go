package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/worker/core"
)

// Names are given twice: to a second machine, to a clone of a disk, and to one host after another. A twin is a
// machine of its own whose worker reports the worker_name of a host of the farm.

// simTwinFaults are the faults of names, which a third of the worlds has. They are drawn from a stream of their
// own, so that the other worlds stay as they are.
var simTwinFaults = []simFault{
	{"two machines, one name", true, twinComes}, {"cloned folder", true, cloneComes}, {"host renamed", true, renameHost},
	{simGhost, true, ghostComes},
}

// simGhost is one of a tenth of the worlds, in none of which TestSimSeedsOnceWrong is; their workers have keys.
const simGhost = "key under another name"

// simQuiet are the faults of a world with clones that report their original's machine id: none of them keeps a
// living host from being heard for long. A machine id that two machines share, while the first is cut off, is what
// docs/reliability.md does not promise.
var simQuiet = []string{"supervisor killed", "session terminated", "session ended unnoticed", "database down", "database full",
	"shim killed", "host loses power", "disk full", "host fails all", "clock set", "cloned folder", "host renamed"}

// drawTwins adds the faults of names to those of a world.
func (f *simFaults) drawTwins(w *simWorld) {
	draw := rand.New(rand.NewPCG(w.seed, 0x7717))
	if f.onlySupervisors || draw.IntN(3) > 0 {
		return
	}
	clones := draw.IntN(3) == 0
	for _, kind := range simTwinFaults {
		if kind.name == simGhost && w.seed%10 != 4 {
			continue
		}
		if (kind.name == "cloned folder") == clones || kind.name == "host renamed" && draw.IntN(2) == 0 {
			f.kinds = append(f.kinds, kind, kind)
		}
	}
	if clones {
		f.dieInStep = 0
		f.kinds = slices.DeleteFunc(f.kinds, func(k simFault) bool { return !slices.Contains(simQuiet, k.name) })
	}
}

func twinComes(w *simWorld) {
	if h := someHost(w); len(h.machine.hosts) == 1 {
		w.after(w.between(5*time.Second, 60*time.Second), w.twin(h, h.worker, "", w.chance(500)).scrap)
		if w.chance(300) { // the twin replaces it
			h.powerOff()
			if w.chance(500) {
				w.after(w.between(6*time.Second, 15*time.Second), func() { w.clients.removeHost(h) })
			}
			w.after(w.between(10*time.Second, 70*time.Second), h.powerOn)
		}
	}
}

func cloneComes(w *simWorld) {
	if h := someHost(w); len(h.machine.hosts) == 1 {
		w.after(w.between(5*time.Second, 60*time.Second), w.twin(h, h.worker, h.machine.id, true).scrap)
	}
}

// ghostComes has somebody with a host's key report another name, as a thief of its token may.
func ghostComes(w *simWorld) {
	if h := someHost(w); len(h.machine.hosts) == 1 {
		w.after(w.between(5*time.Second, 60*time.Second), w.ghost(h).scrap)
	}
}

func (w *simWorld) ghost(h *simHost) *simHost {
	as := h.name + "-ghost"
	h.names[as] = true // its row gets that name if the host is gone
	return w.twin(h, as, "", true)
}

// enrolled says whether its workers have keys.
func (w *simWorld) enrolled() bool { return w.seed%2 == 0 }

// twin starts a worker under that name, the host's or another, on another machine. Its machine id is its own unless one
// is given; its state folder may be a copy of the host's.
func (w *simWorld) twin(h *simHost, as, machineID string, copied bool) *simHost {
	for _, t := range w.twins {
		if t.on && t.worker == as {
			return t
		}
	}
	m := *h.machine
	m.name = fmt.Sprintf("%s'%d", h.name, len(w.twins))
	m.id = machineID
	if m.id == "" {
		m.id = m.name
	}
	m.runs, m.promised, m.profile = nil, map[facts.AttemptID]simPromise{}, map[*simRun]simResident{}
	t := newSimHost(w, 0)
	t.name, t.worker, t.names, t.machine = m.name, as, map[string]bool{as: true}, &m
	t.slots, t.gpus, t.offers, t.reserve = h.slots, h.gpus, h.offers, h.reserve
	m.hosts = []*simHost{t}
	if copied {
		t.disk = h.disk.copied()
	}
	w.twins = append(w.twins, t)
	t.powerOn()
	return t
}

// removeHost is an admin's order: the machine is gone for good, and another may have its name.
func (c *simClients) removeHost(h *simHost) {
	e := message.HostRemoved{Host: facts.HostID(h.worker), Dead: true, By: "admin"}
	c.call(&simCall{name: "remove " + h.worker, run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		if c.world.runsUnder(h) {
			answer(outbox.Reply{Err: &outbox.Refusal{Kind: "conflict", Text: "something runs there"}}, nil)
			return
		}
		s.host(func(t outbox.Ticket) message.Event { e.Ticket = t; return e }, answer)
	}, done: func(r outbox.Reply) {
		if r.Err == nil {
			c.world.some("a host removed by hand")
		}
	}})
}

// runsUnder says whether anything of the farm runs on any machine of the name.
func (w *simWorld) runsUnder(h *simHost) bool {
	return slices.ContainsFunc(append(slices.Clone(w.twins), h), func(t *simHost) bool { return t.on && h.names[t.worker] && !w.empty(t) })
}

func (h *simHost) scrap() {
	h.powerOff()
	h.scrapped = true
}

// copied is a copy of the folder as it lies on the disk.
func (d *simDisk) copied() *simDisk {
	c := &simDisk{id: d.id, term: d.term, intents: map[core.Key]*simIntent{}, spool: maps.Clone(d.spool), logs: maps.Clone(d.logs)}
	for key, in := range d.intents {
		one := *in
		c.intents[key] = &one
	}
	return c
}

// renameHost starts the worker again under another name; what runs there goes on.
func renameHost(w *simWorld) {
	h := someHost(w)
	was := h.worker
	h.worker = fmt.Sprintf("%s-%d", h.name, len(h.names))
	h.names[h.worker] = true
	w.note("%s: worker_name %s becomes %s", h.name, was, h.worker)
	h.killAgent()
	h.startAgent(w.between(0, 3*time.Second))
}

// holder is the machine that the attempt was given to: several may have had the name, each with a boot of its own.
func (w *simWorld) holder(a *facts.AttemptFacts) *simHost {
	for _, h := range append(slices.Clone(w.twins), w.hosts...) {
		if h.names[string(a.Host)] && strings.HasPrefix(a.Boot, h.machine.name+"-boot") {
			return h
		}
	}
	w.fail("S6: %v is given to %s under boot %s, which no machine of that name ever had", a.AttemptID, a.Host, a.Boot)
	return w.host(string(a.Host))
}

// applyHost takes in a write of a host's row.
func (r *simRows) applyHost(w facts.Write) {
	switch w := w.(type) {
	case facts.RenameHost:
		r.renameHost(w)
	case facts.ForgetHost:
		r.forgetHost(w.Host)
	case facts.PutHost:
		r.world.tookOver(w.Host)
		if was := r.hosts[w.Host.ID]; was.LockedBy != "" || was.Locked > 0 || w.Host.LockedBy != "" || w.Host.Locked > 0 {
			r.world.clients.verbs.shut[w.Host.ID] = r.world.now
		}
		r.hosts[w.Host.ID] = w.Host
		r.locks[w.Host.ID], r.slots[w.Host.ID] = w.Host.LockedBy != "" || w.Host.Locked > 0, w.Host.Slots
		if r.held[w.Host.ID] > w.Host.Slots {
			r.world.some("a host left with fewer slots than are taken")
		}
	}
}

// renameHost gives a host's live attempts its new name.
func (r *simRows) renameHost(w facts.RenameHost) {
	r.world.note("row: host %s becomes %s", w.From, w.To.ID)
	for a := range r.everyRow() {
		if a.Host == w.From {
			a.Host = w.To.ID
			if run := r.world.truth.attempts[a.AttemptID]; run != nil && run.running {
				r.world.some("a running item went on under its host's new name")
			}
		}
	}
	r.held[w.To.ID] += r.held[w.From]
	delete(r.held, w.From)
	for _, h := range append(slices.Clone(r.world.twins), r.world.hosts...) {
		// a machine that died under the old name ends under the new one
		h.names[string(w.To.ID)] = h.names[string(w.To.ID)] || h.names[string(w.From)]
	}
	r.world.machineOf[w.To.ID] = r.world.machineOf[w.From]
	r.forgetHost(w.From)
	r.hosts[w.To.ID] = w.To
	r.locks[w.To.ID], r.slots[w.To.ID] = w.To.LockedBy != "" || w.To.Locked > 0, w.To.Slots
}

func (r *simRows) forgetHost(id facts.HostID) {
	if r.held[id] > 0 {
		r.world.fail("S2: host %s is forgotten while %d of its slots are held", id, r.held[id])
	}
	delete(r.locks, id)
	delete(r.slots, id)
	delete(r.hosts, id)
	delete(r.world.machineOf, id)
}

// refused counts refused agents, by reason.
func (w *simWorld) refused(in api.Sync, code string) {
	switch {
	case code == "":
		w.some("stale report refused")
	case slices.ContainsFunc(w.twins, func(t *simHost) bool { return t.disk.id == in.StateID && t.boot() == in.BootID }):
		w.some("a second machine of a name refused")
	default:
		w.some("a host refused for another one of its name")
	}
}

// tookOver notes which machine a host's row names: what another one still has is not given away with its name.
func (w *simWorld) tookOver(h facts.HostFacts) {
	was, there := w.machineOf[h.ID]
	w.machineOf[h.ID] = h.MachineID
	if there && was != h.MachineID {
		w.some("another machine took a name over")
		if w.rows.held[h.ID] > 0 {
			w.fail("S2: host %s is machine %s, and %d slots of machine %s are held", h.ID, h.MachineID, w.rows.held[h.ID], was)
		}
	}
}

// isTwin says whether it is no host of the farm's own.
func (h *simHost) isTwin() bool { return slices.Contains(h.world.twins, h) }

// twinsOn says whether a twin of the host has power, so that no one may say that nothing runs under its name.
func (h *simHost) twinsOn() bool {
	return slices.ContainsFunc(h.world.twins, func(t *simHost) bool { return t.on && h.names[t.worker] })
}

// TestBarTwin: a second machine with the name of a host that is heard takes nothing from it, whatever it copied:
// the host's items go on, and the name stays with it.
func TestBarTwin(t *testing.T) {
	for _, sameMachine := range []bool{false, true} {
		script(t, func(w *simWorld, h *simHost) {
			ids, machine := w.liveOn(h), ""
			if sameMachine {
				machine = h.machine.id
			}
			twin := w.twin(h, h.worker, machine, true)
			w.at(simScriptEnds-10*time.Second, twin.scrap)
			w.by(simScriptAt+35*time.Second, "B1", "no item of the host was lost", func() bool { return w.noneLost(ids) })
			w.by(simScriptAt+35*time.Second, "B1", "the host is up", func() bool { return w.isThere(h) })
		})
	}
}

// TestBarGhost: who has a living host's key and reports other names is no other host.
func TestBarGhost(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		if !w.enrolled() {
			return
		}
		ids, hosts, ghost := w.liveOn(h), len(w.rows.slots), w.ghost(h)
		w.at(simScriptEnds-10*time.Second, ghost.scrap)
		w.by(simScriptAt+35*time.Second, "B1", "no item of the host was lost", func() bool { return w.noneLost(ids) })
		w.by(simScriptAt+35*time.Second, "B1", "the host is up, and is one", func() bool { return w.isThere(h) && len(w.rows.slots) == hosts })
	})
}

// isThere says whether the host is heard.
func (w *simWorld) isThere(h *simHost) bool { return w.stateOf(h) == "up" || w.stateOf(h) == "locked" }

func (w *simWorld) noneLost(ids []facts.AttemptID) bool {
	return !slices.ContainsFunc(ids, func(id facts.AttemptID) bool { return w.rows.attempt(id).State == facts.Lost })
}

// TestBarRenamed: a host whose worker_name changes keeps what runs there, and its old name is gone.
func TestBarRenamed(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		ids, was := w.liveOn(h), h.worker
		renameHost(w)
		for h.worker == was { // another was drawn
			renameHost(w)
		}
		w.by(simScriptAt+10*time.Second, "B6", "no item of the host was lost, or stopped but by a person", func() bool {
			return w.noneLost(ids) && !slices.ContainsFunc(ids, func(id facts.AttemptID) bool {
				a := w.rows.attempt(id)
				return a.State == facts.Preempted && a.Why.Params.By == ""
			})
		})
		w.by(simScriptAt+10*time.Second, "B6", "the old name is gone", func() bool { return w.rows.slots[facts.HostID(was)] == 0 && w.isThere(h) })
	})
}

// TestBarReplaced: another machine takes a dead host's name over when the execution lease has ended, and no sooner.
func TestBarReplaced(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		h.powerOff()
		twin := w.twin(h, h.worker, "", false)
		w.at(simScriptEnds-time.Second, twin.scrap)
		p := w.policy
		w.by(simScriptAt+p.ExecutionLease-time.Second, "B1", "the name is not given away", func() bool { return !w.isThere(h) })
		w.by(simScriptAt+p.ExecutionLease+p.KillGrace+p.LeaseMargin+10*time.Second, "B1", "the new machine has the name", func() bool { return w.isThere(h) })
		w.after(simScriptEnds, h.powerOn)
	})
}

// TestBarRemoved (S3): a host that was removed stays so, though a copy of its last word comes later.
func TestBarRemoved(t *testing.T) {
	const removed, late = 60 * time.Second, 68 * time.Second // a client finds the leader by trying
	script(t, func(w *simWorld, h *simHost) {
		said := h.agent.said
		h.powerOff()
		w.at(simScriptAt+removed, func() { w.clients.removeHost(h) })
		unknown := func() bool { return w.stateOf(h) == "unknown" }
		w.by(simScriptAt+late, "S3", "it is removed", unknown)
		w.at(simScriptAt+late, func() { w.leader().supervisor.sync(said, func(*api.SyncReply, error) {}) })
		w.by(simScriptEnds-time.Second, "S3", "it is still removed", unknown)
		w.after(simScriptEnds, h.powerOn)
	})
}

// TestBarTakenBack (B1, F31): a host that is answered in vain, and is cut off wholly while another machine takes its
// name over and dies, has its name again when nothing is left there of the other; it is given nothing until it hears.
func TestBarTakenBack(t *testing.T) {
	const cut, back, hears = 3 * time.Second, 36 * time.Second, 65 * time.Second
	again := 0
	script(t, func(w *simWorld, h *simHost) {
		for _, s := range w.supervisors {
			w.network.cut(s.name, h.name, hears)
			w.after(cut, func() { w.network.cut(h.name, s.name, back-cut) })
		}
		twin := w.twin(h, h.worker, "", false)
		has := func(m *simHost) func() bool {
			return func() bool { return w.machineOf[facts.HostID(h.worker)] == m.machine.id }
		}
		w.by(simScriptAt+back, "B1", "the other machine has the name", has(twin))
		w.at(simScriptAt+back, twin.scrap)
		for n := range 20 { // more than the other hosts have room for
			w.at(simScriptAt+back, func() { w.clients.submit(100 + n) })
		}
		w.at(simScriptEnds, func() {
			if has(h)() && w.isThere(h) {
				again++
			}
		})
	})
	if again < simScripts/3 {
		t.Errorf("in %d of %d worlds the host had its name again", again, simScripts)
	}
}
