package planner

import (
	"maps"
	"slices"
	"strings"
)

// resources are what instances take beside slots and memory, as far as there may be too little of it: of their
// host, and of the whole farm, such as licences.
type resources struct {
	ofHost, ofFarm []string  // names
	limits         []string  // those of limits, which are the first of ofFarm
	takes, wants   [][]int64 // by job and name; nil: none of them
}

// scarce says that some resource may run short, or some limit be reached.
func (r *resources) scarce() bool { return len(r.ofHost)+len(r.ofFarm) > 0 }

// limitedAlone says that only limits may be reached, and resources never run short.
func (r *resources) limitedAlone() bool { return len(r.ofHost) == 0 && len(r.ofFarm) == len(r.limits) }

// findScarce looks what may run short. It depends on what jobs may come to have, not on what they run now, so that
// balancing again sees the same.
func (b *balance) findScarce() {
	wanted := map[string]float64{} // of the farm, by all jobs together at their widest
	width := map[string]int{}      // of the instances that take a resource; 0: they differ
	for j := range b.s.Jobs {
		for name := range b.s.Jobs[j].Takes {
			slots := max(1, b.s.Jobs[j].Slots)
			if known, some := width[name]; some && known != slots {
				slots = 0
			}
			width[name] = slots
		}
	}
	for j := range b.jobs {
		job := &b.jobs[j]
		for name, each := range b.s.Jobs[j].Takes {
			if each <= 0 {
				continue
			}
			if !strings.HasPrefix(name, "host.") {
				wanted[name] += float64(each) * float64(max(job.ceiling, len(job.primaries)+job.need+job.pinned))
			} else if !slices.Contains(b.ofHost, name) && b.shortOnHosts(j, name, each, width[name]) {
				b.ofHost = append(b.ofHost, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if most, limit := b.s.Limits[name]; limit && wanted[name] > float64(most) {
			b.limits = append(b.limits, name)
		} else if !limit && wanted[name] > float64(b.s.Resources[name]) {
			b.ofFarm = append(b.ofFarm, name)
		}
	}
	b.ofFarm = slices.Concat(b.limits, b.ofFarm)
	if !b.scarce() {
		return
	}
	slices.Sort(b.ofHost)
	b.takes, b.wants = make([][]int64, len(b.jobs)), make([][]int64, len(b.jobs))
	for j := range b.jobs {
		b.takes[j], b.wants[j] = amounts(b.s.Jobs[j].Takes, b.ofHost), amounts(b.s.Jobs[j].Takes, b.ofFarm)
	}
}

// shortOnHosts says whether a host has less of a resource than instances of the job on all its slots would take, of
// those where it may start or runs, whether it is allowed there or not. Where others that take it are of another width,
// so that an odd slot may be theirs, the job must take no more for a slot than the host has for one.
func (b *balance) shortOnHosts(j int, name string, each int64, width int) bool {
	short := func(h int) bool {
		host := &b.s.Hosts[h]
		if width == 0 {
			return float64(each)*float64(host.Slots) > float64(host.Resources[name])*float64(max(1, b.s.Jobs[j].Slots))
		}
		return int64(host.Slots/width) > host.Resources[name]/each
	}
	if list := b.s.Jobs[j].Eligible; list != nil {
		runs := func(i int) bool { return short(b.s.Running[i].Host) }
		return slices.ContainsFunc(list, short) || slices.ContainsFunc(b.jobs[j].primaries, runs) ||
			slices.ContainsFunc(b.jobs[j].secondaries, runs)
	}
	for h := range b.s.Hosts {
		if short(h) {
			return true
		}
	}
	return false
}

// amounts lists what is taken of the names; nil where that is nothing.
func amounts(takes map[string]int64, names []string) []int64 {
	var list []int64
	for k, name := range names {
		if each := takes[name]; each > 0 {
			if list == nil {
				list = make([]int64, len(names))
			}
			list[k] = each
		}
	}
	return list
}

// ofAll is what the whole farm has of a resource, or may run under a limit.
func (b *balance) ofAll(name string) int64 {
	if most, limit := b.s.Limits[name]; limit {
		return most
	}
	return b.s.Resources[name]
}

// stocks is what there is of each resource beside what the instances have that count says.
func (b *balance) stocks(count func(i int) bool) (hosts [][]int64, shared []int64) {
	if !b.scarce() {
		return make([][]int64, len(b.s.Hosts)), nil
	}
	for h := range b.s.Hosts {
		stock := make([]int64, len(b.ofHost))
		for k, name := range b.ofHost {
			stock[k] = b.s.Hosts[h].Resources[name]
		}
		hosts = append(hosts, stock)
	}
	for _, name := range b.ofFarm {
		shared = append(shared, b.ofAll(name))
	}
	for i := range b.s.Running {
		if count(i) {
			b.draw(hosts, shared, b.s.Running[i].Job, b.s.Running[i].Host)
		}
	}
	return hosts, shared
}

// draw takes what an instance of the job on the host has out of stocks.
func (b *balance) draw(hosts [][]int64, shared []int64, job, host int) {
	if !b.scarce() {
		return
	}
	for k, each := range b.takes[job] {
		hosts[host][k] -= each
	}
	for k, each := range b.wants[job] {
		shared[k] -= each
	}
}

// drawable says that stocks suffice for one more instance of the job on the host.
func (b *balance) drawable(hosts [][]int64, shared []int64, job, host int) bool {
	if !b.scarce() {
		return true
	}
	for k, each := range b.takes[job] {
		if each > 0 && hosts[host][k] < each {
			return false
		}
	}
	for k, each := range b.wants[job] {
		if each > 0 && shared[k] < each {
			return false
		}
	}
	return true
}
