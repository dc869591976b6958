package serve

import (
	"context"
	"maps"
	"slices"

	"qb/api"
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// linked is what the rows tell of the jobs that a dependency names, for the farm may no longer hold them.
type linked struct {
	links  []facts.Link                  // by number, as far as the jobs are there
	before map[facts.JobID][]facts.JobID // the other jobs of the submissions that they name
	states map[facts.JobID]facts.JobState
	labels map[string]facts.JobID
}

// linked reads the states of the jobs that a dependency names, and the ids of the jobs in the process group that have
// one of its labels or the new job's own label.
func (s *jobService) linked(ctx context.Context, dependency string,
	group facts.JobID, own string) (n linked, err error) {
	if dependency != "" {
		if n.links, err = facts.ParseDependency(dependency); err != nil {
			return n, problem.Invalid("dependency", "%v", err)
		}
	}
	if len(n.links) > facts.MaxLinks {
		return n, problem.Invalid("dependency", "%d conditions; at most %d", len(n.links), facts.MaxLinks)
	}
	var names []string
	for _, l := range n.links {
		if l.Label != "" {
			names = append(names, l.Label)
		}
	}
	if own != "" {
		names = append(names, own)
	}
	if group != 0 && len(names) > 0 {
		if n.labels, err = s.reader.Labels(ctx, group, names); err != nil {
			return n, problem.Reading("the labels of a process group", err)
		}
	}
	var ids []facts.JobID
	for at := range n.links {
		l := &n.links[at]
		if l.Label != "" {
			l.Job = n.labels[l.Label]
		}
		if l.Job != 0 {
			ids = append(ids, l.Job)
		}
	}
	if len(ids) > 0 {
		n.before, err = s.reader.Before(ctx, ids)
	}
	for _, last := range slices.Sorted(maps.Keys(n.before)) {
		ids = append(ids, n.before[last]...)
	}
	if len(ids) > 0 && err == nil {
		n.states, err = s.reader.JobStates(ctx, ids)
	}
	return n, problem.Reading("the jobs of the dependency", err)
}

// parents reads back the ended jobs of submissions whose items decide about conditions; the farm may no longer hold
// them.
func (s *jobService) parents(ctx context.Context, n linked) (list []*items.Prepared, err error) {
	var ids []facts.JobID
	for _, l := range n.links {
		together := append(slices.Clone(n.before[l.Job]), l.Job)
		if l.Of == facts.OfJob || !slices.ContainsFunc(together, func(id facts.JobID) bool {
			return n.states[id] != "" && !l.Satisfied(n.states[id])
		}) {
			continue
		}
		for _, id := range together {
			if n.states[id].Final() && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	entries := 0
	for _, id := range ids {
		p, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if entries += p.Items.Entries.Entries(); entries > items.MaxGated {
			return nil, api.Errorf(api.KindInvalid,
				"dependency: the ended jobs whose items it names have more than %d numbers; wait for whole jobs, or for fewer",
				items.MaxGated)
		}
		list = append(list, p)
	}
	return list, nil
}
