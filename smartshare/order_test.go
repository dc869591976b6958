package smartshare

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestClusterRank is Qube's table for a worker in /A/B/C.
func TestClusterRank(t *testing.T) {
	for job, want := range map[string]int{
		"/A/B/C": 1, "/A/B/C/D": 2, "/A/B/C/D/E": 2, "/A/B": 3, "/A/B/F": 3, "/A": 4, "/": 5, "/G": 5,
		"/+": 1, "/A+": 1, "/G+": 5, "/G,/A/B": 3, "/G, /A/B/C": 1,
	} {
		if got := ClusterRank(job, "/A/B/C"); got != want {
			t.Errorf("job of %s: rank %d, want %d", job, got, want)
		}
	}
	for _, job := range []string{"/A", "/B/C", "/D"} {
		if got := ClusterRank(job, "/"); got != 2 {
			t.Errorf("job of %s on a root worker: rank %d, want 2", job, got)
		}
	}
}

func TestClusterSteps(t *testing.T) {
	for _, c := range []struct {
		job, farm string
		want      int
	}{{"/", "/", 0}, {"", "/", 0}, {"/vfx/char", "/vfx", 1}, {"/vfx", "/comp", 2}, {"/", "/a/b", 2}, {"/a/b/", "/a/b", 0}} {
		if got := ClusterSteps(c.job, c.farm); got != c.want {
			t.Errorf("from %s to %s: %d steps, want %d", c.job, c.farm, got, c.want)
		}
	}
}

func TestFairshareBuckets(t *testing.T) {
	a, b := Key{Fairshare: 0.291, Submit: 2, Tie: 1}, Key{Fairshare: 0.299, Submit: 1, Tie: 2}
	if Compare(a, b, PriorityOrder) <= 0 {
		t.Error("factors within a hundredth must not order jobs")
	}
	if b.Fairshare = 0.28; Compare(a, b, PriorityOrder) >= 0 {
		t.Error("the larger factor goes first")
	}
	if FairshareBucket(0.29) != 29 || FairshareBucket(1) != 100 || FairshareBucket(0) != 0 {
		t.Error("buckets are hundredths")
	}
}

func drawKey(t *rapid.T, tie int) Key {
	n := func(name string) int { return rapid.IntRange(0, 2).Draw(t, name) }
	return Key{Priority: n("priority"), Distance: n("distance"), Fairshare: float64(n("fairshare")) / 200,
		VTime: float64(n("vtime")), Submit: int64(n("submit")), Tie: tie, Points: float64(n("points"))}
}

// TestInvariant25StrictTotalOrder: any two jobs differ, the order is transitive and the same however the
// jobs come.
func TestInvariant25StrictTotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom([][]Term{PriorityOrder, ClusterOrder, MultifactorOrder, {ByAge}, {}}).Draw(t, "by")
		var keys []Key
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			keys = append(keys, drawKey(t, i))
		}
		order := Order(nil, keys, by)
		for place, i := range order {
			for _, j := range order[place+1:] {
				if Compare(keys[i], keys[j], by) >= 0 || Compare(keys[j], keys[i], by) <= 0 {
					t.Fatalf("%+v does not come before %+v", keys[i], keys[j])
				}
			}
		}
		mixed := rapid.Permutation(keys).Draw(t, "mixed")
		for place, i := range Order(nil, mixed, by) {
			if mixed[i] != keys[order[place]] {
				t.Fatalf("place %d depends on how the jobs come", place)
			}
		}
		if place := Ranks(order); place[order[0]] != 0 {
			t.Fatalf("ranks %v of order %v", place, order)
		}
	})
}

func TestTermNames(t *testing.T) {
	for term := range terms {
		if back, ok := ParseTerm(term.String()); !ok || back != term {
			t.Errorf("%s is read as %v", term, back)
		}
	}
	if _, ok := ParseTerm("luck"); ok {
		t.Error("luck is no term")
	}
	if !slices.Contains(ClusterOrder, ByTie) {
		t.Error("the order must end with ids")
	}
}

// TestOrderIsThatOfCompare orders many keys, most of which have much in common with others, by any terms, and holds the
// order against that of comparing them two by two.
func TestOrderIsThatOfCompare(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SliceOfDistinct(rapid.SampledFrom([]Term{ByPriority, ByCluster, ByFairshare, ByVTime, ByAge, ByTie, ByPoints}),
			func(t Term) Term { return t }).Draw(rt, "by")
		number := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.005, 0.01, 1, 300, -300, 1e300, -1e-300})
		whole := rapid.OneOf(rapid.IntRange(-2, 2), rapid.SampledFrom([]int{math.MinInt, math.MaxInt, 255, 256, 65536}))
		some := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Key {
			return Key{Priority: whole.Draw(rt, "priority"), Distance: whole.Draw(rt, "distance"), Fairshare: rapid.Float64Range(0, 1).Draw(rt, "fairshare"),
				VTime: number.Draw(rt, "vtime"), Submit: int64(whole.Draw(rt, "submit")), Points: number.Draw(rt, "points")}
		}), 1, 20).Draw(rt, "some")
		keys := make([]Key, rapid.SampledFrom([]int{1, 3, radixFrom - 1, radixFrom, 1000}).Draw(rt, "keys"))
		step := rapid.SampledFrom([]int{1, 7, 991}).Draw(rt, "step")
		var want []int
		for n := range keys {
			keys[n] = some[n*step%len(some)]
			keys[n].Tie = n * 991 % 1009
			want = append(want, n)
		}
		slices.SortFunc(want, func(x, y int) int { return Compare(keys[x], keys[y], by) })
		if got := Order(nil, keys, by); !slices.Equal(got, want) {
			rt.Fatalf("by %v the order is %v, comparing gives %v", by, got, want)
		}
	})
}

func TestMorePointsGoFirst(t *testing.T) {
	keys := []Key{{Points: 5, Priority: 1, Tie: 0}, {Points: 7, Priority: 9, Tie: 1}, {Points: 5, Distance: -1, Tie: 2}, {Points: -3, Tie: 3}}
	order := Order(nil, keys, MultifactorOrder)
	for place, want := range []int{1, 2, 0, 3} {
		if order[place] != want {
			t.Fatalf("order %v", order)
		}
	}
}
