package farm

import (
	"qb/smartshare"
	"qb/supervisor/planner"
)

// standing is what a host makes of a job's priority and cluster, in the words of the dispatch order.
func (f *Farm) standing(j *job, h *host) smartshare.Key {
	by, from := f.policy.Share.Terms(), f.viewpoint
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		from = h.Cluster
	}
	return smartshare.Key{Priority: j.Priority, Distance: planner.ClusterDistance(by, j.Cluster, from)}
}

// outranks says whether job a is of better standing on the host than b; its age does not count.
func (f *Farm) outranks(a, b *job, h *host) bool {
	return smartshare.Compare(f.standing(a, h), f.standing(b, h), f.policy.Share.Terms()) < 0
}
