package planner

import (
	"maps"
	"slices"

	"qb/smartshare"
	"qb/smartshare/packing"
	"qb/supervisor/job/facts"
)

// tiers are what hosts of different clusters make of the dispatch order: each host ranks jobs by how near
// their clusters are to its own, and primaries are served rank by rank. They act where the order begins
// with the cluster and the hosts are of more than one.
type tiers struct {
	clusters  []string                      // of the hosts, sorted; nil: there are no tiers
	serve     []int                         // jobs in order, the cluster left out
	known     map[tierKey][]packing.BinTier // the Bins of which are hosts here
	overrides map[int]rankOverride          // by job
}

// rankOverride lets hosts rank a job as well as the host where one of its primaries would wait for an end.
type rankOverride struct {
	rank  int
	hosts []int // sorted
}

type tierKey struct {
	list    int // of eligible hosts
	cluster string
	rank    int // on all hosts; 0: it depends on their clusters
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
	b.serve = b.s.byHand(smartshare.Order(b.scratch, keys, by[1:]))
}

// tiersOf are the tiers of a job that lacks primaries, best rank first; list tells apart which hosts jobs
// may use.
func (b *balance) tiersOf(j, list int) []packing.BinTier {
	if b.clusters == nil || b.jobs[j].need == 0 {
		return nil
	}
	key := tierKey{list, b.s.Jobs[j].Cluster, b.s.rankEverywhere(j)}
	override, some := b.overrides[j]
	if found, known := b.known[key]; known && !some {
		return found
	}
	rank := make(map[string]int, len(b.clusters))
	found := []packing.BinTier{}
	for _, c := range b.clusters {
		rank[c] = b.s.rankIn(j, c)
		if at, have := slices.BinarySearchFunc(found, rank[c], compareTier); !have {
			found = slices.Insert(found, at, packing.BinTier{Rank: rank[c], Bins: []int{}})
		}
	}
	for h := range b.s.Hosts {
		if !b.mayUse(j, h) {
			continue
		}
		r := rank[b.s.Hosts[h].Cluster]
		if some {
			if _, here := slices.BinarySearch(override.hosts, h); here {
				r = min(r, override.rank)
			}
		}
		at, _ := slices.BinarySearchFunc(found, r, compareTier)
		found[at].Bins = append(found[at].Bins, h)
	}
	if !some {
		b.known[key] = found
	}
	return found
}

// overrideRounds bounds how often a balance is rebuilt because ranks were overridden.
const overrideRounds = 4

// overridesSought is for how many jobs a free slot is sought elsewhere; the others have their turn in later plans.
const overridesSought = 64

// needlessWaits are jobs a primary of which would wait for an end on a host of a better rank, beside hosts with
// room that the division leaves free: a better rank there is worth no wait, and no stop. Nil: none.
func (b *balance) needlessWaits() map[int]rankOverride {
	if b.clusters == nil {
		return nil
	}
	var overrides map[int]rankOverride
	var left []leftover
	sought := map[int]bool{}
	for i := range b.starts {
		start := &b.starts[i]
		if start.Kind != facts.Primary || start.now || sought[start.Job] {
			continue
		}
		if left == nil {
			left = b.leftovers()
		}
		if len(left) == 0 || len(sought) == overridesSought {
			break
		}
		sought[start.Job] = true
		job := &b.s.Jobs[start.Job]
		to := b.overrideFor(start)
		most := len(to.hosts)
		for _, r := range left {
			if r.slots >= job.Slots && (r.unlimited || r.memory >= job.Memory) && b.mayUse(start.Job, r.host) {
				to.hosts = append(to.hosts, r.host)
			}
		}
		if len(to.hosts) == most {
			continue
		}
		if overrides == nil {
			overrides = make(map[int]rankOverride)
			maps.Copy(overrides, b.overrides)
		}
		slices.Sort(to.hosts)
		to.hosts = slices.Compact(to.hosts)
		overrides[start.Job] = to
	}
	return overrides
}

// overrideFor gives the rank that a start has where it is, with the hosts of the override that its job had before.
func (b *balance) overrideFor(start *balanceStart) rankOverride {
	to := rankOverride{rank: b.s.rankIn(start.Job, b.s.Hosts[start.Host].Cluster)}
	if old, some := b.overrides[start.Job]; some {
		to.hosts = slices.Clone(old.hosts)
		to.rank = min(to.rank, old.rank)
	}
	return to
}

// leftover is what a division leaves of a host.
type leftover struct {
	host, slots int
	memory      int64
	unlimited   bool
}

// leftovers are the hosts with slots that the division leaves free, or to secondaries yet to start, and that are
// free now, by number.
func (b *balance) leftovers() []leftover {
	left, memory := []leftover{}, make([]int64, len(b.s.Hosts))
	vacant, vacantMemory := b.vacancy()
	free := b.freeByHost()
	for i := range b.starts {
		start, job := &b.starts[i], &b.s.Jobs[b.starts[i].Job]
		switch {
		case start.Kind == facts.Primary:
			memory[start.Host] += job.Memory
			continue
		case start.now:
			vacant[start.Host] += job.Slots
			vacantMemory[start.Host] += job.Memory
		}
		free[start.Host] += job.Slots
	}
	for i := range b.s.Running {
		if r := &b.s.Running[i]; !b.gone[i] && !b.stopped[i] {
			memory[r.Host] += b.promised(i)
		}
	}
	for h, slots := range free {
		if all := b.s.Hosts[h].Memory; min(slots, vacant[h]) > 0 {
			left = append(left, leftover{host: h, slots: min(slots, vacant[h]), memory: min(all-memory[h], vacantMemory[h]),
				unlimited: all < 0})
		}
	}
	return left
}

// vacancy is what nothing runs in and no start is to have at once.
func (b *balance) vacancy() (slots []int, memory []int64) {
	slots, memory = b.ints(len(b.s.Hosts)), smartshare.Lend[int64](b.scratch, len(b.s.Hosts))
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

// noneLosesTo says whether each job gets as many primaries here as in the other division.
func (b *balance) noneLosesTo(other *balance) bool {
	for j := range b.jobs {
		if b.jobs[j].grant < other.jobs[j].grant {
			return false
		}
	}
	return true
}

// primariesAtOnce counts primaries that wait for no end.
func (b *balance) primariesAtOnce() (n int) {
	for i := range b.starts {
		if b.starts[i].Kind == facts.Primary && b.starts[i].now {
			n++
		}
	}
	return n
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
