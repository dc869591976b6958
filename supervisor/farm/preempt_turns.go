package farm

import (
	"qb/smartshare"
	"qb/supervisor/planner"
)

// turns knows whom the order gives a slot that comes free. Where the cluster or the points come before the
// priority that may be another than the job of better priority: what was stopped for that one would be lost
// for nothing, and again at each plan.
type turns struct {
	p       *planned
	place   []int  // of jobs in the order
	claimed []bool // by host: a job earlier in the order still waits for what comes free there
	nearest []int  // by host, the best rank among jobs that wait; nil: all hosts rank the jobs alike
}

func newTurns(p *planned, b planner.Plan) *turns {
	t := &turns{p: p, place: smartshare.Ranks(b.Order), claimed: make([]bool, len(p.Hosts))}
	if p.Policy.Order[0] != smartshare.ByCluster.String() || !p.manyClusters() {
		return t
	}
	t.nearest = make([]int, len(p.Hosts))
	asked := map[string]bool{} // clusters of jobs that may use all hosts
	for n := range p.Jobs {
		j := &p.Jobs[n]
		if b.Jobs[n].Unplaced == 0 || asked[j.Cluster] {
			continue
		}
		asked[j.Cluster] = j.Eligible == nil
		p.eachHost(n, func(h int) {
			if r := t.rank(n, h); t.nearest[h] == 0 || r < t.nearest[h] {
				t.nearest[h] = r
			}
		})
	}
	return t
}

// manyClusters says whether each host ranks the jobs for itself.
func (p *planned) manyClusters() bool {
	for h := range p.Hosts {
		if p.Hosts[h].Cluster != p.Hosts[0].Cluster {
			return true
		}
	}
	return false
}

func (p *planned) eachHost(n int, visit func(h int)) {
	if p.Jobs[n].Eligible != nil {
		for _, h := range p.Jobs[n].Eligible {
			visit(h)
		}
		return
	}
	for h := range p.Hosts {
		visit(h)
	}
}

func (t *turns) rank(n, h int) int {
	return smartshare.ClusterRank(t.p.Jobs[n].Cluster, t.p.Hosts[h].Cluster)
}

// comes says whether the order gives job n the slot of the instance, if it comes free: neither back to the
// instance's own job nor to a third.
func (t *turns) comes(n int, y *yields) bool {
	if t.nearest == nil {
		return !t.claimed[y.host] && t.place[n] < t.place[y.of]
	}
	rank := t.rank(n, y.host)
	return rank <= t.nearest[y.host] && rank <= t.rank(y.of, y.host)
}

// waits notes that job n got less than it needs: what comes free on its hosts is its own first. It says whether
// that leaves nothing to those after it.
func (t *turns) waits(n int) bool {
	if t.nearest != nil {
		return false
	}
	t.p.eachHost(n, func(h int) { t.claimed[h] = true })
	return t.p.Jobs[n].Eligible == nil
}
