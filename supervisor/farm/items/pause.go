package items

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// pause is an item that waits before it is tried again.
type pause struct {
	item    facts.ItemNo
	attempt int       // that ended
	at      time.Time // of Items.pauses: since when it waits; of Items.waits: until when
}

// delays are the pauses of items; the first to be over comes first.
type delays struct {
	pauses []pause // by the job's delay
	waits  []pause // of items that ended unluckily
}

// pause lets an item wait whose attempt ended then: as long as the parameters of the end say, else by the job's delay.
func (s *Items) pause(item facts.ItemNo, attempt int, ended time.Time, p facts.Params) {
	s.Put(item, agenda.Paused)
	if p.Wait == 0 {
		s.pauses = append(s.pauses, pause{item, attempt, ended})
		return
	}
	until := ended.Add(time.Duration(p.Wait) * time.Second)
	place, _ := slices.BinarySearchFunc(s.waits, until, func(w pause, t time.Time) int { return w.at.Compare(t) })
	s.waits = slices.Insert(s.waits, place, pause{item, attempt, until})
}

// Paused is how many items wait before they are tried again.
func (s *Items) Paused() int { return s.Tally.Count(agenda.Paused) }

// first is the first of a list that still counts, nil if there is none: no order and no later attempt has changed its
// item.
func (s *Items) first(list *[]pause) *pause {
	for len(*list) > 0 {
		p := &(*list)[0]
		if s.Tally.State(int(p.item)) == agenda.Paused && s.LastAttempt(p.item) == p.attempt {
			return p
		}
		*list = (*list)[1:]
	}
	return nil
}

// NextTry is when the first paused item is tried again, with that delay of the job, and whether it was unlucky; zero:
// none waits.
func (s *Items) NextTry(delay time.Duration) (next time.Time, unlucky bool) {
	if p := s.first(&s.pauses); p != nil {
		next = p.at.Add(delay)
	}
	if p := s.first(&s.waits); p != nil && (next.IsZero() || p.at.Before(next)) {
		return p.at, true
	}
	return next, false
}

// Unpause lets those items be tried again that have waited for long enough, and returns how many.
func (s *Items) Unpause(now time.Time, delay time.Duration) (resumed int) {
	for p := s.first(&s.pauses); p != nil && !p.at.Add(delay).After(now); p = s.first(&s.pauses) {
		s.Put(p.item, agenda.Pending)
		resumed++
	}
	for p := s.first(&s.waits); p != nil && !p.at.After(now); p = s.first(&s.waits) {
		s.Put(p.item, agenda.Pending)
		resumed++
	}
	return resumed
}

// NotLater lets no pause begin later than now: the clock may have been set back since.
func (s *Items) NotLater(now time.Time) {
	for n := len(s.pauses) - 1; n >= 0 && s.pauses[n].at.After(now); n-- {
		s.pauses[n].at = now
	}
	latest := now.Add(facts.WaitMost)
	for n := len(s.waits) - 1; n >= 0 && s.waits[n].at.After(latest); n-- {
		s.waits[n].at = latest
	}
}

// sortPauses puts them into the order in which they began.
func (s *Items) sortPauses() {
	slices.SortStableFunc(s.pauses, func(a, b pause) int { return a.at.Compare(b.at) })
}
