package main

import (
	"testing"
	"time"
)

// The same seed draws the same times; their mean is the one asked for.
func TestBenchDurationsAreDrawn(t *testing.T) {
	all := &benchHosts{duration: time.Second, seed: 7}
	one, same, other := newBenchHost(all, nil, 3), newBenchHost(all, nil, 3), newBenchHost(all, nil, 4)
	sum, equal := time.Duration(0), 0
	const n = 10_000
	for range n {
		d := all.drawn(one.random)
		if again := all.drawn(same.random); again != d {
			t.Fatalf("the same host drew %v and %v", d, again)
		}
		if all.drawn(other.random) == d {
			equal++
		}
		sum += d
	}
	if mean := sum / n; mean < 950*time.Millisecond || mean > 1050*time.Millisecond || equal > 10 {
		t.Errorf("mean %v of 1 s, %d of %d draws equal to another host's", mean, equal, n)
	}
}
