package sim

import (
	"fmt"
	"time"

	"qb/api"
	"qb/worker/core"
)

// simHost is a machine: its power, its boot-time clock, its disk, and the processes on it, which are one
// agent and one shim an instance. They die separately.
type simHost struct {
	world     *simWorld
	name      string          // of the machine's model, in the story and on the network
	worker    string          // worker_name, which the rows name
	names     map[string]bool // every worker_name that it has had
	slots     int
	gpus      int
	machine   *simMachine
	reserve   int64 // worker_memory_reserve
	offers    int64 // worker_memory, 0: all
	boots     int
	on        bool
	scrapped  bool // gone for good
	suspended bool
	held      []func() // what a suspended host does when it resumes
	bootedAt  time.Duration
	rate      float64 // of its clock against true time
	agents    int     // that ever started
	agent     *simAgent
	shims     map[core.Key]*simShim // with their locks; one a key
	orphans   []*simShim            // whose folder was removed under them
	disk      *simDisk
	full      bool
	broken    bool                     // every item that starts here fails at once
	refusedAt time.Duration            // for want of memory; the farm then waits for it
	couldNot  bool                     // start an item once; the farm then spares it for a while
	closed    map[string]time.Duration // to an owner whose items failed there, until then
}

// simDisk is the agent's state folder.
type simDisk struct {
	id      string
	term    core.TermRecord
	intents map[core.Key]*simIntent
	spool   map[api.AttemptID]simRecord
	logs    map[api.AttemptID]bool
}

// simIntent is an instance's folder: the intent and what the shim says of itself in it.
type simIntent struct {
	key   core.Key
	first api.AttemptID
	boot  string

	now   api.AttemptID // zero until the shim has an order
	ended bool
}

type simRecord struct {
	boot     string
	finished api.Finished
}

func newSimHost(w *simWorld, n int) *simHost {
	h := &simHost{world: w, name: fmt.Sprintf("h%d", n), worker: fmt.Sprintf("h%d", n), names: map[string]bool{fmt.Sprintf("h%d", n): true}, slots: 1 + w.random.IntN(4), shims: map[core.Key]*simShim{}, closed: map[string]time.Duration{}}
	h.gpus = max(0, w.random.IntN(4)-1)
	h.rate = 1 + (w.random.Float64()-0.5)/100
	h.newDisk()
	return h
}

func (h *simHost) newDisk() {
	h.disk = &simDisk{
		id:      fmt.Sprintf("%s-state%d", h.name, h.world.random.Uint32()),
		intents: map[core.Key]*simIntent{}, spool: map[api.AttemptID]simRecord{}, logs: map[api.AttemptID]bool{},
	}
}

func (h *simHost) boot() string { return fmt.Sprintf("%s-boot%d", h.machine.name, h.boots) }

// moment is the host's boot-time clock, which goes on while it is suspended.
func (h *simHost) moment() core.Moment {
	return time.Second + time.Duration(float64(h.world.now-h.bootedAt)*h.rate)
}

// till is the true time until a moment.
func (h *simHost) till(m core.Moment) time.Duration {
	return max(0, time.Duration(float64(m-h.moment())/h.rate)+time.Microsecond)
}

// lag is the true time by which the host's clock is late when it says that d is over, 0 if it is early.
func (h *simHost) lag(d time.Duration) time.Duration {
	return max(0, time.Duration(float64(d)/h.rate)-d)
}

// do does something later on this boot; a suspended host does it when it resumes.
func (h *simHost) do(d time.Duration, f func()) {
	boot := h.boots
	var run func()
	run = func() {
		switch {
		case !h.on || h.boots != boot:
		case h.suspended:
			h.held = append(h.held, run)
		default:
			f()
		}
	}
	h.world.after(d, run)
}

func (h *simHost) powerOn() {
	if h.on || h.scrapped {
		return
	}
	h.boots++
	h.on, h.suspended, h.held, h.bootedAt = true, false, nil, h.world.now
	h.world.note("%s boots", h.name)
	h.startAgent(h.world.between(0, time.Second))
}

// powerOff ends every process at once.
func (h *simHost) powerOff() {
	if !h.on {
		return
	}
	h.world.note("%s loses power", h.name)
	h.killAgent()
	for _, s := range h.everyShim() {
		s.vanish()
	}
	h.on, h.suspended, h.held = false, false, nil
	h.shims, h.orphans = map[core.Key]*simShim{}, nil
}

// everyShim lists the living shims in an order that does not depend on the map's.
func (h *simHost) everyShim() []*simShim {
	var list []*simShim
	for _, key := range sortedKeys(h.shims) {
		if h.shims[key].alive {
			list = append(list, h.shims[key])
		}
	}
	for _, s := range h.orphans {
		if s.alive {
			list = append(list, s)
		}
	}
	return list
}

func (h *simHost) suspend() {
	if !h.on || h.suspended {
		return
	}
	h.world.note("%s is suspended", h.name)
	h.suspended = true
	for _, s := range h.everyShim() {
		s.settle()
	}
}

// resume lets the shims look at their leases first, for their timers ring at once.
func (h *simHost) resume() {
	if !h.on || !h.suspended {
		return
	}
	h.world.note("%s resumes", h.name)
	h.suspended = false
	for _, s := range h.everyShim() {
		s.checkLease()
		s.settle()
	}
	held := h.held
	h.held = nil
	for _, f := range held {
		f()
	}
}

// wipe removes the state folder. The agent sees it and ends; another one makes a new folder.
func (h *simHost) wipe() {
	h.world.note("%s: the state folder is removed", h.name)
	h.world.some("wiped state folder")
	for _, s := range h.everyShim() {
		s.folderGone = true
		h.orphans = append(h.orphans, s)
	}
	h.shims = map[core.Key]*simShim{}
	h.newDisk()
	if h.agent != nil {
		h.agent.folderGone = true
		agent := h.agent
		h.do(h.world.between(0, 2*time.Second), func() {
			if h.agent == agent {
				h.killAgent()
				h.startAgent(h.world.between(0, 2*time.Second))
			}
		})
	}
}

func (h *simHost) startAgent(after time.Duration) {
	h.do(after, func() {
		if h.agent == nil {
			h.agents++
			h.agent = newSimAgent(h)
			h.agent.start()
		}
	})
}

func (h *simHost) killAgent() {
	if h.agent == nil {
		return
	}
	h.world.note("%s: the agent is killed", h.name)
	h.agent.dead = true
	h.world.buried[h.agent.identity.Incarnation] = true
	for _, key := range sortedKeys(h.agent.links) {
		h.agent.links[key].hangUp()
	}
	h.agent = nil
}
