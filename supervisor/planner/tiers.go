package planner

import (
	"slices"

	"qb/smartshare"
	"qb/smartshare/packing"
)

// tiers are what hosts of different clusters make of the dispatch order: each host ranks jobs by how near
// their clusters are to its own, and primaries are served rank by rank. They act where the order begins
// with the cluster and the hosts are of more than one.
type tiers struct {
	clusters []string                      // of the hosts, sorted; nil: there are no tiers
	serve    []int                         // jobs in order, the cluster left out
	known    map[tierKey][]packing.BinTier // the Bins of which are hosts here
}

type tierKey struct {
	list    int // of eligible hosts
	cluster string
}

// findTiers looks whether there are any.
func (b *balance) findTiers(keys []smartshare.Key, by []smartshare.Term) {
	if len(by) == 0 || by[0] != smartshare.ByCluster {
		return
	}
	var clusters []string
	for h := range b.s.Hosts {
		if c := b.s.Hosts[h].Cluster; !slices.Contains(clusters, c) {
			clusters = append(clusters, c)
		}
	}
	if len(clusters) < 2 {
		return
	}
	slices.Sort(clusters)
	b.clusters, b.known = clusters, make(map[tierKey][]packing.BinTier)
	b.serve = smartshare.Order(keys, by[1:])
}

// tiersOf are the tiers of a job that lacks primaries, best rank first; list tells apart which hosts jobs
// may use.
func (b *balance) tiersOf(j, list int) []packing.BinTier {
	if b.clusters == nil || b.jobs[j].need == 0 {
		return nil
	}
	key := tierKey{list, b.s.Jobs[j].Cluster}
	if found, known := b.known[key]; known {
		return found
	}
	rank := make(map[string]int, len(b.clusters))
	found := []packing.BinTier{}
	for _, c := range b.clusters {
		rank[c] = smartshare.ClusterRank(key.cluster, c)
		if at, have := slices.BinarySearchFunc(found, rank[c], compareTier); !have {
			found = slices.Insert(found, at, packing.BinTier{Rank: rank[c], Bins: []int{}})
		}
	}
	for h := range b.s.Hosts {
		if !b.mayUse(j, h) {
			continue
		}
		r := rank[b.s.Hosts[h].Cluster]
		at, _ := slices.BinarySearchFunc(found, r, compareTier)
		found[at].Bins = append(found[at].Bins, h)
	}
	b.known[key] = found
	return found
}

// vacancy is what nothing runs in and no start is to have at once.
func (b *balance) vacancy() (slots []int, memory []int64) {
	slots, memory = make([]int, len(b.s.Hosts)), make([]int64, len(b.s.Hosts))
	for h := range b.s.Hosts {
		slots[h], memory[h] = b.s.Hosts[h].Slots-b.s.Hosts[h].Ending, b.s.Hosts[h].Memory-b.s.Hosts[h].EndingMemory
	}
	for i, p := range b.places {
		if b.staysForNow(i) {
			slots[p.host] -= b.sizes[p.job].slots
			memory[p.host] -= b.promised(i)
		}
	}
	for i := range b.starts {
		if start := &b.starts[i]; start.now {
			slots[start.Host] -= b.s.Jobs[start.Job].Slots
			memory[start.Host] -= b.s.Jobs[start.Job].Memory
		}
	}
	return slots, memory
}

func compareTier(t packing.BinTier, rank int) int { return t.Rank - rank }

func (b *balance) mayUse(j, h int) bool {
	list := b.s.Jobs[j].Eligible
	return list == nil || slices.Contains(list, h)
}

// servedClaims puts places in the dispatch order, such as claims and loads, into the order in which
// primaries are served; nil where that is the same.
func (b *balance) servedClaims(place []int) []int {
	if b.clusters == nil {
		return nil
	}
	var served []int
	for _, j := range b.serve {
		if place[j] >= 0 {
			served = append(served, place[j])
		}
	}
	return served
}
