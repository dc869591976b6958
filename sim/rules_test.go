package sim

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"qb/supervisor/job/facts"
)

// What a change of the rows must keep to, whichever supervisor wrote it. Each rule has the number that reliability.md
// gives it; they are checked as the writes come, so that a story ends where it went wrong.

// checkPut: versions count up by one, and a submission makes one job (S7).
func (r *simRows) checkPut(given facts.JobFacts) {
	was := r.jobs[given.ID]
	switch {
	case was == nil && given.Version != 1, was != nil && given.Version != was.facts.Version+1:
		r.world.fail("S4: job %d is written as version %d, and the row before it: %v", given.ID, given.Version, was != nil)
	case was != nil:
		return
	}
	for _, id := range sortedIDs(r.jobs) {
		if r.jobs[id].facts.Submission == given.Submission {
			r.world.fail("S7: submission %s makes job %d, and made job %d before", given.Submission, given.ID, id)
		}
	}
}

// checkLive: only what has not ended is stopped, relabelled or ended: an attempt ends once (S4).
func (r *simRows) checkLive(id facts.AttemptID, what string) *facts.AttemptFacts {
	a := r.attempt(id)
	switch {
	case a == nil:
		r.world.fail("S4: %v is %s, and no row knows it", id, what)
	case !a.State.Live():
		r.world.fail("S4: %v is %s, and its row says %s", id, what, a.State)
	}
	return a
}

// checkEnd: what an ended attempt is reported as can be true (S14).
func (r *simRows) checkEnd(a *facts.AttemptFacts, e facts.EndAttempt) {
	w := r.world
	if e.From != a.State {
		w.fail("S4: %v ends from %s, and its row says %s", e.ID, e.From, a.State)
	}
	for name, x := range map[string]float64{"wall": e.Wall, "cpu": e.CPU, "peak": float64(e.Peak), "suspended": e.Suspended, "released": e.Released, "cpu charge": e.Charge.CPU, "memory charge": e.Charge.RAM} {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			w.fail("S14: %v has a %s of %v", e.ID, name, x)
		}
	}
	if lived := w.now - r.began[e.ID]; e.Wall > lived.Seconds()+0.001 {
		w.fail("S14: %v ran for %.3f s, and its row is %s old", e.ID, e.Wall, lived)
	}
	delete(r.stopped, e.ID)
}

// checkOrdered: what has ended runs again only by an order that the same transaction tells, with its giver,
// and that somebody gave (S4); or because the farm locks the host that failed it.
func (r *simRows) checkOrdered(job facts.JobID, writes []facts.Write) {
	if r.blackHole || r.jobs[job].reopening() {
		return
	}
	for _, w := range writes {
		e, ok := w.(facts.AddEvent)
		if !ok || e.Event.Job != job || e.Event.By == "" {
			continue
		}
		if action, ordered := strings.CutPrefix(e.Event.Type, "ordered-"); ordered && r.world.clients.gave[fmt.Sprintf("%s %d", action, job)] {
			return
		}
	}
	r.world.fail("S4: items of job %d run again, and no order of anybody is told with it", job)
}

// checkRoom: never are more slots, GPUs or licences given than there are, nor a GPU to two (S9). What programs without an
// item have counts as given.
func (r *simRows) checkRoom(a facts.AttemptFacts) {
	w := r.world
	if slots, known := r.slots[a.Host]; !known || r.held[a.Host] > slots {
		w.fail("S9: %d slots are held on %s, whose row has %d", r.held[a.Host], a.Host, slots)
	}
	if a.Holds[simGPU]+a.Holds[simLicence] == 0 {
		return
	}
	gpus, licences := r.resources(a.Host)
	devices, most := map[int]bool{}, w.holder(&a).gpus
	programs := r.loaded()
	for _, b := range programs {
		if licences += b.Holds[simLicence]; b.Host == a.Host {
			gpus += b.Holds[simGPU]
		}
	}
	for _, b := range append(programs, slices.Collect(r.everyLive())...) {
		for _, d := range b.Devices {
			if b.Host != a.Host {
				continue
			}
			if devices[d] || d >= most {
				w.fail("S9: GPU %d of %s is given to %v, and taken or not there", d, a.Host, b.AttemptID)
			}
			devices[d] = true
		}
	}
	if gpus > int64(most) || len(devices) != int(gpus) {
		w.fail("S9: %d GPUs are held on %s as %v, which has %d", gpus, a.Host, devices, most)
	}
	if licences > w.policy.Resources[simLicence] {
		w.fail("S9: %d licences are held, and the farm has %d", licences, w.policy.Resources[simLicence])
	}
	if a.Holds[simGPU] > 0 {
		w.some("a GPU given")
	}
	if licences > 0 && licences == w.policy.Resources[simLicence] {
		w.some("the last licence given")
	}
}

// everyRow are the attempts that have not ended, by their numbers.
func (r *simRows) everyRow() iter.Seq[*facts.AttemptFacts] {
	return func(yield func(*facts.AttemptFacts) bool) {
		for _, id := range sortedIDs(r.jobs) {
			for n := range r.jobs[id].items {
				if a := r.jobs[id].latest(facts.ItemNo(n)); a != nil && a.State.Live() && !yield(a) {
					return
				}
			}
		}
	}
}

// resources counts the GPUs held on a host and the licences held on the farm.
func (r *simRows) resources(host facts.HostID) (gpus, licences int64) {
	for a := range r.everyLive() {
		licences += a.Holds[simLicence]
		if a.Host == host {
			gpus += a.Holds[simGPU]
		}
	}
	return gpus, licences
}

// The resources of the world, beside slots and memory.
const (
	simGPU     = "host.gpus"
	simLicence = "license.sim"
)

// checkStop: the farm itself stops only what it may (S10): what a job has beyond its cpus, or, where that is
// allowed, what is in the way of a better priority.
func (r *simRows) checkStop(a *facts.AttemptFacts) {
	w := r.world
	switch a.Reason {
	case facts.ReasonKilled, facts.ReasonBlocked, facts.ReasonInterrupted, facts.ReasonMigrated, facts.ReasonHostLocked, facts.ReasonMarkedComplete, facts.ReasonMarkedFailed:
		return
	case facts.ReasonDoneBefore:
		r.checkDoneBefore(a)
		return
	case facts.ReasonRetired, facts.ReasonSentAway:
		w.fail("S26: %v is stopped, and its instance is to leave when it ends (%s)", a.AttemptID, a.Reason)
	case facts.ReasonRestored:
		if w.faults.putBack != "" {
			return
		}
	}
	j := r.jobs[a.Job]
	if better := a.Params.Job; a.Reason == facts.ReasonBetterPriority {
		w.some("a primary made way for a better priority")
		if w.policy.PrimaryPreempt != "aggressive" || !w.outranks(r.jobs[better].facts, j.facts) {
			w.fail("S10: %v of priority %d stops for job %d of priority %d, policy %s: %+v, %+v", a.AttemptID, j.facts.Priority, better, r.jobs[better].facts.Priority, w.policy.PrimaryPreempt, j.facts, r.jobs[better].facts)
		}
		return
	}
	w.some("a secondary gave its slot back")
	switch left := r.running(a.Job); {
	case w.policy.Share.Preempt != "aggressive":
		w.fail("S10: %v is stopped (%s), and the policy is %s", a.AttemptID, a.Cause, w.policy.Share.Preempt)
	case a.Kind != facts.Secondary:
		w.fail("S10: %v is stopped (%s), and is %s", a.AttemptID, a.Cause, a.Kind)
	case left < j.facts.CPUs && !r.mayBeIdle(j.facts):
		w.fail("S10: %v is stopped (%s), which leaves job %d with %d of its %d cpus", a.AttemptID, a.Cause, a.Job, left, j.facts.CPUs)
	}
}

// checkDoneBefore: what is stopped as an earlier attempt did its item is not, if none did (S30).
func (r *simRows) checkDoneBefore(a *facts.AttemptFacts) {
	r.world.some("the next attempt of an item was stopped for one that had done it")
	for n := range r.jobs[a.Job].attempts[a.Item] {
		before := &r.jobs[a.Job].attempts[a.Item][n]
		if run := r.world.truth.attempts[before.AttemptID]; before.Number < a.Number && before.State == facts.Lost && run != nil && run.done {
			return
		}
	}
	r.world.fail("S30: %v stops (%s), and no earlier attempt that was given up had done the item", a.AttemptID, a.Cause)
}

// checkLate: what counts late was done by an attempt that was given up, before another attempt began (S30).
func (r *simRows) checkLate(e facts.EventFacts) {
	r.late[simItemID{e.Job, e.Item}] = true
	var did *simRun
	last, all := -1, r.jobs[e.Job].attempts[e.Item]
	for n, a := range all { // several may have done it, one after another, each of which was given up
		if run := r.world.truth.attempts[a.AttemptID]; run != nil && run.done && a.State == facts.Lost {
			did, last = run, n
		}
	}
	for n, a := range all {
		run := r.world.truth.attempts[a.AttemptID]
		switch {
		case a.State == facts.Done:
			r.world.fail("S30: item %d of job %d counts late, and %v is done", e.Item, e.Job, a.AttemptID)
		case n <= last:
		case did != nil && !a.State.Live():
			r.world.fail("S30: %v counts late, and %v has ended since: %s", did.id, a.AttemptID, a.State)
		case did != nil && run != nil && run.began < did.over:
			r.world.fail("S30: %v counts late, and ended after %v began", did.id, a.AttemptID)
		}
	}
	if did == nil {
		r.world.fail("S30: item %d of job %d counts as done on %s, and no attempt that was given up had done it", e.Item, e.Job, e.Host)
	}
}

// running counts a job's attempts that are not stopping.
func (r *simRows) running(job facts.JobID) (n int) {
	for a := range r.everyLive() {
		if a.Job == job && a.State == facts.Running {
			n++
		}
	}
	return n
}

// latest is an item's latest attempt, nil if it has none.
func (j *simJobRow) latest(n facts.ItemNo) *facts.AttemptFacts {
	list := j.attempts[n]
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

// sortedIDs are the keys of the rows, which count from 1 without a gap.
func sortedIDs(jobs map[facts.JobID]*simJobRow) (ids []facts.JobID) {
	for id := facts.JobID(1); jobs[id] != nil; id++ {
		ids = append(ids, id)
	}
	return ids
}

// Bars of liveness, once nothing fails any more. A leader has to be found first, which takes its time.
const (
	simFound  = 20 * time.Second // for a leader, and for workers to find it
	simKilled = 5 * time.Second  // beyond the grace, for a stopped item to end
)

// checkStopped: what was ordered to end has ended in bounded time, unless it outlives KILL (L3).
func (w *simWorld) checkStopped(calm time.Duration) {
	for _, id := range slices.SortedFunc(maps.Keys(w.rows.stopped), compareAttempts) {
		run := w.truth.attempts[id]
		since := max(w.rows.stopped[id], calm+simHealed)
		if run == nil || run.ended || run.stuck || w.now-since <= w.policy.KillGrace+simKilled {
			continue
		}
		w.fail("L3: %v was told to end %s ago, and runs on %s", id, w.now-w.rows.stopped[id], run.on.name)
	}
}

func compareAttempts(a, b facts.AttemptID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Number, b.Number))
}

// checkGone: what ran on a host that is gone is given up after the execution lease, one further under the
// brake, except for what outlived KILL there, which waits for a person (L2).
func (w *simWorld) checkGone(calm time.Duration) {
	p := w.policy
	if w.now < calm+simFound+2*p.ExecutionLease+p.KillGrace+p.LeaseMargin+simFound {
		return
	}
	for a := range w.rows.everyLive() {
		if !w.holder(a).on && !w.rows.outlived[a.AttemptID] {
			w.fail("L2: %v is %s, though %s has been gone for %s", a.AttemptID, a.State, a.Host, w.now-calm)
		}
	}
}

// checkAlone: one supervisor leads, and no other believes that it does (L4).
func (w *simWorld) checkAlone() {
	var leading []string
	for _, s := range w.supervisors {
		if s.term != nil && s.term.farm != nil {
			leading = append(leading, s.name)
		}
	}
	if len(leading) > 1 {
		w.fail("L4: %v lead at the same time", leading)
	}
}
