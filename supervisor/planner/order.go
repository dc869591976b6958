package planner

import "qb/smartshare"

// Terms are those of the dispatch order, first to last.
func (p SharePolicy) Terms() []smartshare.Term {
	by := make([]smartshare.Term, 0, len(p.Order))
	for _, name := range p.Order {
		if t, ok := smartshare.ParseTerm(name); ok {
			by = append(by, t)
		}
	}
	return by
}

// ClusterDistance is how far a job is from a host, or from the farm, by their clusters: Qube's rank where the
// order begins with the cluster, and the steps between the two where it does not.
func ClusterDistance(by []smartshare.Term, job, host string) int {
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		return smartshare.ClusterRank(job, host)
	}
	return smartshare.ClusterSteps(job, host)
}
