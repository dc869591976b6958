package farm

import "qb/smartshare"

// terms are those of the dispatch order, first to last.
func (p SharePolicy) terms() []smartshare.Term {
	by := make([]smartshare.Term, 0, len(p.Order))
	for _, name := range p.Order {
		if t, ok := smartshare.ParseTerm(name); ok {
			by = append(by, t)
		}
	}
	return by
}

// clusterDistance is how far a job is from a host, or from the farm, by their clusters: Qube's rank where the
// order begins with the cluster, and the steps between the two where it does not.
func clusterDistance(by []smartshare.Term, job, host string) int {
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		return smartshare.ClusterRank(job, host)
	}
	return smartshare.ClusterSteps(job, host)
}

// standing is what a host makes of a job's priority and cluster, in the words of the dispatch order.
func (f *Farm) standing(j *job, h *host) smartshare.Key {
	by, from := f.policy.Share.terms(), f.viewpoint
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		from = h.Cluster
	}
	return smartshare.Key{Priority: j.Priority, Distance: clusterDistance(by, j.Cluster, from)}
}

// outranks says whether job a is of better standing on the host than b; its age does not count.
func (f *Farm) outranks(a, b *job, h *host) bool {
	return smartshare.Compare(f.standing(a, h), f.standing(b, h), f.policy.Share.terms()) < 0
}
