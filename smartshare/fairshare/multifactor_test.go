package fairshare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The sum by hand, with the weights of the example in Slurm's documentation.
func TestPointsByHand(t *testing.T) {
	weights := Multifactor{Age: 1000, Fairshare: 10000, Priority: 1000, Size: 1000}
	factors := Multifactor{Age: AgeFactor(3.5*day, 14*day), Fairshare: Factor(0.5, 0.5), Priority: PriorityFactor(26, 101), Size: SizeFactor(32, 256)}
	if factors != (Multifactor{0.25, 0.5, 0.75, 0.125}) {
		t.Fatalf("factors %+v", factors)
	}
	near(t, "points", weights.Points(factors), 250+5000+750+125, 0)
	near(t, "rounded", Multifactor{Age: 1.4}.Points(Multifactor{Age: 1}), 1, 0)
	for _, f := range []float64{AgeFactor(-5, 10), AgeFactor(5, 0), PriorityFactor(9999, 9999), PriorityFactor(10001, 9999), SizeFactor(5, 0)} {
		near(t, "least", f, 0, 0)
	}
	for _, f := range []float64{AgeFactor(50, 10), PriorityFactor(1, 9999), PriorityFactor(1, 1), SizeFactor(500, 100)} {
		near(t, "most", f, 1, 0)
	}
}

func drawMultifactor(t *rapid.T, name string, most float64) Multifactor {
	part := func(what string) float64 { return rapid.Float64Range(0, most).Draw(t, name+" "+what) }
	return Multifactor{part("age"), part("fairshare"), part("priority"), part("size")}
}

// The points equal the formula, are the same each time, and rise with each factor as its weight says.
func TestPointsAreTheFormulaAndMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, f := drawMultifactor(t, "weight", 1e6), drawMultifactor(t, "factor", 1)
		if rapid.Bool().Draw(t, "small first") {
			w.Size = -w.Size
		}
		points := w.Points(f)
		if want := w.Age*f.Age + w.Fairshare*f.Fairshare + w.Priority*f.Priority + w.Size*f.Size; math.Abs(points-want) > 0.5+1e-6 || points != math.Trunc(points) {
			t.Fatalf("%v points, the formula says %v", points, want)
		}
		if again := w.Points(f); again != points {
			t.Fatalf("%v points, then %v", points, again)
		}
		step := rapid.Float64Range(0, 1).Draw(t, "step")
		for name, more := range map[string]Multifactor{
			"age": {Age: step}, "fairshare": {Fairshare: step}, "priority": {Priority: step}, "size": {Size: step},
		} {
			raised := w.Points(Multifactor{f.Age + more.Age, f.Fairshare + more.Fairshare, f.Priority + more.Priority, f.Size + more.Size})
			if falls := name == "size" && w.Size < 0; falls && raised > points || !falls && raised < points {
				t.Fatalf("more %s: %v points became %v with weights %+v", name, points, raised, w)
			}
		}
	})
}

// The factors themselves are within [0,1] and monotone in what they measure.
func TestFactorsOfPointsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, most int) int { return rapid.IntRange(-1, most).Draw(t, name) }
		worst, a, b := number("worst", 9999), number("a", 20000), number("b", 20000)
		a, b = min(a, b), max(a, b)
		for name, pair := range map[string][2]float64{
			"age":      {AgeFactor(float64(a), float64(worst)), AgeFactor(float64(b), float64(worst))},
			"priority": {PriorityFactor(b, worst), PriorityFactor(a, worst)},
			"size":     {SizeFactor(float64(a), float64(worst)), SizeFactor(float64(b), float64(worst))},
		} {
			if !(0 <= pair[0] && pair[0] <= pair[1] && pair[1] <= 1) {
				t.Fatalf("%s: %v for the lesser, %v for the greater", name, pair[0], pair[1])
			}
		}
	})
}
