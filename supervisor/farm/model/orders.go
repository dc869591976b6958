package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Action is an order that is being carried out, or waits for those on its job before it.
//
// What an order means is settled as it begins: which items it applies to, the job's state and its marks, in one step
// and few rows. What is left are rows of attempts, up to one an item. They are changed in pieces, ascending by item,
// each in a commit with others' work and with the order's own row, which says how far it has come; so the next term
// goes on from there. An order that is carried out in its first step never has a row.
type Action struct {
	facts.ActionFacts
	Spans []agenda.Span
	Stops []actedAttempt // attempts that are to end, or to be the last of their instances, by item
	Ended items.Set      // items that are to run again and have an ended attempt
	Taken []int          // items that it applies to, ascending, as it began in this term

	ByInstance bool // it chose instances, and Spans are what these ran
}

// actedAttempt is an attempt as it was when the order began; an attempt that ended by itself since is left alone.
type actedAttempt struct {
	*Instance
	ID facts.AttemptID
}

// Left is how many attempts are still to be changed; rows, how many rows that is: a stop is recorded as an event, too.
func (o *Action) Left() int { return len(o.Stops) + o.Ended.Count }

func (o *Action) Rows() int { return StopRows*len(o.Stops) + o.Ended.Count }

const StopRows = 2

// TakeStops notes what the order is to stop: with what it has done and is to reopen, that is all that it applies to.
func (o *Action) TakeStops(stops []actedAttempt) {
	o.Stops = stops
	for _, t := range stops {
		o.Taken = append(o.Taken, int(t.ID.Item))
	}
	slices.Sort(o.Taken)
	o.Affected = o.Done + o.Left()
}

// SendAway has the instances that the order retires leave at the end of their items, before their rows say so: a plan
// between two pieces of the order would stop them at once, as their job is narrower already.
func (o *Action) SendAway() {
	for _, t := range o.Stops {
		t.SentAway = true
		t.Touch()
	}
}

// Reply is the answer to the order. Version is the present version of its job.
func (o *Action) Reply(version int64, remarks ...string) message.ActionReply {
	r := message.ActionReply{Job: o.Job, Affected: o.Affected, Done: o.Done, Order: o.Number, Version: version,
		Remarks: append([]string{}, remarks...)}
	if spans := agenda.SpansOf(o.Taken); len(spans) <= items.MaxMarks { // more no order can name
		r.Items = spans
	}
	return r
}

// Running are the attempts that the order ends, or makes the last of their instances, by item.
func (j *Job) Running(o *Action) []actedAttempt {
	on := j.running()
	var found []actedAttempt
	for n := range items.Each(o.Spans) {
		if j.Tally.State(int(n)) == agenda.Running && !on[n].leftAlone(o.Action) {
			found = append(found, actedAttempt{on[n], on[n].Attempt.AttemptID})
		}
	}
	slices.SortFunc(found, func(a, b actedAttempt) int { return cmp.Compare(a.ID.Item, b.ID.Item) })
	return found
}

// leftAlone says whether an order changes nothing of what runs: it ends so already, or as an order says that counts
// more.
func (i *Instance) leftAlone(a facts.Action) bool {
	kind := a.Marks()
	switch {
	case i.Behind() && (a == facts.Suspend || a == facts.Resume || a == facts.Retire):
		return true // its item has not begun, and goes back when the instance before it is suspended or retired
	case a == facts.Suspend || a == facts.Resume:
		return i.Stopping() || (i.Suspended() && !i.Resuming()) == (a == facts.Suspend)
	case a == facts.Retire:
		return i.Stopping() || i.SentAway && OrderOn(i).Reason == facts.ReasonRetired
	case a == facts.Block:
		return i.Stopping() && i.Under != agenda.Pending
	case kind == "":
		return i.Stopping() || i.SentAway && a == facts.Preempt
	case i.Under == kind.State():
		return i.Stopping() && (a != facts.Kill || i.Killed())
	}
	return i.Under != agenda.Pending && i.Under != agenda.Blocked && a != facts.ToComplete
}

// StoppingRemarks warn of items that the order would have again if they had ended: they are being stopped under another
// order.
func (j *Job) StoppingRemarks(o *Action) []string {
	items := 0
	for _, i := range j.running() {
		if o.Action.Reopens() && i.Stopping() && o.Action.Covers(i.Under) && agenda.Within(o.Spans, int(i.Attempt.Item)) {
			items++
		}
	}
	if items == 0 {
		return nil
	}
	return []string{fmt.Sprintf("still being stopped: %s, not affected; repeat the %s when qbitems %d shows their end",
		facts.Several(items, "item"), o.Action, j.ID)}
}

// Release lets what runs come back after its end, though another order wanted it to count as failed or complete, and
// returns how many of the order's items that is.
func (j *Job) Release(o *Action) (released int) {
	for _, i := range j.running() {
		counts := i.Under == agenda.Failed && !i.Killed() || i.Under == agenda.Complete && o.Action == facts.Redo
		if counts && agenda.Within(o.Spans, int(i.Attempt.Item)) {
			i.Under = agenda.Pending
			released++
		}
	}
	return released
}

// Resume takes up an order of an earlier term where it was left. Late are the items whose last attempt ended after
// the order began, to which it does not apply.
func (j *Job) Resume(row facts.ActionFacts, late map[facts.ItemNo]time.Time) {
	o := &Action{ActionFacts: row, Spans: row.Items}
	if o.Spans == nil {
		o.Spans = j.Whole()
	}
	j.Orders = append(j.Orders, o)
	// What has ended since a complete began has its mark already, so no times are compared: the clock may be another.
	if !o.Begun.IsZero() && (o.Action.Reopens() || o.Action == facts.ToComplete) {
		for item := range items.Each(o.Spans) {
			if item >= o.Next && o.Action.Covers(j.Tally.State(int(item))) && j.LastAttempt(item) > 0 &&
				(o.Action == facts.ToComplete || !late[item].After(o.Begun)) {
				o.Ended.Add(int(item), j.Entries.Len())
			}
		}
	}
	if !o.Begun.IsZero() && !o.Action.Reopens() {
		o.Stops = slices.DeleteFunc(j.Running(o), func(t actedAttempt) bool {
			return t.ID.Item < o.Next || t.Attempt.StartedAt.After(o.Begun)
		})
		if o.Action == facts.Retire { // of instances: one of items has nothing left for another term
			o.SendAway()
		}
	}
	o.Done = o.Affected - o.Left()
}

// Spare takes an item out of the order under way on its job, as the farm itself lets it run again.
func (j *Job) Spare(item facts.ItemNo) {
	if len(j.Orders) > 0 {
		j.Orders[0].Ended.Remove(int(item))
	}
}

// MarksAfter are the job's marks as the order leaves them, and why it may not have them. An order that ends items marks
// all that it names: a mark may lie over items of which an attempt decides, as that outweighs it until a person has
// them run again, and over running ones, which it ends. Items that another order has ended keep their marks, except for
// complete.
func (j *Job) MarksAfter(now time.Time, o *Action) ([]facts.Mark, string) {
	marks := j.Marks
	switch {
	case o.Action == facts.Retire && o.ByInstance:
	case o.Action == facts.Retire, o.Action == facts.Block && o.Items != nil:
		marks = items.WithMarks(marks, j.marksOn(now, o))
	case o.Action.Marks() != "":
		kind := o.Action.Marks()
		kept := j.marksBut(func(k facts.MarkKind) bool {
			return k == kind || k == facts.MarkBlocked || kind == facts.MarkComplete
		})
		marks = items.WithMarks(items.WithMarks(marks, o.marks(now, kind, o.Spans)), kept)
	case o.Action.Reopens(): // an item that qb holds needs unblock
		kept := j.marksBut(func(k facts.MarkKind) bool {
			return k != facts.MarkBlocked && (k != facts.MarkComplete || o.Action == facts.Redo)
		})
		marks = items.WithMarks(items.MarksWithout(marks, o.Spans), kept)
	case o.Action == facts.Unblock:
		kept := j.marksBut(func(k facts.MarkKind) bool { return k == facts.MarkBlocked })
		held := j.marksBut(func(k facts.MarkKind) bool { return k != facts.MarkBlocked })
		marks = items.WithMarks(kept, items.MarksWithout(held, o.Spans))
	}
	return marks, j.CheckMarks(j.ID, marks)
}

// marksOn are the marks of an order that marks only what it changes: items that wait, and for Block the ones that run
// as well.
func (j *Job) marksOn(now time.Time, o *Action) []facts.Mark {
	var taken []int
	for n := range items.Each(o.Spans) {
		if state := j.Tally.State(int(n)); Waits(state) && !(o.Action == facts.Block && state == agenda.Blocked) {
			taken = append(taken, int(n))
		}
	}
	kind := facts.MarkComplete
	if o.Action == facts.Block {
		kind = facts.MarkBlocked
		for _, t := range j.Running(o) {
			taken = append(taken, int(t.ID.Item))
		}
	}
	slices.Sort(taken)
	return o.marks(now, kind, agenda.SpansOf(taken))
}

// marks are the order's marks on spans.
func (o *Action) marks(now time.Time, kind facts.MarkKind, spans []agenda.Span) []facts.Mark {
	marks := make([]facts.Mark, len(spans))
	for n, s := range spans {
		marks[n] = facts.Mark{Kind: kind, By: o.By, At: now}.On(s)
	}
	return marks
}

// Waits says whether an item in this state has not begun, or is to begin again.
func Waits(s agenda.State) bool {
	return s == agenda.Pending || s == agenda.Paused || s == agenda.Blocked || s == agenda.Waiting
}

// Decided says whether a person has the item count as complete or failed.
func (j *Job) Decided(item facts.ItemNo) bool {
	return slices.ContainsFunc(j.Marks, func(m facts.Mark) bool {
		return (m.Kind == facts.MarkComplete || m.Kind == facts.MarkFailed) && m.Span().Has(int(item))
	})
}

// marksBut are the job's marks without those of some kinds.
func (j *Job) marksBut(off func(facts.MarkKind) bool) []facts.Mark {
	return slices.DeleteFunc(slices.Clone(j.Marks), func(m facts.Mark) bool { return off(m.Kind) })
}
