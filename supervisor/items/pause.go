package items

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
)

// pause is an item that waits before it is tried again.
type pause struct {
	item    facts.ItemNo
	attempt int // that failed
	since   time.Time
}

func (s *Items) pause(item facts.ItemNo, attempt int, since time.Time) {
	s.Put(item, agenda.Paused)
	s.pauses = append(s.pauses, pause{item, attempt, since})
}

// holds says whether the pause still counts: no order and no later attempt has changed its item.
func (s *Items) holds(p pause) bool {
	return s.Tally.State(int(p.item)) == agenda.Paused && s.LastAttempt(p.item) == p.attempt
}

// Paused is how many items wait before they are tried again.
func (s *Items) Paused() int { return s.Tally.Count(agenda.Paused) }

// FirstPaused is when the item that was paused first began to wait; zero: none waits.
func (s *Items) FirstPaused() time.Time {
	for len(s.pauses) > 0 && !s.holds(s.pauses[0]) {
		s.pauses = s.pauses[1:]
	}
	if len(s.pauses) == 0 {
		return time.Time{}
	}
	return s.pauses[0].since
}

// Unpause lets those items be tried again that have waited since then or longer, and returns how many.
func (s *Items) Unpause(since time.Time) (resumed int) {
	for first := s.FirstPaused(); !first.IsZero() && !first.After(since); first = s.FirstPaused() {
		s.Put(s.pauses[0].item, agenda.Pending)
		resumed++
	}
	return resumed
}

// NotLater lets no pause begin later than now: the clock may have been set back since.
func (s *Items) NotLater(now time.Time) {
	for n := len(s.pauses) - 1; n >= 0 && s.pauses[n].since.After(now); n-- {
		s.pauses[n].since = now
	}
}

// sortPauses puts them into the order in which they began.
func (s *Items) sortPauses() {
	slices.SortStableFunc(s.pauses, func(a, b pause) int { return a.since.Compare(b.since) })
}
