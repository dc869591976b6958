package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
)

func (f *Farm) onJobAction(now time.Time, e message.JobAction) {
	j := f.jobs.ByID[e.Job]
	if j != nil && j.Compacted || j == nil && e.Record != nil && e.Record.Compacted {
		f.out.Refuse(e.Ticket, "conflict",
			"job %d ended so long ago that its attempts have become daily sums (supervisor_history_days); submit it again",
			e.Job)
		return
	}
	if j == nil && e.Record != nil {
		if e.Job >= f.jobs.Next || !e.Record.Job.State.Final() {
			f.out.Refuse(e.Ticket, "unavailable",
				"job %d was changed by another supervisor, which leads now; repeat the request", e.Job)
			return
		}
		if e.Record.Job.Version < f.jobs.Recalled[e.Job] {
			f.out.Refuse(e.Ticket, "unavailable", "job %d ran again while its record was read; repeat the request", e.Job)
			return
		}
		var err error
		if j, err = f.admit(now, e.Record); err != nil {
			f.out.Refuse(e.Ticket, "internal", "job %d cannot be taken up again: %v", e.Job, err)
			return
		}
		j.Recalled = true
	}
	if j == nil {
		f.out.Refuse(e.Ticket, "not-found", "there is no job %d", e.Job)
		return
	}
	if j.State.Final() && e.Action.Reopens() {
		if r := f.jobs.Quota.RefusesJob(f.policy.Limits, j.User,
			quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.Needs)); r != nil {
			f.out.Reject(e.Ticket, r)
			return
		}
	}
	if f.refusesOrder(j, e) {
		return
	}
	switch e.Action {
	case facts.Shove:
		f.shove(now, j, e)
		return
	case facts.Top, facts.Bottom:
		f.move(now, j, e)
		return
	}
	outside := slices.IndexFunc(e.Items, func(s agenda.Span) bool { return s.First < 0 || s.Last >= j.Entries.Len() })
	if outside >= 0 {
		f.out.Refuse(e.Ticket, "unavailable",
			"job %d has no item %d here, though its rows had; another supervisor leads now, repeat the request", e.Job,
			e.Items[outside].Last)
		return
	}
	if e.Choice.Given() && !f.choose(j, &e) {
		return
	}
	spans := e.Items
	if spans == nil {
		spans = j.Whole()
	}
	if refusesSpans(&f.out, e.Ticket, spans) {
		return
	}
	if e.Action.Reopens() || e.Action == facts.Unblock {
		f.lacks.try(j)
		f.retries.tryHosts(j)
	}
	f.give(now, j, e, spans)
}

// refusesSpans answers an action on more ranges of items than a job's marks may be.
func refusesSpans(out *outbox.Outbox, t outbox.Ticket, spans []agenda.Span) bool {
	if len(spans) > items.MaxMarks {
		out.Refuse(t, "invalid", "the items are %d ranges, more than %d; order the whole job, or fewer at a time",
			len(spans), items.MaxMarks)
		return true
	}
	if depth := agenda.Depth(spans); depth > items.MaxMarkDepth {
		out.Refuse(t, "invalid", "%d ranges of the items overlap, more than %d; order ranges without a step", depth,
			items.MaxMarkDepth)
		return true
	}
	return false
}

// choose makes the choice of an order the items that it has now; false if the order is answered with that. An order
// under way may change what it has, so the choice waits for it: the caller repeats it.
func (f *Farm) choose(j *model.Job, e *message.JobAction) bool {
	c := e.Choice
	if state := cmp.Or(facts.Refuses(e.Action.TakesItems(), c.States),
		facts.Refuses(e.Action.TakesInstances(), c.InstanceStates)); state != "" {
		f.out.Refuse(e.Ticket, "invalid", "%s takes no %s ones: items that are %s, instances that are %s", e.Action, state,
			facts.Either(e.Action.TakesItems()), facts.Either(e.Action.TakesInstances()))
		return false
	}
	if e.Action == facts.Retire && c.OfInstances() && (e.Items != nil || c.States != nil) {
		f.out.Refuse(e.Ticket, "invalid", "retire takes items or instances, not both at once")
		return false
	}
	if n := len(j.Orders); n > 0 {
		f.out.Refuse(e.Ticket, "unavailable", "%s on job %d is under way, and may change what is chosen; repeat the request",
			j.Orders[0].Action, j.ID)
		return false
	}
	if e.Items = j.Chosen(e.Items, c); len(e.Items) == 0 {
		f.out.Answer(e.Ticket, message.ActionReply{Job: j.ID, Version: j.Version,
			Remarks: []string{j.NothingChosen(e.Action, c)}})
		return false
	}
	return true
}

// shove looks again for a place for the job's pending items. It changes no row of the job, so it waits for no other
// order. The plan keeps min_run and settle: repeated shoves take nothing from others earlier.
func (f *Farm) shove(now time.Time, j *model.Job, e message.JobAction) {
	reply := message.ActionReply{Job: j.ID, Version: j.Version, Remarks: []string{}}
	if waiting := j.Pending(); j.State == facts.Active && waiting > 0 {
		f.lacks.try(j)
		f.retries.tryHosts(j)
		f.planStale = true
		f.out.Record(now, facts.EventFacts{Type: "ordered-shove", Job: j.ID, Item: -1, Instance: -1, By: e.By,
			Why: facts.Why{Cause: fmt.Sprintf("%d items", waiting)}})
		reply.Affected, reply.Done = waiting, waiting
	} else {
		primary, secondary, ending := j.Counts()
		reply.Remarks = append(reply.Remarks, e.Action.ChangedNothing(j.ID, j.Status(), primary+secondary, ending))
	}
	f.out.Answer(e.Ticket, reply)
}

// unblock lets go what is held of the order's items, and with the whole job also the job.
func (f *Farm) unblock(j *model.Job, o *model.Action, marks []facts.Mark) int {
	if j.State.Final() {
		return 0
	}
	n := 0
	for item := range items.Each(o.Spans) {
		if j.Tally.State(int(item)) == agenda.Blocked {
			j.Put(item, agenda.Pending)
			o.Taken = append(o.Taken, int(item))
			n++
		}
	}
	for _, i := range j.Instances { // that are being stopped
		if i.Under == agenda.Blocked && agenda.Within(o.Spans, int(i.Attempt.Item)) {
			i.Under = agenda.Pending
			n++
		}
	}
	f.setMarks(j, marks)
	if o.Items != nil || j.State != facts.Blocked && len(j.WaitFor) == 0 {
		return n
	}
	o.Taken = nil
	if j.State != facts.Blocked {
		n += j.Waiting()
	}
	was := j.State
	j.State = facts.Active
	j.BlockedBy = ""
	j.WaitFor = nil
	f.jobs.Unwatch(j)
	f.putJob(j)
	if was != facts.Blocked {
		return n
	}
	return max(1, j.Pending()+j.Paused())
}

// sendAway sends an instance away at its item's end. Its attempt's row says so, so that the next term knows.
func (f *Farm) sendAway(now time.Time, i *model.Instance, why facts.Reason, by string) {
	order := facts.Because(why, facts.Params{By: by}, "")
	i.SentAway, i.Order = true, &order
	i.Touch()
	f.ahead.handBack(i)
	f.out.Write(facts.SendAwayAttempt{ID: i.Attempt.AttemptID, Why: order})
	f.recordOf(now, i, facts.EventFacts{Type: "draining", By: by,
		Why: facts.Why{Reason: why, Params: facts.Params{By: by}, Cause: awayTexts[why]}})
}

var awayTexts = map[facts.Reason]string{facts.ReasonSentAway: "sent away at its item's end",
	facts.ReasonRetired: "retired at its item's end"}

// refusesOrder refuses an order that there is not, and one of somebody who has not seen what others changed since. The
// job's end by itself is no change by anybody.
func (f *Farm) refusesOrder(j *model.Job, e message.JobAction) bool {
	switch {
	case e.IfVersion != 0 && j.Version != e.IfVersion && !(j.State.Final() && j.Version == e.IfVersion+1):
		f.out.Refuse(e.Ticket, "stale", "job %d was changed meanwhile (version %d, yours %d); read it again", e.Job,
			j.Version, e.IfVersion)
	case e.Choice.Given() && e.Action.TakesItems() == nil:
		f.out.Refuse(e.Ticket, "invalid", "%s acts on whole jobs; give the id %d alone", e.Action, e.Job)
	case !slices.Contains(facts.Actions, e.Action):
		f.out.Refuse(e.Ticket, "invalid", "there is no order %q", e.Action)
	case e.Items != nil && e.Action.TakesItems() == nil:
		f.out.Refuse(e.Ticket, "invalid", "%s acts on whole jobs; give the id %d without items", e.Action, e.Job)
	default:
		return false
	}
	return true
}
