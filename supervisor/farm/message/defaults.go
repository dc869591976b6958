package message

import (
	"cmp"
	"fmt"
	"slices"

	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// WithDefaults is a new job with what it leaves to the site, and remarks on what is beyond its limits.
func (p *Policy) WithDefaults(row facts.JobFacts) (facts.JobFacts, []string) {
	remarks := []string{}
	if row.Priority == 0 {
		row.Priority = p.DefaultPriority
	}
	remarks = append(remarks, p.CapPriority(&row.Priority)...)
	if row.OperatorPriority != 0 {
		row.OperatorPriority = min(row.OperatorPriority, p.MaxPriority)
	}
	if row.Cluster == "" {
		row.Cluster = p.DefaultCluster
	}
	if !slices.Contains(row.Flags, facts.FlagNoDefaults) {
		for _, flag := range p.JobFlags {
			if !slices.Contains(row.Flags, flag) {
				row.Flags = append(slices.Clip(row.Flags), flag)
			}
		}
	}
	if row.MaxCPUs == nil && slices.Contains(row.Flags, facts.FlagExpand) {
		row.MaxCPUs = new(facts.NoLimit)
	}
	if row.CPUs == 0 {
		row.CPUs = 1
	}
	if row.Agenda.Range == "" {
		row.Agenda.Runs = row.CPUs
	}
	return row, append(remarks, p.TakeWidth(&row.MaxCPUs)...)
}

// CapPriority keeps a priority within the site's limit, with a remark if it was beyond.
func (p *Policy) CapPriority(priority *int) []string {
	given, limit := *priority, p.MaxPriority
	if given <= limit {
		return nil
	}
	*priority = limit
	return []string{fmt.Sprintf("priority %d is taken as supervisor_max_priority = %d", given, limit)}
}

// TakeWidth gives a max_cpus, nil if none is given, the form in which jobs have it, with remarks on what it comes to.
func (p *Policy) TakeWidth(width **int) []string {
	limit := p.Share.MaxCPUsLimit
	switch given := *width; {
	case given == nil:
	case *given > limit:
		return []string{fmt.Sprintf("max_cpus %d is capped at supervisor_max_cpus_limit = %d", *given, limit)}
	case *given < facts.NoLimit:
		*width = new(facts.NoLimit)
		return []string{"max_cpus " + facts.NoLimitRemark(*given)}
	}
	return nil
}

// Prioritize makes what follows from a job's new priority or cluster: the site's limit, with remarks; what an operator
// gave; and what the change leaves of the order by hand.
func (p *Policy) Prioritize(changed, was *facts.JobFacts, given, operator bool) (remarks []string) {
	if given {
		remarks = p.CapPriority(&changed.Priority)
		if operator {
			changed.OperatorPriority = changed.Priority
		}
	}
	changed.GlobalOrder = p.Share.GlobalAfter(was.GlobalOrder, planner.Leaves{Cluster: changed.Cluster != was.Cluster,
		Priority: changed.Priority != was.Priority, Operator: changed.OperatorPriority != was.OperatorPriority,
		ByOperator: operator})
	return remarks
}

// Peers is what jobs of one cluster have in common that are ordered by hand among each other.
type Peers struct{ Priority, Operator int }

// OrderedAmong are a job's peers: those of its priority, and where fairshare ranks owners, those to which operators
// gave the same. There the priorities that owners gave say nothing about an order among everybody's jobs.
func (p *Policy) OrderedAmong(j *facts.JobFacts, everybody bool) Peers {
	peers := Peers{Priority: j.Standing()}
	if p.Share.ByOwner() {
		peers.Operator = cmp.Or(j.OperatorPriority, p.DefaultPriority)
		if everybody && !j.Elite() {
			peers.Priority = p.DefaultPriority
		}
	}
	return peers
}

// PlanShare is Share as plans go by it.
func (p *Policy) PlanShare() planner.SharePolicy {
	share := p.Share
	share.DefaultPriority = p.DefaultPriority
	share.Placement = p.Memory.Placement
	share.DefaultMemory = p.Memory.Default
	share.PrimaryPreempt = p.PrimaryPreempt
	share.MinRun = p.MinRun.Seconds()
	share.Settle = p.Settle.Seconds()
	share.MaxLost = p.MaxLost.Seconds()
	share.Reserve = true
	return share
}
