package smartshare

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The invariants of the model that speak of shares, time and memory, by number.

func TestInvariant27Chance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Lottery
		least := math.Inf(1)
		for i := range rapid.IntRange(0, 5).Draw(t, "history") {
			a := Accepted{i, rapid.Float64Range(1, 1000).Draw(t, "seconds")}
			l.History = append(l.History, a)
			least = min(least, a.Seconds)
		}
		seconds := rapid.Float64Range(1, 1000).Draw(t, "request")
		p := l.Chance(9, seconds)
		if p <= 0 || p > 1 || seconds <= least && p != 1 || seconds > least && math.Abs(p*seconds-least) > 1e-9 {
			t.Fatalf("%v for %v s, the least is %v", p, seconds, least)
		}
	})
}

func TestInvariant28And29Stride(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.Uint64().Draw(t, "seed"))
		var all []Contender
		var got, longest []float64
		join := func() {
			c := Contender{Weight: float64(d.roll(1, 4)), Rank: len(all)}.Joined(all)
			for _, other := range all {
				if i := NextByStride(all); c.VTime < all[i].VTime {
					t.Fatalf("a newcomer stands at %v, below all of %v", c.VTime, other)
				}
			}
			all, got, longest = append(all, c), append(got, c.VTime), append(longest, 0)
		}
		for range d.roll(2, 4) {
			join()
		}
		for step := range 60 {
			if step == 30 {
				join()
			}
			i := NextByStride(all)
			estimate, actual := float64(d.roll(1, 20)), float64(d.roll(1, 20))
			all[i] = all[i].Started(estimate).Ended(estimate, actual)
			got[i] += actual / all[i].Weight
			longest[i] = max(longest[i], actual)
			for a := range all {
				for b := range all {
					if got[a]-got[b] > longest[a]/all[a].Weight+longest[b]/all[b].Weight+1e-9 {
						t.Fatalf("contender %d has had %v, contender %d %v", a, got[a], b, got[b])
					}
				}
			}
		}
	})
}

func TestYieldNeedsMoreThanAnItem(t *testing.T) {
	holder := Contender{VTime: 100, Weight: 1}
	for v, want := range map[float64]bool{100: false, 91: false, 90: false, 89: true} {
		if got := holder.Yields(Contender{VTime: v, Weight: 1}, 10); got != want {
			t.Errorf("waiting at %v: yields %v", v, got)
		}
	}
}

func TestInvariant30Announce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free, idle := rapid.Int64Range(0, 1<<40).Draw(t, "free"), rapid.IntRange(0, 20).Draw(t, "idle")
		var promised []Reservation
		for range rapid.IntRange(0, 5).Draw(t, "promised") {
			promised = append(promised, Reservation{rapid.Int64Range(0, 1<<38).Draw(t, "reserved"), rapid.Int64Range(0, 1<<38).Draw(t, "resident")})
		}
		ledger := Ledger(free, promised)
		if sum := Announce(ledger, idle) * int64(idle); sum > max(ledger, 0) || ledger > free {
			t.Fatalf("%d announced of %d of %d", sum, ledger, free)
		}
	})
}

func TestInvariant32MemoryEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peaks := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), 1, 50).Draw(t, "peaks")
		rule := DefaultMemoryRule
		rule.Quantile = 1
		estimate := EstimateMemory(peaks, 0, rule)
		if estimate < slices.Max(peaks) {
			t.Fatalf("estimate %d below the peak %d", estimate, slices.Max(peaks))
		}
		largest := rapid.Int64Range(1, 1<<42).Draw(t, "largest")
		limit := MemoryLimit(estimate, largest)
		raised, ok := AfterOutOfMemory(min(estimate, largest), limit, largest)
		if ok && (raised <= limit || raised > max(largest, estimate)) || !ok && limit < largest {
			t.Fatalf("killed at %d of %d: %d, %v", limit, largest, raised, ok)
		}
	})
}

func TestInvariant33BestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Candidate
		for range rapid.IntRange(0, 6).Draw(t, "hosts") {
			hosts = append(hosts, Candidate{rapid.Int64Range(0, 10).Draw(t, "ledger"), rapid.IntRange(0, 2).Draw(t, "slots")})
		}
		need := rapid.Int64Range(0, 10).Draw(t, "need")
		i := BestFit(need, hosts)
		for _, h := range hosts {
			if h.FreeSlots > 0 && h.Ledger >= need && (i < 0 || h.Ledger < hosts[i].Ledger) {
				t.Fatalf("%v suffices better than %d of %v", h, i, hosts)
			}
		}
	})
}

func TestInvariant34And35UsageDecays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		halfLife := rapid.Float64Range(1, 1e6).Draw(t, "half-life")
		u := Usage{rapid.Float64Range(0, 1e9).Draw(t, "value"), 0}
		often := u
		for i := range 10 {
			at := halfLife * float64(i+1) / 10
			often = Usage{often.Read(at, halfLife), at}
		}
		if v := u.Read(halfLife, halfLife); math.Abs(v-u.Value/2) > 1e-6*u.Value || math.Abs(often.Value-v) > 1e-6*u.Value {
			t.Fatalf("%v after a half-life, %v read often, of %v", v, often.Value, u.Value)
		}
		amount, pieces := rapid.Float64Range(0, 1e6).Draw(t, "amount"), rapid.IntRange(1, 20).Draw(t, "pieces")
		var whole, flat, decayed Usage
		whole = whole.Charge(1000, amount, 0)
		for i := range pieces {
			at := 1000 * float64(i+1) / float64(pieces)
			flat, decayed = flat.Charge(at, amount/float64(pieces), 0), decayed.Charge(at, amount/float64(pieces), halfLife)
		}
		if math.Abs(flat.Value-whole.Value) > 1e-6*amount || decayed.Value > whole.Value*(1+1e-9) {
			t.Fatalf("in pieces %v, decayed %v, at once %v", flat.Value, decayed.Value, whole.Value)
		}
	})
}

// TestUsageIsOrderFree: a charge that comes late counts as if it had come in time.
func TestUsageIsOrderFree(t *testing.T) {
	a := Usage{}.Charge(100, 7, 50).Charge(200, 5, 50)
	b := Usage{}.Charge(200, 5, 50).Charge(100, 7, 50)
	near(t, "value", b.Read(300, 50), a.Read(300, 50), 1e-9)
}

func TestInvariant36Factors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usage := rapid.SliceOfN(rapid.Float64Range(0, 1000), 2, 6).Draw(t, "usage")
		shares := rapid.SliceOfN(rapid.Float64Range(0.5, 10), len(usage), len(usage)).Draw(t, "shares")
		f := Factors(usage, shares)
		for i := range f {
			if f[i] < 0 || f[i] > 1 {
				t.Fatalf("factor %v", f[i])
			}
		}
		more, richer := slices.Clone(usage), slices.Clone(shares)
		more[0] += 100
		richer[0] *= 2
		if Factors(more, shares)[0] > f[0]+1e-12 || Factors(usage, richer)[0] < f[0]-1e-12 {
			t.Fatalf("factor %v does not fall with usage or rise with shares", f[0])
		}
		usage[1], shares[1] = usage[0], shares[0]
		if f = Factors(usage, shares); f[0] != f[1] {
			t.Fatalf("equal owners have %v and %v", f[0], f[1])
		}
	})
}

func TestInvariant37Equivalents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := Resources{CPUs: 64, Memory: 512, GPUs: 8, Scratch: 1000}
		part := func(name string, most float64) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
		r := Resources{part("cpus", 64), part("memory", 512), part("gpus", 8), part("scratch", 1000)}
		sum, most := EquivalentSum(r, machine), EquivalentMax(r, machine)
		if most > machine.CPUs+1e-9 || most < r.CPUs-1e-9 || sum < most-1e-9 {
			t.Fatalf("%+v counts as %v and %v", r, sum, most)
		}
		if ChargeFor(2, 10, most) > ChargeFor(4, 10, most) {
			t.Fatal("the slower machine charges more")
		}
	})
}

func TestInvariant38Credit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 20).Draw(t, "a"), rapid.Float64Range(0, 20).Draw(t, "b")
		if Credited(10, a+b) < Credited(10, a) || Credited(10, a) > 30 || Credited(10, 0) != 10 {
			t.Fatalf("credit %v and %v", a, b)
		}
	})
}

func TestWeightIsInEighths(t *testing.T) {
	for factor, want := range map[float64]float64{1: 1, 0.5: 0.5, 0.3: 0.25, 0: 0.125} {
		near(t, "weight", Weight(factor), want, 0)
	}
}

func TestEstimateTime(t *testing.T) {
	near(t, "nothing yet", EstimateTime(nil, 0, 1), 3600, 0)
	near(t, "largest", EstimateTime([]float64{3, 9, 1}, 0, 1), 9, 0)
	near(t, "half", EstimateTime([]float64{3, 9, 1}, 0, 0.5), 3, 0)
	near(t, "the slowest out", EstimateTime([]float64{3, 9, 1}, 20, 1), 20, 0)
}

func TestInheritedUsage(t *testing.T) { near(t, "usage", InheritedUsage(0.1, 0.5, 0.25), 0.2, 1e-12) }
