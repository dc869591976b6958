package sim

import (
	"maps"
	"slices"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/job/facts"
)

// simRows is what has been made durable, kept apart from the store by its checks: each write is held
// against what the rows said before and against what really runs.
type simRows struct {
	world *simWorld
	jobs  map[facts.JobID]*simJobRow
	held  map[facts.HostID]int // slots of live attempts
	live  int
	epoch int64
	locks map[facts.HostID]bool
	slots map[facts.HostID]int
	hosts map[facts.HostID]facts.HostFacts

	began    map[facts.AttemptID]time.Duration // when its row was made
	endedIn  map[facts.AttemptID]int64         // the term
	books    simBooks
	profiles map[facts.ProfileKey]facts.ProfileFacts
	stopped  map[facts.AttemptID]time.Duration // of the ones that stop, since when
	outlived map[facts.AttemptID]bool          // KILL, as a worker reported
	late     map[simItemID]bool                // counted late
	standing map[facts.AttemptID]time.Duration // of the ones that are suspended, since when
	resumed  map[facts.AttemptID]int           // how often
	released map[facts.AttemptID]simReleased   // for how long they had given back their slots

	// the farm locks a host in this very transaction, or closes it to an owner, and gives its items back
	blackHole  bool
	orderEpoch map[int64]int64 // in which an order was given

	named   []simNamed
	unfreed map[[2]facts.JobID]time.Duration // since when a job waits, by itself and the other, for what has come true

	applied  int                           // transactions
	vacated  map[simInstance]int           // in which an attempt of an instance last ended
	widened  []simInstance                 // that this transaction adds
	wide     map[simInstance]time.Duration // since when they make their job too wide, in a term
	wideIn   int64
	draining map[simInstance]bool // that are to leave after their items, for sharing's sake

	overtaken map[facts.JobID]time.Duration // since when a job has nothing while others begin that stand behind it
}

type simJobRow struct {
	facts     facts.JobFacts
	items     int
	marks     []facts.Mark
	orders    []facts.ActionFacts // under way and waiting
	attempts  map[facts.ItemNo][]facts.AttemptFacts
	failures  map[facts.ItemNo]int // since a person last let the item run again
	preempted map[facts.ItemNo]int // for sharing's sake, since then
	// ends that the item itself may have caused, uncharged, since then or since it was held for them
	strange map[facts.ItemNo]int
	retries int            // most that the job ever allowed
	effects []*simEffect   // of orders
	changed int            // transaction that last wrote its row or its marks
	earlier facts.JobFacts // its row before that
}

func newSimRows() *simRows {
	return &simRows{
		vacated: map[simInstance]int{}, draining: map[simInstance]bool{}, wide: map[simInstance]time.Duration{}, overtaken: map[facts.JobID]time.Duration{},
		orderEpoch: map[int64]int64{},
		jobs:       map[facts.JobID]*simJobRow{}, held: map[facts.HostID]int{}, locks: map[facts.HostID]bool{}, slots: map[facts.HostID]int{}, hosts: map[facts.HostID]facts.HostFacts{},
		began: map[facts.AttemptID]time.Duration{}, endedIn: map[facts.AttemptID]int64{}, books: newSimBooks(), profiles: map[facts.ProfileKey]facts.ProfileFacts{}, stopped: map[facts.AttemptID]time.Duration{}, outlived: map[facts.AttemptID]bool{}, late: map[simItemID]bool{},
		standing: map[facts.AttemptID]time.Duration{}, resumed: map[facts.AttemptID]int{}, released: map[facts.AttemptID]simReleased{},
	}
}

// attempt is an attempt's row, nil if there is none.
func (r *simRows) attempt(id facts.AttemptID) *facts.AttemptFacts {
	j := r.jobs[id.Job]
	if j == nil {
		return nil
	}
	list := j.attempts[id.Item]
	at := slices.IndexFunc(list, func(a facts.AttemptFacts) bool { return a.Number == id.Number })
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
	"lease-lowered": "a former lease was longer",
	"job-blocked":   "a hopeless job blocked", "item-held": "an item held as poison", "late-end": "an end from before a lease's end counted late",
}

// apply takes in a transaction.
func (r *simRows) apply(epoch int64, skew time.Duration, writes []facts.Write) {
	if epoch < r.epoch {
		r.world.fail("S8: epoch %d commits after epoch %d", epoch, r.epoch)
	}
	r.epoch, r.books.skew = epoch, skew
	r.applied++
	r.blackHole = slices.ContainsFunc(writes, func(w facts.Write) bool {
		e, ok := w.(facts.AddEvent)
		return ok && (e.Event.Type == "host-locked" || e.Event.Type == "host-suspect") && e.Event.By == "qb"
	})
	effects := r.beforeOrders(writes)
	for _, w := range writes {
		switch w := w.(type) {
		case facts.PutJob:
			r.putJob(w.Job)
		case facts.ChangeMarks:
			r.changeMarks(w)
		case facts.PutAction:
			r.putOrder(w)
		case facts.DropAction:
			r.dropOrder(w)
		case facts.StartAttempt:
			r.start(w.Attempt)
		case facts.StopAttempt:
			r.stop(w)
		case facts.SendAwayAttempt:
			if a := r.checkLive(w.ID, "sent away at its end"); a != nil {
				if a.State != facts.Running {
					r.world.fail("S1: %v is %s and is sent away at its end", w.ID, a.State)
				}
				a.Why = w.Why
			}
		case facts.SuspendAttempt:
			r.suspend(w)
		case facts.ReleaseAttempt:
			r.release(w)
		case facts.RelabelAttempt:
			if a := r.checkLive(w.ID, "relabelled"); a != nil {
				a.Kind = w.Kind
			}
		case facts.EndAttempt:
			r.end(w)
		case facts.ChargeUsage:
			r.books.rows[w.Usage.Payer] = w.Usage.Charge
		case facts.PutBudget, facts.DropBudget:
			r.books.applyBudget(w)
		case facts.PutAnswer:
			r.world.keys.keep(r.world, w.Answer.Key)
		case facts.ReopenAttempts:
			r.checkOrdered(w.Job, writes)
			r.reopen(w)
		case facts.AddEvent:
			r.hear(w.Event)
		case facts.RenameHost, facts.ForgetHost, facts.PutHost:
			r.applyHost(w)
		}
	}
	r.afterOrders(effects)
	r.checkWhole(writes)
}

// hear takes in a line of the history.
func (r *simRows) hear(e facts.EventFacts) {
	if point := simEvents[e.Type]; point != "" && (e.By == "qb" || e.Type[0] != 'h') {
		r.world.some(point)
	}
	switch e.Type {
	case "unkillable":
		r.outlived[r.jobs[e.Job].latest(e.Item).AttemptID] = true
	case "host-suspect":
		r.close(e)
	case "late-end":
		r.checkLate(e)
	case "stopped":
		r.leave(e)
	case "draining":
		r.draining[simInstance{e.Job, e.Instance}] = true
	}
}

// checkWhole looks at what only a whole transaction tells.
func (r *simRows) checkWhole(writes []facts.Write) {
	r.checkNamed()
	r.checkWidth()
	r.checkBooks()
	r.checkBudgets()
	r.checkProfiles(writes)
}

// simFreed is how long the end of a job may take to reach the jobs that wait for it, over as many commits as it takes.
const simFreed = 5 * time.Second

// checkChildren: who waits for what has come true does not wait for it any longer.
func (r *simRows) checkChildren() {
	met := map[[2]facts.JobID]time.Duration{}
	for id := facts.JobID(1); r.jobs[id] != nil; id++ {
		for _, l := range r.jobs[id].facts.WaitFor {
			if r.jobs[id].facts.State.Final() || !r.holds(r.jobs[id], l) {
				continue
			}
			key, now := [2]facts.JobID{id, l.Job}, r.world.now
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
func (r *simRows) holds(j *simJobRow, l facts.Link) bool {
	if l.Among != 0 {
		return r.together(j, l)
	}
	return l.Job != 0 && (r.jobHolds(l) || l.Of == facts.OfItems && r.itemsHold(j, l))
}

// together says whether the jobs of a submission have ended as a link wants it of all: killed if one of them was, else
// failed if one is.
func (r *simRows) together(j *simJobRow, l facts.Link) bool {
	worst := facts.Complete
	for _, o := range j.facts.WaitFor {
		if o.Among != l.Among || o.End != l.End {
			continue
		}
		switch state := r.jobs[o.Job].facts.State; {
		case !state.Final():
			return false
		case state == facts.KilledJob || state == facts.FailedJob && worst == facts.Complete:
			worst = state
		}
	}
	return string(worst) == l.End
}

// jobHolds says whether the job of a link has ended as it wants.
func (r *simRows) jobHolds(l facts.Link) bool {
	state := r.jobs[l.Job].facts.State
	ends := map[string]facts.JobState{"complete": facts.Complete, "failed": facts.FailedJob, "killed": facts.KilledJob}
	return state.Final() && (l.End == "done" || ends[l.End] == state && (l.Of == facts.OfJob || state == facts.Complete))
}

func (r *simRows) changeMarks(w facts.ChangeMarks) {
	j := r.jobs[w.Job]
	r.changes(j)
	for _, gone := range w.Remove {
		n := slices.IndexFunc(j.marks, func(m facts.Mark) bool { return m.Span() == gone.Span() && m.Kind == gone.Kind })
		if n < 0 {
			r.world.fail("S1: mark %+v of job %d is taken away and is not there", gone, w.Job)
			continue
		}
		j.marks = slices.Delete(slices.Clone(j.marks), n, n+1)
	}
	j.marks = append(slices.Clone(j.marks), w.Add...)
	for _, m := range w.Add {
		if m.Kind == facts.MarkBlocked {
			maps.DeleteFunc(j.strange, func(item facts.ItemNo, _ int) bool { return m.Span().Has(int(item)) })
		}
	}
}

func (r *simRows) putJob(given facts.JobFacts) {
	r.world.note("row: job %d is %s, version %d", given.ID, given.State, given.Version)
	r.checkPut(given)
	j := r.jobs[given.ID]
	if j == nil {
		a, err := agenda.Parse(given.Agenda, 0)
		if err != nil {
			r.world.fail("job %d: %v", given.ID, err)
			return
		}
		j = &simJobRow{items: a.Len(), attempts: map[facts.ItemNo][]facts.AttemptFacts{}, failures: map[facts.ItemNo]int{}, preempted: map[facts.ItemNo]int{}, strange: map[facts.ItemNo]int{}}
		r.jobs[given.ID] = j
		j.facts = given
		r.checkAccount(given)
		r.world.clients.checkPreviewed(given)
	}
	if j.facts.State.Final() && !given.State.Final() && !r.world.clients.reopened[given.ID] && !r.blackHole {
		r.world.fail("S4: job %d was %s and is %s, and nobody ordered it", given.ID, j.facts.State, given.State)
	}
	r.checkLinks(j, given)
	r.changes(j)
	j.facts = given
	r.checkCircle(given.ID)
	j.retries = max(j.retries, given.RetryWork)
}

// checkLinks: a condition goes only when it has come true, or a person said so (S11).
func (r *simRows) checkLinks(j *simJobRow, given facts.JobFacts) {
	if r.world.clients.freed[given.ID] {
		return
	}
	for _, l := range j.facts.WaitFor {
		still := false
		for _, o := range given.WaitFor {
			o.Was = l.Was
			still = still || o == l
		}
		switch {
		case still || l.Job != 0 && r.holds(j, l):
		case j.facts.State.Final() && l.Job != 0 && r.reaches(l.Job, given.ID):
		case l.Job != 0:
			r.world.fail("S11: job %d no longer waits for job %d to be %s, which is %s (%+v)", given.ID, l.Job, l.End, r.jobs[l.Job].facts.State, l)
		default:
			r.named = append(r.named, simNamed{given.ID, l})
		}
	}
}

// changes notes that a transaction writes the row of a job, or its marks.
func (r *simRows) changes(j *simJobRow) {
	delete(r.overtaken, j.facts.ID)
	if j.changed != r.applied {
		j.changed, j.earlier = r.applied, j.facts
	}
}

func (r *simRows) start(a facts.AttemptFacts) {
	w := r.world
	w.note("row: %v starts on %s", a.AttemptID, a.Host)
	j := r.jobs[a.Job]
	list := j.attempts[a.Item]
	if n := len(list); n > 0 {
		last := list[n-1]
		if last.State.Live() || last.State == facts.Done || last.Again == facts.Never {
			w.fail("S1: %v starts after an attempt that is %s, again %d", a.AttemptID, last.State, last.Again)
		}
	}
	if j.facts.State != facts.Active {
		w.fail("S11: %v starts while its job is %s", a.AttemptID, j.facts.State)
	}
	r.checkConditions(j, a)
	r.checkStart(j, a)
	for _, m := range j.marks {
		if m.Span().Has(int(a.Item)) {
			w.fail("S15: %v starts though its item is %s by %s", a.AttemptID, m.Kind, m.By)
		}
	}
	j.attempts[a.Item] = append(list, a)
	r.live++
	r.began[a.AttemptID] = w.now
	r.books.given[a.AttemptID] = simGiven{a.StartedAt.Sub(simStart) - r.books.skew, r.books.skew}
	if r.before(&a) != nil {
		w.some("an item held ahead")
		return
	}
	r.held[a.Host] += a.Slots
	r.promise(a)
	r.checkRoom(a)
	r.checkPrograms(a)
	r.checkTurn(a)
	r.checkBounds(j, a)
	r.checkSeats(a)
	r.checkLocked(a)
	r.checkWithin(a)
	r.widen(a)
	r.checkAvoided(j, a)
	r.checkFirst(j, a)
}

func (r *simRows) stop(e facts.StopAttempt) {
	r.world.note("row: %v stops: %s", e.ID, e.Cause)
	if a := r.checkLive(e.ID, "stopped"); a != nil {
		a.State, a.Why = facts.Stopping, e.Why
		r.stopped[e.ID] = r.world.now
		r.checkStop(a)
	}
}

func (r *simRows) end(e facts.EndAttempt) {
	w := r.world
	w.note("row: %v ends %s: %s", e.ID, e.State, e.Cause)
	a := r.checkLive(e.ID, "ended")
	if a == nil {
		return
	}
	r.checkEnd(a, e)
	j := r.jobs[e.ID.Job]
	r.checkReleased(a, e)
	if a.SuspensionState() == facts.Resuming {
		w.some("what waited to go on ended")
	}
	before := r.before(a)
	if before == nil {
		r.held[a.Host] -= a.Taken()
		r.vacated[simInstance{a.Job, a.Instance}] = r.applied
	}
	r.live--
	r.endedIn[e.ID] = r.epoch
	r.notePoints(a, e)
	r.unpromise(a, e)
	a.State, a.Again, a.Why, a.Wall, a.Peak = e.State, e.Again, e.Why, e.Wall, e.Peak
	r.comes(a)
	if e.Reason == facts.ReasonHandedBack {
		w.some("an item handed back")
	}
	run := w.truth.attempts[e.ID]
	switch {
	case run != nil && run.running:
		w.fail("S2: %v is ended as %s (%s) while it runs on %s", e.ID, e.State, e.Cause, run.on.name)
	case e.State == facts.Done && (run == nil || !run.done):
		w.fail("S3: %v is done in its row, and in truth it never was", e.ID)
	case e.State == facts.Failed && (run == nil || !run.ended || run.done) && e.Reason != facts.ReasonLaunchFailed && !forMemory(e):
		w.fail("S3: %v failed in its row, and in truth it did not", e.ID)
	case e.State == facts.Lost && w.faults.onlySupervisors && !forMemory(e) && !w.killsShim(e.ID):
		w.fail("%v is lost (%s) though only supervisors and their database failed", e.ID, e.Cause)
	}
	r.checkFailed(a, e, run)
	r.checkTries(j, e)
	// after the rules of what runs: a wrong end is charged wrongly, too, and should be called by its name
	r.checkCharge(a, e)
	switch {
	case forMemory(e):
	case e.State == facts.Failed:
		j.failures[e.ID.Item]++
		if n := j.failures[e.ID.Item]; n > j.retries+1 {
			w.fail("S12: item %d of job %d failed %d times, with %d retries", e.ID.Item, e.ID.Job, n, j.retries)
		} else if e.Again == facts.Never && n <= j.facts.RetryWork {
			w.fail("S12: item %d of job %d is given up after %d failures, with %d retries", e.ID.Item, e.ID.Job, n, j.facts.RetryWork)
		}
	case e.State == facts.Preempted:
		switch e.Reason {
		case facts.ReasonPrimaryWaits, facts.ReasonBetterPriority, facts.ReasonSurplusShared, facts.ReasonWidthLowered, facts.ReasonNotWanted:
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
func byLease(e facts.EndAttempt) bool {
	return e.Reason == facts.ReasonHostSilent || e.Reason == facts.ReasonHostDeaf
}

// notePoints counts the ways in which an attempt may end.
func (r *simRows) notePoints(a *facts.AttemptFacts, e facts.EndAttempt) {
	w := r.world
	if a.State == facts.Stopping && e.Wall == 0 && w.truth.attempts[e.ID] == nil {
		w.some("a stopped attempt that never started")
	}
	if a.State == facts.Stopping && e.Wall == 0 {
		w.some("absence taken as proof")
	}
	switch {
	case e.State == facts.Done && a.State == facts.Stopping:
		w.some("a stop order met the natural end")
	case e.Reason == facts.ReasonHostRestarted:
		w.some("boot id fast path")
	case byLease(e):
		w.some("lost by lease")
		if e.Reason == facts.ReasonHostDeaf {
			w.some("lost by lease of a host that hears nothing")
		}
		if w.truth.attempts[e.ID] == nil {
			w.some("an attempt that never started lost by lease")
		}
	case e.State == facts.Preempted:
		w.some("preempted")
	case e.State == facts.Killed:
		w.some("killed while it ran")
	}
}

func (r *simRows) reopen(w facts.ReopenAttempts) {
	for _, id := range w.Attempts {
		a := r.attempt(id)
		if a.State == facts.Done {
			a.State = facts.Superseded
		}
		a.Again = facts.ByOrder
		delete(r.jobs[id.Job].failures, id.Item)
		delete(r.jobs[id.Job].preempted, id.Item)
		delete(r.jobs[id.Job].strange, id.Item)
	}
}

// said is an answer to a worker: what it names must be durable, and meant for this host.
func (r *simRows) said(reply *api.SyncReply) {
	for _, d := range reply.Instances {
		if r.world.given(truthID(d.Attempt)) == nil {
			// a leader whose rows were put back may say it until its next look at them
			r.world.fail("S6: a worker is told of %v, which no row knows", truthID(d.Attempt))
		}
	}
}
