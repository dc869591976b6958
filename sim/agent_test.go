package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/worker/core"
)

// simAgent is the shell around a real agent core: it carries out what the core orders, as worker/agent.go
// and worker/supervisorconn.go do, and may die between any two orders.
type simAgent struct {
	host       *simHost
	dead       bool
	folderGone bool
	core       *core.Core
	links      map[core.Key]*simLink
	events     []core.Event
	awake      bool
	stepping   bool
	wake       int // of the timer; an older one rings for nothing

	at       int // which supervisor it speaks to
	calls    uint64
	open     []uint64 // calls whose answers may still come, the newest last
	asked    uint64   // its sequence
	leaving  bool
	others   int64 // memory of other agents' items, at the last look
	leaveBy  time.Duration
	identity api.Sync
	said     api.Sync // its latest sync
}

// simLimits are the core's, with waits that fit short leases.
func simLimits() core.Limits {
	l := core.DefaultLimits()
	l.Hold, l.Overdue, l.BackOffMx = 4*time.Second, 3*time.Second, 2*time.Second
	l.Stress = core.Stress{SwapLimit: 10 << 20, ForeignCPU: true}
	return l
}

func newSimAgent(h *simHost) *simAgent {
	a := &simAgent{host: h, links: map[core.Key]*simLink{}, at: h.world.random.IntN(len(h.world.supervisors))}
	a.identity = api.Sync{
		Host: h.worker, MachineID: h.machine.id, BootID: h.boot(), StateID: h.disk.id, Incarnation: fmt.Sprintf("%s-agent%d", h.name, h.agents),
		Slots: h.slots, Cores: h.slots, Resources: map[string]int{simGPU: h.gpus}, Cluster: "/",
	}
	a.core = core.NewCore(a.identity, simLimits(), h.world.random.Uint64())
	return a
}

func (a *simAgent) do(d time.Duration, f func()) {
	a.host.do(d, func() {
		if !a.dead {
			f()
		}
	})
}

// start takes up what a former agent left, and then turns.
func (a *simAgent) start() {
	w := a.host.world
	w.note("%s: agent %d starts", a.host.name, a.host.agents)
	booted := core.Booted{Held: a.host.disk.term}
	found := map[core.Key]*core.Adopted{}
	for _, key := range sortedKeys(a.host.disk.intents) {
		in := a.host.disk.intents[key]
		if in.boot != a.host.boot() {
			delete(a.host.disk.intents, key)
			continue
		}
		l := newSimLink(a, key)
		if found[key] = l.adopt(in); found[key] != nil {
			a.links[key] = l
		}
	}
	a.do(w.between(0, 30*time.Millisecond), func() { a.adopt(booted, found) })
}

func (a *simAgent) adopt(booted core.Booted, found map[core.Key]*core.Adopted) {
	disk := a.host.disk
	running := map[api.AttemptID]bool{}
	ids := slices.SortedFunc(maps.Keys(disk.spool), compareSimAttempts)
	for _, key := range sortedKeys(found) {
		adopted := found[key]
		if adopted == nil {
			continue
		}
		if record, ended := disk.spool[adopted.Attempt]; adopted.State == "unknown" && ended && record.boot == a.host.boot() {
			adopted.State = "idle"
			a.links[key].ended, a.links[key].told = true, &simTold{done: true}
		}
		running[adopted.Attempt] = adopted.State != "idle" && adopted.State != "closing"
		booted.Instances = append(booted.Instances, *adopted)
		if running[adopted.Attempt] {
			a.host.world.some("running item taken up by a restarted agent")
		}
	}
	for _, id := range ids {
		record := disk.spool[id]
		switch {
		case record.boot != a.host.boot():
			delete(disk.spool, id)
		case !running[id]:
			booted.Finished = append(booted.Finished, record.finished)
			a.host.world.some("a result kept over a restart of the agent")
		}
	}
	a.do(a.host.world.between(0, 5*time.Millisecond), func() {
		a.look()
		a.post(booted)
		for _, key := range sortedKeys(a.links) {
			a.links[key].open()
		}
		a.awake = true
		a.stepSoon()
	})
}

func compareSimAttempts(a, b api.AttemptID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Number, b.Number))
}

// look tells the core of the host, now and then again.
func (a *simAgent) look() {
	a.post(a.memory())
	a.do(3*time.Second, a.look)
}

func (a *simAgent) post(ev core.Event) {
	if a.dead {
		return
	}
	a.events = append(a.events, ev)
	a.stepSoon()
}

func (a *simAgent) stepSoon() {
	if !a.awake || a.stepping || len(a.events) == 0 {
		return
	}
	a.stepping = true
	a.do(a.host.world.between(0, time.Millisecond), func() {
		a.stepping = false
		events := a.events
		a.events = nil
		if a.lookBetween(events); a.dead {
			return
		}
		for _, ev := range events {
			if a.step(ev); a.dead {
				return
			}
		}
		a.stepSoon()
	})
}

func (a *simAgent) step(ev core.Event) {
	a.host.world.detail("%s event %T %+v", a.host.name, ev, ev)
	if gone, ok := ev.(core.ShimGone); ok {
		delete(a.links, gone.Key)
	}
	for _, o := range a.core.Step(a.host.moment(), ev) {
		if !a.host.world.calm && a.host.world.chance(a.host.world.faults.dieInStep) {
			a.host.world.some("the agent died between two orders of a step")
			a.host.killAgent()
			a.host.startAgent(a.host.world.between(0, 3*time.Second))
			return
		}
		a.tell(o)
		a.carryOut(o)
	}
	if a.leaving && (a.core.Quiet() || a.host.world.now > a.leaveBy) {
		a.host.killAgent()
		a.host.startAgent(a.host.world.between(0, 3*time.Second))
		return
	}
	a.wake++
	wake := a.wake
	a.do(max(a.host.till(a.core.Wake()), time.Millisecond), func() {
		if a.wake == wake {
			a.post(core.Ticked{})
		}
	})
}

// tell puts the orders that change something into the story.
func (a *simAgent) tell(o core.Command) {
	switch o := o.(type) {
	case core.StartShim:
		a.host.world.note("%s order: start %s with %v", a.host.name, o.Key, o.Item.Desired.Attempt)
	case core.HandItem:
		a.host.world.note("%s order: hand %s %v", a.host.name, o.Key, o.Item.Desired.Attempt)
	case core.StopItem:
		a.host.world.note("%s order: stop %s %v", a.host.name, o.Key, o.Attempt)
	case core.CloseShim:
		a.host.world.note("%s order: close %s: %s", a.host.name, o.Key, o.Status)
	case core.AnswerProgram:
		a.host.world.note("%s order: answer %s: %s", a.host.name, o.Key, o.Status)
	}
}

func (a *simAgent) carryOut(o core.Command) {
	h := a.host
	switch o := o.(type) {
	case core.StartShim:
		l := newSimLink(a, o.Key)
		a.links[o.Key] = l
		l.open()
		l.take(o)
	case core.HandItem:
		a.toLink(o.Key, o)
	case core.StopItem:
		a.toLink(o.Key, o)
	case core.SuspendItem:
		a.toLink(o.Key, o)
	case core.CloseShim:
		a.toLink(o.Key, o)
	case core.AnswerProgram:
		a.toLink(o.Key, o)
	case core.WriteLease:
		if !h.world.chance(5) { // else the link is too busy for it
			a.toLink(o.Key, o)
		}
	case core.Forget:
		a.checkForgets(o.Attempt)
		if !a.folderGone {
			delete(h.disk.spool, o.Attempt)
		}
	case core.SaveTerm:
		if !h.full && !a.folderGone {
			if len(o.Record.Superseded) > len(h.disk.term.Superseded) {
				h.world.some("hosts went over to a copy")
			}
			h.disk.term = o.Record
		}
	case core.RefusedTerm:
		h.world.note("%s obeys no answer of epoch %d: %s", h.name, o.Epoch, o.Why)
		a.at = (a.at + 1) % len(h.world.supervisors)
	case core.SendSync:
		a.sync(o.Sync)
	case core.GiveUpSync:
		if o.Overdue {
			a.open = nil
			h.world.some("a silent supervisor was left for the next")
			a.at = (a.at + 1) % len(h.world.supervisors)
		}
	}
}

func (a *simAgent) toLink(key core.Key, o core.Command) {
	if l := a.links[key]; l != nil {
		l.take(o)
	}
}

// sync sends one to the supervisor in use; an unavailable one makes the agent try the next.
func (a *simAgent) sync(s api.Sync) {
	w, at := a.host.world, a.at
	a.calls++
	call := a.calls
	a.open = append(a.open[max(0, len(a.open)-core.OpenSyncs+1):], call)
	a.asked, a.said = s.Sequence, s
	w.detail("%s sends %s sync %d of %s: epoch %d, %v, ended %v", a.host.name, w.supervisors[at].name, s.Sequence, s.Incarnation, s.Epoch, s.Instances, s.Finished)
	to := w.supervisors[at]
	back := func(reply *api.SyncReply, err error) {
		w.network.send(to.name, a.host.name, func() {
			a.do(0, func() { a.hear(call, at, s.Sequence, reply, err) })
		})
	}
	w.network.send(a.host.name, to.name, func() {
		to.serve(func() { to.sync(s, back) }, func() { back(nil, errSimClosed) })
	})
}

// waits says whether the answer to its latest sync may still come.
func (a *simAgent) waits() bool { return len(a.open) > 0 && a.open[len(a.open)-1] == a.calls }

func (a *simAgent) hear(call uint64, at int, sequence uint64, reply *api.SyncReply, err error) {
	which := slices.Index(a.open, call)
	if which < 0 {
		return
	}
	newest := call == a.calls
	a.open = slices.Delete(a.open, which, which+1)
	if err != nil && !newest { // what becomes of the later one counts
		return
	}
	a.host.world.detail("%s hears on sync %d: %v %v", a.host.name, sequence, reply, err)
	if err == nil {
		if !newest {
			a.host.world.some("an answer came after a later sync was sent")
		}
		if !a.host.isTwin() {
			a.host.world.heard(a.host.worker)
		}
		a.post(core.Answered{Sequence: sequence, Reply: *reply})
		return
	}
	var refusal *api.Error
	code := ""
	if errors.As(err, &refusal) {
		code = refusal.Code
	}
	if refusal != nil && refusal.Kind == api.KindUnavailable && a.at == at {
		a.at = (at + 1) % len(a.host.world.supervisors)
	}
	a.post(core.Unanswered{Sequence: sequence, Code: code})
}

// leave stops all items and then the agent, as qb worker -stop-items does.
func (a *simAgent) leave() {
	a.host.world.note("%s: the worker is stopped with its items", a.host.name)
	a.leaving, a.leaveBy = true, a.host.world.now+15*time.Second
	a.post(core.Closing{Reason: "the worker was stopped"})
}

// checkForgets: a host forgets the end of an attempt only when the rows have it, or have given the attempt up (S33).
func (a *simAgent) checkForgets(id api.AttemptID) {
	w := a.host.world
	row := w.rows.attempt(truthID(id))
	if row == nil || !row.State.Live() || row.Boot != a.host.boot() || row.StateID != a.host.disk.id {
		return
	}
	w.fail("S33: %s forgets the end of %v, which is %s in the rows", a.host.name, id, row.State)
}
