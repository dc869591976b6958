package planner

import (
	"math"
	"slices"

	"qb/smartshare"
	"qb/smartshare/packing"
)

// packShapes lets smartshare pack instances of different shapes and takes the answer over.
func (b *balance) packShapes() {
	b.scratch.Allow(b.packingWork())
	for j := range b.jobs {
		b.jobs[j].target = b.jobs[j].pinned
	}
	bins, shared, hosts := b.packBins()
	loads, jobs, held := b.packLoads(hosts)
	loadOf := make([]int, len(b.jobs))
	for j := range loadOf {
		loadOf[j] = -1
	}
	for i, j := range jobs {
		loadOf[j] = i
	}
	p := packing.Pack(b.scratch, bins, shared, len(b.limits), loads, b.servedClaims(loadOf))
	places := make([][2][]int, len(b.jobs))
	for i, j := range jobs {
		job := &b.jobs[j]
		job.grant = p.Grant[i]
		job.target = p.Target[i]
		job.moved = len(p.Starts[i])
		for _, k := range p.Stop[i] {
			b.stopped[held[i][k]] = true
			b.stops = append(b.stops, held[i][k])
		}
		places[j] = [2][]int{hostsOf(p.Primaries[i], hosts), hostsOf(p.Starts[i], hosts)}
	}
	b.placeStarts(places)
	b.divideOn()
}

// placeStarts puts the starts of a division into their order, each on the next of its job's hosts.
func (b *balance) placeStarts(places [][2][]int) {
	b.starts = b.startSequence()
	for i := range b.starts {
		start := &b.starts[i]
		list := &places[start.Job][start.Kind]
		start.Host = (*list)[0]
		*list = (*list)[1:]
	}
	b.markNow()
}

// hostsOf are the hosts that bins stand for.
func hostsOf(bins, hosts []int) []int {
	list := make([]int, len(bins))
	for n, bin := range bins {
		list[n] = hosts[bin]
	}
	return list
}

// packBins lists the hosts by name, with what pinned instances leave of them.
func (b *balance) packBins() (bins []packing.Bin, shared []int64, hosts []int) {
	room := b.capacities()
	stock, shared := b.stocks(func(i int) bool { return !b.gone[i] && b.isPinned(i) })
	hosts = b.hostsByName()
	for _, h := range hosts {
		bin := packing.Bin{Slots: room.slots[h], Memory: room.memory[h], Stock: stock[h], Closed: !b.s.Hosts[h].Up,
			Ending: b.s.Hosts[h].Ending, EndingMemory: b.s.Hosts[h].EndingMemory}
		if b.s.Hosts[h].Memory < 0 {
			bin.Memory = math.MaxInt64
		}
		bins = append(bins, bin)
	}
	place := make([]int, len(hosts))
	for n, h := range hosts {
		place[h] = n
	}
	for i := range b.s.Running {
		if r := &b.s.Running[i]; b.gone[i] && r.HasItem { // it goes free when its item has ended
			bin := &bins[place[r.Host]]
			bin.Ending, bin.EndingMemory = bin.Ending+b.s.Jobs[r.Job].Slots, bin.EndingMemory+b.promised(i)
		}
	}
	return bins, shared, hosts
}

// packLoads lists the jobs that matter in dispatch order, and their instances that may be stopped.
func (b *balance) packLoads(hosts []int) (loads []packing.Load, jobs []int, held [][]int) {
	place := make([]int, len(hosts))
	for bin, h := range hosts {
		place[h] = bin
	}
	var lists hostLists
	for _, j := range b.order {
		if !b.matters(j) {
			continue
		}
		job, in := &b.jobs[j], &b.s.Jobs[j]
		load := packing.Load{Slots: max(1, in.Slots), Memory: max(0, in.Memory), Need: job.need, Owner: b.owner[j],
			Floor: job.pinned, Cap: b.surplusCap(j), Unit: int(b.levelUnit(j)), Weight: b.weight(j)}
		if b.scarce() {
			load.Takes, load.Wants = b.takes[j], b.wants[j]
		}
		if in.Eligible != nil {
			load.Bins = binsOf(in.Eligible, place)
		}
		for _, t := range b.tiersOf(j, lists.add(in.Eligible)) {
			load.Tiers = append(load.Tiers, packing.BinTier{Rank: t.Rank, Bins: binsOf(t.Bins, place)})
		}
		instances := b.movable(j)
		b.sortVictims(instances)
		for n, i := range instances {
			load.Held = append(load.Held, packing.Piece{Bin: place[b.s.Running[i].Host], Memory: max(0, b.promised(i)),
				Draining:  b.s.Running[i].Draining,
				KeepValue: smartshare.KeepValue{Work: smartshare.KeepWork(b.running(i), b.passive), Tie: n}})
		}
		loads, jobs, held = append(loads, load), append(jobs, j), append(held, instances)
	}
	return loads, jobs, held
}

// binsOf lists the bins of hosts, ascending, none twice.
func binsOf(hosts, place []int) []int {
	bins := make([]int, len(hosts))
	for n, h := range hosts {
		bins[n] = place[h]
	}
	slices.Sort(bins)
	return slices.Compact(bins)
}

// markNow finds, in the order of the starts, which fit before any stop has ended.
func (b *balance) markNow() {
	slots, memory := b.vacancy()
	stock, shared := b.stocks(b.staysForNow)
	for i := range b.starts {
		start := &b.starts[i]
		job, host := &b.s.Jobs[start.Job], start.Host
		if job.Slots <= slots[host] && (b.s.Hosts[host].Memory < 0 || job.Memory <= memory[host] || job.Memory == 0) &&
			b.drawable(stock, shared, start.Job, host) {
			start.now = true
			slots[host] -= job.Slots
			memory[host] -= job.Memory
			b.draw(stock, shared, start.Job, host)
		}
	}
}
