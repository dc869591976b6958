package planner

import (
	"cmp"
	"slices"
	"strings"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// relabel decides about what runs before anything is divided: who leaves as the agenda is at its end,
// which primaries are above a lowered cpus, which secondaries fill up missing primaries.
func (b *balance) relabel() {
	for _, j := range b.order {
		b.leave(j)
		b.demote(j)
		b.promote(j)
		b.pin(j)
	}
}

// leave takes the instances beyond the agenda out of the count: secondaries first, least work first.
// A protected instance is the last to go.
func (b *balance) leave(j int) {
	job := &b.jobs[j]
	over := len(job.primaries) + len(job.secondaries) - b.s.Jobs[j].Remaining
	if b.s.Jobs[j].Remaining < 0 || over <= 0 {
		return
	}
	all := slices.Concat(job.secondaries, job.primaries)
	protected := func(i int) int {
		if b.s.Running[i].Protected {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(x, y int) int {
		return cmp.Or(cmp.Compare(protected(x), protected(y)), cmp.Compare(b.kind[y], b.kind[x]), b.leastWork(x, y))
	})
	for _, i := range all[:over] {
		b.gone[i] = true
		b.leaving = append(b.leaving, i)
	}
	job.primaries = slices.DeleteFunc(job.primaries, func(i int) bool { return b.gone[i] })
	job.secondaries = slices.DeleteFunc(job.secondaries, func(i int) bool { return b.gone[i] })
}

// demote turns primaries above cpus into secondaries, least work first.
func (b *balance) demote(j int) {
	job := &b.jobs[j]
	over := len(job.primaries) - b.s.Jobs[j].CPUs
	if over <= 0 {
		return
	}
	slices.SortFunc(job.primaries, b.leastWork)
	moved := job.primaries[:over]
	for _, i := range moved {
		b.kind[i] = facts.Secondary
	}
	b.demoted = append(b.demoted, moved...)
	job.secondaries = append(job.secondaries, moved...)
	job.primaries = job.primaries[over:]
}

// promote turns secondaries into missing primaries, most work first.
func (b *balance) promote(j int) {
	job := &b.jobs[j]
	missing := min(job.floor-len(job.primaries), len(job.secondaries))
	if missing <= 0 || !b.s.Policy.Promote {
		return
	}
	slices.SortFunc(job.secondaries, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.lostWork(y), b.lostWork(x)), b.compareID(x, y))
	})
	moved := job.secondaries[:missing]
	for _, i := range moved {
		b.kind[i] = facts.Primary
	}
	b.promoted = append(b.promoted, moved...)
	job.primaries = append(job.primaries, moved...)
	job.secondaries = job.secondaries[missing:]
}

// pin counts the secondaries that stay in any case, and the primaries that are missing; there is no need
// of one for an item that a pinned secondary has.
func (b *balance) pin(j int) {
	job := &b.jobs[j]
	for _, i := range job.secondaries {
		if b.isPinned(i) {
			job.pinned++
		}
	}
	job.need = max(0, job.floor-len(job.primaries))
	if left := b.s.Jobs[j].Remaining; left >= 0 {
		job.need = max(0, min(job.need, left-len(job.primaries)-job.pinned))
	}
}

// isPinned says that an instance is not for the division to take.
func (b *balance) isPinned(i int) bool {
	return b.kind[i] == facts.Primary || b.fixed[i]
}

// lostWork is what stopping an instance would cost, in seconds.
func (b *balance) lostWork(i int) float64 {
	r := &b.s.Running[i]
	switch {
	case !r.HasItem:
		return 0
	case r.LostWork != 0:
		return r.LostWork
	}
	return max(0, b.s.Now-r.ItemStarted)
}

func (b *balance) leastWork(x, y int) int {
	return cmp.Or(cmp.Compare(b.lostWork(x), b.lostWork(y)), b.compareID(x, y))
}

// compareID orders instances by id, and where a caller gave no distinct ids by place.
func (b *balance) compareID(x, y int) int {
	return cmp.Or(strings.Compare(b.s.Running[x].ID, b.s.Running[y].ID), x-y)
}

// running is what the choice of victims knows of an instance; equals are distinguished by compareID.
func (b *balance) running(i int) smartshare.Running {
	r := &b.s.Running[i]
	return smartshare.Running{Lost: b.lostWork(i), Elapsed: max(0, b.s.Now-r.ItemStarted), Idle: !r.HasItem,
		Started: r.Started}
}

// sortedByID lists the jobs by number, then by id.
func (b *balance) sortedByID() []int {
	jobs, order := b.s.Jobs, b.ints(len(b.s.Jobs))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(jobs[x].Num, jobs[y].Num), cmp.Compare(jobs[x].ID, jobs[y].ID), cmp.Compare(x, y))
	})
	return order
}
