package explain

import (
	"cmp"
	"slices"

	"qb/supervisor/job/facts"
)

// Placement is whether a job's waiting items may go to a host, and if not, why.
type Placement struct {
	Job  facts.JobID
	Host facts.HostID
	Why  facts.Why // zero: they may
}

// On says of each job with items that wait whether they may go to a host; found is false if there is no such host.
func (x *Explainer) On(id facts.HostID) (all []Placement, found bool) {
	at := slices.IndexFunc(x.Hosts, func(h Host) bool { return h.ID == id })
	if at < 0 {
		return nil, false
	}
	for n := range x.Jobs {
		if j := &x.Jobs[n]; j.Pending > 0 {
			all = append(all, x.place(j, &x.Hosts[at]))
		}
	}
	return all, true
}

// HostsFor are the hosts for a job's waiting items in the order that the job prefers: the ones that it may go to first.
// What is free on them does not count but by the job's own host order. Found is false if there is no such job.
func (x *Explainer) HostsFor(id facts.JobID) (all []Placement, found bool) {
	j := x.job(id)
	if j == nil {
		return nil, false
	}
	order := make([]int, len(x.Hosts))
	for n := range x.Hosts {
		order[n] = n
		all = append(all, x.place(j, &x.Hosts[n]))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(later(all[a], all[b]), j.Compare(x.Hosts[a].Host, x.Hosts[a].Load, x.Hosts[b].Host, x.Hosts[b].Load))
	})
	sorted := make([]Placement, 0, len(order))
	for _, n := range order {
		sorted = append(sorted, all[n])
	}
	return sorted, true
}

// later puts what may not be placed behind.
func later(a, b Placement) int {
	switch may, other := a.Why == (facts.Why{}), b.Why == (facts.Why{}); {
	case may == other:
		return 0
	case may:
		return -1
	}
	return 1
}

func (x *Explainer) place(j *Job, h *Host) Placement {
	p := Placement{Job: j.ID, Host: h.ID}
	own, waits := ownAnswer(j, x.state)
	refusal := j.Refused(x.Now, h.Host, h.Load)
	switch {
	case waits:
		p.Why = own.Why
	case !refusal.Serves():
		p.Why = facts.Why{Reason: refusal.Kind, Cause: refusal.String()}
	case !h.Usable() && (h.State == "up" || h.State == "locked"):
		p.Why = facts.Why{Reason: facts.ReasonNoHostUp, Cause: shutText([]*Host{h})}
	case !h.Usable():
		p.Why = facts.Why{Reason: facts.ReasonNoHostUp, Cause: awayText([]*Host{h})}
	case j.Primary+j.Secondary >= j.Width:
		p.Why = facts.Why{Reason: facts.ReasonWidthReached, Cause: j.widthReason(x.Policy.Share, j.Primary+j.Secondary)}
	case j.Limited.Reason != "":
		p.Why = j.Limited
	}
	return p
}
