package farm

import (
	"time"

	"qb/smartshare"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// reservation is the host that the last plan keeps for a job (see planner.Reservation).
type reservation struct {
	job  *model.Job
	host *model.Host

	at, sure  float64 // when the job can start there by the mean item times, and before when it cannot
	primaries int     // of the job, when it got the host
}

// reserve takes over the plan's reservation.
func (pl *planning) reserve(p *snapshot, b planner.Plan) {
	pl.admission.reserved = nil
	if r := b.Reserved; r != nil {
		pl.admission.reserved = &reservation{p.jobs[r.Job], p.hosts[r.Host], r.At, r.Sure, r.Primaries}
	}
}

// estimate says when the host is free for the holder, as things are now.
func (r *reservation) estimate(now time.Time) {
	r.at, r.sure = r.host.FreeFor(now, r.job)
}

// mayUse says whether an instance of the job may start, or take its next item, on the host beside a
// reservation there: if the item ends before the host is free for the holder, or as a primary of better standing
// than the holder's.
func (ad *admission) mayUse(now time.Time, j *model.Job, h *model.Host, kind facts.Kind) bool {
	r := ad.reserved
	return r == nil || r.host != h || r.job == j || model.Seconds(now)+j.ExpectedItem().Seconds() <= r.sure ||
		(kind == facts.Primary && ad.outranks(j, r.job, h))
}

// dispatchKeys are the sort keys of two jobs in the dispatch order of a host, without their ages.
func (ad *admission) dispatchKeys(a, b *model.Job, h *model.Host) (x, y smartshare.Key) {
	share := ad.policy.PlanShare()
	return share.Keys(standingOf(a), standingOf(b), ad.viewpoint, h.Cluster)
}

// outranks reports whether job a comes before b in the dispatch order of the host. Ages are not compared.
func (ad *admission) outranks(a, b *model.Job, h *model.Host) bool {
	share := ad.policy.PlanShare()
	return share.Outranks(standingOf(a), standingOf(b), ad.viewpoint, h.Cluster)
}

func standingOf(j *model.Job) planner.OrderAttributes {
	return planner.OrderAttributes{User: j.User, Priority: j.Standing(), Operator: j.OperatorPriority, Cluster: j.Cluster}
}
