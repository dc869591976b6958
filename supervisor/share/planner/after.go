package planner

import (
	"slices"

	"qb/supervisor/job/facts"
)

// divideOn divides exactly what packing leaves alike. Once a wide job has all it asks for, or has gone, the
// instances that may still start or stop may all be of one shape: the next balance would not pack them but divide
// them exactly, and move some. So that balancing the result does nothing, that is done here at once.
func (b *balance) divideOn() {
	if !b.alikeAfter() {
		return
	}
	after, origin := b.after()
	c := newBalance(&after, b.scratch)
	c.rankJobs()
	c.relabel()
	c.findScarce()
	u, ok := c.measureUnits()
	if !ok || len(c.promoted)+len(c.demoted)+len(c.leaving) > 0 {
		return
	}
	c.divideUnits(u)
	if len(c.stops)+len(c.starts) > 0 {
		b.continueFrom(c, origin)
	}
}

// alikeAfter says whether the jobs that a division could still move something of, once this one is made true, are
// all of the same width.
func (b *balance) alikeAfter() bool {
	width, alike := 0, len(b.starts)+len(b.stops)+len(b.leaving) > 0
	for j := range b.jobs {
		job := &b.jobs[j]
		primaries, pinned := len(job.primaries)+job.grant, job.pinned
		if b.keepAll {
			pinned = job.target
		}
		if job.need == job.grant && (b.owner[j] == 0 || pinned == 0) && job.target == pinned &&
			job.ceiling <= primaries+job.target {
			continue
		}
		if width == 0 {
			width = b.s.Jobs[j].Slots
		}
		alike = alike && b.s.Jobs[j].Slots == width
	}
	return alike && width > 0
}

// after is the snapshot once the division has been made true, and for each of its instances the index in
// the balance's own; those to start follow, in the order of the starts. What is stopped is on its way out there.
func (b *balance) after() (after Snapshot, origin []int) {
	after = *b.s
	after.Hosts = slices.Clone(b.s.Hosts)
	after.Running = make([]SnapInstance, 0, len(b.s.Running)+len(b.starts))
	for i := range b.s.Running {
		r := b.s.Running[i]
		if !b.gone[i] && !b.stopped[i] {
			r.Kind = b.kind[i]
			after.Running, origin = append(after.Running, r), append(origin, i)
		} else if b.staysForNow(i) {
			after.Hosts[r.Host].Ending += b.s.Jobs[r.Job].Slots
			after.Hosts[r.Host].EndingMemory += b.promised(i)
		}
	}
	for n := range b.starts {
		start := &b.starts[n]
		after.Running = append(after.Running, SnapInstance{Job: start.Job, Host: start.Host, Kind: start.Kind,
			Started: b.s.Now})
	}
	return after, origin
}

// continueFrom takes over what a division of the farm as it would be after this one moves yet.
func (b *balance) continueFrom(c *balance, origin []int) {
	places := make([][2][]int, len(b.jobs))
	add := func(s PlannedStart) { places[s.Job][s.Kind] = append(places[s.Job][s.Kind], s.Host) }
	for n := range b.starts {
		if !c.stopped[len(origin)+n] {
			add(b.starts[n].PlannedStart)
		}
	}
	for i := range c.starts {
		add(c.starts[i].PlannedStart)
	}
	for _, i := range c.stops {
		if i < len(origin) {
			b.stopped[origin[i]] = true
			b.stops = append(b.stops, origin[i])
		}
	}
	b.keepInPlace(places)
	rank := make([]int, len(b.s.Hosts))
	for n, h := range b.hostsByName() {
		rank[h] = n
	}
	for j := range b.jobs {
		for kind := range places[j] {
			slices.SortFunc(places[j][kind], func(x, y int) int { return rank[x] - rank[y] })
		}
		b.jobs[j].grant += c.jobs[j].grant
		b.jobs[j].target, b.jobs[j].moved = c.jobs[j].target, len(places[j][facts.Secondary])
	}
	b.placeStarts(places)
}

// keepInPlace stops none that another of its job would replace on its host.
func (b *balance) keepInPlace(places [][2][]int) {
	b.sortVictims(b.stops)
	slices.Reverse(b.stops)
	b.stops = slices.DeleteFunc(b.stops, func(i int) bool {
		r := &b.s.Running[i]
		list := &places[r.Job][facts.Secondary]
		at := slices.Index(*list, r.Host)
		if at < 0 {
			return false
		}
		*list = slices.Delete(*list, at, at+1)
		b.stopped[i] = false
		return true
	})
}
