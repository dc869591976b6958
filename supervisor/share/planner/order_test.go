package planner

import "testing"

// TestOneClusterRanksAsManyDo: where all hosts are in one cluster the dispatch order ranks jobs as hosts of
// several clusters do, by Qube's rank: a job of a cluster below theirs comes before one of the root, however
// deep it is.
func TestOneClusterRanksAsManyDo(t *testing.T) {
	for _, order := range []struct {
		first string
		want  int
	}{{"cluster", 1}, {"priority", 0}} {
		s := benchFarm(2, 1, 1, 0)
		s.Cluster, s.Hosts[0].Cluster = "/a", "/a"
		s.Policy.Order = []string{order.first, "priority", "cluster", "id"}
		for n, cluster := range []string{"/", "/a/b/c"} {
			s.Jobs[n].Cluster, s.Jobs[n].CPUs, s.Jobs[n].Priority = cluster, 1, 100
		}
		if got := Balance(s).Order[0]; got != order.want {
			t.Errorf("%s first: job in %s is served first, not the one in %s", order.first, s.Jobs[got].Cluster, s.Jobs[order.want].Cluster)
		}
	}
}
