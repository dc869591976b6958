package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// give begins an order, or lets it wait for the one under way on its job.
func (f *Farm) give(now time.Time, j *model.Job, e message.JobAction, spans []agenda.Span) {
	o := &model.Action{ActionFacts: facts.ActionFacts{Job: j.ID, Number: now.UnixMicro(), Action: e.Action, Items: e.Items,
		By: e.By, At: now}, Spans: spans, ByInstance: e.Choice.OfInstances()}
	if n := len(j.Orders); n > 0 {
		if n >= message.MaxOrders {
			f.out.Reject(e.Ticket, outbox.Limited(message.LimitOrders,
				"%d orders on job %d are not yet carried out, the limit; repeat this one when some are", n, j.ID))
			return
		}
		o.Number = max(o.Number, j.Orders[n-1].Number+1)
		j.Orders = append(j.Orders, o)
		f.out.Write(facts.PutAction{Order: o.ActionFacts, Fresh: true})
		f.out.Answer(e.Ticket, o.Reply(j.Version, fmt.Sprintf("it waits for %s on job %d, which is under way",
			j.Orders[0].Action, j.ID)))
		return
	}
	if refused := f.begin(now, j, o, e); refused != "" {
		f.out.Refuse(e.Ticket, "invalid", "%s", refused)
		return
	}
	if o.Rows() <= f.policy.OrderRows {
		f.carry(now, j, o, o.Rows())
		f.maybeFinish(now, j)
		o.Number = 0
	} else {
		j.Orders, f.orders = append(j.Orders, o), append(f.orders, j)
		f.out.Write(facts.PutAction{Order: o.ActionFacts, Fresh: true})
	}
	reply := o.Reply(j.Version)
	o.Taken = nil // it is not kept
	stopping := j.StoppingRemarks(o)
	reply.Remarks = append(reply.Remarks, stopping...)
	if o.Affected > 0 || len(stopping) > 0 {
		f.out.Answer(e.Ticket, reply)
		return
	}
	primary, secondary, ending := j.Counts()
	why := o.Action.ChangedNothing(j.ID, j.Status(), primary+secondary, ending)
	switch {
	case o.Action == facts.Unblock && o.Items != nil && j.State == facts.Blocked:
		why = fmt.Sprintf("job %d is blocked as a whole; unblock it without items", j.ID)
	case o.Action == facts.Retire && o.ByInstance && j.Spares(&f.policy.Share) == 0:
		why = fmt.Sprintf("job %d is 1 wide, the least; kill, block or retire the job itself", j.ID)
	case e.Items != nil && !o.ByInstance:
		why = j.NothingOf(o.Action, e.Items)
	}
	reply.Remarks = append(reply.Remarks, why)
	f.out.Answer(e.Ticket, reply)
}

// begin settles what the order applies to and does all of it but what rows of attempts tell. It changes nothing if it
// says why not.
func (f *Farm) begin(now time.Time, j *model.Job, o *model.Action, e message.JobAction) string {
	marks, why := j.MarksAfter(now, o)
	if why != "" {
		return why
	}
	o.Begun = now
	version := j.Version
	switch o.Action {
	case facts.Kill, facts.ToFailed, facts.ToComplete:
		f.beginMarking(j, o, marks)
	case facts.Retire:
		f.beginRetire(j, o, marks)
	case facts.Retry, facts.Requeue, facts.Redo:
		f.recall(now, e.Parents)
		f.beginReopening(j, o, marks, e)
	case facts.Block:
		f.beginBlock(j, o, marks)
	case facts.Unblock:
		o.Affected = f.unblock(j, o, marks)
		o.Done = o.Affected
	case facts.Suspend:
		f.suspensions.begin(j, o, facts.Active, facts.Suspended, o.By)
	case facts.Resume:
		f.suspensions.begin(j, o, facts.Suspended, facts.Active, "")
	case facts.Interrupt, facts.Preempt, facts.Migrate:
		o.TakeStops(j.Running(o))
		if spans := agenda.SpansOf(o.Taken); len(spans) > 0 && len(spans) <= items.MaxMarks {
			o.Items = spans // a later term that goes on with the order is to leave alone what begins after it
		}
	}
	if o.Affected > 0 {
		if j.Version == version {
			f.putJob(j) // who saw the job before sees that somebody has changed it since
		}
		f.out.Record(now, facts.EventFacts{Type: "ordered-" + string(o.Action), Job: j.ID, Item: -1, Instance: -1, By: o.By,
			Why: facts.Why{Cause: fmt.Sprintf("%d items", o.Affected)}})
		f.planStale, f.planNow = true, true
	}
	return ""
}

// beginMarking marks the items, so that none of them starts or comes back by itself any more; what runs of them is
// stopped piece by piece, and attempts that outweigh a mark as complete are put back in the same way.
func (f *Farm) beginMarking(j *model.Job, o *model.Action, marks []facts.Mark) {
	completes, state := o.Action == facts.ToComplete, o.Action.Marks().State()
	if j.State.Final() && !completes {
		return
	}
	for item := range items.Each(o.Spans) {
		was := j.Tally.State(int(item))
		ended := completes && o.Action.Covers(was)
		switch {
		case ended && j.LastAttempt(item) > 0:
			o.Ended.Add(int(item), j.Entries.Len())
			o.Taken = append(o.Taken, int(item))
		case ended || model.Waits(was):
			j.Put(item, state)
			o.Done++
			o.Taken = append(o.Taken, int(item))
		}
	}
	o.TakeStops(j.Running(o))
	for _, t := range o.Stops {
		t.Under = state
	}
	if o.Affected == 0 && o.Items == nil && o.Action != facts.ToFailed && !j.State.Final() && j.StaysOpen() {
		o.Affected, o.Done = 1, 1 // the job itself ends
	}
	if o.Affected == 0 {
		return
	}
	f.setMarks(j, marks)
	if j.State.Final() {
		j.State, j.FinishedAt = facts.Active, time.Time{}
		f.putJob(j)
	}
}

// beginReopening lets the items that never ran go at once, and notes the others.
func (f *Farm) beginReopening(j *model.Job, o *model.Action, marks []facts.Mark, e message.JobAction) {
	links := slices.Clone(j.WaitFor)
	if j.State.Final() {
		f.jobs.Resolve(j, e.Labels, e.Before)
		f.jobs.Watch(j)
	}
	o.Done = j.Release(o)
	o.Affected = o.Done
	for item := range items.Each(o.Spans) {
		if !o.Action.Covers(j.Tally.State(int(item))) {
			continue
		}
		o.Affected++
		o.Taken = append(o.Taken, int(item))
		if j.LastAttempt(item) > 0 {
			o.Ended.Add(int(item), j.Entries.Len())
			continue
		}
		j.Put(item, agenda.Pending)
		o.Done++
	}
	if o.Affected == 0 {
		f.jobs.Unwatch(j)
		j.WaitFor = links // as in its row, which is not written
		return
	}
	f.setMarks(j, marks)
	switch {
	case o.Action == facts.Requeue:
		j.State = facts.Blocked
		j.BlockedBy = o.By
		j.FinishedAt = time.Time{}
		f.jobs.WaitOn(j)
	case j.State.Final():
		j.State, j.FinishedAt = facts.Active, time.Time{}
		j.WaitFor = f.jobs.StillWaits(j, e.Links)
		f.jobs.Unwatch(j)
		f.jobs.WaitOn(j)
		if j.Holds() {
			j.State, j.BlockedBy = facts.Blocked, ""
		}
	default:
		return
	}
	f.putJob(j)
}

// beginBlock holds the job, or items of it: the ones that wait at once, and the ones that run as they end.
func (f *Farm) beginBlock(j *model.Job, o *model.Action, marks []facts.Mark) {
	if o.Items != nil {
		f.holdItems(j, o, marks)
		return
	}
	if j.State.Final() || (j.State == facts.Blocked && j.BlockedBy != "") {
		return
	}
	o.Affected = max(1, j.Pending()+j.Paused()+j.Waiting()+j.Tally.Count(agenda.Running))
	j.State, j.BlockedBy = facts.Blocked, o.By
	f.putJob(j)
	o.Stops = j.Running(o)
	o.Done = o.Affected - len(o.Stops)
}

func (f *Farm) holdItems(j *model.Job, o *model.Action, marks []facts.Mark) {
	for item := range items.Each(o.Spans) {
		if state := j.Tally.State(int(item)); model.Waits(state) && state != agenda.Blocked {
			j.Put(item, agenda.Blocked)
			o.Done++
			o.Taken = append(o.Taken, int(item))
		}
	}
	o.TakeStops(j.Running(o))
	for _, t := range o.Stops {
		t.Under = agenda.Blocked
	}
	if o.Affected > 0 {
		f.setMarks(j, marks)
	}
}

// beginRetire has the instances chosen leave at the end of their items, and the job be so much narrower. Items that
// have not begun, chosen by themselves or with the whole job, count as complete; the ones that run end by themselves.
func (f *Farm) beginRetire(j *model.Job, o *model.Action, marks []facts.Mark) {
	if j.State.Final() {
		return
	}
	if o.ByInstance {
		stops := j.Running(o)
		o.TakeStops(stops[:min(len(stops), j.Spares(&f.policy.Share))])
		o.Spans = agenda.SpansOf(o.Taken)
		o.Items = o.Spans // no more, for the next term that goes on with it
		if o.Affected > 0 {
			j.Narrow(&f.policy.Share, o.Affected)
		}
		o.SendAway()
		return
	}
	for item := range items.Each(o.Spans) {
		if model.Waits(j.Tally.State(int(item))) {
			j.Put(item, agenda.Complete)
			o.Taken = append(o.Taken, int(item))
		}
	}
	o.Affected, o.Done = len(o.Taken), len(o.Taken)
	if o.Affected > 0 {
		f.setMarks(j, marks)
	}
}

// carry changes about so many rows, ascending by item, and returns how many it was.
func (f *Farm) carry(now time.Time, j *model.Job, o *model.Action, most int) (rows int) {
	var again []facts.AttemptID
	waiting := j.Pending()
	for rows < most && o.Left() > 0 {
		if o.Ended.Count > 0 {
			n := o.Ended.Next(int(o.Next))
			if len(o.Stops) == 0 || n < int(o.Stops[0].ID.Item) {
				again = append(again, f.reopen(j, o, facts.ItemNo(n)))
				rows++
				continue
			}
		}
		f.endOrdered(now, o)
		rows += model.StopRows
	}
	if len(again) > 0 {
		j.Changed()
		f.out.Write(facts.ReopenAttempts{Job: j.ID, Attempts: again})
		f.planStale = f.planStale || waiting < j.Width(&f.policy.Share)
	}
	o.Done = o.Affected - o.Left()
	return rows
}

// endOrdered does to the next of what runs as the order says.
func (f *Farm) endOrdered(now time.Time, o *model.Action) {
	t := o.Stops[0]
	o.Stops, o.Next = o.Stops[1:], t.ID.Item+1
	i := model.PlaceOf(t.Instance)
	switch {
	case i.Attempt.AttemptID != t.ID || !i.Attempt.State.Live():
	case o.Action == facts.Suspend, o.Action == facts.Resume:
		f.suspensions.suspend(now, i, o.Action == facts.Suspend, o.By)
	case o.Action == facts.Preempt || o.Action == facts.Retire:
		if !i.Stopping() {
			f.sendAway(now, i, o.Action.Stops(), o.By)
			f.planStale = true
		}
	default:
		f.stop(now, i, facts.Because(o.Action.Stops(), facts.Params{By: o.By}, ""))
		if o.Action == facts.Migrate {
			f.retries.leaveHost(now, i, o.By)
		}
	}
}

// reopen lets an ended item run again, or be complete instead of what its attempt was.
func (f *Farm) reopen(j *model.Job, o *model.Action, item facts.ItemNo) facts.AttemptID {
	o.Ended.Remove(int(item))
	o.Next = item + 1
	to := agenda.Pending
	if o.Action == facts.ToComplete {
		to = agenda.Complete
	}
	j.Reopen(item, to)
	return facts.AttemptID{Job: j.ID, Item: item, Number: j.LastAttempt(item)}
}

// carryOrders carries out the next piece of the orders under way, in turn by job. Each commit has one.
func (f *Farm) carryOrders(now time.Time) {
	if f.carried || f.out.Spent() || len(f.orders) == 0 {
		return
	}
	f.carried = true
	began := false
	for most := f.policy.OrderRows; most > 0 && len(f.orders) > 0 && !began; {
		j := f.orders[0]
		f.orders, f.doing.job = f.orders[1:], j.ID
		o := j.Orders[0]
		if began = o.Begun.IsZero(); began {
			if why := f.begin(now, j, o, message.JobAction{}); why != "" {
				f.out.Record(now, facts.EventFacts{Type: "order-refused", Job: j.ID, Item: -1, Instance: -1, By: o.By,
					Why: facts.Why{Reason: facts.ReasonTooManyMarks, Cause: string(o.Action) + ": " + why}})
			}
		}
		most -= f.carry(now, j, o, most)
		if o.Left() > 0 {
			f.out.Write(facts.PutAction{Order: o.ActionFacts})
		} else {
			f.out.Write(facts.DropAction{Job: j.ID, Number: o.Number})
			j.Orders = j.Orders[1:]
			j.Carried = append(slices.Clone(j.Carried[max(0, len(j.Carried)+1-maxCarried):]), o.ActionFacts)
		}
		if len(j.Orders) > 0 {
			f.orders = append(f.orders, j)
		} else {
			f.maybeFinish(now, j)
		}
	}
}
