package items

import (
	"cmp"
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// The limits of marks.
const (
	MaxMarks     = 10_000 // of one job, and pieces of one order's items
	MaxMarkDepth = 32     // marks of one job that reach over one item
)

// SpansOf are the items of attempts.
func SpansOf(attempts []facts.AttemptID) []agenda.Span {
	list := make([]int, len(attempts))
	for n, a := range attempts {
		list[n] = int(a.Item)
	}
	slices.Sort(list)
	return agenda.SpansOf(list)
}

// MarksWithout are marks without the items of spans. Both are by first item.
func MarksWithout(marks []facts.Mark, spans []agenda.Span) []facts.Mark {
	list := make([]facts.Mark, 0, len(marks))
	var reach []agenda.Span // the ones that may still meet a mark
	for _, m := range marks {
		for len(spans) > 0 && spans[0].First <= int(m.Last) {
			reach, spans = append(reach, spans[0]), spans[1:]
		}
		reach = slices.DeleteFunc(reach, func(s agenda.Span) bool { return s.Last < int(m.First) })
		left := []agenda.Span{m.Span()}
		for _, off := range reach {
			var next []agenda.Span
			for _, s := range left {
				next = append(next, s.Without(off)...)
			}
			if left = next; len(left)+len(list) > 2*MaxMarks {
				break // it is too much already; see checkMarks
			}
		}
		for _, s := range left {
			list = append(list, m.On(s))
		}
	}
	sortMarks(list)
	return list
}

func sortMarks(marks []facts.Mark) {
	slices.SortFunc(marks, func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
}

// WithMarks are marks with others laid over them.
func WithMarks(marks, over []facts.Mark) []facts.Mark {
	list := append(MarksWithout(marks, spansUnder(over)), over...)
	sortMarks(list)
	return list
}

// spansUnder are the items of each mark.
func spansUnder(marks []facts.Mark) []agenda.Span {
	spans := make([]agenda.Span, len(marks))
	for n, m := range marks {
		spans[n] = m.Span()
	}
	return spans
}

// CheckMarks says why the items may not have these marks, "" if they may. Fewer than they have are always allowed.
func (s *Items) CheckMarks(job facts.JobID, marks []facts.Mark) string {
	if len(marks) <= len(s.Marks) {
		return ""
	}
	if len(marks) > MaxMarks {
		return fmt.Sprintf("job %d: its killed and held items would be %d patterns, more than %d; order the whole job, or fewer ranges", job, len(marks), MaxMarks)
	}
	if depth := agenda.Depth(spansUnder(marks)); depth > MaxMarkDepth {
		return fmt.Sprintf("job %d: %d patterns of killed and held items would overlap, more than %d; order the whole job, or ranges without a step",
			job, depth, MaxMarkDepth)
	}
	return ""
}

// SetMarks puts marks, which are by first item, in the place of those before, and returns what differs.
func (s *Items) SetMarks(marks []facts.Mark) (w facts.ChangeMarks) {
	was, is := s.Marks, marks
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].First < is[0].First:
			w.Remove, was = append(w.Remove, was[0]), was[1:]
		case len(was) == 0 || is[0].First < was[0].First:
			w.Add, is = append(w.Add, is[0]), is[1:]
		default:
			if was[0] != is[0] {
				w.Remove, w.Add = append(w.Remove, was[0]), append(w.Add, is[0])
			}
			was, is = was[1:], is[1:]
		}
	}
	s.Marks = marks
	return w
}
