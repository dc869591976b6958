package term

import "time"

// Clock is the time of a term: the database's clock as of the term's beginning, plus the time since then on a monotonic
// clock that includes suspension of the machine. So the rows of successive terms have times of one clock, whichever
// supervisor led, and no supervisor's wall clock affects them.
type Clock struct {
	began time.Time
	at    time.Duration // time since boot when the database returned began
}

// NewClock is the clock of a term that began when the database said so, which this Machine heard when it had been up
// for sinceBoot.
func NewClock(began time.Time, sinceBoot time.Duration) Clock { return Clock{began, sinceBoot} }

// At is the time when the Machine has been up for sinceBoot.
func (c Clock) At(sinceBoot time.Duration) time.Time { return c.began.Add(sinceBoot - c.at) }

// Now is the time of the term.
func (c Clock) Now() time.Time { return c.At(SinceBoot()) }
