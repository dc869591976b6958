package fairshare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

const day = 86400.0

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestN9HalfLife(t *testing.T) {
	h := HalfLife(0.75, 2*day)
	near(t, "half-life", h/day, 4.82, 0.005)
	near(t, "left", Usage{1, 0}.Read(30*day, h), 0.0134, 0.00005)
	near(t, "1 % in 30 days", Usage{1, 0}.Read(30, 4.52), 0.01, 0.0001)
	near(t, "5 % in 30 days", Usage{1, 0}.Read(30, 6.94), 0.05, 0.0001)
}

func TestN10Decay(t *testing.T) { near(t, "usage", Usage{1000, 0}.Read(15*day, 5*day), 125, 1e-9) }

func TestN11EquivalentSum(t *testing.T) {
	grid := Resources{CPUs: 23968, Memory: 223364771316, GPUs: 300} // memory in kB
	near(t, "4 CPU + 64 GiB", total(SharesOfEquivalent(Resources{CPUs: 4, Memory: 64 << 20}, grid, false)), 11.20, 0.005)
	near(t, "1 CPU + 1 GPU + 16 GiB", total(SharesOfEquivalent(Resources{CPUs: 1, GPUs: 1, Memory: 16 << 20}, grid, false)), 82.69, 0.005)
}

func TestN12EquivalentMax(t *testing.T) {
	machine := Resources{CPUs: 64, Memory: 512, GPUs: 8}
	near(t, "half the memory", total(SharesOfEquivalent(Resources{CPUs: 4, Memory: 256}, machine, true)), 32, 0)
	near(t, "one GPU", total(SharesOfEquivalent(Resources{CPUs: 1, GPUs: 1}, machine, true)), 8, 0)
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

func TestInvariant37Equivalents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := Resources{CPUs: 64, Memory: 512, GPUs: 8, Scratch: 1000}
		part := func(name string, most float64) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
		r := Resources{part("cpus", 64), part("memory", 512), part("gpus", 8), part("scratch", 1000)}
		sum, most := total(SharesOfEquivalent(r, machine, false)), total(SharesOfEquivalent(r, machine, true))
		if most > machine.CPUs+1e-9 || most < r.CPUs-1e-9 || sum < most-1e-9 {
			t.Fatalf("%+v counts as %v and %v", r, sum, most)
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

func TestInheritedUsage(t *testing.T) { near(t, "usage", InheritedUsage(0.1, 0.5, 0.25), 0.2, 1e-12) }
