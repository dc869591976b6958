package sim

import (
	"math/rand/v2"
	"time"
)

// One world in simBusyEvery has supervisors whose loop is busy for seconds now and then, while reports of workers come in.
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

// since is for how long loops were busy from a moment on, in all: what takes some seconds otherwise may take so much longer.
func (b *simBusy) since(moment time.Duration) (busy time.Duration) {
	for _, s := range b.spells {
		if s.began+s.lasted > moment {
			busy += s.lasted
		}
	}
	return busy
}
