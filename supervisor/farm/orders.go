package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
)

// order is an order that is being carried out, or waits for those on its job before it.
//
// What an order means is settled as it begins: which items it applies to, the job's state and its marks, in one step
// and few rows. What is left are rows of attempts, up to one an item. They are changed in pieces, ascending by item,
// each in a commit with others' work and with the order's own row, which says how far it has come; so the next term
// goes on from there. An order that is carried out in its first step never has a row.
type order struct {
	facts.OrderFacts
	spans []agenda.Span
	stops []ordered // attempts that are to end, or to be the last of their instances, by item
	ended items.Set // items that are to run again and have an ended attempt
}

// ordered is an attempt as it was when the order began; one that ended by itself since is left alone.
type ordered struct {
	i  *instance
	id facts.AttemptID
}

// left is how many attempts are still to be changed; rows, how many rows that is: a stop is told by an event, too.
func (o *order) left() int { return len(o.stops) + o.ended.Count }

func (o *order) rows() int { return stopRows*len(o.stops) + o.ended.Count }

const stopRows = 2

// give begins an order, or lets it wait for the one under way on its job.
func (f *Farm) give(now time.Time, j *job, e message.JobOrdered, spans []agenda.Span) {
	o := &order{OrderFacts: facts.OrderFacts{Job: j.ID, Number: now.UnixMicro(), Action: e.Action, Items: e.Items, By: e.By, At: now}, spans: spans}
	if n := len(j.orders); n > 0 {
		if n >= message.MaxOrders {
			f.out.Reject(e.Ticket, outbox.Limited(message.LimitOrders, "%d orders on job %d are not yet carried out, the limit; repeat this one when some are", n, j.ID))
			return
		}
		o.Number = max(o.Number, j.orders[n-1].Number+1)
		j.orders = append(j.orders, o)
		f.out.Write(facts.PutOrder{Order: o.OrderFacts, Fresh: true})
		f.out.Answer(e.Ticket, o.reply(fmt.Sprintf("it waits for %s on job %d, which is under way", j.orders[0].Action, j.ID)))
		return
	}
	if why := f.begin(now, j, o, e.Links); why != "" {
		f.out.Refuse(e.Ticket, "invalid", "%s", why)
		return
	}
	if o.rows() <= f.policy.OrderRows {
		f.carry(now, j, o, o.rows())
		f.maybeFinish(now, j)
		o.Number = 0
	} else {
		j.orders, f.underway.orders = append(j.orders, o), append(f.underway.orders, j)
		f.out.Write(facts.PutOrder{Order: o.OrderFacts, Fresh: true})
	}
	if o.Affected > 0 {
		f.out.Answer(e.Ticket, o.reply())
		return
	}
	primary, secondary, ending := j.counts()
	f.out.Answer(e.Ticket, o.reply(o.Action.ChangedNothing(j.ID, j.status(), primary+secondary, ending)))
}

func (o *order) reply(remarks ...string) message.ActionReply {
	return message.ActionReply{Job: o.Job, Affected: o.Affected, Done: o.Done, Order: o.Number, Remarks: append([]string{}, remarks...)}
}

// begin settles what the order applies to and does all of it but what rows of attempts tell. It changes nothing if it
// says why not.
func (f *Farm) begin(now time.Time, j *job, o *order, links map[facts.JobID]facts.JobState) string {
	marks, why := j.marksAfter(now, o)
	if why != "" {
		return why
	}
	o.Begun = now
	switch o.Action {
	case facts.Kill:
		f.beginKill(j, o, marks)
	case facts.Retry, facts.Requeue, facts.Redo:
		f.beginReopening(j, o, marks, links)
	case facts.Block:
		f.beginBlock(j, o)
	case facts.Unblock:
		o.Affected = f.unblock(j, marks)
		o.Done = o.Affected
	case facts.Interrupt, facts.Preempt:
		o.stops = j.running(o)
		o.Affected = len(o.stops)
	}
	if o.Affected > 0 {
		f.out.Record(now, facts.EventFacts{Type: "ordered-" + string(o.Action), Job: j.ID, Item: -1, Instance: -1, By: o.By,
			Why: facts.Why{Cause: fmt.Sprintf("%d items", o.Affected)}})
		f.planStale, f.planNow = true, true
	}
	return ""
}

// beginKill marks the items, so that none of them starts or comes back by itself any more; what runs of them is
// stopped piece by piece.
func (f *Farm) beginKill(j *job, o *order, marks []facts.Mark) {
	if j.State.Final() {
		return
	}
	for item := range items.Each(o.spans) {
		switch j.Tally.State(int(item)) {
		case agenda.Pending, agenda.Blocked:
			j.Tally.Set(int(item), agenda.Killed)
			o.Done++
		}
	}
	o.stops = j.running(o)
	for _, t := range o.stops {
		t.i.condemned = true
	}
	if o.Affected = o.Done + len(o.stops); o.Affected > 0 {
		f.setMarks(j, marks)
	}
}

// beginReopening lets the items that never ran go at once, and notes the others.
func (f *Farm) beginReopening(j *job, o *order, marks []facts.Mark, links map[facts.JobID]facts.JobState) {
	for item := range items.Each(o.spans) {
		if !o.Action.Covers(j.Tally.State(int(item))) {
			continue
		}
		o.Affected++
		if j.LastAttempt(item) > 0 {
			o.ended.Add(int(item), j.Entries.Len())
			continue
		}
		j.Tally.Set(int(item), agenda.Pending)
		o.Done++
	}
	if o.Affected == 0 {
		return
	}
	f.setMarks(j, marks)
	wasFinal := j.State.Final()
	switch {
	case o.Action == facts.Requeue:
		j.State, j.BlockedBy, j.FinishedAt = facts.Blocked, o.By, time.Time{}
		f.jobs.waitOn(j)
	case wasFinal:
		j.State, j.FinishedAt = facts.Active, time.Time{}
		if j.WaitFor = f.jobs.stillWaits(j, links); len(j.WaitFor) > 0 {
			j.State, j.BlockedBy = facts.Blocked, ""
			f.jobs.waitOn(j)
		}
	default:
		return
	}
	f.putJob(j)
}

func (f *Farm) beginBlock(j *job, o *order) {
	if j.State.Final() || (j.State == facts.Blocked && j.BlockedBy != "") {
		return
	}
	o.Affected = max(1, j.Tally.Count(agenda.Pending)+j.Tally.Count(agenda.Running))
	j.State, j.BlockedBy = facts.Blocked, o.By
	f.putJob(j)
	o.stops = j.running(o)
	o.Done = o.Affected - len(o.stops)
}

// running are the attempts that the order ends, or makes the last of their instances, by item.
func (j *job) running(o *order) []ordered {
	on := make(map[facts.ItemNo]*instance, len(j.instances))
	for _, i := range j.instances {
		on[i.attempt.Item] = i
	}
	var found []ordered
	for n := range items.Each(o.spans) {
		if j.Tally.State(int(n)) != agenda.Running {
			continue
		}
		i := on[n]
		if i.stopping() && (o.Action != facts.Kill || i.killed()) || i.leaving && o.Action == facts.Preempt {
			continue
		}
		found = append(found, ordered{i, i.attempt.AttemptID})
	}
	slices.SortFunc(found, func(a, b ordered) int { return cmp.Compare(a.id.Item, b.id.Item) })
	return found
}

// carry changes about so many rows, and returns how many it was.
func (f *Farm) carry(now time.Time, j *job, o *order, most int) int {
	n := min((most+1)/stopRows, len(o.stops))
	for _, t := range o.stops[:n] {
		o.Next = t.id.Item + 1
		if t.i.attempt.AttemptID != t.id || !t.i.attempt.State.Live() {
			continue
		}
		switch o.Action {
		case facts.Kill:
			f.stop(now, t.i, facts.Because(facts.ReasonKilled, facts.Params{By: o.By}, ""))
		case facts.Block:
			f.stop(now, t.i, facts.Because(facts.ReasonBlocked, facts.Params{By: o.By}, ""))
		case facts.Interrupt:
			f.stop(now, t.i, facts.Because(facts.ReasonInterrupted, facts.Params{By: o.By}, ""))
		default:
			if !t.i.stopping() {
				f.sendAway(now, t.i, o.By)
				f.planStale = true
			}
		}
	}
	o.stops = o.stops[n:]
	n = stopRows*n + f.reopen(j, o, most)
	o.Done = o.Affected - o.left()
	return n
}

// reopen lets at most so many ended items run again.
func (f *Farm) reopen(j *job, o *order, most int) int {
	var again []facts.AttemptID
	waiting := j.Pending()
	for len(again) < most && o.ended.Count > 0 {
		n := o.ended.Next(int(o.Next))
		item := facts.ItemNo(n)
		o.ended.Remove(n)
		o.Next = item + 1
		j.Reopen(item)
		again = append(again, facts.AttemptID{Job: j.ID, Item: item, Number: j.LastAttempt(item)})
	}
	if len(again) > 0 {
		j.changes++
		f.out.Write(facts.ReopenAttempts{Job: j.ID, Attempts: again})
		f.planStale = f.planStale || waiting < j.width(&f.policy.Share)
	}
	return len(again)
}

// carryOrders carries out the next piece of the orders under way, in turn by job. Each commit has one.
func (f *Farm) carryOrders(now time.Time) {
	if f.carried || f.out.Spent() || len(f.underway.orders) == 0 {
		return
	}
	f.carried = true
	began := false
	for most := f.policy.OrderRows; most > 0 && len(f.underway.orders) > 0 && !began; {
		j := f.underway.orders[0]
		f.underway.orders = f.underway.orders[1:]
		o := j.orders[0]
		if began = o.Begun.IsZero(); began {
			if why := f.begin(now, j, o, nil); why != "" {
				f.out.Record(now, facts.EventFacts{Type: "order-refused", Job: j.ID, Item: -1, Instance: -1, By: o.By, Why: facts.Why{Reason: facts.ReasonTooManyMarks, Cause: string(o.Action) + ": " + why}})
			}
		}
		most -= f.carry(now, j, o, most)
		if o.left() > 0 {
			f.out.Write(facts.PutOrder{Order: o.OrderFacts})
		} else {
			f.out.Write(facts.DropOrder{Job: j.ID, Number: o.Number})
			j.orders = j.orders[1:]
			j.carried = append(slices.Clone(j.carried[max(0, len(j.carried)+1-maxCarried):]), o.OrderFacts)
		}
		if len(j.orders) > 0 {
			f.underway.orders = append(f.underway.orders, j)
		} else {
			f.maybeFinish(now, j)
		}
	}
}

// resume takes up an order of an earlier term where it was left. Late are the items whose last attempt ended after
// the order began, to which it does not apply.
func (j *job) resume(row facts.OrderFacts, late map[facts.ItemNo]time.Time) {
	o := &order{OrderFacts: row, spans: row.Items}
	if o.spans == nil {
		o.spans = j.Whole()
	}
	j.orders = append(j.orders, o)
	switch {
	case o.Begun.IsZero():
	case o.Action.Reopens():
		for item := range items.Each(o.spans) {
			if item >= o.Next && o.Action.Covers(j.Tally.State(int(item))) && j.LastAttempt(item) > 0 && !late[item].After(o.Begun) {
				o.ended.Add(int(item), j.Entries.Len())
			}
		}
	default:
		o.stops = slices.DeleteFunc(j.running(o), func(t ordered) bool {
			return t.id.Item < o.Next || t.i.attempt.StartedAt.After(o.Begun)
		})
	}
	o.Done = o.Affected - o.left()
}

// spare takes an item out of the order under way on its job, as the farm itself lets it run again.
func (j *job) spare(item facts.ItemNo) {
	if len(j.orders) > 0 {
		j.orders[0].ended.Remove(int(item))
	}
}

// setMarks writes what differs between the job's marks and these, which are by first item.
func (f *Farm) setMarks(j *job, marks []facts.Mark) {
	w := j.SetMarks(marks)
	w.Job = j.ID
	if len(w.Remove)+len(w.Add) > 0 {
		f.out.Write(w)
	}
}
