package planner

import (
	"math"

	"qb/smartshare"
	"qb/supervisor/facts"
)

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

// eliteRank is the rank of such a job on every host; the best of others is 1.
const eliteRank = -1

// Advance puts the key of an elite job before those of others, whatever the order begins with.
func Advance(k *smartshare.Key) {
	if k.Priority == facts.Elite {
		k.Distance, k.Points = eliteRank, math.Inf(1)
	}
}

// rankIn is Qube's rank of a job on hosts of a cluster.
func (j *SnapJob) rankIn(cluster string) int {
	if j.Priority == facts.Elite {
		return eliteRank
	}
	return smartshare.ClusterRank(j.Cluster, cluster)
}

// ClusterDistance is how far a job is from a host, or from the farm, by their clusters: Qube's rank where the
// order begins with the cluster, and the steps between the two where it does not.
func ClusterDistance(by []smartshare.Term, job, host string) int {
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		return smartshare.ClusterRank(job, host)
	}
	return smartshare.ClusterSteps(job, host)
}
