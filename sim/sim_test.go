package sim

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "simulate this one seed and print its story")
	simSeeds = flag.Int("sim.seeds", 0, "simulate so many seeds")
	simFirst = flag.Uint64("sim.first", 0, "with many seeds: the first of them")
	simFails = flag.Int("sim.failures", 5, "with many seeds: end after so many that failed")
	simUntil = flag.String("sim.until", "", "with many seeds: end after one whose failure begins with this regular expression")
	simWhole = flag.String("sim.trace", "", "with -sim.seed: write the whole story to this file")
)

const (
	simFew    = 40     // seeds of a run that asks for no number: the suite's, with the race detector
	simEnough = 2000   // seeds from which a point that was never reached is a fault of the simulator
	simMany   = 20_000 // the same for the rarest
)

// seedsWanted is one seed, or the first and the number of many; the environment says it for `make sim`.
func seedsWanted() (one, first uint64, many int) {
	one, first, many = *simSeed, *simFirst, *simSeeds
	if one == 0 {
		one, _ = strconv.ParseUint(os.Getenv("QB_SIM_SEED"), 10, 64)
	}
	if first == 0 {
		first, _ = strconv.ParseUint(os.Getenv("QB_SIM_FIRST"), 10, 64)
	}
	if many == 0 {
		many, _ = strconv.Atoi(os.Getenv("QB_SIM_SEEDS"))
	}
	if many <= 0 {
		many = simFew
	}
	return one, max(first, 1), many
}

// TestSim lives through seeds of the simulator, and at the end asks whether they met all that can happen.
func TestSim(t *testing.T) {
	one, first, many := seedsWanted()
	if one != 0 {
		tellOneSeed(t, one)
		return
	}
	all := simulateMany(first, many)
	for _, w := range all.failed {
		t.Errorf("%s\nseed %d: %s\n(again with: make sim SEED=%d)", w.story(), w.seed, w.failure, w.seed)
	}
	if all.seeds < many {
		t.Fatalf("ended after %d of %d seeds, for %d failed", all.seeds, many, len(all.failed))
	}
	if all.started < 20*many {
		t.Errorf("%d seeds ran %d items: too few to mean anything", many, all.started)
	}
	t.Logf("%d seeds, %d items, %s simulated", all.seeds, all.started, all.lived.Round(time.Second))
	t.Log(all.memory())
	missed := []string{}
	for _, point := range simSometimes {
		t.Logf("%8d  %s", all.reached[point], point)
		if all.reached[point] == 0 && (many >= simMany || !slices.Contains(simRare, point)) {
			missed = append(missed, point)
		}
	}
	switch {
	case len(missed) == 0 && many >= simMany:
		t.Logf("all %d points were reached", len(simSometimes))
	case len(missed) > 0 && many >= simEnough:
		t.Errorf("%d seeds never reached: %s", many, strings.Join(missed, "; "))
	}
}

// tellOneSeed lives through one seed and prints the end of its story.
func tellOneSeed(t *testing.T, seed uint64) {
	var whole io.Writer
	if *simWhole != "" {
		file, err := os.Create(*simWhole)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		whole = file
	}
	w := simulate(seed, whole)
	t.Logf("seed %d, trace %016x, %d lines, %s simulated, %d processes\n%s", seed, w.trace.hash.Sum64(), w.trace.count, w.now, w.truth.started, w.story())
	if w.failure != "" {
		t.Fatalf("seed %d: %s", seed, w.failure)
	}
}

// simTotal is what many seeds came to.
type simTotal struct {
	seeds, started int
	lived          time.Duration
	reached        map[string]int
	takeovers      int         // seeds in which leadership changed hands
	failed         []*simWorld // by their seeds
	found          bool        // the failure that -sim.until looks for
}

// simulateMany lives through seeds, as many at a time as there are processors: a world knows no other.
func simulateMany(first uint64, many int) simTotal {
	all := simTotal{reached: map[string]int{}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	next, end := first, first+uint64(many)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < end && len(all.failed) < *simFails && !all.found {
				seed := next
				next++
				mu.Unlock()
				w := simulate(seed, nil)
				mu.Lock()
				all.add(w)
			}
		})
	}
	wait.Wait()
	slices.SortFunc(all.failed, func(a, b *simWorld) int { return cmp.Compare(a.seed, b.seed) })
	return all
}

func (all *simTotal) add(w *simWorld) {
	all.seeds++
	all.started += w.truth.started
	all.lived += w.now
	for point, n := range w.reached {
		all.reached[point] += n
	}
	if w.reached["leadership changed hands"] > 0 {
		all.takeovers++
	}
	if w.failure != "" {
		all.failed = append(all.failed, w)
		all.found = all.found || *simUntil != "" && regexp.MustCompile("^("+*simUntil+")").MatchString(w.failure)
	}
}

// memory says on how much the rule rests that no memory is promised twice (S13), which each start is held against.
func (all *simTotal) memory() string {
	return fmt.Sprintf("memory was promised to %d starts: to %d beside promises of earlier terms, and %d after which another like it had no room; "+
		"leadership changed hands %d times, in %d seeds", all.reached["memory promised"], all.reached["memory promised beside a promise of an earlier term"],
		all.reached["the last memory promised"], all.reached["leadership changed hands"], all.takeovers)
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
