package items

import "qb/agenda"

// MaxGated bounds what it costs to follow one job's conditions on items, and the conditions on one job: the sum of the
// entries of the larger job of each.
const MaxGated = 8 << 20

// Watcher hears of every change of an item.
type Watcher interface {
	Changed(item int, was, is agenda.State)
}

// Owner hears that an item has changed.
type Owner interface{ Noted() }

// set puts an item into a state. All changes of a job in the farm's loop go through it, so that jobs whose items wait
// for this one hear of each.
func (s *Items) set(item int, to agenda.State) {
	was := s.Tally.State(item)
	if to == agenda.Pending && s.Waits != nil && s.Waits[item] > 0 {
		to = agenda.Waiting
	}
	if was == to {
		return
	}
	s.Tally.Set(item, to)
	if s.Owner != nil {
		s.Owner.Noted()
	}
	if s.Watch != nil {
		s.Watch.Changed(item, was, to)
	}
}

// Wait has an item wait for so many things more, or fewer, and says whether it may run as of now. An item that runs
// already is not taken back.
func (s *Items) Wait(item, more int) (ready bool) {
	if s.Waits == nil {
		s.Waits = make([]uint32, s.Tally.Len())
	}
	left := int(s.Waits[item]) + more
	if left < 0 {
		panic("items: an item waits for less than nothing")
	}
	s.Waits[item] = uint32(left)
	switch s.Tally.State(item) {
	case agenda.Waiting:
		if left == 0 {
			s.set(item, agenda.Pending)
			return true
		}
	case agenda.Pending:
		s.set(item, agenda.Pending) // which is Waiting, if there is something left
	}
	return false
}

// WaitNoMore lets all items run that wait for something.
func (s *Items) WaitNoMore() {
	s.Waits = nil
	for item := 0; s.Waiting() > 0; item++ {
		if s.Tally.State(item) == agenda.Waiting {
			s.set(item, agenda.Pending)
		}
	}
}
