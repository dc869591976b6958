package items

import "qb/supervisor/job/facts"

// Lapsed is an attempt that was given up as its lease ran out unheard: its host may tell later how it ended before
// that.
type Lapsed struct {
	Number        int
	Host          facts.HostID
	Boot, StateID string
}

// NoteLapsed keeps an attempt that has just ended, if it was given up so.
func (s *Items) NoteLapsed(a *facts.AttemptFacts) {
	if !a.Lapsed() {
		return
	}
	if s.lapsed == nil {
		s.lapsed = map[facts.ItemNo]Lapsed{}
	}
	s.lapsed[a.Item] = Lapsed{a.Number, a.Host, a.Boot, a.StateID}
}

// Lapsed is the item's latest attempt that has ended, if its lease ran out unheard.
func (s *Items) Lapsed(item facts.ItemNo) (Lapsed, bool) {
	l, ok := s.lapsed[item]
	return l, ok
}
