package model

import (
	"fmt"
	"slices"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/why/explain"
)

// Turn is the number by which the job's age counts in the order of jobs: its own, or that of the job whose turn it has.
func (j *Job) Turn() int64 {
	if j.LocalOrder != 0 {
		return j.LocalOrder
	}
	return int64(j.ID)
}

// TakeTurn gives the job the turn of another, or its own back.
func (j *Job) TakeTurn(turn int64) {
	if j.LocalOrder = turn; turn == int64(j.ID) {
		j.LocalOrder = 0
	}
}

// QueueChange is the new turn of a job: its GlobalOrder, or the number by which its age counts.
type QueueChange struct {
	Job *Job
	To  int64
}

// GlobalTurn puts a job before or behind all others. Only its own turn changes.
func GlobalTurn(a facts.Action, j *Job, among []*Job) []QueueChange {
	others := slices.DeleteFunc(slices.Clone(among), func(o *Job) bool { return o == j })
	if len(others) == 0 {
		return nil
	}
	first, last := others[0].GlobalOrder, others[len(others)-1].GlobalOrder
	switch {
	case a == facts.Top && j.GlobalOrder >= first:
		return []QueueChange{{j, first - 1}}
	case a == facts.Bottom && j.GlobalOrder <= last:
		return []QueueChange{{j, last + 1}}
	}
	return nil
}

// OwnTurns has a job take the turn of the first or last of its owner's, and those between the turn of the next: the
// owner's jobs exchange their turns, and no other user waits longer for it.
func OwnTurns(a facts.Action, j *Job, among []*Job) (moved []QueueChange) {
	if a == facts.Bottom {
		slices.Reverse(among)
	}
	at := slices.Index(among, j)
	if at == 0 {
		return nil
	}
	moved = append(moved, QueueChange{j, among[0].Turn()})
	for n := range at {
		moved = append(moved, QueueChange{among[n], among[n+1].Turn()})
	}
	return moved
}

// ByHandText tells of the order by hand, "" where there is none.
func (j *Job) ByHandText(byOwner bool) string {
	switch {
	case j.State.Final():
	case j.GlobalOrder != 0 && byOwner:
		return fmt.Sprintf("by hand (qbtop, qbbottom): globalorder %d among the jobs with cluster %s, before the owners' fairshare, the least first", j.GlobalOrder, j.Cluster)
	case j.GlobalOrder != 0:
		return fmt.Sprintf("by hand (qbtop, qbbottom): globalorder %d among the jobs with cluster %s and priority %d, the least first", j.GlobalOrder, j.Cluster, j.Priority)
	case j.LocalOrder != 0:
		return fmt.Sprintf("by hand (qbtop, qbbottom): it has the turn of job %d of the same user", j.LocalOrder)
	}
	return ""
}

// Ranked is where the job is by what goes before its priority, nil if nothing does. hundredths are of its owner's
// fairshare factor.
func (j *Job) Ranked(p *message.Policy, hundredths int) *explain.Ranked {
	if !p.Share.ByOwner() {
		return nil
	}
	share := p.PlanShare()
	return &explain.Ranked{Operator: share.KeyOf(j.Standing(), j.OperatorPriority, 0).Operator, Factor: hundredths}
}
