package items

import (
	"math"

	"qb/supervisor/job/facts"
)

// latest are the numbers of the latest attempts of items, in pages: a byte an item, and nothing for a page of which no
// item has been tried.
type latest struct{ pages []*page }

const pageItems = 256

// page has the numbers of some items, 0: no attempt. If one is too large for a byte, as after a restore, wide has all.
type page struct {
	near [pageItems]uint8
	wide []uint32 // nil: none is
}

func (l *latest) of(n facts.ItemNo) int {
	if l.pages == nil {
		return 0
	}
	p := l.pages[n/pageItems]
	if p == nil {
		return 0
	}
	return int(p.at(int(n % pageItems)))
}

func (p *page) at(n int) uint32 {
	if p.wide != nil {
		return p.wide[n]
	}
	return uint32(p.near[n])
}

// raise makes the number of an item, of so many, that one, unless it is higher.
func (l *latest) raise(n facts.ItemNo, number, items int) {
	if l.pages == nil {
		l.pages = make([]*page, (items+pageItems-1)/pageItems)
	}
	p := l.pages[n/pageItems]
	if p == nil {
		p = &page{}
		l.pages[n/pageItems] = p
	}
	at := int(n % pageItems)
	is := max(p.at(at), uint32(number))
	if is > math.MaxUint8 && p.wide == nil {
		p.wide = make([]uint32, pageItems)
		for k, before := range p.near {
			p.wide[k] = uint32(before)
		}
	}
	if p.wide != nil {
		p.wide[at] = is
	} else {
		p.near[at] = uint8(is)
	}
}
