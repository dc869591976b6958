package farm

import (
	"slices"
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// reservation keeps a host for the head of the queue, a job whose instances take several slots and fit
// nowhere: a thousand narrow jobs would else take every slot as it comes free. Others may use the host only
// if their item ends before the head can start (EASY backfill; Lifka, JSSPP 1995), by their mean item time.
type reservation struct {
	job  *model.Job
	host *model.Host
	at   time.Time     // when enough slots will be free, by the mean item times
	sure time.Time     // not before then; what nothing is known of may end any moment
	in   time.Duration // until then, from the plan on

	primaries int // of the holder, when it got it
}

// reserve renews the reservation after a plan. The plan was made beside the old one; where that goes, others may start
// what it kept them from, so there is another plan; likewise where it will take longer. This comes to an end: a holder
// stays until it has started, or a wide job of better standing or one that is helped comes, which no reservation keeps
// from anything; its host changes once; and while nothing starts, the time it takes only becomes shorter.
func (pl *planning) reserve(now time.Time, p *snapshot, b planner.Plan) {
	old, r := pl.admission.reserved, pl.admission.reservationFor(now, p, b)
	pl.admission.reserved = r
	if old != nil && (r == nil || r.job != old.job || r.host != old.host || r.in > old.in) {
		pl.planStale = true
	}
	if old == nil && r != nil && p.awaitedBeside(r) {
		pl.planStale = true
	}
}

// awaitedBeside says whether the plan has starts of other jobs wait on the host that is kept now: elsewhere they
// might not have to.
func (p *snapshot) awaitedBeside(r *reservation) bool {
	return slices.ContainsFunc(p.awaited, func(s planner.PlannedStart) bool { return p.hosts[s.Host] == r.host && p.jobs[s.Job] != r.job })
}

// reservationFor finds who is to have the reservation: the first for whom others leave a host, which is in vain without
// it, else the first who finds no room. He who has it keeps it from all that do not outrank him, until he starts.
func (ad *admission) reservationFor(now time.Time, p *snapshot, b planner.Plan) *reservation {
	holder, old := -1, ad.reserved
	if old != nil && old.waits() {
		holder = slices.Index(p.jobs, old.job)
	}
	_, left := p.yielded[holder]
	left = left || slices.ContainsFunc(p.waiting, func(s planner.PlannedStart) bool { return s.Job == holder })
	for _, helped := range []bool{true, false} {
		held := left || !helped && holder >= 0
		for _, n := range b.Order {
			if held && n == holder {
				return ad.reserveFor(now, p, n)
			}
			_, gives := p.yielded[n]
			j, waits := p.jobs[n], gives || !helped && b.Jobs[n].Unplaced > 0
			if !waits || j.Needs.Slots < 2 || !ad.mayHold(j, nil) || held && !ad.outranks(j, old.job, old.host) {
				continue
			}
			if r := ad.reserveFor(now, p, n); r != nil {
				return r
			}
		}
	}
	return nil
}

// estimate says when the host is free for the holder, as things are now.
func (r *reservation) estimate(now time.Time) {
	r.at, r.sure = r.host.FreeAt(now, r.job.Needs, (*model.Instance).ExpectedEnd), r.host.FreeAt(now, r.job.Needs, (*model.Instance).EarliestEnd)
	r.in = r.sure.Sub(now)
}

// waits says whether the holder still lacks the primary that the host is kept for.
func (r *reservation) waits() bool {
	primary, _, _ := r.job.Counts()
	return primary <= r.primaries && r.job.LacksPrimary()
}

// reserveFor finds the host that has room for job n first, nil if none serves it: where others give way to it,
// else where they end first. It keeps the one that it had, as what has been kept free so far counts, and leaves
// alone those where primaries of others are to start.
func (ad *admission) reserveFor(now time.Time, p *snapshot, n int) *reservation {
	j, meant := p.jobs[n], p.meantBeside(n)
	gives, someGive := p.yielded[n]
	var best *reservation
	for at, h := range p.hosts {
		if !p.Hosts[at].Up || !p.Serves(n, at) || meant[at] > 0 || (someGive && gives != at) {
			continue
		}
		r := &reservation{job: j, host: h}
		r.estimate(now)
		r.primaries, _, _ = j.Counts()
		if ad.keeps(h, j) {
			return r
		}
		if best == nil || r.at.Before(best.at) {
			best = r
		}
	}
	return best
}

// keeps says whether the host is kept for the job.
func (ad *admission) keeps(h *model.Host, j *model.Job) bool {
	return ad.reserved != nil && ad.reserved.job == j && ad.reserved.host == h
}

// meantBeside are by host the slots that the plan has settled for waiting primaries of other jobs than n.
func (p *snapshot) meantBeside(n int) []int {
	meant := make([]int, len(p.hosts))
	for _, s := range p.waiting {
		if s.Job != n {
			meant[s.Host] += p.Jobs[s.Job].Slots
		}
	}
	return meant
}

// mayUse says whether an instance of the job may start, or take its next item, on the host beside a
// reservation there: if the item ends before the host is free for the holder, or as a primary of better standing
// than the holder's.
func (ad *admission) mayUse(now time.Time, j *model.Job, h *model.Host, kind facts.Kind) bool {
	r := ad.reserved
	return r == nil || r.host != h || r.job == j || !now.Add(j.ExpectedItem()).After(r.sure) ||
		(kind == facts.Primary && ad.outranks(j, r.job, h))
}

// dispatchKey is what a host makes of a job's priority and cluster, in the words of the dispatch order.
func (ad *admission) dispatchKey(j *model.Job, h *model.Host) smartshare.Key {
	by, from := ad.policy.Share.Terms(), ad.viewpoint
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		from = h.Cluster
	}
	share := ad.policy.PlanShare()
	return share.KeyOf(j.Standing(), j.OperatorPriority, planner.ClusterDistance(by, j.Cluster, from))
}

// dispatchKeys are those of two jobs. Where fairshare ranks owners, the priorities of two owners are not compared.
func (ad *admission) dispatchKeys(a, b *model.Job, h *model.Host) (x, y smartshare.Key) {
	x, y = ad.dispatchKey(a, h), ad.dispatchKey(b, h)
	if ad.policy.Share.ByOwner() && a.User != b.User {
		x.Priority, y.Priority = 0, 0
	}
	return x, y
}

// outranks says whether job a is of better standing on the host than b; its age does not count.
func (ad *admission) outranks(a, b *model.Job, h *model.Host) bool {
	x, y := ad.dispatchKeys(a, b, h)
	return smartshare.Compare(x, y, ad.policy.Share.Terms()) < 0
}
