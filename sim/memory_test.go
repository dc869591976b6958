package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
	"qb/worker/core"
)

const (
	simMB = int64(1) << 20
	simGB = int64(1) << 30
)

// simMachine is the memory of one or several hosts: agents on one machine share it and see one boot.
// What the farm's items do not have of it others use, at least so much and at most so much.
type simMachine struct {
	world       *simWorld
	name        string
	id          string // what its agents say; a clone says its original's
	hosts       []*simHost
	total       int64
	least, most int64
	foreign     int64
	runs        []*simRun                      // that have memory
	promised    map[facts.AttemptID]simPromise // of live attempts, by the rows
	profile     map[*simRun]simResident
}

// simPromise is what an attempt's row says of its memory.
type simPromise struct {
	bytes int64
	boot  string
	host  *simHost
	epoch int64
}

// simResident is how much a process takes and how: all at once, little by little, or less after a while.
type simResident struct {
	bytes int64
	kind  uint64
	began time.Duration
}

// drawMemory gives each host its memory; some share a machine with the one before.
func (w *simWorld) drawMemory() {
	units := func(most int) int64 { return 256 * simMB * int64(w.random.IntN(most+1)) }
	var m *simMachine
	for _, h := range w.hosts {
		if m == nil || !w.chance(250) {
			m = &simMachine{world: w, name: h.name, id: h.name, total: 4*simGB + units(16), least: units(4),
				promised: map[facts.AttemptID]simPromise{}, profile: map[*simRun]simResident{}}
			m.most = m.least
			if w.chance(500) {
				m.most += units(8)
			}
			m.foreign = m.least
			m.wander()
		} else {
			w.some("two agents share a machine")
		}
		m.hosts = append(m.hosts, h)
		h.machine, h.reserve = m, units(2)
		if w.chance(250) {
			h.offers = 5*simGB/2 + units(2)
		}
	}
}

func drawMemoryPolicy(w *simWorld) items.MemoryPolicy {
	return items.MemoryPolicy{
		Default: simPick(w, []int64{0, 512 * simMB, 2 * simGB}), Placement: simPick(w, []string{"best_fit", "spread", "pack"}),
		Quantile: simPick(w, []float64{1, 1, 0.95}), Margin: 1.1, Trim: w.chance(500),
	}
}

// wander lets others use more and less of it, until calm returns.
func (m *simMachine) wander() {
	w := m.world
	w.after(w.between(time.Second, 20*time.Second), func() {
		if w.calm {
			m.foreign = m.least
			return
		}
		if m.most > m.least {
			m.foreign = m.least + w.random.Int64N(m.most-m.least+1)
		}
		m.wander()
	})
}

// offer is what the host has for the farm while others use the least.
func (h *simHost) offer() int64 {
	bytes := h.machine.total - h.machine.least - h.reserve
	if h.offers > 0 {
		bytes = min(bytes, h.offers)
	}
	return bytes
}

// take gives a process its memory; what it will have depends on its item alone.
func (m *simMachine) take(run *simRun) {
	draw := rand.New(rand.NewPCG(m.world.seed, uint64(run.id.Job)<<20|uint64(run.id.Item)))
	m.profile[run] = simResident{m.world.clients.itemMemory(run.id.Job, draw), draw.Uint64(), m.world.now}
	m.runs = append(m.runs, run)
	m.press()
	m.world.after(3*time.Second, m.press)
}

// itemMemory is at most 2 GB, about as much as the job's other items have.
func (c *simClients) itemMemory(job facts.JobID, draw *rand.Rand) int64 {
	base := 64*simMB + int64(rand.New(rand.NewPCG(c.world.seed, uint64(job))).Uint64N(uint64(960*simMB)))
	return base + draw.Int64N(base)
}

// resident is what a process has now, and the most it has had.
func (m *simMachine) resident(run *simRun) (now, peak int64) {
	p := m.profile[run]
	age := m.world.now - p.began
	now, peak = p.bytes, p.bytes
	switch {
	case p.kind%3 == 1 && age < time.Second:
		now, peak = now/4, peak/4
	case p.kind%3 == 1 && age < 3*time.Second:
		now, peak = now/2, peak/2
	case p.kind%3 == 2 && age > 2*time.Second:
		now /= 2
	}
	if run.ended {
		now = 0
	}
	return now, peak
}

// used is what the machine's processes have, of one host or of all (nil).
func (m *simMachine) used(of *simHost) (sum int64) {
	m.runs = slices.DeleteFunc(m.runs, func(run *simRun) bool { return run.ended })
	for _, run := range m.runs {
		if of == nil || run.on == of {
			now, _ := m.resident(run)
			sum += now
		}
	}
	for _, h := range m.hosts {
		for _, s := range h.everyShim() {
			if (of == nil || h == of) && s.alive && s.program && (s.item == nil || s.item.exited || s.item.run == nil) {
				sum += s.keeps
			}
		}
	}
	return sum
}

// press is the kernel: when nothing is left, the largest process goes.
func (m *simMachine) press() {
	for m.total-m.foreign-m.used(nil) < 0 {
		var largest *simProcess
		var most int64
		var on *simShim
		for _, h := range m.hosts {
			for _, s := range h.everyShim() {
				if s.item == nil || s.item.run == nil || s.item.run.ended || s.item.killing {
					continue
				}
				if now, _ := m.resident(s.item.run); now > most {
					largest, most, on = s.item, now, s
				}
			}
		}
		if largest == nil {
			return
		}
		m.world.note("%s: the kernel kills %v, which has %d MB", on.host.name, largest.attempt, most/simMB)
		m.world.some("the kernel killed for memory")
		largest.outcome, largest.reason = "memory", "the kernel killed the item"
		on.ended(largest, true)
	}
}

// memory is a regular look at the host's memory.
func (a *simAgent) memory() core.HostMeasured {
	h, m := a.host, a.host.machine
	refusing := ""
	if h.full {
		refusing = "the disk is full"
	}
	a.others = m.used(nil) - m.used(h)
	look := core.HostMeasured{Memory: a.available(), Others: a.others, Ended: a.left(nil), Refusing: refusing}
	look.Busy, look.Swap = h.stress()
	return look
}

// stress is what people at the machine do now and then to its processors and its swap, until calm returns. It draws
// nothing, so that the rest of a story is what it would be without.
func (h *simHost) stress() (busy float64, swap api.SyncSwap) {
	if h.world.calm || h.world.clients.verbs.on {
		return 0, swap
	}
	name := int(h.name[len(h.name)-1])
	switch quarter := int(h.world.now / (15 * time.Second)); (5*quarter + 3*name) % 8 {
	case 0:
		busy = float64(h.slots)
	case 4:
		swap = api.SyncSwap{Total: 8 << 30, Used: 4 << 30, Rate: 100 << 20}
	}
	return busy, swap
}

// left adds the instances whose ends the core does not know yet.
func (a *simAgent) left(keys []core.Key) []core.Key {
	for _, key := range sortedKeys(a.links) {
		if l := a.links[key]; l.ended && !l.loaded && !l.told.done && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (a *simAgent) available() api.SyncMemory {
	h, m := a.host, a.host.machine
	return api.SyncMemory{Total: m.total, Available: max(0, m.total-m.foreign-m.used(nil)), Reserve: h.reserve, Cap: h.offers}
}

// lookBetween looks before ends, and answers that may start something, are passed to the core, as the agent does.
func (a *simAgent) lookBetween(events []core.Event) {
	look := core.HostMeasured{Others: a.others, Between: true}
	for _, ev := range events {
		switch ev := ev.(type) {
		case core.ItemEnded:
			if !ev.Finished.Loaded {
				look.Ended = append(look.Ended, ev.Key)
			}
		case core.Answered:
			if len(ev.Reply.Instances) == 0 {
				continue
			}
		default:
			continue
		}
		look.Memory = a.available()
	}
	if look.Memory.Total > 0 {
		look.Ended = a.left(look.Ended)
		a.step(look)
	}
}

// promise takes in a started attempt's row: never is more promised on a machine, or of one host's part, than there is
// for the farm even when others use the least. As with slots, a host is a row: a worker whose state folder was wiped
// and that has another name is another host beside the former one, which has its part until its attempts are given up.
func (r *simRows) promise(a facts.AttemptFacts) {
	h := r.world.holder(&a)
	m := h.machine
	m.promised[a.AttemptID] = simPromise{a.Memory, a.Boot, h, r.epoch}
	shared, own, inherited, reserve := int64(0), int64(0), int64(0), m.total
	for _, o := range m.hosts {
		reserve = min(reserve, o.reserve)
	}
	for id, p := range m.promised {
		run := r.world.truth.attempts[id]
		if over := run != nil && run.ended; p.boot == h.boot() && !over { // what has ended takes no more

			shared += p.bytes
			if id == a.AttemptID || r.attempt(id).Host == a.Host {
				own += p.bytes
			}
			if p.epoch < r.epoch {
				inherited += p.bytes
			}
		}
	}
	for _, o := range m.hosts {
		for _, b := range r.loadedOn(o) {
			if shared += b.Memory; o == h {
				own += b.Memory
			}
		}
	}
	room := m.total - m.least - reserve
	if shared > room {
		r.world.fail("S13: %d MB are promised on machine %s, which has %d MB for the farm", shared/simMB, m.name, room/simMB)
	}
	if own > h.offer() {
		r.world.fail("S13: %d MB are promised on %s, which offers %d MB", own/simMB, h.name, h.offer()/simMB)
	}
	if a.Memory <= 0 {
		return
	}
	r.world.some("memory promised")
	if inherited > 0 {
		r.world.some("memory promised beside a promise of an earlier term")
	}
	if room-shared < a.Memory || h.offer()-own < a.Memory {
		r.world.some("the last memory promised")
	}
}

// unpromise takes in an ended attempt's row. An item is given up for want of memory only when it had nearly
// all that the smallest host has.
func (r *simRows) unpromise(a *facts.AttemptFacts, e facts.EndAttempt) {
	w := r.world
	delete(w.holder(a).machine.promised, e.ID)
	if !forMemory(e) {
		return
	}
	if e.State == facts.Lost {
		w.some("a start that no longer fits refused")
		w.holder(a).refusedAt = w.now
		return
	}
	w.some("an item ran out of memory")
	least := w.hosts[0].offer()
	for _, h := range w.hosts {
		least = min(least, h.offer())
	}
	if e.Again == facts.Never && max(a.Memory, e.Peak) < least/2 {
		w.fail("S13: %v is given up for memory with %d MB, and every host offers %d MB", e.ID, max(a.Memory, e.Peak)/simMB, least/simMB)
	}
}

// room is what the host may still promise, in truth.
func (h *simHost) room() int64 {
	m := h.machine
	shared, own := m.total-m.foreign-h.reserve, h.offer()
	for id, p := range m.promised {
		if p.boot != h.boot() {
			continue
		}
		taken := p.bytes
		if run := m.world.truth.attempts[id]; run != nil {
			now, _ := m.resident(run)
			taken = max(taken, now)
		}
		if shared -= taken; p.host == h {
			own -= taken
		}
	}
	return min(shared, own)
}

// forMemory says whether an attempt ended for want of memory, or of a licence, which charges its item nothing.
func forMemory(e facts.EndAttempt) bool {
	return e.Reason.Uncharged() || e.Reason == facts.ReasonMemoryUnavailable
}
