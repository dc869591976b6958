package agenda

import "math/bits"

// State is what has become of an item.
type State uint8

// The states. Pending is the initial state of every item.
const (
	Pending State = iota
	Running
	Complete
	Failed
	Killed
	Blocked
	Paused  // pending, and not to run before its start time; its name is pending
	Waiting // it would be pending, except for items of other jobs; its name is blocked
	states  // their number
)

var stateNames = [states]string{"pending", "running", "complete", "failed", "killed", "blocked", "pending", "blocked"}

func (s State) String() string { return stateNames[s] }

// Tally is the states of a job's items: a byte for each, and a bit more to find the lowest pending one.
// It is not safe for concurrent use.
type Tally struct {
	states  []State
	counts  [states]int
	pending [][]uint64 // pending[0]: a bit an item; pending[k+1]: a bit a word of pending[k], set if it is not 0
}

// NewTally is n pending items.
func NewTally(n int) *Tally {
	t := &Tally{states: make([]State, n)}
	t.counts[Pending] = n
	for width := n; ; {
		words := make([]uint64, (width+63)/64)
		for i := range words {
			words[i] = ^uint64(0)
		}
		if spare := len(words)*64 - width; spare > 0 {
			words[len(words)-1] >>= spare
		}
		t.pending = append(t.pending, words)
		if len(words) <= 1 {
			return t
		}
		width = len(words)
	}
}

// Len is the number of items.
func (t *Tally) Len() int { return len(t.states) }

// State is the state of item n.
func (t *Tally) State(n int) State { return t.states[n] }

// Count is the number of items in a state.
func (t *Tally) Count(s State) int { return t.counts[s] }

// Set puts item n into a state; every change is possible, what is allowed is the farm's to know.
func (t *Tally) Set(n int, s State) {
	old := t.states[n]
	if old == s {
		return
	}
	t.states[n] = s
	t.counts[old]--
	t.counts[s]++
	switch {
	case s == Pending:
		t.raise(n)
	case old == Pending:
		t.lower(n)
	}
}

func (t *Tally) raise(n int) {
	for _, words := range t.pending {
		words[n/64] |= 1 << (n % 64)
		n /= 64
	}
}

func (t *Tally) lower(n int) {
	for _, words := range t.pending {
		words[n/64] &^= 1 << (n % 64)
		if words[n/64] != 0 {
			return
		}
		n /= 64
	}
}

// NextPending is the lowest pending item. It looks at one word for each factor of 64 in the number of
// items, whatever has happened before.
func (t *Tally) NextPending() (int, bool) {
	if t.counts[Pending] == 0 {
		return 0, false
	}
	n := 0
	for level := len(t.pending) - 1; level >= 0; level-- {
		n = n*64 + bits.TrailingZeros64(t.pending[level][n])
	}
	return n, true
}
