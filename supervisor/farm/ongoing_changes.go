package farm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// changesAtOnce bounds how many changes are planned one by one; with more a whole plan costs less.
const changesAtOnce = 128

// kept says whether changes can be planned one by one.
func (f *Farm) kept() bool { return f.ongoing != nil && !f.dirty }

// note remembers a change for planChanges, or asks for a whole plan.
func (f *Farm) note(c news) {
	if !f.kept() {
		f.dirty = true
		return
	}
	f.ongoing.changes = append(f.ongoing.changes, c)
}

// arrived notes a job that may have instances from now on, demands one that may use more or less than before.
func (f *Farm) arrived(j *job) { f.note(news{job: j}) }

func (f *Farm) demands(j *job) { f.note(news{job: j}) }

// freed notes an instance that has closed.
func (f *Farm) freed(i *instance) {
	f.note(news{job: i.job, host: i.host, kind: i.kind, class: i.host.class, gone: i.stopped || i.leaving})
}

// hasNews says whether changes wait to be planned.
func (f *Farm) hasNews() bool { return f.ongoing != nil && len(f.ongoing.changes) > 0 }

// planChanges plans the changes since the last plan one by one: primaries without a place, then the lowest, get
// a slot that came free; an arrival takes its primaries and its share from the highest. What results is what a
// whole plan would find settled. False if a change is of another kind: then a whole plan is due.
func (f *Farm) planChanges(now time.Time) bool {
	o := f.ongoing
	o.grown = true
	if len(o.changes) > changesAtOnce {
		f.unkept = "too much has changed at once"
		return false
	}
	w := &changer{f: f, now: now, o: o}
	for _, c := range o.changes {
		if f.unkept = w.take(c); f.unkept != "" {
			return false
		}
	}
	o.changes = o.changes[:0]
	if o.ample.decides() {
		f.unkept = memoryDecides
		return false
	}
	victims, why := w.victims()
	if f.unkept = why; why != "" {
		return false
	}
	if f.unkept = w.tooMany(victims); f.unkept != "" {
		return false
	}
	for _, i := range w.promoted {
		f.relabel(now, i, facts.Primary, causePromoted)
	}
	if f.unkept = w.start(); f.unkept != "" {
		return false
	}
	f.noteWaiting()
	for _, i := range victims {
		if len(victims) > o.Waiting() && now.Before(f.stopDue(i, planner.JobPlan{Ceiling: maxCPUs})) {
			f.unkept = "a stop has to wait"
			return false
		}
	}
	w.stop(victims)
	return true
}

// changer is the working state of one planChanges.
type changer struct {
	f        *Farm
	now      time.Time
	o        *ongoing
	promoted []*instance
	raised   *job
}

// take books one change and restores the division; it says why it cannot, "" if it could.
func (w *changer) take(c news) string {
	claim, known := w.o.claimOf(c.job)
	var vacant []int
	switch {
	case !known && c.host != nil:
		return "an instance of a job that was not planned has ended"
	case !known && (c.job.State != facts.Active || c.job.remaining() == 0):
		return ""
	case !known:
		if why := w.enter(c.job); why != "" {
			return why
		}
		claim = c.job.claim
	case c.host != nil && c.class < 0:
		return "an instance has ended on a host that takes no work"
	case c.host != nil:
		w.o.opened(c.host)
		if !c.gone && (c.kind == facts.Primary || w.o.Ended(claim, c.class)) {
			vacant = append(vacant, c.class)
		}
		if !c.gone && c.kind == facts.Primary {
			w.o.running[claim]--
		}
	}
	vacant = append(vacant, w.promote(claim)...)
	for _, class := range vacant {
		w.o.Fill(class)
	}
	unmet := w.o.AllUnmet()
	w.o.Raise(claim)
	w.raised = c.job
	if w.o.AllUnmet() > unmet || w.o.Unmet(claim) > 0 && w.mayPreempt(c.job) {
		return "a primary finds no slot and may take that of a worse priority"
	}
	return ""
}

// enter makes an arrived job a claim, if its hosts are known.
func (w *changer) enter(j *job) string {
	if why := j.special(); why != "" {
		return why
	}
	key := w.o.keys.of(j)
	group, known := w.o.groups[key]
	if !known {
		open, whole := w.serving(j)
		if !whole {
			return "a job asks for some of hosts that were alike before"
		}
		group = w.o.AddGroup(open)
		w.o.groups[key] = group
	}
	w.f.refreshNeed(w.now, j)
	w.o.add(w.f, j, group)
	w.o.ample.admit(w.f, j)
	return ""
}

// serving are the classes that serve the job; false if it tells hosts of one class apart.
func (w *changer) serving(j *job) (open []int, whole bool) {
	for class, hosts := range w.o.members {
		serve := 0
		for _, h := range hosts {
			if w.f.refusal(w.now, h, j, nil).serves() {
				serve++
			}
		}
		switch serve {
		case 0:
		case len(hosts):
			open = append(open, class)
		default:
			return nil, false
		}
	}
	return open, true
}

// promote fills up a job's primaries with its own secondaries, most work first, and tells the division what
// the job could use; it gives the classes of slots that have become vacant.
func (w *changer) promote(claim int) (vacant []int) {
	o, j := w.o, w.o.jobs[claim]
	_, later := o.Promised(claim)
	remaining := j.pending() + o.running[claim] + o.Level(claim) - later
	missing := min(j.CPUs, remaining) - o.running[claim]
	if missing <= 0 || o.Level(claim) == later {
		return o.demand(w.f, claim)
	}
	var list []*instance
	for _, i := range j.muster().held {
		if i.kind == facts.Secondary && !slices.Contains(w.promoted, i) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(x, y *instance) int {
		return cmp.Or(x.attempt.StartedAt.Compare(y.attempt.StartedAt), strings.Compare(x.name(), y.name()))
	})
	for _, i := range list {
		if missing == 0 {
			break
		}
		if !o.Holds(claim, i.host.class) {
			continue // it is to be stopped for another
		}
		missing--
		o.Release(claim, i.host.class)
		o.running[claim]++
		w.promoted = append(w.promoted, i)
	}
	return o.demand(w.f, claim)
}

// mayPreempt says whether a primary of the job that finds no slot could take one from a worse priority.
func (w *changer) mayPreempt(j *job) bool {
	if w.f.policy.PrimaryPreempt == "disabled" {
		return false
	}
	for claim, other := range w.o.jobs {
		if w.o.running[claim] > 0 && other.Priority > j.Priority {
			return true
		}
	}
	return false
}

// victims chooses the instances that are stopped; it says why that is another plan's to do, "" if it is not.
func (w *changer) victims() (victims []*instance, why string) {
	for _, s := range w.o.TakeStops() {
		if len(w.o.demand(w.f, s.Claim)) > 0 {
			return nil, "an instance has to go elsewhere" // its item is nobody's until the end is proven
		}
		var best *instance
		for _, i := range w.o.jobs[s.Claim].muster().held {
			if i.kind == facts.Secondary && i.host.class == s.Class && !slices.Contains(victims, i) && !slices.Contains(w.promoted, i) &&
				(best == nil || w.before(i, best)) {
				best = i
			}
		}
		switch {
		case best == nil:
			return nil, "an instance that was to stop has gone"
		case best.protected() || w.f.policy.MaxLost > 0 && w.now.Sub(best.attempt.StartedAt) > w.f.policy.MaxLost:
			return nil, "an instance may not be stopped at once"
		}
		victims = append(victims, best)
	}
	return victims, ""
}

// before orders the instances of a job as sortVictims does.
func (w *changer) before(x, y *instance) bool {
	tx, ty := w.turn(x), w.turn(y)
	return cmp.Or(tx.Compare(ty), strings.Compare(x.name(), y.name())) < 0
}

func (w *changer) turn(i *instance) smartshare.Turn {
	at := seconds(i.attempt.StartedAt)
	lost := max(0, seconds(w.now)-at)
	return smartshare.TurnOf(smartshare.Running{Lost: lost, Elapsed: lost, Started: seconds(i.began)}, false)
}

const moreThanACommit = "more moves than one commit takes"

// tooMany says that what stops and changes its kind does not go into one commit.
func (w *changer) tooMany(victims []*instance) string {
	more := w.f.own
	more.rows += 2 * (len(victims) + len(w.promoted))
	if w.f.filled(more) {
		return moreThanACommit
	}
	return ""
}

// start lets those who are promised a slot begin where one is free; it says why that is another plan's to end.
func (w *changer) start() string {
	for class := range w.o.open {
		if len(w.o.open[class]) > 0 && w.o.Waits(class) > 0 {
			w.startIn(class)
		}
	}
	if w.f.spent() {
		return moreThanACommit
	}
	return ""
}

// startIn gives the free slots of a class to those who are next. Where the farm is not what the division was made
// for, a whole plan is asked for.
func (w *changer) startIn(class int) {
	anywhere := func(seatable, *host) bool { return true }
	for seats := w.seats(class); len(seats) > 0 && !w.f.spent(); {
		claim, kind, ok := w.o.Next(class)
		if !ok {
			return
		}
		j := w.o.jobs[claim]
		n := w.f.bestSeat(w.now, j, max(1, j.book.need), seats, anywhere)
		if n < 0 || !w.host(seats[n]).usable(w.now, w.f.policy) {
			w.f.dirty = true
			return
		}
		if kind == smartshare.Primary {
			w.o.running[claim]++
		}
		h := w.host(seats[n])
		w.f.startInstance(w.now, j, h, facts.Kind(kind), 1)
		if h.free() == seats[n].free {
			w.f.dirty = true
			return
		}
		seats = w.taken(seats, n)
	}
}

func (w *changer) stop(victims []*instance) {
	dirty := w.f.dirty
	slices.SortFunc(victims, func(x, y *instance) int {
		return cmp.Or(w.turn(x).Compare(w.turn(y)), strings.Compare(x.name(), y.name()))
	})
	waiting := w.f.firstWaiting(len(victims))
	for k, i := range victims {
		w.f.stop(w.now, i, w.reason(i, k, waiting))
		i.job.lastShrink = w.now
	}
	w.f.dirty = dirty
}

// reason is why the k-th instance gives way, as stopReason would say it; waiting are the jobs with primaries that
// wait.
func (w *changer) reason(i *instance, k int, waiting []facts.JobID) facts.Why {
	for _, id := range waiting {
		if k -= w.f.unmet[id]; k < 0 {
			return facts.Because(facts.ReasonPrimaryWaits, facts.Params{Job: id}, "")
		}
	}
	shared := facts.Params{Share: facts.ShareEqually}
	if w.raised != nil && w.raised != i.job {
		shared.Job, shared.User = w.raised.ID, w.raised.User
	}
	return facts.Because(facts.ReasonSurplusShared, shared, "")
}

// firstWaiting are the first of the jobs with primaries that wait, by number, and no more than so many.
func (f *Farm) firstWaiting(most int) []facts.JobID {
	var first []facts.JobID
	for id := range f.unmet {
		if at, _ := slices.BinarySearch(first, id); at < most {
			first = slices.Insert(first, at, id)
			first = first[:min(len(first), most)]
		}
	}
	return first
}

// noteWaiting keeps which primaries wait and which secondaries are still to come, for all that asks.
func (f *Farm) noteWaiting() {
	o := f.ongoing
	touched := o.TakeTouched()
	if !o.noted { // a whole plan has written down what waits then
		o.noted = true
		clear(f.unmet)
		clear(f.due)
		for claim := range o.jobs {
			f.noteWaits(claim)
		}
	}
	for _, claim := range touched {
		f.noteWaits(claim)
	}
}

func (f *Farm) noteWaits(claim int) {
	o, id := f.ongoing, f.ongoing.jobs[claim].ID
	ahead, later := o.Promised(claim)
	if n := ahead + o.Unmet(claim); n > 0 {
		f.unmet[id] = n
	} else {
		delete(f.unmet, id)
	}
	if later > 0 {
		f.due[id] = o.Level(claim)
	} else {
		delete(f.due, id)
	}
}

// lowered tells the division that the job of an instance that has gone on has one item less to do; what it was
// promised beyond that is another's.
func (o *ongoing) lowered(f *Farm, j *job) {
	claim, known := o.claimOf(j)
	if !known {
		return
	}
	ahead, later := o.Promised(claim)
	if ahead+later+o.Unmet(claim) > j.pending() {
		f.demands(j)
		return
	}
	if j.pending() <= o.Limit(claim) {
		o.demand(f, claim)
	}
}
