package smartshare

import (
	"math"
	"slices"
)

// Samples is what ended items used of one thing, memory or time: enough for its largest and for its
// quantiles, in bounded room, and the same in whatever order they came. The zero value is of none.
type Samples struct {
	count   int
	largest float64
	classes []sampleClass // ascending
}

// sampleClass holds values that differ by at most one part in 64; the largest is taken for all of them.
type sampleClass struct {
	index, count int
	largest      float64
}

// classesOfDoubling is into how many classes the values between one power of two and the next fall.
const classesOfDoubling = 64

// Add takes a value in; a value that is not above zero, or not a number, is none.
func (r *Samples) Add(v float64) {
	if !(v > 0) || math.IsInf(v, 0) {
		return
	}
	r.count++
	r.largest = max(r.largest, v)
	fraction, exponent := math.Frexp(v)
	index := exponent*classesOfDoubling + int((fraction-0.5)*2*classesOfDoubling)
	at, known := slices.BinarySearchFunc(r.classes, index, func(c sampleClass, i int) int { return c.index - i })
	if !known {
		r.classes = slices.Insert(r.classes, at, sampleClass{index: index})
	}
	c := &r.classes[at]
	c.count++
	c.largest = max(c.largest, v)
}

// Count is how many values there are.
func (r *Samples) Count() int { return r.count }

// Largest is the largest of them, 0 of none.
func (r *Samples) Largest() float64 { return r.largest }

// Quantile is the nearest-rank quantile, at most 1/64 above the exact one and never below it; 0 of none.
func (r *Samples) Quantile(q float64) float64 {
	rank := min(max(int(math.Ceil(q*float64(r.count)-1e-9)), 1), r.count)
	for _, c := range r.classes {
		if rank -= c.count; rank <= 0 {
			return c.largest
		}
	}
	return 0
}

// Memory is what an instance is taken to need, in bytes, after the peaks returned: the largest of them or, of
// Enough and more, the quantile with its margin. What the user gave (0: nothing) is the estimate before the first
// peak, and afterwards the least; with trim two thirds of it are.
func (r *Samples) Memory(given int64, trim bool, rule MemoryRule) int64 {
	if r.count == 0 {
		return given
	}
	estimate := r.largest
	if r.count >= rule.Enough && rule.Quantile < 1 {
		estimate = math.Round(r.Quantile(rule.Quantile) * rule.Margin)
	}
	if trim {
		given = given * 2 / 3
	}
	return max(int64(estimate), given)
}

// Seconds is how long the next item is taken to run: FirstEstimate before any has returned, then the quantile (1: the
// largest), and never less than the oldest item still out has run.
func (r *Samples) Seconds(oldest, quantile float64) float64 {
	switch {
	case r.count == 0:
		return max(FirstEstimate, oldest)
	case quantile < 1:
		return max(r.Quantile(quantile), oldest)
	}
	return max(r.largest, oldest)
}
