package planner

import (
	"math"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// startSequence lists the starts without hosts: primaries in dispatch order, then secondaries, lowest level first and
// at each level in dispatch order. Where the surplus is divided by user the lowest user comes first, and of the user's
// jobs the lowest.
func (b *balance) startSequence() []balanceStart {
	total := 0
	for j := range b.jobs {
		total += b.jobs[j].grant + b.jobs[j].moved
	}
	b.scratch.Spend(total)
	starts := make([]balanceStart, 0, total)
	list, room := smartshare.Lend[smartshare.Keyed](b.scratch, total)[:0],
		smartshare.Lend[smartshare.Keyed](b.scratch, total)
	for _, j := range b.order {
		job := &b.jobs[j]
		for range job.grant {
			starts = append(starts, balanceStart{PlannedStart: PlannedStart{Job: j, Kind: facts.Primary}})
		}
		step := b.levelUnit(j) / b.weight(j)
		for n := job.target - job.moved + 1; n <= job.target; n++ {
			list = append(list, smartshare.Keyed{Key: levelKey(float64(n) * step), Place: j})
		}
	}
	smartshare.RadixSort(list, room)
	if b.s.Policy.ByUser() {
		b.levelUsers(list)
		smartshare.RadixSort(list, room)
	}
	for _, next := range list {
		starts = append(starts, balanceStart{PlannedStart: PlannedStart{Job: next.Place, Kind: facts.Secondary}})
	}
	return starts
}

// levelKey is a whole number for a level, in the same order: levels are above zero, and so their bits are ordered as
// they are.
func levelKey(level float64) uint64 { return math.Float64bits(level) }

// levelUsers puts the level that its user reaches with each secondary to start in the place of its job's.
func (b *balance) levelUsers(list []smartshare.Keyed) {
	// by user: of his secondaries, and of the heaviest of his jobs
	units, weights := make([]float64, len(b.jobs)+1), make([]float64, len(b.jobs)+1)
	for j, user := range b.owner {
		units[user] += float64(b.jobs[j].target-b.jobs[j].moved) * b.levelUnit(j)
		weights[user] = max(weights[user], b.weight(j))
	}
	for n, next := range list {
		user := b.owner[next.Place]
		units[user] += b.levelUnit(next.Place)
		list[n].Key = levelKey(units[user] / weights[user])
	}
}

// levelUnit is what one instance counts for, before weights.
func (b *balance) levelUnit(j int) float64 {
	if b.s.Policy.ShareUnit == "instances" {
		return 1
	}
	return float64(max(1, b.s.Jobs[j].Slots))
}

// weight is a job's weight of surplus; 1 where none is given.
func (b *balance) weight(j int) float64 {
	if w := b.s.Jobs[j].Weight; w > 0 {
		return w
	}
	return 1
}
