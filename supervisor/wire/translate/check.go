package translate

import (
	"cmp"
	"slices"

	"qb/agenda"
	"qb/api"
)

// Adding are remarks with those more that are not among them.
func Adding(remarks, more []string) []string {
	for _, text := range more {
		if !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	return remarks
}

// Of so many items all are named, of more the first and the last ones.
const (
	namedAll   = 5
	namedFirst = 3
)

// ItemsOf shows the items of an agenda that was not submitted.
func ItemsOf(a *agenda.Agenda, order agenda.Order) *api.SubmissionItems {
	shown := &api.SubmissionItems{Count: a.Len(), Order: cmp.Or(string(order), "ascend"), First: []string{},
		Last: []string{}}
	first, last := a.Len(), a.Len()
	if first > namedAll {
		first, last = namedFirst, a.Len()-(namedAll-namedFirst)
	}
	for n := range first {
		shown.First = append(shown.First, a.Item(n).Name)
	}
	for n := last; n < a.Len(); n++ {
		shown.Last = append(shown.Last, a.Item(n).Name)
	}
	return shown
}
