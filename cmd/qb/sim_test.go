package main

import (
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "simulate this one seed and print its story")
	simSeeds = flag.Int("sim.seeds", 0, "simulate so many seeds")
	simWhole = flag.String("sim.trace", "", "with -sim.seed: write the whole story to this file")
)

// seedsWanted is one seed, or the number of them; the environment says it for `make sim`.
func seedsWanted() (one uint64, many int) {
	one, many = *simSeed, *simSeeds
	if one == 0 {
		one, _ = strconv.ParseUint(os.Getenv("QB_SIM_SEED"), 10, 64)
	}
	if many == 0 {
		many, _ = strconv.Atoi(os.Getenv("QB_SIM_SEEDS"))
	}
	switch {
	case many > 0:
	case testing.Short():
		many = 60
	default:
		many = 400
	}
	return one, many
}

// TestSim lives through seeds of the simulator, and at the end asks whether they met all that can happen.
func TestSim(t *testing.T) {
	one, many := seedsWanted()
	if one != 0 {
		var whole io.Writer
		if *simWhole != "" {
			file, err := os.Create(*simWhole)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			whole = file
		}
		w := simulate(one, whole)
		t.Logf("seed %d, trace %016x, %d lines, %s simulated, %d processes\n%s", one, w.trace.hash.Sum64(), w.trace.count, w.now, w.truth.started, w.story())
		if w.failure != "" {
			t.Fatalf("seed %d: %s", one, w.failure)
		}
		return
	}
	reached, started := map[string]int{}, 0
	for seed := uint64(1); seed <= uint64(many); seed++ {
		w := simulate(seed, nil)
		started += w.truth.started
		for point, n := range w.reached {
			reached[point] += n
		}
		if w.failure != "" {
			t.Fatalf("%s\nseed %d: %s\n(again with: make sim SEED=%d)", w.story(), seed, w.failure, seed)
		}
	}
	if started < 20*many {
		t.Errorf("%d seeds ran %d items: too few to mean anything", many, started)
	}
	missed := []string{}
	for _, point := range simSometimes {
		t.Logf("%7d  %s", reached[point], point)
		if reached[point] == 0 {
			missed = append(missed, point)
		}
	}
	if len(missed) > 0 && many >= 2000 || len(missed) > 3 && many >= 300 {
		t.Errorf("%d seeds never reached: %s", many, strings.Join(missed, "; "))
	}
	for _, point := range slices.Sorted(maps.Keys(reached)) {
		if !slices.Contains(simSometimes, point) {
			t.Errorf("the list lacks the point %q", point)
		}
	}
}

// TestSimRepeats: equal seeds live equal lives, to the last word.
func TestSimRepeats(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		a, b := simulate(seed, nil), simulate(seed, nil)
		if a.trace.hash.Sum64() != b.trace.hash.Sum64() || a.trace.count != b.trace.count {
			t.Errorf("seed %d had %d lines, %016x, and then %d, %016x", seed, a.trace.count, a.trace.hash.Sum64(), b.trace.count, b.trace.hash.Sum64())
		}
	}
}
