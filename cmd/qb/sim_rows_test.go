package main

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm"
)

// simRows is what has been made durable, kept apart from the store by its checks: each write is held
// against what the rows said before and against what really runs.
type simRows struct {
	world *simWorld
	jobs  map[farm.JobID]*simJobRow
	held  map[farm.HostID]int // slots of live attempts
	live  int
	epoch int64
	locks map[farm.HostID]bool
	slots map[farm.HostID]int

	began    map[farm.AttemptID]time.Duration // when its row was made
	books    simBooks
	stopped  map[farm.AttemptID]time.Duration // of those that stop, since when
	outlived map[farm.AttemptID]bool          // KILL, as a worker told

	blackHole  bool            // the farm locks a host in this very transaction, or closes it to an owner, and gives its items back
	orderEpoch map[int64]int64 // in which an order was given

	unfreed map[[2]farm.JobID]time.Duration // since when a job waits, by itself and the other, for what has come true
}

type simJobRow struct {
	facts     farm.JobFacts
	items     int
	marks     []farm.Mark
	orders    []farm.OrderFacts // under way and waiting
	attempts  map[farm.ItemNo][]farm.AttemptFacts
	failures  map[farm.ItemNo]int // since a person last let the item run again
	preempted map[farm.ItemNo]int // for sharing's sake, since then
	retries   int                 // most that the job ever allowed
}

func newSimRows() *simRows {
	return &simRows{
		orderEpoch: map[int64]int64{},
		jobs:       map[farm.JobID]*simJobRow{}, held: map[farm.HostID]int{}, locks: map[farm.HostID]bool{}, slots: map[farm.HostID]int{},
		began: map[farm.AttemptID]time.Duration{}, books: newSimBooks(), stopped: map[farm.AttemptID]time.Duration{}, outlived: map[farm.AttemptID]bool{},
	}
}

// attempt is an attempt's row, nil if there is none.
func (r *simRows) attempt(id farm.AttemptID) *farm.AttemptFacts {
	j := r.jobs[id.Job]
	if j == nil {
		return nil
	}
	list := j.attempts[id.Item]
	at := slices.IndexFunc(list, func(a farm.AttemptFacts) bool { return a.Number == id.Number })
	if at < 0 {
		return nil
	}
	return &list[at]
}

// refused is the store's no to a write, which a leader never meets.
func (r *simRows) refused(err error) { r.world.fail("S1: the rows refuse a write: %v", err) }

// simEvents are the lines of history that say what the farm did by itself.
var simEvents = map[string]string{
	"brake-engaged": "the brake engaged", "brake-released": "the brake released", "unkillable": "unkillable reached",
	"host-locked": "a host locked by the farm", "host-suspect": "a host suspected by the farm",
	"job-blocked": "a hopeless job blocked", "item-held": "an item held as poison",
}

// apply takes in a transaction.
func (r *simRows) apply(epoch int64, skew time.Duration, writes []farm.Write) {
	if epoch < r.epoch {
		r.world.fail("S8: epoch %d commits after epoch %d", epoch, r.epoch)
	}
	r.epoch, r.books.skew = epoch, skew
	r.blackHole = slices.ContainsFunc(writes, func(w farm.Write) bool {
		e, ok := w.(farm.AddEvent)
		return ok && (e.Event.Type == "host-locked" || e.Event.Type == "host-suspect") && e.Event.By == "qb"
	})
	for _, w := range writes {
		switch w := w.(type) {
		case farm.PutJob:
			r.putJob(w.Job)
		case farm.ChangeMarks:
			r.changeMarks(w)
		case farm.PutOrder:
			r.putOrder(w)
		case farm.DropOrder:
			r.dropOrder(w)
		case farm.StartAttempt:
			r.start(w.Attempt)
		case farm.StopAttempt:
			r.world.note("row: %v stops: %s", w.ID, w.Cause)
			if a := r.checkLive(w.ID, "stopped"); a != nil {
				a.State, a.Why = farm.Stopping, w.Why
				r.stopped[w.ID] = r.world.now
				r.checkStop(a)
			}
		case farm.LeaveAttempt:
			if a := r.checkLive(w.ID, "sent away at its end"); a != nil {
				if a.State != farm.Running {
					r.world.fail("S1: %v is %s and is sent away at its end", w.ID, a.State)
				}
				a.Why = w.Why
			}
		case farm.RelabelAttempt:
			if a := r.checkLive(w.ID, "relabelled"); a != nil {
				a.Kind = w.Kind
			}
		case farm.EndAttempt:
			r.end(w)
		case farm.ChargeUsage:
			r.books.rows[w.Usage.Payer] = w.Usage.Charge
		case farm.PutAnswer:
			r.world.keys.keep(r.world, w.Answer.Key)
		case farm.ReopenAttempts:
			r.checkOrdered(w.Job, writes)
			r.reopen(w)
		case farm.AddEvent:
			if point := simEvents[w.Event.Type]; point != "" && (w.Event.By == "qb" || w.Event.Type[0] != 'h') {
				r.world.some(point)
			}
			switch w.Event.Type {
			case "unkillable":
				r.outlived[r.jobs[w.Event.Job].latest(w.Event.Item).AttemptID] = true
			case "host-suspect":
				r.close(w.Event)
			}
		case farm.RenameHost, farm.ForgetHost, farm.PutHost:
			r.applyHost(w)
		}
	}
	r.checkBooks()
}

// simFreed is how long the end of a job may take to reach those who wait for it, over as many commits as it takes.
const simFreed = 5 * time.Second

// checkChildren: who waits for what has come true does not wait for it any longer.
func (r *simRows) checkChildren() {
	met := map[[2]farm.JobID]time.Duration{}
	for id := farm.JobID(1); r.jobs[id] != nil; id++ {
		for _, l := range r.jobs[id].facts.WaitFor {
			if r.jobs[id].facts.State.Final() || !r.holds(l) {
				continue
			}
			key, now := [2]farm.JobID{id, l.Job}, r.world.now
			since, known := r.unfreed[key]
			if !known {
				since = now
			}
			if met[key] = since; now-since > simFreed {
				r.world.fail("L1: job %d still waits for job %d to be %s, which it is since %s", id, l.Job, l.End, since)
			}
		}
	}
	r.unfreed = met
}

// holds says whether a condition is true now.
func (r *simRows) holds(l farm.Link) bool {
	state := r.jobs[l.Job].facts.State
	ends := map[string]farm.JobState{"complete": farm.Complete, "failed": farm.FailedJob, "killed": farm.KilledJob}
	return state.Final() && (l.End == "done" || ends[l.End] == state)
}

func (r *simRows) changeMarks(w farm.ChangeMarks) {
	j := r.jobs[w.Job]
	for _, gone := range w.Remove {
		n := slices.IndexFunc(j.marks, func(m farm.Mark) bool { return m.Span() == gone.Span() && m.Kind == gone.Kind })
		if n < 0 {
			r.world.fail("S1: mark %+v of job %d is taken away and is not there", gone, w.Job)
			continue
		}
		j.marks = slices.Delete(slices.Clone(j.marks), n, n+1)
	}
	j.marks = append(slices.Clone(j.marks), w.Add...)
}

func (r *simRows) putJob(facts farm.JobFacts) {
	r.world.note("row: job %d is %s, version %d", facts.ID, facts.State, facts.Version)
	r.checkPut(facts)
	j := r.jobs[facts.ID]
	if j == nil {
		a, err := agenda.Parse(facts.Agenda, 0)
		if err != nil {
			r.world.fail("job %d: %v", facts.ID, err)
			return
		}
		j = &simJobRow{items: a.Len(), attempts: map[farm.ItemNo][]farm.AttemptFacts{}, failures: map[farm.ItemNo]int{}, preempted: map[farm.ItemNo]int{}}
		r.jobs[facts.ID] = j
		j.facts = facts
	}
	if j.facts.State.Final() && !facts.State.Final() && !r.world.clients.reopened[facts.ID] && !r.blackHole {
		r.world.fail("S4: job %d was %s and is %s, and nobody ordered it", facts.ID, j.facts.State, facts.State)
	}
	r.checkLinks(j, facts)
	j.facts = facts
	j.retries = max(j.retries, facts.RetryWork)
}

// checkLinks: a condition goes only when it has come true, or a person said so (S11).
func (r *simRows) checkLinks(j *simJobRow, facts farm.JobFacts) {
	if r.world.clients.freed[facts.ID] {
		return
	}
	for _, l := range j.facts.WaitFor {
		still := false
		for _, o := range facts.WaitFor {
			still = still || o == l
		}
		if !still && !r.holds(l) {
			r.world.fail("S11: job %d no longer waits for job %d to be %s, which is %s", facts.ID, l.Job, l.End, r.jobs[l.Job].facts.State)
		}
	}
}

func (r *simRows) start(a farm.AttemptFacts) {
	w := r.world
	w.note("row: %v starts on %s", a.AttemptID, a.Host)
	j := r.jobs[a.Job]
	list := j.attempts[a.Item]
	if n := len(list); n > 0 {
		last := list[n-1]
		if last.State.Live() || last.State == farm.Done || last.Again == farm.Never {
			w.fail("S1: %v starts after an attempt that is %s, again %d", a.AttemptID, last.State, last.Again)
		}
	}
	if j.facts.State != farm.Active || len(j.facts.WaitFor) > 0 {
		w.fail("S11: %v starts while its job is %s and waits for %v", a.AttemptID, j.facts.State, j.facts.WaitFor)
	}
	for _, m := range j.marks {
		if m.Span().Has(int(a.Item)) {
			w.fail("S15: %v starts though its item is %s by %s", a.AttemptID, m.Kind, m.By)
		}
	}
	j.attempts[a.Item] = append(list, a)
	r.held[a.Host] += a.Slots
	r.live++
	r.began[a.AttemptID] = w.now
	r.books.given[a.AttemptID] = simGiven{a.StartedAt.Sub(simStart) - r.books.skew, r.books.skew}
	r.promise(a)
	r.checkRoom(a)
}

func (r *simRows) end(e farm.EndAttempt) {
	w := r.world
	w.note("row: %v ends %s: %s", e.ID, e.State, e.Cause)
	a := r.checkLive(e.ID, "ended")
	if a == nil {
		return
	}
	r.checkEnd(a, e)
	j := r.jobs[e.ID.Job]
	r.held[a.Host] -= a.Slots
	r.live--
	r.notePoints(a, e)
	r.unpromise(a, e)
	a.State, a.Again, a.Why = e.State, e.Again, e.Why
	run := w.truth.attempts[e.ID]
	switch {
	case run != nil && run.running:
		w.fail("S2: %v is ended as %s (%s) while it runs on %s", e.ID, e.State, e.Cause, run.on.name)
	case e.State == farm.Done && (run == nil || !run.done):
		w.fail("S3: %v is done in its row, and in truth it never was", e.ID)
	case e.State == farm.Failed && (run == nil || !run.ended || run.done) && e.Reason != farm.ReasonLaunchFailed && !forMemory(e):
		w.fail("S3: %v failed in its row, and in truth it did not", e.ID)
	case e.State == farm.Lost && w.faults.onlySupervisors && !forMemory(e):
		w.fail("%v is lost (%s) though only supervisors and their database failed", e.ID, e.Cause)
	}
	r.checkCharge(a, e) // after the rules of what runs: a wrong end is charged wrongly, too, and should be called by its name
	switch {
	case forMemory(e):
	case e.State == farm.Failed:
		j.failures[e.ID.Item]++
		if n := j.failures[e.ID.Item]; n > j.retries+1 {
			w.fail("S12: item %d of job %d failed %d times, with %d retries", e.ID.Item, e.ID.Job, n, j.retries)
		} else if e.Again == farm.Never && n <= j.facts.RetryWork {
			w.fail("S12: item %d of job %d is given up after %d failures, with %d retries", e.ID.Item, e.ID.Job, n, j.facts.RetryWork)
		}
	case e.State == farm.Preempted:
		switch e.Reason {
		case farm.ReasonPrimaryWaits, farm.ReasonBetterPriority, farm.ReasonSurplusShared, farm.ReasonWidthLowered, farm.ReasonNotWanted:
		default: // not the plan's doing
			return
		}
		j.preempted[e.ID.Item]++
		if n := j.preempted[e.ID.Item]; n > 3 {
			w.fail("L7: item %d of job %d is preempted %d times", e.ID.Item, e.ID.Job, n)
		}
	}
}

// byLease says whether an attempt was given up as its lease ran out.
func byLease(e farm.EndAttempt) bool {
	return e.Reason == farm.ReasonHostSilent || e.Reason == farm.ReasonHostDeaf
}

// notePoints counts the ways in which an attempt may end.
func (r *simRows) notePoints(a *farm.AttemptFacts, e farm.EndAttempt) {
	w := r.world
	if a.State == farm.Stopping && e.Wall == 0 && w.truth.attempts[e.ID] == nil {
		w.some("a stopped attempt that never started")
	}
	if a.State == farm.Stopping && e.Wall == 0 {
		w.some("absence taken as proof")
	}
	switch {
	case e.State == farm.Done && a.State == farm.Stopping:
		w.some("a stop order met the natural end")
	case e.Reason == farm.ReasonHostRestarted:
		w.some("boot id fast path")
	case byLease(e):
		w.some("lost by lease")
		if e.Reason == farm.ReasonHostDeaf {
			w.some("lost by lease of a host that hears nothing")
		}
		if w.truth.attempts[e.ID] == nil {
			w.some("an attempt that never started lost by lease")
		}
	case e.State == farm.Preempted:
		w.some("preempted")
	case e.State == farm.Killed:
		w.some("killed while it ran")
	}
}

func (r *simRows) reopen(w farm.ReopenAttempts) {
	for _, id := range w.Attempts {
		a := r.attempt(id)
		if a.State == farm.Done {
			a.State = farm.Superseded
		}
		a.Again = farm.ByOrder
		delete(r.jobs[id.Job].failures, id.Item)
		delete(r.jobs[id.Job].preempted, id.Item)
	}
}

// said is an answer to a worker: what it names must be durable, and meant for this host.
func (r *simRows) said(reply *api.SyncReply) {
	for _, d := range reply.Instances {
		if r.world.given(truthID(d.Attempt)) == nil { // a leader whose rows were put back may say it until its next look at them
			r.world.fail("S6: a worker is told of %v, which no row knows", truthID(d.Attempt))
		}
	}
}
