package model

import (
	"iter"
	"maps"
	"slices"
)

// Stale says of each row of the last view whether what it shows has changed since.
type Stale struct{ rows []bool }

// Move has the rows be in other places: the n-th is what row from[n] was; below 0 it is new, and stale.
func (s *Stale) Move(from []int) {
	rows := make([]bool, len(from))
	for n, was := range from {
		rows[n] = was < 0 || s.rows[was]
	}
	s.rows = rows
}

// Take says whether a row is stale, and that it is shown again.
func (s *Stale) Take(row int) bool {
	was := s.rows[row]
	s.rows[row] = false
	return was
}

// Shown is where a job or a host is in the last view.
type Shown struct {
	ViewRow int    // of a job or host that is not in it, any number
	in      *Stale // nil: it is in no view, as it is only supposed
}

// Places are where the jobs or hosts of a view were in the last one, which had others; -1: they were not in it. They
// are numbered as they are now.
func Places[T comparable](are, were []T, shown func(T) *Shown) []int {
	from := make([]int, len(are))
	for n, one := range are {
		at := shown(one)
		if from[n] = -1; at.ViewRow < len(were) && were[at.ViewRow] == one {
			from[n] = at.ViewRow
		}
		at.ViewRow = n
	}
	return from
}

// Noted has the next view show it as it is then.
func (s *Shown) Noted() {
	if s.in != nil && s.ViewRow < len(s.in.rows) {
		s.in.rows[s.ViewRow] = true
	}
}

// changes are those of a job.
type changes struct {
	Shown
	Changes uint64 // counts the changes of its row and of its instances
}

// Changed notes that the job, or what a plan sees of it, has changed. A change of which a plan sees nothing is noted by
// Noted.
func (c *changes) Changed() {
	c.Changes++
	c.Noted()
}

// Noted has the next view show the host as it is then, and the others that share its memory.
func (h *Host) Noted() {
	h.Shown.Noted()
	if h.Machine == nil {
		return
	}
	for _, o := range h.Machine.Hosts {
		o.Shown.Noted()
	}
}

// noteInstance has the next view of the host show what the instance is then.
func (h *hosted) noteInstance(i *Instance) {
	switch n := len(h.changed); {
	case h.regrouped || n > 0 && h.changed[n-1] == i:
	case n >= len(h.Instances):
		h.regrouped = true
	default:
		h.changed = append(h.changed, i)
	}
	h.Shown.Noted()
}

// SortedInstances are the host's instances by job and number; no one may change the list.
func (h *hosted) SortedInstances() []*Instance {
	if len(h.sorted) != len(h.Instances) {
		h.sorted = sortedInstances(h.Instances)
	}
	return h.sorted
}

func sortedInstances(of map[instanceKey]*Instance) []*Instance {
	return slices.SortedFunc(maps.Values(of), CompareInstances)
}

// Listed are the host's programs without an item and its instances, as listings show them.
func (h *hosted) Listed() []*Instance {
	if len(h.programs) == 0 {
		return h.SortedInstances()
	}
	return append(h.SortedPrograms(), h.SortedInstances()...)
}

// ToShow are the instances that have changed since the host was shown, by their places in the list; or all of them, as
// where there are programs without an item.
func (h *hosted) ToShow(all bool) iter.Seq2[int, *Instance] {
	sorted := h.Listed()
	if all || h.regrouped || len(h.programs) > 0 {
		return slices.All(sorted)
	}
	return func(yield func(int, *Instance) bool) {
		for _, i := range h.changed {
			if n, found := slices.BinarySearchFunc(sorted, i, CompareInstances); found && !yield(n, i) {
				return
			}
		}
	}
}

// WasShown notes that a view has the host with all its instances.
func (h *hosted) WasShown() {
	h.changed = h.changed[:0]
	h.regrouped = false
}
