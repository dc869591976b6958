package farm

import (
	"cmp"
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/facts"
)

// marksWithout are marks without the items of spans. Both are by first item.
func marksWithout(marks []facts.Mark, spans []agenda.Span) []facts.Mark {
	list := make([]facts.Mark, 0, len(marks))
	var reach []agenda.Span // those that may still meet a mark
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
			if left = next; len(left)+len(list) > 2*maxMarks {
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

// withMarks are marks with others laid over them.
func withMarks(marks, over []facts.Mark) []facts.Mark {
	spans := make([]agenda.Span, len(over))
	for n, m := range over {
		spans[n] = m.Span()
	}
	list := append(marksWithout(marks, spans), over...)
	sortMarks(list)
	return list
}

// checkMarks says why a job may not have these marks, "" if it may. Fewer than it has are always allowed.
func (j *job) checkMarks(marks []facts.Mark) string {
	if len(marks) <= len(j.marks) {
		return ""
	}
	if len(marks) > maxMarks {
		return fmt.Sprintf("job %d: its killed and held items would be %d patterns, more than %d; order the whole job, or fewer ranges", j.ID, len(marks), maxMarks)
	}
	spans := make([]agenda.Span, len(marks))
	for n, m := range marks {
		spans[n] = m.Span()
	}
	if depth := agenda.Depth(spans); depth > maxMarkDepth {
		return fmt.Sprintf("job %d: %d patterns of killed and held items would overlap, more than %d; order the whole job, or ranges without a step",
			j.ID, depth, maxMarkDepth)
	}
	return ""
}

// setMarks writes what differs between the job's marks and these, which are by first item.
func (f *Farm) setMarks(j *job, marks []facts.Mark) {
	w := facts.ChangeMarks{Job: j.ID}
	was, is := j.marks, marks
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
	j.marks = marks
	if len(w.Remove)+len(w.Add) > 0 {
		f.out.Write(w)
	}
}

// unmark takes items out of the job's marks.
func (f *Farm) unmark(j *job, items []int) {
	if len(j.marks) > 0 && len(items) > 0 {
		slices.Sort(items)
		f.setMarks(j, marksWithout(j.marks, agenda.SpansOf(items)))
	}
}
