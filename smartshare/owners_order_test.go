package smartshare

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawOwned(rt *rapid.T, tie int) Key {
	k := drawKey(rt, tie)
	k.Operator = rapid.SampledFrom([]int{0, 0, 0, -1, -2, 1}).Draw(rt, "operator")
	k.Owner = rapid.IntRange(1, 3).Draw(rt, "owner")
	k.Fairshare = float64(k.Owner%2) / 2
	return k
}

// ownersOrder is the order in words, the slow way: jobs by the terms without priorities, and then, again and again, two
// of one owner that are equal before own_priority change places if the later has the better priority.
func ownersOrder(keys []Key, by []Term) []int {
	n := slices.Index(by, ByOwn)
	without := slices.Delete(slices.Clone(by), n, n+1)
	order := make([]int, len(keys))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(x, y int) int { return Compare(keys[x], keys[y], without) })
	equal := func(a, b Key) bool {
		a.Tie, b.Tie = 0, 0
		return a.Owner == b.Owner && Compare(a, b, by[:n]) == 0
	}
	for changed := true; changed; {
		changed = false
		for x := range order {
			for y := x + 1; y < len(order); y++ {
				if !equal(keys[order[x]], keys[order[y]]) {
					continue
				}
				if keys[order[y]].Priority < keys[order[x]].Priority {
					order[x], order[y], changed = order[y], order[x], true
				}
				break // only the owner's next
			}
		}
	}
	return order
}

// TestOwnersOrder holds the order against the slow one, by any terms around own_priority.
func TestOwnersOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom([][]Term{OwnersPriorityOrder, OwnersClusterOrder, {ByOwn, ByAge}, {ByAge, ByOwn}, {ByOwn}}).Draw(rt, "by")
		keys := make([]Key, rapid.SampledFrom([]int{0, 1, 7, 30}).Draw(rt, "jobs"))
		for n := range keys {
			keys[n] = drawOwned(rt, n)
		}
		if got, want := Order(nil, keys, by), ownersOrder(keys, by); !slices.Equal(got, want) {
			rt.Fatalf("by %v the order is %v, want %v: %+v", by, got, want, keys)
		}
	})
}

// TestPrioritiesMoveNobodyElse: whatever priorities an owner gives, every other job keeps its place, and so does the
// owner as a whole. An owner's jobs that are equal otherwise are in the order of their priorities. Long lists are
// sorted by radix.
func TestPrioritiesMoveNobodyElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom([][]Term{OwnersPriorityOrder, OwnersClusterOrder}).Draw(rt, "by")
		some := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Key { return drawOwned(rt, 0) }), 1, 10).Draw(rt, "some")
		keys := make([]Key, rapid.SampledFrom([]int{2, 9, radixFrom - 1, 2 * radixFrom}).Draw(rt, "jobs"))
		for n := range keys {
			keys[n] = some[n%len(some)]
			keys[n].Tie = n
		}
		before := Order(nil, keys, by)
		owner := rapid.IntRange(1, 3).Draw(rt, "who changes")
		changed := slices.Clone(keys)
		for n := range changed {
			if changed[n].Owner == owner {
				changed[n].Priority = rapid.IntRange(1, 4).Draw(rt, "priority")
			}
		}
		after := Order(nil, changed, by)
		for place, j := range after {
			was := before[place]
			if changed[j].Owner != keys[was].Owner || changed[j].Owner != owner && j != was {
				rt.Fatalf("place %d went from %+v to %+v", place, keys[was], changed[j])
			}
		}
		n := slices.Index(by, ByOwn)
		for x, j := range after {
			for _, k := range after[x+1:] {
				a, b := changed[j], changed[k]
				same := a
				same.Tie = b.Tie
				if a.Owner == b.Owner && Compare(same, b, by[:n]) == 0 && a.Priority > b.Priority {
					rt.Fatalf("%+v goes before %+v of the same owner", a, b)
				}
			}
		}
	})
}

// TestWhoBeatsWhom: what operators set goes before fairshare, and fairshare before the owners' priorities.
func TestWhoBeatsWhom(t *testing.T) {
	heavy, fresh := Key{Owner: 1, Fairshare: 0.2, Priority: 1, Tie: 1}, Key{Owner: 2, Fairshare: 1, Priority: 9999, Tie: 2}
	first := func(a, b Key) bool {
		return Order(nil, []Key{a, b}, OwnersPriorityOrder)[0] == 0 && Order(nil, []Key{b, a}, OwnersClusterOrder)[0] == 1 && Compare(a, b, OwnersClusterOrder) < 0
	}
	if !first(fresh, heavy) {
		t.Error("a priority passes fairshare by")
	}
	heavy.Operator = -1
	if !first(heavy, fresh) {
		t.Error("fairshare goes before what an operator set")
	}
	heavy.Operator, heavy.Owner, heavy.Fairshare = 0, 2, 1
	if !first(heavy, fresh) {
		t.Error("a priority does not order the owner's own jobs")
	}
	if fresh.Operator = 5; !first(heavy, fresh) {
		t.Error("what an operator set last is not behind")
	}
}
