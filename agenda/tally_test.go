package agenda

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStateNames(t *testing.T) {
	want := []string{"pending", "running", "complete", "failed", "killed", "blocked", "pending", "blocked"}
	for i, name := range want {
		if got := State(i).String(); got != name {
			t.Errorf("state %d is %q, want %q", i, got, name)
		}
	}
}

func TestTallyOfNothing(t *testing.T) {
	tally := NewTally(0)
	if _, ok := tally.NextPending(); ok || tally.Len() != 0 || tally.Count(Pending) != 0 {
		t.Error("an empty tally holds something")
	}
}

// A tally of any size says the same as a plain list of states.
func TestTallyAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 70), rapid.SampledFrom([]int{63, 64, 65, 4095, 4096, 4097, 5000})).Draw(t, "n")
		tally, model := NewTally(n), make([]State, n)
		state := rapid.Map(rapid.IntRange(0, int(states)-1), func(i int) State { return State(i) })
		item := rapid.IntRange(0, n-1)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i, s := item.Draw(t, "item"), state.Draw(t, "state")
				tally.Set(i, s)
				model[i] = s
			},
			"set many": func(t *rapid.T) {
				from, s := item.Draw(t, "from"), state.Draw(t, "state")
				to := rapid.IntRange(from, n-1).Draw(t, "to")
				for i := from; i <= to; i++ {
					tally.Set(i, s)
					model[i] = s
				}
			},
			"take": func(t *rapid.T) {
				if i, ok := tally.NextPending(); ok {
					tally.Set(i, Running)
					model[i] = Running
				}
			},
			"": func(t *rapid.T) { compareTally(t, tally, model) },
		})
	})
}

func compareTally(t *rapid.T, tally *Tally, model []State) {
	counts := make(map[State]int)
	for i, s := range model {
		counts[s]++
		if tally.State(i) != s {
			t.Fatalf("item %d is %v, want %v", i, tally.State(i), s)
		}
	}
	for s := range states {
		if tally.Count(s) != counts[s] {
			t.Fatalf("%d items are %v, want %d", tally.Count(s), s, counts[s])
		}
	}
	next, ok := tally.NextPending()
	if lowest := slices.Index(model, Pending); ok != (lowest >= 0) || ok && next != lowest {
		t.Fatalf("next pending %d, %v, want %d", next, ok, lowest)
	}
}

func TestTallyIsSmall(t *testing.T) {
	const items = 1_000_000
	tally := NewTally(items)
	bytes := len(tally.states)
	for _, words := range tally.pending {
		bytes += 8 * len(words)
	}
	if bytes > items+items/7 {
		t.Errorf("%d bytes for %d items", bytes, items)
	}
}

// The first item comes back again and again while all before the last are running: no scan.
func BenchmarkNextPending(b *testing.B) {
	const items = 1_000_000
	tally := NewTally(items)
	for i := range items - 1 {
		tally.Set(i, Running)
	}
	b.ReportAllocs()
	for b.Loop() {
		tally.Set(0, Pending)
		tally.NextPending()
		tally.Set(0, Running)
		tally.NextPending()
	}
}
