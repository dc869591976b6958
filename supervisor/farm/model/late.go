package model

import (
	"fmt"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Late is an item that an attempt did which was given up before its host reported it.
type Late struct {
	Item  facts.ItemNo
	By    items.Lapsed
	Next  *Instance    // runs the item now; nil: nothing does
	Marks []facts.Mark // of the job, with that of the item
	Why   facts.Why    // Next stops
	Event facts.Why
}

// Runs are instances by what they run, of the jobs for which that was asked.
type Runs map[facts.JobID]map[facts.ItemNo]*Instance

func (r Runs) at(j *Job, item facts.ItemNo) *Instance {
	if r[j.ID] == nil {
		r[j.ID] = j.running()
	}
	return r[j.ID][item]
}

// DoneLate is what comes of an end that a worker tells after the attempt was given up; nil: nothing. It counts if the
// item was done before the lease ended, hence before the item could be given to another attempt, if the next attempt
// has not ended, and if no one has decided otherwise of the item. What failed gets no more than its retry, which the
// next attempt is.
func (j *Job) DoneLate(now time.Time, row facts.HostFacts, end *message.ReportedEnd, running Runs) *Late {
	item := end.Attempt.Item
	by, ok := j.Lapsed(item)
	switch {
	case !ok || by.Number != end.Attempt.Number || by.Boot != row.Boot || by.StateID != row.StateID:
		return nil
	case !end.InLease || end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != 0:
		return nil
	case j.State.Final() || len(j.Orders) > 0: // an order under way has looked at the item already
		return nil
	}
	next, state := running.at(j, item), j.Tally.State(int(item))
	if next == nil && state != agenda.Pending && state != agenda.Paused || next != nil &&
		(next.Stopping() || next.Under != agenda.Pending) {
		return nil
	}
	marks := items.WithMarks(j.Marks, []facts.Mark{{First: item, Last: item, Step: 1, Kind: facts.MarkComplete,
		By: LockedByFarm, At: now}})
	if j.CheckMarks(j.ID, marks) != "" {
		return nil
	}
	l := &Late{Item: item, By: by, Next: next, Marks: marks,
		Why: facts.Because(facts.ReasonDoneBefore, facts.Params{Host: by.Host}, "")}
	l.Event = l.Why
	l.Event.Cause = fmt.Sprintf("attempt %d did it before its lease ended", by.Number)
	return l
}
