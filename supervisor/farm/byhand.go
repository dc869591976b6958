package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/model"
)

// maxMoved is how many jobs may change places for one order.
const maxMoved = 1000

// turn is the new turn of a job: its GlobalOrder, or the number by which its age counts.
type turn struct {
	job *model.Job
	to  int64
}

// move puts a job before or behind all others of its cluster and priority, or of these its owner's: the order by hand,
// which planner.Snapshot has act. It changes no items, so it waits for no other order.
func (f *Farm) move(now time.Time, j *model.Job, e message.JobOrdered) {
	among, whose, turns := f.orderedAmong(j, e.Everybody), "", ownTurns
	if e.Everybody {
		turns = globalTurn
	} else {
		whose = "of " + j.User + " "
	}
	moved := turns(e.Action, j, among)
	reply := message.ActionReply{Job: j.ID, Version: j.Version, Remarks: []string{}}
	remark := func(format string, args ...any) { reply.Remarks = append(reply.Remarks, fmt.Sprintf(format, args...)) }
	switch {
	case j.State.Final():
		remark("%s", e.Action.ChangedNothing(j.ID, j.Status(), 0, 0))
	case len(among) == 1:
		remark("job %d has nothing to be ordered among: no other unfinished job %shas cluster %s and priority %d", j.ID, whose, j.Cluster, j.Priority)
	case len(moved) == 0:
		remark("job %d is at the %s of %s already", j.ID, e.Action, facts.Several(len(among), "job"))
	case len(moved) > maxMoved:
		f.out.Refuse(e.Ticket, "limit", "%s of job %d would move %d jobs, more than %d; change its priority instead", e.Action, j.ID, len(moved), maxMoved)
		return
	default:
		for _, t := range moved {
			if e.Everybody {
				t.job.GlobalOrder = t.to
			} else {
				t.job.TakeTurn(t.to)
			}
			f.putJob(t.job)
		}
		f.out.Record(now, facts.EventFacts{Type: "ordered-" + string(e.Action), Job: j.ID, Item: -1, Instance: -1, By: e.By,
			Why: facts.Why{Cause: fmt.Sprintf("among %s %swith cluster %s and priority %d", facts.Several(len(among), "job"), whose, j.Cluster, j.Priority)}})
		f.planStale, f.planNow = true, true
		reply.Affected, reply.Done, reply.Version = 1, 1, j.Version
	}
	f.out.Answer(e.Ticket, reply)
}

// orderedAmong are the unfinished jobs among which a job is ordered, itself included, by their turns.
func (f *Farm) orderedAmong(j *model.Job, everybody bool) (among []*model.Job) {
	for _, o := range f.jobs.ByID {
		own := o.User == j.User && o.GlobalOrder == j.GlobalOrder
		if o == j || !o.State.Final() && o.Cluster == j.Cluster && o.Standing() == j.Standing() && (own || everybody) {
			among = append(among, o)
		}
	}
	slices.SortFunc(among, func(a, b *model.Job) int {
		return cmp.Or(cmp.Compare(a.GlobalOrder, b.GlobalOrder), cmp.Compare(a.Turn(), b.Turn()), cmp.Compare(a.ID, b.ID))
	})
	return among
}

// globalTurn puts a job before or behind all others. Only its own turn changes.
func globalTurn(a facts.Action, j *model.Job, among []*model.Job) []turn {
	others := slices.DeleteFunc(slices.Clone(among), func(o *model.Job) bool { return o == j })
	if len(others) == 0 {
		return nil
	}
	first, last := others[0].GlobalOrder, others[len(others)-1].GlobalOrder
	switch {
	case a == facts.Top && j.GlobalOrder >= first:
		return []turn{{j, first - 1}}
	case a == facts.Bottom && j.GlobalOrder <= last:
		return []turn{{j, last + 1}}
	}
	return nil
}

// ownTurns has a job take the turn of the first or last of its owner's, and those between the turn of the next: the owner's
// jobs exchange their turns, and nobody else waits longer for it.
func ownTurns(a facts.Action, j *model.Job, among []*model.Job) (moved []turn) {
	if a == facts.Bottom {
		slices.Reverse(among)
	}
	at := slices.Index(among, j)
	if at == 0 {
		return nil
	}
	moved = append(moved, turn{j, among[0].Turn()})
	for n := range at {
		moved = append(moved, turn{among[n], among[n+1].Turn()})
	}
	return moved
}

// byHandText tells of the order by hand, "" where there is none.
func byHandText(j *model.Job) string {
	switch {
	case j.State.Final():
	case j.GlobalOrder != 0:
		return fmt.Sprintf("by hand (qbtop, qbbottom): globalorder %d among the jobs with cluster %s and priority %d, the least first", j.GlobalOrder, j.Cluster, j.Priority)
	case j.LocalOrder != 0:
		return fmt.Sprintf("by hand (qbtop, qbbottom): it has the turn of job %d of the same user", j.LocalOrder)
	}
	return ""
}
