package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/why/explain"
)

// How long the world may take, once nothing fails any more.
const (
	simHealed  = 40 * time.Second  // for leases to lapse and a leader to be found
	simIdle    = 10 * time.Second  // a slot may stay free while an item could take it
	simRefused = 6 * time.Second   // the farm's wait for memory, 5 s, and its next plan
	simShared  = 10 * time.Second  // longer, if agents share a machine; see idleFor
	simConverg = 300 * time.Second // for all that is left to run
	simClaim   = 32 * time.Second  // for a host's name, if the host was not heard in the term
	simClosed  = 10 * time.Minute  // a host to an owner whose items fail there
	simLongest = 35 * time.Second  // of an item: see fate
)

// calmDown ends all trouble; then everything that may run must run to its end, in bounded time.
func (w *simWorld) calmDown() {
	w.endFaults()
	began, idle := w.now, w.now
	for w.failure == "" {
		w.run(w.now + time.Second)
		if since := w.now - began; since%(5*time.Second) == 0 {
			w.clients.letGo(since > simHealed)
		}
		if w.now >= began+simFound+simClaim {
			w.checkBuried()
		}
		if w.now >= began+simHealed {
			w.checkStopped(began)
			w.checkGone(began)
			w.checkStanding(began)
			w.checkAlone()
			w.rows.checkChildren()
			if t := w.leader(); t != nil {
				t.checkReasons()
				t.checkDelays()
			}
		}
		switch {
		case w.now < began+simHealed:
			idle = w.now
		case w.leader() == nil:
			w.fail("L4: nobody leads %s after the last fault", w.now-began)
		case !w.wastes():
			idle = w.now
		case w.now-idle > w.idleFor():
			w.fail("L1: a slot stays free for %s while an item could take it: %s", w.now-idle, w.waste())
		}
		if w.failure == "" && w.converged() == "" {
			w.last()
			return
		}
		if w.now-began > w.patience() {
			w.fail("L4: %s after the last fault %s", w.now-began, w.converged())
		}
	}
}

// idleFor is how long a slot may stay free. What an agent takes for others' memory may hold what another agent's
// item took or left since the last search for those, and counts for two regular looks; two such items in a row, and
// the farm waits for memory that is there.
func (w *simWorld) idleFor() time.Duration {
	for _, h := range w.hosts {
		if len(h.machine.hosts) > 1 && !h.scrapped {
			return simIdle + simShared
		}
	}
	return simIdle
}

// patience is how long all that is left may take: the longer, the fewer of the slots are left to run it, and the more
// items must run one after another for want of a licence or of a GPU. Jobs that want the one may have to wait for those
// that want the other.
func (w *simWorld) patience() time.Duration {
	all, left, gpus := 0, 0, 0
	for _, h := range w.hosts {
		all += h.slots
		if !h.scrapped {
			left += h.slots
			gpus += min(h.gpus, h.slots)
		}
	}
	inTurn := w.boundItems() + w.inTurn(simSeat, int(w.policy.Resources[simSeat])) + w.inTurn(simLicence, int(w.policy.Resources[simLicence])) + w.inTurn(simGPU, gpus)
	return max(simConverg*time.Duration(all)/time.Duration(left), inTurn)
}

// inTurn is how long the items that take one of a resource need, if there are so many of it; if there is none, they
// do not run.
func (w *simWorld) inTurn(resource string, many int) time.Duration {
	items := 0
	for _, j := range w.rows.jobs {
		if j.facts.Reservations == resource+"=1" {
			items += j.items
		}
	}
	return simLongest * time.Duration(items) / time.Duration(max(1, many))
}

// checkBuried: what ran on a former boot is resolved as soon as the host is heard again (L2), for which its
// agent has the time that a boot and the search for the leader take: a host may come back at any time.
func (w *simWorld) checkBuried() {
	for id := facts.JobID(1); w.rows.jobs[id] != nil; id++ {
		j := w.rows.jobs[id]
		for n := range j.items {
			list := j.attempts[facts.ItemNo(n)]
			if len(list) == 0 || !list[len(list)-1].State.Live() {
				continue
			}
			a := list[len(list)-1]
			if h := w.holder(&a); h.on && a.Boot != h.boot() && w.now > h.bootedAt+simFound+simClaim+w.busy.since(h.bootedAt) {
				w.fail("L2: %v is still %s, though %s was restarted %s ago", a.AttemptID, a.State, h.name, w.now-h.bootedAt)
			}
		}
	}
}

// leader is the one who leads and is ready for it.
func (w *simWorld) leader() *simTerm {
	var found *simTerm
	for _, s := range w.supervisors {
		if s.alive && !s.frozen && s.term != nil && s.term.farm != nil && s.side == w.side && w.database.leads == s.term.epoch {
			found = s.term
		}
	}
	return found
}

// letGo unlocks and unblocks whatever people, or the farm for them, have left held.
func (c *simClients) letGo(healed bool) {
	w := c.world
	if len(c.open()) > 0 {
		return
	}
	for _, h := range w.hosts {
		if healed && w.rows.waits(facts.HostID(h.worker)) && w.empty(h) {
			c.confirmDead(h)
		}
		if w.rows.locks[facts.HostID(h.worker)] {
			c.lock(h, false)
		}
	}
	c.accounts.letGo(w)
	for id := facts.JobID(1); w.rows.jobs[id] != nil; id++ {
		j := w.rows.jobs[id]
		if healed && !j.facts.State.Final() && !w.servedAtAll(j.facts) {
			c.order(message.JobAction{Job: id, Action: facts.Kill, By: "op"}, j.items)
			continue
		}
		if healed && w.startsLater(id) { // by a clock that was set back
			e := message.JobModified{Job: id, By: "op"}
			e.Change.Set("start", "")
			c.change(id, e)
		}
		if healed && w.rows.suspended(j) {
			c.resume(j)
		}
		held := slices.ContainsFunc(j.marks, func(m facts.Mark) bool { return m.Kind == facts.MarkBlocked })
		if c.chains.on && !held && j.facts.BlockedBy == "" && (j.facts.State.Final() || !healed || !w.rows.hopeless(j)) {
			continue
		}
		if j.facts.State == facts.Blocked || (held || len(j.facts.WaitFor) > 0) && !j.facts.State.Final() {
			c.order(message.JobAction{Job: id, Action: facts.Unblock, By: "op"}, j.items)
		}
	}
}

// startsLater says whether the leader keeps the job from starting before a time that was asked for.
func (w *simWorld) startsLater(id facts.JobID) bool {
	t := w.leader()
	return t != nil && slices.ContainsFunc(t.farm.View(t.now()).Jobs, func(j *facts.JobView) bool { return j.ID == id && j.Code == facts.ReasonStartsLater })
}

// waits says whether something that outlived KILL is still live on the host, which then waits for a person.
func (r *simRows) waits(host facts.HostID) bool {
	for id := range r.outlived {
		if a := r.attempt(id); a.State.Live() && a.Host == host {
			return true
		}
	}
	return false
}

// empty says that nothing of the farm runs on the host, as a person sees who looks there.
func (w *simWorld) empty(h *simHost) bool {
	for _, s := range h.everyShim() {
		if s.item != nil {
			return false
		}
	}
	return true
}

// servedAtAll says whether any host that is there could run the job, before the farm tries a host again that could not.
func (w *simWorld) servedAtAll(given facts.JobFacts) bool {
	t := w.leader()
	if t == nil || given.Requirements != "" {
		return t == nil
	}
	need := int64(0)
	for _, j := range t.farm.View(t.now()).Jobs {
		if j.ID == given.ID {
			need = j.Memory.Need
		}
	}
	return slices.ContainsFunc(w.hosts, func(h *simHost) bool {
		return h.on && h.serves(given.User) && h.offer() >= need && (h.gpus > 0 || given.Reservations != simGPU+"=1")
	})
}

// serves says whether the farm gives the owner's items to the host, or spares it for a while.
func (h *simHost) serves(owner string) bool { return !h.couldNot && h.world.now >= h.closed[owner] }

// close takes in that a host is closed to an owner all of whose items fail there.
func (r *simRows) close(e facts.EventFacts) {
	var items int
	var owner string
	if n, _ := fmt.Sscanf(e.Cause, "%d items of %s failed on it", &items, &owner); n == 2 {
		r.world.host(string(e.Host)).closed[owner] = r.world.now + simClosed
	}
}

// hasRest says whether the host, and the farm, have what the job needs beside slots and memory.
func (w *simWorld) hasRest(h *simHost, given facts.JobFacts) bool {
	switch {
	case given.Requirements != "", len(given.Hosts) > 0 && !slices.Contains(given.Hosts, h.worker):
		return false
	case given.Reservations == simGPU+"=1":
		gpus, _ := w.rows.resources(facts.HostID(h.worker))
		return gpus < int64(h.gpus)
	case given.Reservations == simLicence+"=1":
		_, licences := w.rows.resources(facts.HostID(h.worker))
		return licences < w.allowedLicences()
	case given.Reservations == simSeat+"=1":
		return w.rows.hasSeat(facts.HostID(h.worker), given.User)
	}
	return true
}

func (w *simWorld) wastes() bool { return w.waste() != "" }

// waste names a job that could have a free slot, "" if none.
func (w *simWorld) waste() string {
	view := w.leader().farm.View(w.leader().now())
	var free []*simHost
	for _, v := range view.Hosts {
		h := w.host(string(v.ID))
		if spared := h.refusedAt > 0 && w.now < h.refusedAt+simRefused; v.State == "up" && v.Used < v.Slots-v.Away && !spared {
			free = append(free, h)
		}
	}
	for _, j := range view.Jobs {
		at := slices.IndexFunc(free, func(h *simHost) bool {
			return h.serves(j.User) && h.room() >= max(1, j.Memory.Need) && w.hasRest(h, j.JobFacts)
		})
		if row := w.rows.jobs[j.ID]; row != nil && w.rows.full(row) {
			continue
		}
		if at >= 0 && j.State == facts.Active && j.Items.Pending > 0 && j.Code != facts.ReasonRetryDelay && j.Code != facts.ReasonStartsLater && j.Draining == 0 && j.Primary+j.Secondary < j.MaxCPUsEffective {
			e, _ := w.leader().farm.Explain(w.leader().now(), j.ID)
			if slices.ContainsFunc(e.Facts, func(f explain.Fact) bool { return f.Code == facts.ReasonFailedThere }) {
				continue
			}
			return fmt.Sprintf("job %d on host %s, %s %+v", j.ID, free[at].name, e.Reason, e.Facts)
		}
	}
	return ""
}

func (w *simWorld) host(name string) *simHost {
	return w.hosts[slices.IndexFunc(w.hosts, func(h *simHost) bool { return h.names[name] })]
}

// converged is "" when all is at rest, else what is not.
func (w *simWorld) converged() string {
	t := w.leader()
	switch {
	case t == nil:
		return "nobody leads"
	case len(w.clients.open()) > 0:
		return "the call still waits: " + w.clients.open()[0]
	case w.rows.live > 0:
		return "attempts are still live: " + w.rows.anyLive()
	case len(w.truth.running) > 0:
		return "processes still run"
	case t.inFlight || len(t.farm.Take(t.now()).Writes) > 0:
		return "the farm still writes"
	}
	for id := facts.JobID(1); w.rows.jobs[id] != nil; id++ {
		if j := w.rows.jobs[id]; !j.facts.State.Final() {
			return fmt.Sprintf("job %d is %s: %s", id, j.facts.State, t.why(id))
		}
	}
	for _, h := range w.hosts {
		if what := h.rest(); what != "" && h.on {
			return h.name + " " + what
		}
	}
	return ""
}

// why is what the farm says of an unfinished job.
func (t *simTerm) why(id facts.JobID) string {
	view := t.farm.View(t.now())
	text := ""
	for _, j := range view.Jobs {
		if j.ID == id {
			text = fmt.Sprintf("%s; %+v", j.Reason, j.Items)
		}
	}
	for _, h := range view.Hosts {
		text += fmt.Sprintf("; %s %s %d/%d", h.ID, h.State, h.Used, h.Slots)
	}
	return text
}

// rest is "" when nothing is left on the host.
func (h *simHost) rest() string {
	switch {
	case h.agent == nil || !h.agent.awake:
		return "has no agent"
	case len(h.everyShim()) > 0:
		return "has shims: " + h.everyShim()[0].intent.key.String() + " " + h.everyShim()[0].state()
	case !h.agent.core.Quiet():
		return "is not quiet"
	case len(h.disk.spool) > 0:
		return fmt.Sprintf("keeps a record: %v", slices.SortedFunc(maps.Keys(h.disk.spool), compareSimAttempts))
	case len(h.disk.intents) > 0:
		return fmt.Sprintf("keeps an intent: %v", sortedKeys(h.disk.intents))
	}
	return ""
}

// last looks at the end of all: every item has come to its end for a reason, and what is counted agrees
// with what is written.
func (w *simWorld) last() {
	w.leader().compare()
	for token, id := range w.clients.asked {
		if w.rows.jobs[id] == nil {
			w.fail("S5: %s was acknowledged as job %d, which is not there", token, id)
		}
	}
	if len(w.rows.jobs) != len(w.clients.asked) {
		w.fail("S7: %d submissions made %d jobs", len(w.clients.asked), len(w.rows.jobs))
	}
	for id := facts.JobID(1); w.rows.jobs[id] != nil; id++ {
		j := w.rows.jobs[id]
		if len(j.orders) > 0 {
			w.fail("S15: %d orders on job %d are never carried out", len(j.orders), id)
		}
		for n := range j.items {
			w.lastOf(j, simItemID{id, facts.ItemNo(n)})
		}
	}
}

// lastOf looks at one item: done once, or failed, or killed because somebody said so (S5).
func (w *simWorld) lastOf(j *simJobRow, item simItemID) {
	done := 0
	list := j.attempts[item.item]
	for _, a := range list {
		if a.State == facts.Done {
			done++
		}
	}
	state := j.state(item.item)
	switch {
	case done > 1:
		w.fail("S4: item %v is done %d times", item, done)
	case state == agenda.Complete && done != 1 && !w.clients.completed[item] && !w.rows.late[item]:
		w.fail("S5: item %v is complete and done %d times", item, done)
	case state == agenda.Killed && !w.clients.killed[item]:
		w.fail("S5: item %v is killed, and nobody ordered it", item)
	case state != agenda.Complete && state != agenda.Failed && state != agenda.Killed:
		w.fail("S5: item %v is %s at the end", item, state)
	}
}

// state reads an item from its rows: an attempt that decides outweighs every mark.
func (j *simJobRow) state(n facts.ItemNo) agenda.State {
	list := j.attempts[n]
	if len(list) > 0 {
		switch a := list[len(list)-1]; {
		case a.State.Live():
			return agenda.Running
		case a.State == facts.Done:
			return agenda.Complete
		case a.State != facts.Superseded && a.Again == facts.Never && a.State == facts.Killed:
			return agenda.Killed
		case a.State != facts.Superseded && a.Again == facts.Never:
			return agenda.Failed
		}
	}
	for _, m := range j.marks {
		if m.Span().Has(int(n)) {
			return map[facts.MarkKind]agenda.State{facts.MarkKilled: agenda.Killed, facts.MarkBlocked: agenda.Blocked, facts.MarkComplete: agenda.Complete, facts.MarkFailed: agenda.Failed}[m.Kind]
		}
	}
	return agenda.Pending
}

// agree holds a farm that was just rebuilt against the rows.
func (r *simRows) agree(f *farm.Farm, now time.Time, what string) {
	if err := f.Check(); err != nil {
		r.world.fail("%s is broken: %v", what, err)
	}
	view := f.View(now)
	running, used := 0, map[facts.HostID]int{}
	for _, j := range view.Jobs {
		running += j.Items.Running
		row := r.jobs[j.ID]
		if row == nil {
			r.world.fail("%s knows job %d, which no row knows", what, j.ID)
			return
		}
		complete := 0
		for n := range row.items {
			if row.state(facts.ItemNo(n)) == agenda.Complete {
				complete++
			}
		}
		r.agreeOnWaiting(j, row)
		if complete != j.Items.Complete || row.items != j.Items.Total {
			r.world.fail("S5: %s counts %d of %d items of job %d as complete, the rows %d of %d", what, j.Items.Complete, j.Items.Total, j.ID, complete, row.items)
		}
	}
	for _, h := range view.Hosts {
		used[h.ID] = h.Used
		if loaded, _, _ := programs(h); h.Used != r.held[h.ID]+loaded {
			r.world.fail("S9: %s counts %d slots in use on %s, %d of them by programs, the rows %d", what, h.Used, h.ID, loaded,
				r.held[h.ID])
		}
	}
	if running != r.live {
		r.world.fail("S1: %s counts %d live attempts, the rows %d", what, running, r.live)
	}
}

// same holds the living farm against one rebuilt from its rows: an end of the term must change nothing.
func (r *simRows) same(live, rebuilt *message.View) {
	w := r.world
	for _, shown := range live.Jobs {
		was := *shown // it may be in other views
		at := slices.IndexFunc(rebuilt.Jobs, func(j *facts.JobView) bool { return j.ID == was.ID })
		if at < 0 {
			if !was.State.Final() {
				w.fail("S5: job %d is %s, and a new term would not know it", was.ID, was.State)
			}
			continue
		}
		is := *rebuilt.Jobs[at]
		w.sameOrders(&was, &is)
		if r.jobs[was.ID].facts.RetryDelay > 0 && slices.ContainsFunc(was.WaitFor, facts.Link.Each) {
			// an item whose pause is over may wait for others once more, which a new term sees in its first step
			was.Items.Pending, was.Items.Blocked = was.Items.Pending+was.Items.Blocked, 0
			is.Items.Pending, is.Items.Blocked = is.Items.Pending+is.Items.Blocked, 0
		}
		if was.Items != is.Items && !ordered(live.Jobs, &was) || was.State != is.State || was.Version != is.Version || was.Memory.LargestPeak != is.Memory.LargestPeak || !slices.Equal(was.WaitFor, is.WaitFor) {
			w.fail("S5: a new term would change job %d: %s %+v version %d %v, but %s %+v version %d %v", was.ID,
				was.State, was.Items, was.Version, was.WaitFor, is.State, is.Items, is.Version, is.WaitFor)
		}
	}
	r.checkWaiting(live)
	for _, was := range live.Hosts {
		at := slices.IndexFunc(rebuilt.Hosts, func(h *message.HostView) bool { return h.ID == was.ID })
		slots, memory, _ := programs(was)
		if at < 0 || rebuilt.Hosts[at].Used != was.Used-slots || rebuilt.Hosts[at].Promised != was.Promised-memory || rebuilt.Hosts[at].LockedBy != was.LockedBy {
			w.fail("S9: a new term would change host %s", was.ID)
		}
	}
}

// ordered says whether an order is being carried out on the job, or on one whose items it waits for: of items that a
// mark ended, and that ran before, the order takes a row each in the term that began it, and the next one knows at
// once.
func ordered(all []*facts.JobView, j *facts.JobView) bool {
	return len(j.Orders) > 0 || slices.ContainsFunc(all, func(o *facts.JobView) bool {
		return len(o.Orders) > 0 && slices.ContainsFunc(j.WaitFor, func(l facts.Link) bool { return l.Job == o.ID })
	})
}

// lose lets the farm do without a machine, for good or until long after the last fault.
func (m *simMachine) lose() {
	w := m.world
	for _, h := range m.hosts {
		h.powerOff()
	}
	if w.chance(300) {
		w.some("a host back long after the last fault")
		w.after(w.between(10*time.Second, 60*time.Second), func() {
			for _, h := range m.hosts {
				h.powerOn()
			}
		})
		return
	}
	w.note("machine %s is gone for good", m.name)
	w.some("a host gone for good")
	for _, h := range m.hosts {
		h.scrapped = true
	}
}

// anyLive names a live attempt.
func (r *simRows) anyLive() string {
	for id := facts.JobID(1); r.jobs[id] != nil; id++ {
		for n := range r.jobs[id].items {
			list := r.jobs[id].attempts[facts.ItemNo(n)]
			if len(list) > 0 && list[len(list)-1].State.Live() {
				a := list[len(list)-1]
				return fmt.Sprintf("%v is %s on %s", a.AttemptID, a.State, a.Host)
			}
		}
	}
	return "none"
}
