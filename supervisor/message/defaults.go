package message

import (
	"fmt"
	"slices"

	"qb/supervisor/facts"
)

// WithDefaults is a new job with what it leaves to the site, and remarks on what is beyond its limits.
func (p *Policy) WithDefaults(row facts.JobFacts) (facts.JobFacts, []string) {
	remarks := []string{}
	if row.Priority == 0 {
		row.Priority = p.DefaultPriority
	}
	remarks = append(remarks, p.CapPriority(&row.Priority)...)
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
		unlimited := -1
		row.MaxCPUs = &unlimited
	}
	if row.CPUs == 0 {
		row.CPUs = 1
	}
	if row.Agenda.Range == "" {
		row.Agenda.Runs = row.CPUs
	}
	return row, append(remarks, p.CapRemarks(row.MaxCPUs)...)
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

// CapRemarks warns of a max_cpus beyond the site's limit.
func (p *Policy) CapRemarks(max *int) []string {
	limit := p.Share.MaxCPUsLimit
	if max != nil && *max > limit {
		return []string{fmt.Sprintf("max_cpus %d is capped at supervisor_max_cpus_limit = %d", *max, limit)}
	}
	return nil
}
