package core

import (
	"math"
	"slices"
	"time"
)

// OpenSyncs is how many syncs may wait for their answers at a time: the newest, and those given up for later ones.
const OpenSyncs = 4

// Answers are taken in rising order of their numbers (0095), and no other rule is needed to take a late one (0002,
// 0082): a sync names in heard the last answer that was taken, so whatever an earlier one lists, no later list proves
// the end of by absence, and later ones alone are taken after it.

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

// Lost is for how long results wait for an answer that the response to the sync before was to carry: it may have been
// lost with that sync's connection.
func (p *Patience) Lost(l *Limits, lease time.Duration) time.Duration {
	return max(lostAnswer*l.Patience, p.Wait(l, lease))
}

// lostAnswer is after how many times Limits.Patience, at least, results are sent again.
const lostAnswer = 10

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
// later sync whose answer has not been taken. The response to a sync given up may be the first answer to a later one,
// which waits on for its last.
func (s *openSyncs) answeredFlight(sequence, of uint64) (answered pendingSync, ok bool) {
	if sequence < of {
		return s.firstAnswered(sequence, of)
	}
	if s.pendingSync.sequence != 0 && s.pendingSync.sequence == sequence {
		answered = s.pendingSync
		s.pendingSync = pendingSync{}
		s.silent = 0
		s.earlier = nil
		return answered, true
	}
	at := s.at(sequence)
	if at < 0 {
		return pendingSync{}, false
	}
	answered, s.earlier = s.earlier[at], s.earlier[at+1:]
	s.silent = s.pendingSync.sentAt
	return answered, true
}

// at is the place of a sync among the earlier ones; -1: its answer does not count any more.
func (s *openSyncs) at(sequence uint64) int {
	return slices.IndexFunc(s.earlier, func(f pendingSync) bool { return f.sequence == sequence })
}

// firstAnswered is the sync that the response to an earlier one answers. It waits on; what was sent before it is over.
func (s *openSyncs) firstAnswered(sequence, of uint64) (answered pendingSync, ok bool) {
	if s.at(sequence) < 0 {
		return pendingSync{}, false
	}
	if s.pendingSync.sequence == of {
		answered = s.pendingSync
		s.pendingSync.carries = false
		s.earlier = nil
		s.silent = answered.sentAt
		return answered, true
	}
	at := s.at(of)
	if at < 0 {
		return pendingSync{}, false
	}
	answered = s.earlier[at]
	s.earlier = s.earlier[at:]
	s.silent = s.pendingSync.sentAt
	return answered, true
}

// sendAgainAt is when a sync under way is followed by another although nothing new has happened: its first answer left
// something open, or its results have no answer, which may have been lost with the connection of the sync before.
func (s *openSyncs) sendAgainAt(lost time.Duration) Moment {
	p := &s.pendingSync
	switch {
	case p.again != 0:
		return p.again
	case p.carries && len(s.earlier) > 0:
		return p.sentAt + lost
	}
	return never
}

// never is later than all moments.
const never = Moment(math.MaxInt64)

// holdOn decides whether the sync whose first answer was taken is held on. It is not if the answer lists an end that
// was reported, or something that has not been started: the next list says so, and the next answer may help.
func (c *Core) holdOn() {
	open := false
	for _, r := range c.records {
		open = open || r.sentIn != 0
	}
	for key := range c.wish.Instances {
		i := c.instances[key]
		if i == nil {
			open = true
			break
		}
		want, _ := c.wish.of(i, c.records)
		open = open || i.attempt != want.Attempt
	}
	if open {
		c.vain++
		c.pendingSync.again = c.now + max(c.patience(), c.gap())
		return
	}
	c.vain = 0
	c.pendingSync.again = 0
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
		c.report.Forget()
	}
}
