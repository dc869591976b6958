package core

import (
	"slices"
	"time"
)

// OpenSyncs is how many syncs may wait for their answers at a time: the newest, and those given up for later ones.
const OpenSyncs = 4

// Answers are taken in rising order of their syncs, and no other rule is needed to take a late one (0002, 0082): a sync
// names in heard the last one whose answer was taken, so whatever an answer to an earlier one lists, no later list
// proves the end of by absence, and answers to later ones alone are taken after it.

// Patience is for how long a sync with results is waited for before newer results are sent: a supervisor that takes
// longer to answer has more to do than it can, and more requests only make that worse.
type Patience struct {
	roundTrip time.Duration // of the last answered sync with results
	asked     time.Duration // by the last answer
	givenUp   int           // syncs with results since the last answer
}

// Wait is Limits.Patience or twice the last round trip, doubled with each sync that was given up since. It stays below
// the lease, which the next answer is to lengthen; 0 is none.
func (p *Patience) Wait(l *Limits, lease time.Duration) time.Duration {
	most := l.Overdue
	if lease > 0 {
		most = min(most, lease/3)
	}
	wait := max(l.Patience, 2*p.roundTrip, p.asked)
	for range p.givenUp {
		if wait >= most {
			break
		}
		wait *= 2
	}
	return max(l.Patience, min(wait, most))
}

// GaveUp notes a sync that is waited for no longer.
func (p *Patience) GaveUp(carries bool) {
	if carries {
		p.givenUp++
	}
}

// Answered notes how long an answer took and for how much patience it asks.
func (p *Patience) Answered(carries bool, took, asked time.Duration) {
	if carries {
		p.roundTrip = took
	}
	p.asked = max(0, asked)
	p.givenUp = 0
}

func (c *Core) patience() time.Duration { return c.waits.Wait(&c.limits, c.lease) }

// gap is the least time between two syncs of which the last one's answer changed nothing: after a few such answers in a
// row it doubles with each, to Limits.GapMx.
func (c *Core) gap() time.Duration {
	return min(c.limits.Gap<<min(max(0, c.vain-vainAnswers), 15), c.limits.GapMx)
}

// vainAnswers that come at once and change nothing are usual while something starts or stops.
const vainAnswers = 3

// answeredFlight is the sync that an answer belongs to, if it may still be taken: the newest, or one given up for a
// later sync whose answer has not been taken.
func (c *Core) answeredFlight(sequence uint64) (answered pendingSync, ok bool) {
	if c.pendingSync.sequence != 0 && c.pendingSync.sequence == sequence {
		answered = c.pendingSync
		c.pendingSync = pendingSync{}
		c.silent = 0
		c.earlier = nil
		return answered, true
	}
	at := slices.IndexFunc(c.earlier, func(f pendingSync) bool { return f.sequence == sequence })
	if at < 0 {
		return pendingSync{}, false
	}
	answered, c.earlier = c.earlier[at], c.earlier[at+1:]
	c.silent = c.pendingSync.sentAt
	return answered, true
}

// giveUp waits no longer for the newest sync before the next one is sent. Its answer is taken if it comes first after
// all; where the supervisor is overdue, no answer to what it was sent is.
func (c *Core) giveUp(overdue bool) {
	c.order(GiveUpSync{c.pendingSync.sequence, overdue})
	c.earlier = append(c.earlier, c.pendingSync)
	c.earlier = c.earlier[max(0, len(c.earlier)-(OpenSyncs-1)):]
	c.waits.GaveUp(c.pendingSync.carries)
	c.pendingSync = pendingSync{}
	if overdue {
		c.silent, c.earlier = 0, nil
	}
}
