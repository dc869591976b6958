package model

import (
	"cmp"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
)

// Order is an order that is being carried out, or waits for those on its job before it.
//
// What an order means is settled as it begins: which items it applies to, the job's state and its marks, in one step
// and few rows. What is left are rows of attempts, up to one an item. They are changed in pieces, ascending by item,
// each in a commit with others' work and with the order's own row, which says how far it has come; so the next term
// goes on from there. An order that is carried out in its first step never has a row.
type Order struct {
	facts.OrderFacts
	Spans []agenda.Span
	Stops []ordered // attempts that are to end, or to be the last of their instances, by item
	Ended items.Set // items that are to run again and have an ended attempt
}

// ordered is an attempt as it was when the order began; one that ended by itself since is left alone.
type ordered struct {
	*Instance
	ID facts.AttemptID
}

// Left is how many attempts are still to be changed; rows, how many rows that is: a stop is told by an event, too.
func (o *Order) Left() int { return len(o.Stops) + o.Ended.Count }

func (o *Order) Rows() int { return StopRows*len(o.Stops) + o.Ended.Count }

const StopRows = 2

func (o *Order) Reply(remarks ...string) message.ActionReply {
	return message.ActionReply{Job: o.Job, Affected: o.Affected, Done: o.Done, Order: o.Number, Remarks: append([]string{}, remarks...)}
}

// Running are the attempts that the order ends, or makes the last of their instances, by item.
func (j *Job) Running(o *Order) []ordered {
	on := make(map[facts.ItemNo]*Instance, len(j.Instances))
	for _, i := range j.Instances {
		on[i.Attempt.Item] = i
	}
	var found []ordered
	for n := range items.Each(o.Spans) {
		if j.Tally.State(int(n)) != agenda.Running {
			continue
		}
		i := on[n]
		if i.Stopping() && (o.Action != facts.Kill || i.Killed()) || i.SentAway && o.Action == facts.Preempt {
			continue
		}
		found = append(found, ordered{i, i.Attempt.AttemptID})
	}
	slices.SortFunc(found, func(a, b ordered) int { return cmp.Compare(a.ID.Item, b.ID.Item) })
	return found
}

// Resume takes up an order of an earlier term where it was left. Late are the items whose last attempt ended after
// the order began, to which it does not apply.
func (j *Job) Resume(row facts.OrderFacts, late map[facts.ItemNo]time.Time) {
	o := &Order{OrderFacts: row, Spans: row.Items}
	if o.Spans == nil {
		o.Spans = j.Whole()
	}
	j.Orders = append(j.Orders, o)
	switch {
	case o.Begun.IsZero():
	case o.Action.Reopens():
		for item := range items.Each(o.Spans) {
			if item >= o.Next && o.Action.Covers(j.Tally.State(int(item))) && j.LastAttempt(item) > 0 && !late[item].After(o.Begun) {
				o.Ended.Add(int(item), j.Entries.Len())
			}
		}
	default:
		o.Stops = slices.DeleteFunc(j.Running(o), func(t ordered) bool {
			return t.ID.Item < o.Next || t.Attempt.StartedAt.After(o.Begun)
		})
	}
	o.Done = o.Affected - o.Left()
}

// Spare takes an item out of the order under way on its job, as the farm itself lets it run again.
func (j *Job) Spare(item facts.ItemNo) {
	if len(j.Orders) > 0 {
		j.Orders[0].Ended.Remove(int(item))
	}
}

// MarksAfter are the job's marks as the order leaves them, and why it may not have them. A kill marks all that it
// names: a mark may lie over items that are complete or failed, as those outweigh it until a person has them run again,
// and over running ones, which are killed with it.
func (j *Job) MarksAfter(now time.Time, o *Order) ([]facts.Mark, string) {
	marks := j.Marks
	switch {
	case o.Action == facts.Kill && !j.State.Final():
		over := make([]facts.Mark, len(o.Spans))
		for n, s := range o.Spans {
			over[n] = facts.Mark{Kind: facts.MarkKilled, By: o.By, At: now}.On(s)
		}
		marks = items.WithMarks(marks, over)
	case o.Action.Reopens():
		marks = items.MarksWithout(marks, o.Spans)
	case o.Action == facts.Unblock:
		marks = slices.DeleteFunc(slices.Clone(marks), func(m facts.Mark) bool { return m.Kind == facts.MarkBlocked })
	}
	return marks, j.CheckMarks(j.ID, marks)
}
