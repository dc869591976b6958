package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"qb/smartshare"
)

// candidate is a host for a start, and the start that has to change places for it; -1: none.
type candidate struct {
	entry
	share int64
	with  int
}

// byMemory is the host of start n: the one with the least memory that suffices, or as the placement says, and where the
// plan had it if there is no better. It is asked once for each start, in turn.
func (t *hostTable) byMemory(n int) int {
	t.mean(n, -1)
	need, best := t.s.Jobs[t.starts[n].Job].Memory, candidate{entry: entry{host: -1}}
	for c := range t.lists {
		if len(t.lists[c]) == 0 || !t.open(n, c) {
			continue
		}
		if found := t.inClass(n, c, need); found.host >= 0 && (best.host < 0 || t.better(found, best)) {
			best = found
		}
	}
	return t.take(n, best)
}

// stay leaves start n on the host that the plan has it on.
func (t *hostTable) stay(n int) int {
	t.mean(n, -1)
	return t.starts[n].Host
}

func (t *hostTable) better(a, b candidate) bool {
	if a.share != b.share {
		return a.share == enough || (b.share != enough && a.share > b.share)
	}
	return t.compare(a.entry, b.entry) < 0
}

// byOrder is the host of start n that its job prefers, where the plan had it if it prefers none to that.
func (t *hostTable) byOrder(n int) int {
	order := t.s.Orders[t.s.Jobs[t.starts[n].Job].Order]
	t.mean(n, -1)
	best := candidate{entry: entry{host: t.starts[n].Host}, with: -1}
	for c, members := range t.members {
		if !t.open(n, c) {
			continue
		}
		for _, host := range members {
			if host == best.host || order.compare(t.granted, host, best.host) >= 0 {
				continue
			}
			with, free := t.room(n, t.entry(host))
			if !free {
				continue
			}
			if fits, _ := t.try(n, host); fits {
				best = candidate{t.entry(host), 0, with}
			}
		}
	}
	return t.take(n, best)
}

// take makes start n's host the candidate's. Who changes places with it gets the host that the plan had it on.
func (t *hostTable) take(n int, c candidate) int {
	if c.host < 0 {
		return t.starts[n].Host
	}
	if c.with >= 0 {
		t.mean(c.with, -1)
		t.starts[c.with].Host = t.starts[n].Host
		t.mean(c.with, 1)
		t.starts[n].Host = c.host
	}
	return c.host
}

// open says whether the hosts of the class may run the job of start n, and rank it as its host does.
func (t *hostTable) open(n, class int) bool {
	s, host := t.starts[n], t.members[class][0]
	return class == t.class[s.Host] || (t.s.Serves(s.Job, host) && t.rankedAs(s.Job, s.Host, host))
}

func (t *hostTable) rankedAs(job, a, b int) bool {
	of, hosts := t.s.Jobs[job].Cluster, t.s.Hosts
	return !t.ranks() || hosts[a].Cluster == hosts[b].Cluster ||
		smartshare.ClusterRank(of, hosts[a].Cluster) == smartshare.ClusterRank(of, hosts[b].Cluster)
}

// inClass is the first host of the class, as the site wants them tried, that takes the start; of one whose need is not
// known where it is promised most.
func (t *hostTable) inClass(n, class int, need int64) candidate {
	list, from, best := t.lists[class], 0, candidate{entry: entry{host: -1}}
	if t.s.Policy.Placement == "best_fit" {
		from, _ = slices.BinarySearchFunc(list, need, func(s entry, need int64) int { return cmp.Compare(s.ledger, need) })
	}
	for _, s := range list[from:] {
		with, free := t.room(n, s)
		if !free {
			continue
		}
		fits, share := t.try(n, s.host)
		if fits && (best.host < 0 || share == enough || share > best.share) {
			best = candidate{s, share, with}
		}
		if fits && share == enough {
			break
		}
	}
	return best
}

// swapsSought bounds among how many starts that are meant for a host one is sought that may change places.
const swapsSought = 16

// room says whether start n may have the host: if something is left there of what is meant for others, or if one of
// those, as large as it, can have the host that it gives up.
func (t *hostTable) room(n int, s entry) (with int, free bool) {
	start := t.starts[n]
	job := &t.s.Jobs[start.Job]
	if s.host == start.Host {
		return -1, true
	}
	if s.free-t.slots[s.host] >= job.Slots && s.ledger-t.bytes[s.host] >= job.Memory && t.leaves(s.host, job.Takes) {
		return -1, true
	}
	for _, k := range t.later[s.host][:min(swapsSought, len(t.later[s.host]))] {
		other := t.starts[k]
		its := &t.s.Jobs[other.Job]
		if its.Slots != job.Slots || its.Memory != job.Memory || !maps.Equal(its.Takes, job.Takes) ||
			!t.s.Serves(other.Job, start.Host) || !t.rankedAs(other.Job, start.Host, s.host) {
			continue
		}
		if other.Job == start.Job {
			return int(k), true
		}
		if fits, _ := t.try(int(k), start.Host); fits {
			return int(k), true
		}
	}
	return -1, false
}

func (t *hostTable) leaves(host int, takes map[string]int64) bool {
	for name, amount := range takes {
		if strings.HasPrefix(name, "host.") && t.present[host].Left[name]-t.takes[host][name] < amount {
			return false
		}
	}
	return true
}
