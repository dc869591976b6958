package farm

import (
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// numberMachines numbers the machines of the plan's hosts, each by the place of its first host.
func (p *snapshot) numberMachines() {
	for n, h := range p.hosts {
		p.Present[n].Machine = n
		if h.Machine == nil {
			continue
		}
		for _, o := range h.Machine.Hosts {
			if o.Place < n && p.hosts[o.Place] == o {
				p.Present[n].Machine = min(p.Present[n].Machine, o.Place)
			}
		}
	}
}

// present adds to a job's row what the choice of hosts goes by.
func (ad *admission) present(now time.Time, p *snapshot, row *planner.SnapJob, j *model.Job) {
	row.Pending, row.Unmeasured = j.Pending(), j.MemoryNeed == 0
	row.Barred = j.State != facts.Active || j.Delayed || j.WaitsForBudget(&ad.policy.Share)
	row.MostSlots, row.Alone = j.Needs.Most, j.Needs.Idle
	row.Order = p.orderOf(j)
	row.ItemSeconds, row.Unknown = j.ExpectedItem().Seconds(), !model.KnowsItems(j)
	row.Beside, row.Shrunk = [2]bool{}, 0
	if !j.LastShrink.IsZero() {
		row.Shrunk = model.Seconds(j.LastShrink)
	}
	r := ad.reserved
	if r == nil {
		return
	}
	if r.job == j {
		p.Reserved.Job = j.Row
	}
	for _, kind := range []facts.Kind{facts.Primary, facts.Secondary} {
		row.Beside[kind] = ad.mayUse(now, j, r.host, kind)
	}
}

// siteOrder names the preference among hosts of jobs that state none; no stated one is called so.
const siteOrder = "site"

// orderOf is the name of the job's preference among hosts, which the plan has then; "" if it has none.
func (p *snapshot) orderOf(j *model.Job) string {
	name := j.HostOrder
	switch {
	case len(j.Needs.Order) == 0:
		return ""
	case name == "" && p.ordered: // as most jobs
		return siteOrder
	}
	if name == "" {
		name = siteOrder
	}
	if _, known := p.Orders[name]; known {
		return name
	}
	if p.Orders == nil {
		p.Orders = map[string]planner.HostOrder{}
	}
	order := make(planner.HostOrder, len(j.Needs.Order))
	for n, preference := range j.Needs.Order {
		values := make([]fit.OrderValue, len(p.hosts))
		for at, h := range p.hosts {
			values[at] = preference.Value(&h.Host, model.Load{H: h})
		}
		order[n] = planner.OrderTerm{More: preference.More(), PerSlot: preference.PerSlot(), Values: values}
	}
	p.Orders[name] = order
	p.ordered = p.ordered || name == siteOrder
	return name
}
