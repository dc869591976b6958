package supervisor

import (
	"context"
	"slices"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/problem"
)

// linked is what the rows tell of the jobs that a dependency names, for the farm may no longer hold them.
type linked struct {
	links  []facts.Link // by number, as far as the jobs are there
	states map[facts.JobID]facts.JobState
	labels map[string]facts.JobID
}

// linked reads the states of the jobs that a dependency names, and who in the process group has the labels that it names and
// the one that the job itself is to have.
func (s *server) linked(ctx context.Context, dependency string, group facts.JobID, own string) (n linked, err error) {
	if dependency != "" {
		if n.links, err = facts.ParseDependency(dependency); err != nil {
			return n, problem.Invalid("dependency", "%v", err)
		}
	}
	if len(n.links) > maxLinks {
		return n, problem.Invalid("dependency", "%d conditions; at most %d", len(n.links), maxLinks)
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
	ids := make([]facts.JobID, 0, len(n.links))
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
		n.states, err = s.reader.JobStates(ctx, ids)
	}
	return n, problem.Reading("the jobs of the dependency", err)
}

// parents reads back those ended jobs whose items decide about conditions, and that the farm may no longer hold.
func (s *server) parents(ctx context.Context, n linked) (list []*items.Prepared, err error) {
	var ids []facts.JobID
	for _, l := range n.links {
		if state := n.states[l.Job]; l.Of == facts.OfJob || !state.Final() || l.Satisfied(state) || slices.Contains(ids, l.Job) {
			continue
		}
		ids = append(ids, l.Job)
	}
	entries := 0
	for _, id := range ids {
		p, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if entries += p.Items.Entries.Entries(); entries > items.MaxGated {
			return nil, api.Errorf(api.KindInvalid, "dependency: the ended jobs whose items it names have more than %d numbers; wait for whole jobs, or for fewer", items.MaxGated)
		}
		list = append(list, p)
	}
	return list, nil
}
