package facts

import (
	"fmt"
	"time"
)

// PromiseFacts is the longest that any answer to a worker may have named: for so long an attempt may run on unheard. It
// is in the row of terms, as a later term, under other settings, must wait for what an earlier one has promised. It is
// of all hosts, so only time makes it shorter.
type PromiseFacts struct {
	Lease  time.Duration // without contact
	Grace  time.Duration // between the stop signal and the kill
	Margin time.Duration // for clocks and for the freezing
	// Until is when a former, longer promise has run out, by the clock of the term that wrote it; zero: all is as that
	// term's settings say. It is for people: the next term recounts, as the database's clock may be set in between.
	Until time.Time
}

// InFull is the time after an answer at which an unheard attempt is surely frozen.
func (p PromiseFacts) InFull() time.Duration { return p.Lease + p.Grace + p.Margin }

// With is the longer of both in each part.
func (p PromiseFacts) With(o PromiseFacts) PromiseFacts {
	return PromiseFacts{Lease: max(p.Lease, o.Lease), Grace: max(p.Grace, o.Grace), Margin: max(p.Margin, o.Margin)}
}

// Within is the shorter of both in each part.
func (p PromiseFacts) Within(o PromiseFacts) PromiseFacts {
	return PromiseFacts{Lease: min(p.Lease, o.Lease), Grace: min(p.Grace, o.Grace), Margin: min(p.Margin, o.Margin)}
}

// Same says whether both promise the same.
func (p PromiseFacts) Same(o PromiseFacts) bool {
	return p.Lease == o.Lease && p.Grace == o.Grace && p.Margin == o.Margin
}

// String is for people.
func (p PromiseFacts) String() string {
	return fmt.Sprintf("a lease of %s, a grace of %s and a margin of %s", p.Lease, p.Grace, p.Margin)
}
