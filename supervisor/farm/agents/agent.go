package agents

import (
	"slices"
	"time"
)

// Agent is the agent that is a host now, and the agents that claim to be the same host.
type Agent struct {
	Heard       bool // in this term
	Incarnation string
	Sequence    uint64
	Answered    uint64 // number of the first answer to the incarnation, registrations aside; 0: none
	LastSync    time.Time

	excused time.Duration // since LastSync, for which the farm did not listen, or had reports that it had not read
	unacked []unacked     // by their first replies
	claims  []claim       // agents that are refused
	unheard time.Duration // for which the farm listened in vain for the host since its name was claimed
	warned  time.Time     // of a claim, by the last event
}

// Word is one sync of an incarnation.
type Word struct {
	Incarnation string
	Sequence    uint64
}

// unacked is what an incarnation was answered since it last acknowledged a reply. A held reply that the worker did not
// wait for is one too, else an agent that asks again and again would never count as deaf.
type unacked struct {
	by            string // the incarnation that asked
	first, newest uint64 // numbers of its first such answer and of its newest
	at, last      time.Time
}

// maxUnacked is how many agents of a host, one after another, can be answered in vain and each be remembered.
const maxUnacked = 4

// Expect remembers the answer of that number until the agent acknowledges it.
func (a *Agent) Expect(now time.Time, incarnation string, number uint64) {
	for n := range a.unacked {
		if u := &a.unacked[n]; u.by == incarnation {
			if number >= u.first {
				u.newest = number
				u.last = now
			}
			return
		}
	}
	if len(a.unacked) < maxUnacked {
		a.unacked = append(a.unacked, unacked{incarnation, number, number, now, now})
	}
}

// Acknowledge reads from a sync which answers the agent has received. A new incarnation that knows the term has
// received an answer, so what the host's earlier agents were answered matters no more. A known one may be a delayed
// message and acknowledges only its own answers. A registration acknowledges nothing: its agent does not know the term
// yet.
func (a *Agent) Acknowledge(said Word, heard uint64) {
	at := slices.IndexFunc(a.unacked, func(u unacked) bool { return u.by == said.Incarnation })
	switch {
	case at < 0 && said.Incarnation != a.Incarnation:
		a.unacked = a.unacked[:0]
	case at >= 0 && heard >= a.unacked[at].newest:
		taken := a.unacked[at].last
		a.unacked = slices.DeleteFunc(a.unacked, func(u unacked) bool { return !u.at.After(taken) })
	case at >= 0 && heard >= a.unacked[at].first: // a later answer may still have been lost
		left := a.unacked[at]
		a.unacked = slices.DeleteFunc(a.unacked, func(u unacked) bool { return !u.at.After(left.at) })
		left.first = heard + 1
		left.at = left.last
		a.unacked = append(a.unacked, left)
		slices.SortStableFunc(a.unacked, func(x, y unacked) int { return x.at.Compare(y.at) })
	}
}

// ReadLast says that of the agent of this sync one was read last that is not older than since, and older than this.
func (a *Agent) ReadLast(said Word, since uint64) bool {
	return a.Heard && a.Incarnation == said.Incarnation && since <= a.Sequence && a.Sequence < said.Sequence
}

// doubtHearing is for an agent that takes a name over and was answered nothing since another had it, like an agent that
// had the name before and knows the term: it is to show first that it hears, as who greets does.
func (a *Agent) doubtHearing(said Word) {
	if !slices.ContainsFunc(a.unacked, func(u unacked) bool { return u.by == said.Incarnation }) {
		since := a.LastSync.Add(a.excused)
		number := FirstAnswer(said.Sequence)
		a.unacked = []unacked{{said.Incarnation, number, number, since, since}}
	}
}

// Hear notes that the host was heard.
func (a *Agent) Hear(now time.Time) {
	a.LastSync = now
	a.excused = 0
}

// Excuse leaves time out of the host's silence in which the farm was not listening.
func (a *Agent) Excuse(missed time.Duration) {
	a.excused += missed
	for n := range a.unacked {
		u := &a.unacked[n]
		u.at, u.last = u.at.Add(missed), u.last.Add(missed)
	}
}

// Excused is the time that is left out of the host's silence since it was last heard.
func (a *Agent) Excused() time.Duration { return a.excused }

// quiet is for how long the farm has listened to the host and heard nothing.
func (a *Agent) quiet(now time.Time) time.Duration { return now.Sub(a.LastSync) - a.excused }

// Silence is for how long the host is out of touch: nothing comes from it, or nothing arrives there. Reports are read
// in the order in which they came, so a host that was read last is counted from when its report arrived, by a clock
// that sleeps while others wait.
func (a *Agent) Silence(now time.Time) time.Duration {
	return max(a.quiet(now), a.Unacknowledged(now))
}

// SilentAt is the moment from which on the host's silence is longer than that, if nothing is heard of it before.
func (a *Agent) SilentAt(silence time.Duration) time.Time {
	at := a.LastSync.Add(a.excused)
	if len(a.unacked) > 0 && a.unacked[0].at.Before(at) {
		at = a.unacked[0].at
	}
	return at.Add(silence + 1)
}

// Speaks says that the host was heard within that time.
func (a *Agent) Speaks(now time.Time, within time.Duration) bool {
	return a.Heard && a.quiet(now) <= within
}

// Unacknowledged is for how long the host has acknowledged no reply; 0 if none is outstanding.
func (a *Agent) Unacknowledged(now time.Time) time.Duration {
	if len(a.unacked) == 0 {
		return 0
	}
	return now.Sub(a.unacked[0].at)
}

// Unacked says that the host has acknowledged no reply for longer than the liveness, whatever it reports meanwhile: the
// network carries one way alone. It gets nothing new. Its leases are lengthened no more: not here, and by no reply
// either, for one of them may arrive after all. So its items freeze there, and then move, as those of a silent host do;
// the first reply that it acknowledges ends it.
func (a *Agent) Unacked(now time.Time, liveness time.Duration) bool {
	return a.Unacknowledged(now) > liveness
}

// OneWay says that the host acknowledges nothing and yet is heard.
func (a *Agent) OneWay(now time.Time, liveness time.Duration) bool {
	return a.Unacked(now, liveness) && a.quiet(now) <= liveness
}
