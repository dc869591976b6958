package profiles

import (
	"fmt"
	"math"
	"time"

	"qb/internal/units"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// Change is what a person changes in a profile.
type Change struct {
	Key     facts.ProfileKey
	Memory  *int64   // bytes; nil: it stays as it is
	Seconds *float64 // the same
	Forget  bool     // all of it
}

// MaxMemory is the most that an item can be said to need.
const MaxMemory = 1 << 50

// Make makes a change, or refuses it and changes nothing. Jobs with numbers up to last no longer teach what it changes.
// It returns what is known then, and what has happened.
func (p *Profiles) Make(now time.Time, c Change, by string, last facts.JobID) (Profile, string, *outbox.Refusal) {
	if r := c.check(p.Estimate(now, c.Key)); r != nil {
		return Profile{}, "", r
	}
	of := p.of(c.Key)
	row, text := &of.row, ""
	if c.Forget {
		*row = facts.ProfileFacts{ProfileKey: c.Key, MemoryAfter: last, SecondsAfter: last}
		text = ", forgotten"
	}
	if c.Memory != nil {
		row.Memory, row.MemoryAfter = *c.Memory, last
		text += fmt.Sprintf(", memory %s", units.Size(*c.Memory))
	}
	if c.Seconds != nil {
		row.Seconds, row.SecondsAfter = *c.Seconds, last
		text += fmt.Sprintf(", %.6g s", *c.Seconds)
	}
	row.By, row.At = by, facts.RowTime(now)
	of.stale = true
	p.store(c.Key)
	return Profile{c.Key, of.estimate(now), by}, fmt.Sprintf("profile %s of %s: %s", c.Key.Name, c.Key.Owner, text[2:]),
		nil
}

func (c Change) check(known facts.Estimate) *outbox.Refusal {
	switch {
	case !c.Forget && c.Memory == nil && c.Seconds == nil:
		return outbox.Refused("invalid", "give memory_bytes, seconds or both")
	case c.Memory != nil && (*c.Memory <= 0 || *c.Memory > MaxMemory):
		return outbox.Refused("invalid", "memory_bytes: %d; use more than 0 and at most %d, or forget the profile", *c.Memory,
			int64(MaxMemory))
	case c.Seconds != nil && (!(*c.Seconds > 0) || *c.Seconds > facts.MaxTimeLimit || math.IsInf(*c.Seconds, 0)):
		return outbox.Refused("invalid", "seconds: %v; use more than 0 and at most %d, or forget the profile", *c.Seconds,
			int64(facts.MaxTimeLimit))
	case !known.Known():
		return outbox.Refused("not-found",
			"nothing is known of a profile %.100q of %s; qb profile lists those that are known", c.Key.Name, c.Key.Owner)
	}
	return nil
}
