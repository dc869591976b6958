package farm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// What the farm does about hosts that fail everything, items that fell every host, and jobs that cannot
// work. The figures follow Qube's auto-wrangling and Flamenco's defaults; the limits on automatic locks are
// ours: evidence against one host is the work of others.
const (
	blackHoleAfter = 5  // failed items of a host, none done, of jobs that others complete meanwhile
	poisonAfter    = 3  // different hosts that were lost under an item, or strange ends of it anywhere
	strangeAfter   = 2  // strange ends of an item on one host, after which its job avoids the host
	hopelessAfter  = 10 // failed attempts of a job that has completed nothing …
	hopelessHosts  = 3  // … on so many hosts
	autoLockPart   = 20 // at most one host in so many is locked by the farm itself, at least one
)

// faults draws conclusions from how attempts end. What it knows it keeps with the hosts and the jobs.
type faults struct {
	*shared
	retries *retries
	lacks   *lacks
}

// learn draws the conclusions from an attempt's end. Orders of people and preemptions teach nothing.
func (fa *faults) learn(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j, h := i.Job, i.Host
	switch {
	case end.Reason.ForMemory(), end.Reason.ForLicence():
	case end.Reason.ForLack():
		fa.maybeBlockForLack(now, j, end)
	case end.State == facts.Done:
		j.Note(h.ID, end, now)
		fa.lacks.done(now, i)
		j.Strikes.Done(h.ID, end.ID.Item)
		h.OnTrial = false
		h.Failing, h.Lock.Wait = nil, 0
		for _, other := range fa.hosts.Failing(j) {
			fa.maybeLockBlackHole(now, other)
		}
	case end.State == facts.Failed:
		j.Note(h.ID, end, now)
		if h.Failing == nil {
			h.Failing = map[facts.JobID]*model.Failing{}
		}
		if h.Failing[j.ID] == nil {
			h.Failing[j.ID] = &model.Failing{Since: now}
		}
		h.Failing[j.ID].Attempts = append(h.Failing[j.ID].Attempts, end.ID)
		fa.retries.maybeAvoid(now, i, end)
		fa.maybeLockBlackHole(now, h)
		fa.maybeBlockHopeless(now, j)
	case end.State == facts.Lost:
		j.Note(h.ID, end, now)
		fa.maybeLeaveStrange(now, i, end)
		fa.maybeHoldPoison(now, j, end)
	}
}

// maybeLockBlackHole locks a host that failed item after item which others complete meanwhile, and gives the items
// back free of charge. Items of one owner alone may be made to fail there: then the host is closed to him
// for a while, and serves the others.
func (fa *faults) maybeLockBlackHole(now time.Time, h *model.Host) {
	evidence, owners := h.Evidence(now, &fa.jobs)
	if len(evidence) < blackHoleAfter && !(h.OnTrial && len(evidence) > 0) || h.LockedBy != "" {
		return
	}
	h.Failing = nil
	event := facts.EventFacts{Type: "host-suspect", Host: h.ID, Item: -1, Instance: -1, By: model.LockedByFarm}
	switch {
	case len(owners) == 1:
		event.Why = facts.Because(facts.ReasonUsersItemsFail,
			facts.Params{Failed: len(evidence), User: owners[0], Limit: int64(fit.RefusedFor.Seconds())}, "")
		h.Refuses[owners[0]] = fit.Refuses{Until: now.Add(fit.RefusedFor), Failed: len(evidence)}
		h.Noted()
		fa.out.Record(now, event)
	case fa.hosts.Locked() >= max(1, len(fa.hosts.ByID)/autoLockPart):
		event.Why = facts.Because(facts.ReasonTooManyLocked, facts.Params{Failed: len(evidence)}, "")
		fa.out.Record(now, event)
		return
	default:
		fa.lockForAWhile(now, h, facts.Because(facts.ReasonItemsFail, facts.Params{Failed: len(evidence), Users: len(owners)},
			""))
		h.Lock.Trial = true
	}
	fa.planStale = true
	fa.giveBack(evidence)
}

// giveBack lets items that failed through a host's fault run again, uncharged.
func (fa *faults) giveBack(attempts []facts.AttemptID) {
	again := map[facts.JobID][]facts.AttemptID{}
	for _, id := range attempts {
		j := fa.jobs.ByID[id.Job]
		if j == nil || j.LastAttempt(id.Item) != id.Number {
			continue
		}
		state := j.Tally.State(int(id.Item))
		if state == agenda.Blocked || !model.Waits(state) && (state != agenda.Failed || j.Decided(id.Item)) {
			continue
		}
		j.Put(id.Item, agenda.Pending)
		j.Spare(id.Item)
		delete(j.Failures, id.Item)
		again[id.Job] = append(again[id.Job], id)
	}
	for _, id := range slices.Sorted(maps.Keys(again)) {
		j := fa.jobs.ByID[id]
		fa.out.Write(facts.ReopenAttempts{Job: id, Attempts: again[id]})
		if len(j.Marks) > 0 {
			fa.setMarks(j, items.MarksWithout(j.Marks, items.SpansOf(again[id])))
		}
		if j.State.Final() {
			j.State, j.FinishedAt = facts.Active, time.Time{}
			fa.putJob(j)
		}
	}
}

// maybeLeaveStrange has the job avoid a host on which one of its items ended strangely again, as long as another host
// serves it: what ends so elsewhere too is the item's doing, and a host that is at fault alone has no item held.
func (fa *faults) maybeLeaveStrange(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j, h := i.Job, i.Host
	ends := 0
	for _, host := range j.Trouble.LostOn[end.ID.Item] {
		if host == h.ID {
			ends++
		}
	}
	if end.Reason.Strange() && ends >= strangeAfter && !now.Before(j.Avoids[h.ID].Until) &&
		fa.retries.servedElsewhere(now, j, h) {
		fa.retries.leaveFailing(now, i, ends)
	}
}

// maybeHoldPoison holds an item under which several hosts were lost, or which ended strangely several times: the next
// would be too.
func (fa *faults) maybeHoldPoison(now time.Time, j *model.Job, end facts.EndAttempt) {
	item := end.ID.Item
	hosts := j.Trouble.LostOn[item]
	if state := j.Tally.State(int(item)); len(hosts) < poisonAfter || state == agenda.Blocked || !model.Waits(state) {
		return
	}
	j.Put(item, agenda.Blocked)
	held := facts.Mark{Kind: facts.MarkBlocked, By: model.LockedByFarm,
		At: now}.On(agenda.Span{First: int(item), Last: int(item), Step: 1})
	fa.setMarks(j, items.WithMarks(j.Marks, []facts.Mark{held}))
	fa.out.Record(now, facts.EventFacts{Type: "item-held", Job: j.ID, Item: item, Instance: -1, By: model.LockedByFarm,
		Why: facts.HeldItem(hosts, end.Why)})
	delete(j.Trouble.LostOn, item)
}

// maybeBlockHopeless blocks a job that completes nothing anywhere, before it has wasted the night.
func (fa *faults) maybeBlockHopeless(now time.Time, j *model.Job) {
	failed := 0
	for _, n := range j.Trouble.FailedOn {
		failed += n
	}
	if j.State != facts.Active || j.DoneCount > 0 || failed < hopelessAfter || len(j.Trouble.FailedOn) < hopelessHosts ||
		j.Pending() == 0 {
		return
	}
	why := facts.Why{Reason: facts.ReasonNothingCompletes,
		Params: facts.Params{Failed: failed, Hosts: len(j.Trouble.FailedOn)}}
	why.Cause = fmt.Sprintf("%s: its first %d attempts failed, on %d hosts; see qberr, then unblock it",
		model.LockedByFarm, failed, len(j.Trouble.FailedOn))
	j.Trouble.FailedOn = map[facts.HostID]int{}
	fa.block(now, j, why)
}

// block keeps the rest of a job from being tried.
func (fa *faults) block(now time.Time, j *model.Job, why facts.Why) {
	j.State, j.BlockedBy = facts.Blocked, why.Cause
	fa.putJob(j)
	fa.out.Record(now, facts.EventFacts{Type: "job-blocked", Job: j.ID, Item: -1, Instance: -1, By: model.LockedByFarm,
		Why: why})
}

// onSenderBlocked locks a host whose reports broke the farm's state several times, and are refused; and it blocks a job
// that the farm's own work broke on.
func (fa *faults) onSenderBlocked(now time.Time, e message.SenderBlocked) {
	why := facts.Why{Params: facts.Params{Failed: e.Times}}
	if h := fa.hosts.ByID[e.Host]; e.Kind == message.Report && h != nil && h.LockedBy == "" {
		why.Reason = facts.ReasonReportsRefused
		why.Cause = fmt.Sprintf("the host's reports broke the supervisor's state %d times (%s) and are refused until %s",
			e.Times, e.Cause, e.Until.UTC().Format("15:04 UTC"))
		fa.lockForAWhile(now, h, why)
	}
	if j := fa.jobs.ByID[e.Job]; e.Kind == "plan" && j != nil && !j.State.Final() && j.BlockedBy == "" {
		why.Reason = facts.ReasonPlanFails
		why.Cause = fmt.Sprintf("%s: plans broke on it %d times (%s); update the supervisor, then unblock it",
			model.LockedByFarm, e.Times, e.Cause)
		fa.block(now, j, why)
	}
}

// lockForAWhile keeps new items from a host that no one has locked.
func (fa *faults) lockForAWhile(now time.Time, h *model.Host, why facts.Why) {
	h.LockedBy, h.LockReason = model.LockedByFarm, why.Cause
	h.Lock.Wait = min(max(2*h.Lock.Wait, farmLockWait), farmLockMost)
	h.Lock.Ends = now.Add(h.Lock.Wait)
	why.Params.Limit, why.Cause = int64(h.Lock.Wait.Seconds()), h.LockText()
	fa.putHost(h)
	fa.out.Record(now, facts.EventFacts{Type: "host-locked", Host: h.ID, Item: -1, Instance: -1, By: model.LockedByFarm,
		Why: why})
	fa.planStale = true
}

// maybeUnlock ends the farm's lock of a host when its time is over and no process there outlives KILL.
func (fa *faults) maybeUnlock(now time.Time, h *model.Host) {
	if h.LockedBy != model.LockedByFarm || now.Before(h.Lock.Ends) || h.AnyStuck() || fa.out.Spent() {
		return
	}
	why := facts.Why{Reason: facts.ReasonLockEnded, Params: facts.Params{Limit: int64(h.Lock.Wait.Seconds())}}
	why.Cause = fmt.Sprintf("the host was locked for %.0f minutes: %s", h.Lock.Wait.Minutes(), h.LockReason)
	h.LockedBy, h.LockReason = "", ""
	h.OnTrial = h.Lock.Trial
	h.Lock.Trial = false
	h.Failing = nil
	fa.putHost(h)
	fa.out.Record(now, facts.EventFacts{Type: "host-unlocked", Host: h.ID, Item: -1, Instance: -1, By: model.LockedByFarm,
		Why: why})
	fa.planStale = true
}

// watchStuck processes a worker's report that an instance's processes survive SIGKILL, or no longer do. They hang in
// the kernel, mostly on a file server, and processes of further items would hang too. So the host accepts no new items
// while there are such processes, or until a person unlocks it. The item runs nowhere else until its end is proven by a
// record, a reboot or a person.
func (fa *faults) watchStuck(now time.Time, i *model.Instance, state string) {
	was := i.Stuck
	i.Stuck = state == "unkillable"
	if was == i.Stuck || !i.Stuck {
		return
	}
	h := i.Host
	cause := fmt.Sprintf("the item's processes on %s outlive KILL; the item waits for their end, a reboot, or qbadmin worker -confirm-dead %s", h.ID, h.ID)
	fa.out.Record(now, facts.EventFacts{Type: "unkillable", Job: i.Job.ID, Item: i.Attempt.Item, Instance: i.Number,
		Host: h.ID, By: model.LockedByFarm, Why: facts.Why{Cause: cause}})
	if h.LockedBy == "" {
		fa.lockForAWhile(now, h, facts.Why{Reason: facts.ReasonProcessesOutlive, Params: facts.Params{Job: i.Job.ID},
			Cause: fmt.Sprintf("processes of %s outlive KILL here, look at its file systems", i.Name())})
	}
}
