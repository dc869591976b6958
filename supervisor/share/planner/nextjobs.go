package planner

import (
	"slices"

	"qb/smartshare"
)

// NextJobs knows whom the order gives a slot that comes free. Where the cluster or the points come before the
// priority that may be another than the job of better priority: what was stopped for that one would be lost
// for nothing, and again at each plan.
type NextJobs struct {
	s       *Snapshot
	place   []int  // of jobs in the order
	claimed []bool // by host: a job earlier in the order still waits for what comes free there
	nearest []int  // by host, the best rank among jobs that wait; nil: all hosts rank the jobs alike
	first   []int  // by host, the place in the order of the first of those, where owners are ranked; else nil
}

// NewNextJobs returns the turns of a plan.
func NewNextJobs(s *Snapshot, p Plan) *NextJobs {
	t := &NextJobs{s: s, place: smartshare.Ranks(p.Order), claimed: make([]bool, len(s.Hosts))}
	if !s.Policy.byClusterFirst() || !s.manyClusters() {
		return t
	}
	t.nearest = make([]int, len(s.Hosts))
	if s.Policy.ByOwner() {
		t.first = make([]int, len(s.Hosts))
	}
	asked := map[string]bool{} // clusters of jobs that may use all hosts
	for place, n := range p.Order {
		j := &s.Jobs[n]
		everywhere := s.rankEverywhere(n) != 0
		if p.Jobs[n].Unplaced == 0 || asked[j.Cluster] && !everywhere {
			continue
		}
		asked[j.Cluster] = asked[j.Cluster] || j.Eligible == nil && !everywhere
		s.eachHost(n, func(h int) {
			if r := t.rank(n, h); t.nearest[h] == 0 || r < t.nearest[h] {
				t.nearest[h] = r
				if t.first != nil {
					t.first[h] = place
				}
			}
		})
	}
	return t
}

// manyClusters says whether each host ranks the jobs for itself.
func (s *Snapshot) manyClusters() bool {
	return slices.ContainsFunc(s.Hosts, func(h SnapHost) bool { return h.Cluster != s.Hosts[0].Cluster })
}

// eachHost visits the hosts that take more of job n.
func (s *Snapshot) eachHost(n int, visit func(h int)) {
	if s.Jobs[n].Eligible != nil {
		for _, h := range s.Jobs[n].Eligible {
			visit(h)
		}
		return
	}
	for h := range s.Hosts {
		visit(h)
	}
}

// Serves says whether the host takes more of job n.
func (s *Snapshot) Serves(n, host int) bool {
	list := s.Jobs[n].Eligible
	if list == nil {
		return true
	}
	_, found := slices.BinarySearch(list, host)
	return found
}

func (t *NextJobs) rank(n, h int) int {
	return t.s.rankIn(n, t.s.Hosts[h].Cluster)
}

// Comes says whether the order gives job n what an instance of another has on a host, if it comes free: neither back to
// the instance's own job nor to a third.
func (t *NextJobs) Comes(n, other, host int) bool {
	if t.nearest == nil {
		return !t.claimed[host] && t.place[n] < t.place[other]
	}
	rank := t.rank(n, host)
	if t.first != nil && t.place[n] > t.first[host] {
		return false // others' priorities do not say which job is served there before it
	}
	return rank <= t.nearest[host] && rank <= t.rank(other, host)
}

// Waits notes that job n got less than it needs: what comes free on its hosts is its own first. It says whether
// that leaves nothing to those after it.
func (t *NextJobs) Waits(n int) bool {
	if t.nearest != nil {
		return false
	}
	t.s.eachHost(n, t.Claim)
	return t.s.Jobs[n].Eligible == nil
}

// Claim notes that what comes free on the host has its job.
func (t *NextJobs) Claim(host int) { t.claimed[host] = true }
