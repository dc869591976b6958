package smartshare

// The orders of a farm where fairshare ranks the owners of jobs. Everybody may ask for any priority there, so that a
// priority says nothing about the jobs of others: it orders the owner's own.
var (
	OwnersPriorityOrder = []Term{ByOperator, ByFairshare, ByOwn, ByCluster, ByVTime, ByAge, ByTie}
	OwnersClusterOrder  = []Term{ByCluster, ByOperator, ByFairshare, ByOwn, ByVTime, ByAge, ByTie}
)

// shareOwn has each owner's jobs take the places that they have in the order by their priorities, those of equal
// priority as they are. Only jobs that are equal in the terms before change places. So whatever priorities an owner
// gives, the places that the owner's jobs have among those of others stay the same. list and room are scratch space of
// the order's length.
func shareOwn(keys []Key, order []int, before []Term, list, room []Keyed) {
	equal := func(a, b *Key) bool {
		for _, t := range before {
			if a.word(t) != b.word(t) {
				return false
			}
		}
		return true
	}
	for from, to := 0, 0; from < len(order); from = to {
		for to = from + 1; to < len(order) && equal(&keys[order[from]], &keys[order[to]]); to++ {
		}
		shareEqual(keys, order[from:to], list[from:to], room[from:to])
	}
}

// shareEqual is shareOwn for jobs that are equal in the terms before.
func shareEqual(keys []Key, order []int, list, room []Keyed) {
	byOwner := func(job func(place int) int) {
		for n := range list {
			list[n].Key = orderedInt(int64(keys[job(list[n].Place)].Owner))
		}
		RadixSort(list, room)
	}
	for n, j := range order {
		list[n] = Keyed{keys[j].word(ByPriority), j}
	}
	RadixSort(list, room)
	byOwner(func(j int) int { return j })
	jobs := make([]int, len(order))
	for n := range list {
		jobs[n] = list[n].Place
		list[n].Place = n
	}
	byOwner(func(place int) int { return order[place] })
	for n := range list {
		order[list[n].Place] = jobs[n]
	}
}
