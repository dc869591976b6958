package term

import "time"

// Clock is what a term calls now: the database's clock as it was when the term began, and the time since then on a
// clock that nobody sets and that goes on while the Machine sleeps. So the times in the rows of one term after the
// other are of one clock, whoever led, and a supervisor's wall clock, right or wrong, has no part in any of them.
type Clock struct {
	began time.Time
	at    time.Duration // since boot, as the database told began
}

// NewClock is the clock of a term that began when the database said so, which this Machine heard when it had been up
// for sinceBoot.
func NewClock(began time.Time, sinceBoot time.Duration) Clock { return Clock{began, sinceBoot} }

// At is the time when the Machine has been up for sinceBoot.
func (c Clock) At(sinceBoot time.Duration) time.Time { return c.began.Add(sinceBoot - c.at) }

// Now is the time of the term.
func (c Clock) Now() time.Time { return c.At(SinceBoot()) }
