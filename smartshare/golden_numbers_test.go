package smartshare

import (
	"math"
	"slices"
	"testing"
)

// The golden numbers N1 to N16 of the model.

const (
	day = 86400.0
	gib = int64(1) << 30
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestN1Acceptance(t *testing.T) {
	l := Lottery{History: []Accepted{{1, 1}, {2, 10}}}
	near(t, "t=10", l.Chance(2, 10), 0.1, 0)
	near(t, "t=1", l.Chance(1, 1), 1, 0)
	for knock := 1; knock <= 4; knock++ {
		accepted, after := l.Draw(2, 10, 0.99)
		if accepted != (knock == 4) {
			t.Errorf("knock %d accepted: %v", knock, accepted)
		}
		l = after
	}
}

// seedRun is the seed's example: ten items of 1 s against ten of 10 s on one worker.
func TestN2Stride(t *testing.T) {
	contenders := []Contender{{Weight: 1, Rank: 0}, {Weight: 1, Rank: 1}}
	length, left := []float64{1, 10}, []int{10, 10}
	order, clock, ends := "", 0.0, []float64{0, 0}
	for left[0]+left[1] > 0 {
		waiting := slices.Clone(contenders)
		for i := range waiting {
			if left[i] == 0 {
				waiting[i].VTime = math.Inf(1)
			}
		}
		i := NextByStride(waiting)
		contenders[i] = contenders[i].Started(3).Ended(3, length[i])
		order += string(rune('a' + i))
		clock += length[i]
		ends[i] = clock
		left[i]--
	}
	if order != "abaaaaaaaaabbbbbbbbb" {
		t.Errorf("order %s", order)
	}
	near(t, "end of a", ends[0], 20, 0)
	near(t, "end of b", ends[1], 110, 0)
}

func TestN3Lottery(t *testing.T) {
	const runs = 20_000
	d := dice(7)
	draw := func() float64 { return float64(d.roll(0, 1<<30-1)) / (1 << 30) }
	sum, squares := 0.0, 0.0
	for range runs {
		clock := 0.0
		for left := 10; left > 0; {
			// Both have been accepted before, ask equally often, and no knock counter helps.
			i := d.roll(0, 1)
			l := Lottery{History: []Accepted{{0, 1}, {1, 10}}}
			if accepted, _ := l.Draw(i, []float64{1, 10}[i], draw()); accepted {
				clock += []float64{1, 10}[i]
				left -= 1 - i
			}
		}
		sum += clock
		squares += clock * clock
	}
	mean := sum / runs
	near(t, "mean", mean, 20, 0.4)
	near(t, "deviation", math.Sqrt(squares/runs-mean*mean), 10.5, 0.4)
}

func TestN4Announcement(t *testing.T) {
	near(t, "fixed point", AnnounceFixedPoint(5, 2), 2.44, 0.005)
	near(t, "by the seed", float64(Announce(5000, 2)), 2500, 0)
	for n, x := range map[int]float64{1: 0.9902, 2: 0.4881, 3: 0.3229, 4: 0.2426, 5: 0.1926, 6: 0.1623} {
		near(t, "table", AnnounceFixedPoint(1, n), x, 0.00005)
	}
}

func TestN5Ledger(t *testing.T) {
	left := Ledger(5000, []Reservation{{Reserved: 2000}})
	if Admits(left, 4500) || !Admits(left, 3000) {
		t.Errorf("ledger %d admits 4500: %v, 3000: %v", left, Admits(left, 4500), Admits(left, 3000))
	}
}

func TestN6BestFit(t *testing.T) {
	hosts := []Candidate{{2, 1}, {8, 1}, {4, 1}}
	if i := BestFit(3, hosts); i != 2 {
		t.Errorf("the host with %d", hosts[i].Ledger)
	}
}

func TestN7Estimate(t *testing.T) {
	near(t, "no peak", float64(EstimateMemory(nil, 0, DefaultMemoryRule)), float64(2*gib), 0)
	near(t, "three", float64(EstimateMemory([]int64{1, 3, 2}, 0, DefaultMemoryRule)), 3, 0)
	var peaks []int64
	for n := int64(1); n <= 100; n++ {
		peaks = append(peaks, n*10)
	}
	near(t, "a hundred", float64(EstimateMemory(peaks, 0, DefaultMemoryRule)), 1045, 0)
	near(t, "the user's", float64(EstimateMemory(nil, 9, DefaultMemoryRule)), 9, 0)
	near(t, "its floor", float64(EstimateMemory([]int64{1}, 9, DefaultMemoryRule)), 6, 0)
}

func TestN8OutOfMemory(t *testing.T) {
	for _, c := range []struct {
		limit, largest, want int64
		ok                   bool
	}{{2, 64, 4, true}, {6, 8, 8, true}, {8, 8, 0, false}} {
		got, ok := AfterOutOfMemory(1, c.limit*gib, c.largest*gib)
		if ok != c.ok || ok && got != c.want*gib {
			t.Errorf("killed at %d of %d GiB: %d, %v", c.limit, c.largest, got/gib, ok)
		}
	}
}

func TestN9HalfLife(t *testing.T) {
	h := HalfLife(0.75, 2*day)
	near(t, "half-life", h/day, 4.82, 0.005)
	near(t, "left", Usage{1, 0}.Read(30*day, h), 0.0134, 0.00005)
	near(t, "1 % in 30 days", HalfLifeOfMemory(30, 0.01), 4.52, 0.005)
	near(t, "5 % in 30 days", HalfLifeOfMemory(30, 0.05), 6.94, 0.005)
}

func TestN10Decay(t *testing.T) { near(t, "usage", Usage{1000, 0}.Read(15*day, 5*day), 125, 1e-9) }

func TestN11EquivalentSum(t *testing.T) {
	grid := Resources{CPUs: 23968, Memory: 223364771316, GPUs: 300} // memory in kB
	near(t, "4 CPU + 64 GiB", EquivalentSum(Resources{CPUs: 4, Memory: 64 << 20}, grid), 11.20, 0.005)
	near(t, "1 CPU + 1 GPU + 16 GiB", EquivalentSum(Resources{CPUs: 1, GPUs: 1, Memory: 16 << 20}, grid), 82.69, 0.005)
}

func TestN12EquivalentMax(t *testing.T) {
	machine := Resources{CPUs: 64, Memory: 512, GPUs: 8}
	near(t, "half the memory", EquivalentMax(Resources{CPUs: 4, Memory: 256}, machine), 32, 0)
	near(t, "one GPU", EquivalentMax(Resources{CPUs: 1, GPUs: 1}, machine), 8, 0)
}

func TestN13Charge(t *testing.T) {
	near(t, "fast", ChargeFor(8, 3600, 32), 921_600, 0)
	near(t, "slow", ChargeFor(4, 3600, 32), 460_800, 0)
}

func TestN14Factors(t *testing.T) {
	f := Factors([]float64{75, 25}, []float64{1, 1})
	near(t, "heavy", f[0], 0.354, 0.0005)
	near(t, "light", f[1], 0.707, 0.0005)
}

func TestN15Credit(t *testing.T) {
	shares := []float64{Credited(1, 4), Credited(1, 0)}
	near(t, "shares", shares[0]/shares[1], 2, 0)
	f := Factors([]float64{50, 50}, shares)
	near(t, "with credit", f[0], 0.595, 0.0005)
	near(t, "without", f[1], 0.354, 0.0005)
}

func TestN16Jain(t *testing.T) {
	near(t, "equal", Jain([]float64{1, 1, 1}), 1, 0)
	near(t, "3 : 1", Jain([]float64{3, 1}), 0.8, 1e-12)
	near(t, "one of three", Jain([]float64{1, 0, 0}), 0.333, 0.0005)
}
