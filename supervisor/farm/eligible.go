package farm

import (
	"slices"
	"time"
)

// eligible lists the hosts that serve the job, by place, nil if all do. Jobs that ask for the same share a list.
func (f *Farm) eligible(now time.Time, p *planned, j *job) []int {
	key := p.keys.of(j)
	list, known := p.allowed[key]
	if !known {
		list = []int{}
		for n, h := range p.hosts {
			if f.refusal(now, h, j, nil).serves() {
				list = append(list, n)
			}
		}
		if len(list) == len(p.hosts) {
			list = nil
		}
		p.allowed[key] = list
	}
	if r := f.reserved; r != nil && !f.mayUse(now, j, r.host, j.nextKind()) {
		list = p.but(key, list, r.host.place)
	}
	return list
}

// but is a list without the host that is kept for another job.
func (p *planned) but(key string, list []int, kept int) []int {
	key += "\x00but the host that is kept"
	rest, known := p.allowed[key]
	if !known {
		rest = []int{}
		for n := range p.hosts {
			if _, serves := slices.BinarySearch(list, n); n != kept && (serves || list == nil) {
				rest = append(rest, n)
			}
		}
		p.allowed[key] = rest
	}
	return rest
}
