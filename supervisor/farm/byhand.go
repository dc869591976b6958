package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// maxMoved is how many jobs may change places for one order.
const maxMoved = 1000

// move puts a job before or behind all others of its cluster and priority, or of these its owner's: the order by hand,
// which planner.Snapshot has act. It changes no items, so it waits for no other order.
func (f *Farm) move(now time.Time, j *model.Job, e message.JobAction) {
	among, whose, turns := f.orderedAmong(j, e.Everybody), "", model.OwnTurns
	if e.Everybody {
		turns = model.GlobalTurn
	} else {
		whose = "of " + j.User + " "
	}
	alike := fmt.Sprintf("cluster %s and priority %d", j.Cluster, j.Priority)
	if e.Everybody && f.policy.Share.ByOwner() {
		alike = "cluster " + j.Cluster
	}
	moved := turns(e.Action, j, among)
	reply := message.ActionReply{Job: j.ID, Version: j.Version, Remarks: []string{}}
	remark := func(format string, args ...any) { reply.Remarks = append(reply.Remarks, fmt.Sprintf(format, args...)) }
	switch {
	case j.State.Final():
		remark("%s", e.Action.ChangedNothing(j.ID, j.Status(), 0, 0))
	case len(among) == 1:
		remark("job %d is the only unfinished job %swith %s, so %s changes nothing", j.ID, whose, alike, e.Action)
	case len(moved) == 0:
		remark("job %d is at the %s of %s already", j.ID, e.Action, facts.Several(len(among), "job"))
	case len(moved) > maxMoved:
		f.out.Refuse(e.Ticket, "limit", "%s of job %d would move %d jobs, more than %d; change its priority instead",
			e.Action, j.ID, len(moved), maxMoved)
		return
	default:
		for _, t := range moved {
			if e.Everybody {
				t.Job.GlobalOrder = t.To
			} else {
				t.Job.TakeTurn(t.To)
			}
			f.putJob(t.Job)
		}
		f.out.Record(now, facts.EventFacts{Type: "ordered-" + string(e.Action), Job: j.ID, Item: -1, Instance: -1, By: e.By,
			Why: facts.Why{Cause: fmt.Sprintf("among %s %swith %s", facts.Several(len(among), "job"), whose, alike)}})
		f.planStale, f.planNow = true, true
		reply.Affected = 1
		reply.Done = 1
		reply.Version = j.Version
	}
	f.out.Answer(e.Ticket, reply)
}

// orderedAmong are the unfinished jobs among which a job is ordered, itself included, by their turns.
func (f *Farm) orderedAmong(j *model.Job, everybody bool) (among []*model.Job) {
	mine, peers := f.ownTurn(j), f.policy.OrderedAmong(&j.JobFacts, everybody)
	for _, o := range f.jobs.ByID {
		own := o.User == j.User && o.GlobalOrder == j.GlobalOrder && f.ownTurn(o) == mine
		if o == j || !o.State.Final() && o.Cluster == j.Cluster && f.policy.OrderedAmong(&o.JobFacts, everybody) == peers &&
			(own || everybody) {
			among = append(among, o)
		}
	}
	slices.SortFunc(among, func(a, b *model.Job) int {
		return cmp.Or(cmp.Compare(a.GlobalOrder, b.GlobalOrder), cmp.Compare(a.Turn(), b.Turn()), cmp.Compare(a.ID, b.ID))
	})
	return among
}

// ownTurn is who has the turn of a job: its owner, and with fairshare the owner's account. A turn of
// an account with another past is not the account's to take.
func (f *Farm) ownTurn(j *model.Job) facts.Payer {
	if !f.policy.Fairshare.Order {
		return facts.Payer{Owner: j.User}
	}
	p := f.usage.accounts.Place(j.Payer())
	p.Owner = j.User
	return p
}
