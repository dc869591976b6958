package planner

import (
	"cmp"
	"slices"

	"qb/supervisor/facts"
)

// startSequence lists the starts without hosts: primaries in dispatch order, then secondaries, lowest
// level first and at each level in dispatch order.
func (b *balance) startSequence() []balanceStart {
	total := 0
	for j := range b.jobs {
		total += b.jobs[j].grant + b.jobs[j].moved
	}
	starts := make([]balanceStart, 0, total)
	var rising []risingJob
	alike := true
	for at, j := range b.order {
		for range b.jobs[j].grant {
			starts = append(starts, balanceStart{PlannedStart: PlannedStart{Job: j, Kind: facts.Primary}})
		}
		if n := b.jobs[j].moved; n > 0 {
			rising = append(rising, risingJob{job: j, at: at, count: b.jobs[j].target - n, left: n, step: b.levelStep(j)})
			alike = alike && b.owner[j] == 0 && rising[0].step == rising[len(rising)-1].step
		}
	}
	if alike {
		return riseAlike(starts, rising)
	}
	return b.rise(starts, rising)
}

// levelStep is how much one instance raises a job's level.
func (b *balance) levelStep(j int) float64 {
	return b.levelUnit(j) / b.weight(j)
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

// risingJob is a job on its way to its target: it stands at count secondaries, at is its place in the
// dispatch order.
type risingJob struct {
	job, at, count, left int
	step                 float64
}

func (r *risingJob) level() float64 { return float64(r.count+1) * r.step }

func compareRising(x, y risingJob) int {
	return cmp.Or(cmp.Compare(x.level(), y.level()), cmp.Compare(x.at, y.at))
}

func (r *risingJob) start() balanceStart {
	r.count++
	r.left--
	return balanceStart{PlannedStart: PlannedStart{Job: r.job, Kind: facts.Secondary}}
}

// riseAlike appends the secondary starts of jobs that rise by the same step: one round per level.
func riseAlike(starts []balanceStart, rising []risingJob) []balanceStart {
	slices.SortFunc(rising, compareRising)
	var active []risingJob // those at the present level, in dispatch order
	for len(rising)+len(active) > 0 {
		if len(active) == 0 {
			active, rising = append(active, rising[0]), rising[1:]
		}
		joined := 0
		for joined < len(rising) && rising[joined].count == active[0].count {
			joined++
		}
		if joined > 0 {
			active = append(active, rising[:joined]...)
			rising = rising[joined:]
			slices.SortFunc(active, compareRising)
		}
		still := active[:0]
		for _, r := range active {
			starts = append(starts, r.start())
			if r.left > 0 {
				still = append(still, r)
			}
		}
		active = still
	}
	return starts
}

// risingQueue is a heap, the job that reaches the lowest level first.
type risingQueue []risingJob

func (q risingQueue) Len() int           { return len(q) }
func (q risingQueue) Less(x, y int) bool { return compareRising(q[x], q[y]) < 0 }
func (q risingQueue) Swap(x, y int)      { q[x], q[y] = q[y], q[x] }
func (q *risingQueue) Push(x any)        { *q = append(*q, x.(risingJob)) }
func (q *risingQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
