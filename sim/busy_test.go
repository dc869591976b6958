package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

// One world in simBusyEvery has supervisors whose loop is busy for seconds now and then, while reports of workers come
// in.
const (
	simBusyEvery = 5
	simBusyMost  = 12 * time.Second // as long as a worker waits for an answer
)

// simBusy says for how long a loop is busy before its next turn.
type simBusy struct {
	on     bool
	random *rand.Rand
	spells []simSpell
}

// simSpell is a time for which a loop was busy.
type simSpell struct{ began, lasted time.Duration }

func newSimBusy(w *simWorld) simBusy {
	return simBusy{on: w.seed%simBusyEvery == 3 && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0xb5b))}
}

// turn is how long the next turn waits for the one before it: nothing mostly.
func (b *simBusy) turn(now time.Duration, calm bool) time.Duration {
	if !b.on || calm || b.random.IntN(100) > 0 {
		return 0
	}
	spell := simSpell{now, time.Duration(b.random.Int64N(int64(simBusyMost)))}
	b.spells = append(b.spells, spell)
	return spell.lasted
}

// since is for how long loops were busy from a moment on, in all: what takes some seconds otherwise may take so much
// longer.
func (b *simBusy) since(moment time.Duration) (busy time.Duration) {
	for _, s := range b.spells {
		if s.began+s.lasted > moment {
			busy += s.lasted
		}
	}
	return busy
}

// TestBusyAndStoppedCountOnce: a term listens to no host while its loop is busy or its process is stopped. Time for
// which both hold is left out of a host's silence once, or checkDeaf would not see which host is given work in vain.
func TestBusyAndStoppedCountOnce(t *testing.T) {
	overlaps := 0
	for seed := uint64(1); seed <= 300; seed++ {
		w := newSimWorld(seed)
		w.busy.on = true
		s := w.supervisors[0]
		s.alive, s.term = true, &simTerm{supervisor: s}
		for len(w.busy.spells) == 0 {
			s.term.turning = false
			s.term.turnSoon()
		}
		spell := w.busy.spells[0]
		stopped := w.between(0, 2*simBusyMost)
		wakes := stopped + w.between(1, 2*simBusyMost)
		deaf := spell.lasted + wakes - stopped
		if both := min(spell.lasted, wakes) - stopped; both > 0 {
			deaf -= both
			overlaps++
		}
		w.at(stopped, s.freeze)
		w.at(wakes, s.wake)
		w.run(5 * simBusyMost)
		if s.term.busyFor != deaf {
			t.Errorf("seed %d: busy until %s, stopped from %s until %s: %s are left out, want %s", seed, spell.lasted, stopped, wakes, s.term.busyFor, deaf)
		}
	}
	if overlaps < 20 {
		t.Errorf("only %d stops began while the loop was busy", overlaps)
	}
}
