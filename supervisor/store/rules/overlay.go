package rules

import (
	"cmp"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// Outcome is the result of an item by its last attempt, which was not repeated.
type Outcome struct {
	Job  facts.JobID
	Item facts.ItemNo
	Kind facts.MarkKind
	at   time.Time
}

// OutcomeOf is what an attempt that ended so makes of its item.
func OutcomeOf(job facts.JobID, item facts.ItemNo, state facts.AttemptState, at time.Time) Outcome {
	kind := facts.MarkFailed
	switch state {
	case facts.Done:
		kind = facts.MarkComplete
	case facts.Killed:
		kind = facts.MarkKilled
	}
	return Outcome{job, item, kind, Exact(at)}
}

// Overlaid merges outcomes into marks, both by item; an outcome replaces a mark. Adjacent marks of one kind that no
// action made are joined, with the later of their two ends.
func Overlaid(marks []facts.Mark, outcomes []Outcome) []facts.Mark {
	items, ends := map[facts.MarkKind][]int{}, make(map[int]time.Time, len(outcomes))
	var all []int
	for _, o := range outcomes {
		items[o.Kind] = append(items[o.Kind], int(o.Item))
		all, ends[int(o.Item)] = append(all, int(o.Item)), o.at
	}
	list := cut(marks, agenda.SpansOf(all))
	for _, kind := range []facts.MarkKind{facts.MarkComplete, facts.MarkFailed, facts.MarkKilled} {
		for _, s := range agenda.SpansOf(items[kind]) {
			m := facts.Mark{Kind: kind}.On(s)
			for n := s.First; n <= s.Last; n += s.Step {
				m.At = NotBefore(m.At, ends[n])
			}
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
	return joined(list)
}

// cut are marks without the items of spans.
func cut(marks []facts.Mark, spans []agenda.Span) []facts.Mark {
	var list []facts.Mark
	for _, m := range marks {
		left := []agenda.Span{m.Span()}
		for _, off := range spans {
			if off.First > int(m.Last) {
				break
			}
			var next []agenda.Span
			for _, s := range left {
				next = append(next, s.Without(off)...)
			}
			left = next
		}
		for _, s := range left {
			list = append(list, m.On(s))
		}
	}
	return list
}

// joined joins adjacent marks of one kind if no action made them.
func joined(marks []facts.Mark) []facts.Mark {
	var list []facts.Mark
	last := map[facts.MarkKind]int{} // index in list of the last mark that no action made
	for _, m := range marks {
		if m.By != "" {
			list = append(list, m)
			continue
		}
		if n, ok := last[m.Kind]; ok && follows(list[n], m) {
			at := NotBefore(m.At, list[n].At)
			list[n].Step = int(m.First - list[n].Last)
			list[n].Last = m.Last
			list[n].At = at
			continue
		}
		last[m.Kind], list = len(list), append(list, m)
	}
	return list
}

// follows says whether mark b goes on where a ends, in the same steps.
func follows(a, b facts.Mark) bool {
	step := int(b.First - a.Last)
	single := func(m facts.Mark) bool { return m.First == m.Last }
	switch {
	case single(a) && single(b):
		return step == 1
	case single(a):
		return step == b.Step
	case single(b):
		return step == a.Step
	}
	return step == a.Step && step == b.Step
}
