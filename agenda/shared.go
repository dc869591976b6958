package agenda

import "slices"

// Entries is the number of numbers and labels in all items.
func (a *Agenda) Entries() int { return a.list.entries }

// Same says whether both have the same items in the same order.
func (a *Agenda) Same(b *Agenda) bool {
	return a == b || a.items == b.items && a.size == b.size && a.longer == b.longer && a.order == b.order &&
		slices.Equal(a.cuts, b.cuts) && a.list.entries == b.list.entries &&
		len(a.list.segments) == len(b.list.segments) && a.list.String() == b.list.String()
}

// Shared calls visit with the item of b that holds it for each entry of item n which b has too.
func (a *Agenda) Shared(n int, b *Agenda, visit func(item int)) {
	from, to := a.span(a.unordered(n))
	for at := from; at < to; at++ {
		if there, ok := b.position(a.list.at(at)); ok {
			visit(b.ordered(b.holder(there)))
		}
	}
}

// Meets says whether an entry of a is one of b, too.
func (a *Agenda) Meets(b *Agenda) bool {
	if a.list.entries > b.list.entries {
		a, b = b, a
	}
	for at := range a.list.entries {
		if _, ok := b.position(a.list.at(at)); ok {
			return true
		}
	}
	return false
}

// Without is the range of the entries of a that b lacks, "" if b has all.
func (a *Agenda) Without(b *Agenda) string {
	l := &list{}
	for at := range a.list.entries {
		if number, label := a.list.at(at); !b.has(number, label) {
			l.add(number, label)
		}
	}
	l.flush(false)
	return l.String()
}

func (a *Agenda) has(number int64, label string) bool {
	_, ok := a.position(number, label)
	return ok
}
