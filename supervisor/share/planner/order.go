package planner

import (
	"math"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// Terms are the terms of the dispatch order, first to last.
func (p SharePolicy) Terms() []smartshare.Term {
	by := make([]smartshare.Term, 0, len(p.Order))
	for _, name := range p.Order {
		if t, ok := smartshare.ParseTerm(name); ok {
			by = append(by, t)
		}
	}
	return by
}

// Ranks of jobs that have the same on every host, whatever their clusters. Of others the best is 1. None is 0.
const (
	eliteRank  = -2
	beforeRank = -1      // an operator put them before all others …
	behindRank = 1 << 30 // … or behind
)

// KeyOf is what the dispatch order knows of a job by its priority, its elite flag, what an operator set and how far
// away its cluster is: an elite job goes before all others, whatever the order begins with, and what operators set acts
// before clusters do.
func (p *SharePolicy) KeyOf(priority, operator, distance int) smartshare.Key {
	k := smartshare.Key{Priority: priority, Operator: p.operatorRank(operator), Distance: distance}
	if rank := rankEverywhere(priority, k.Operator); rank != 0 {
		k.Distance = rank
	}
	if priority == facts.Elite {
		k.Operator, k.Points = math.MinInt, math.Inf(1)
	}
	return k
}

// operatorRank is how far before or behind all others an operator put a job by its priority.
func (p *SharePolicy) operatorRank(priority int) int {
	if priority == 0 || !p.ByOwner() {
		return 0
	}
	return priority - p.DefaultPriority
}

// rankEverywhere is the rank of a job whose rank is the same on hosts of all clusters, 0 for other jobs.
func rankEverywhere(priority, operator int) int {
	switch {
	case priority == facts.Elite:
		return eliteRank
	case operator < 0:
		return beforeRank
	case operator > 0:
		return behindRank
	}
	return 0
}

// rankEverywhere is the rank everywhere of job n.
func (s *Snapshot) rankEverywhere(n int) int {
	return rankEverywhere(s.Jobs[n].Priority, s.Policy.operatorRank(s.Jobs[n].Operator))
}

// rankIn is Qube's rank of job n on hosts of a cluster.
func (s *Snapshot) rankIn(n int, cluster string) int {
	if rank := s.rankEverywhere(n); rank != 0 {
		return rank
	}
	return smartshare.ClusterRank(s.Jobs[n].Cluster, cluster)
}

// SortByPriority sorts rows of jobs by their priorities, or as the owners' fairshare and their priorities have it;
// equals stay as they are.
func (s *Snapshot) SortByPriority(rows []int) {
	by, owners := []smartshare.Term{smartshare.ByPriority}, s.ownersNumbered()
	if s.Policy.ByOwner() {
		by = []smartshare.Term{smartshare.ByOperator, smartshare.ByFairshare, smartshare.ByOwn}
	}
	keys, sorted := make([]smartshare.Key, len(rows)), make([]int, len(rows))
	for n, j := range rows {
		keys[n] = s.Policy.KeyOf(s.Jobs[j].Priority, s.Jobs[j].Operator, 0)
		keys[n].Fairshare = s.Jobs[j].Fairshare
		keys[n].Owner = owners[j]
		keys[n].Tie = n
	}
	for place, n := range smartshare.Order(nil, keys, by) {
		sorted[place] = rows[n]
	}
	copy(rows, sorted)
}

// Displaces says whether job n is of better priority than another, so that its primaries may take slots of the other's.
// Where fairshare ranks owners, their priorities say nothing about others' jobs: only those of one owner are compared,
// and what operators set.
func (s *Snapshot) Displaces(n, other int) bool {
	a, b := &s.Jobs[n], &s.Jobs[other]
	if !s.Policy.ByOwner() {
		return a.Priority < b.Priority
	}
	x, y := s.Policy.KeyOf(a.Priority, a.Operator, 0).Operator, s.Policy.KeyOf(b.Priority, b.Operator, 0).Operator
	return x < y || x == y && a.User == b.User && a.Priority < b.Priority
}

// ClusterDistance is how far a job is from a host, or from the farm, by their clusters: Qube's rank where the
// order begins with the cluster, and the steps between the two where it does not.
func ClusterDistance(by []smartshare.Term, job, host string) int {
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		return smartshare.ClusterRank(job, host)
	}
	return smartshare.ClusterSteps(job, host)
}
