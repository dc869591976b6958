package farm

import (
	"slices"
	"time"
)

// eligible lists the hosts that serve the job, by place, nil if all do. Jobs that ask for the same share a list.
func (p *planned) eligible(now time.Time, ad *admission, last *planned, j *job, row *jobRow) []int {
	step := p.keys.Step(max(j.needs.Memory, j.memoryNeed))
	if row.key == "" || !p.likeHosts(last) || row.step != step {
		row.key, row.step = p.keys.Of(j.asks()), step
	}
	list := p.serving(now, last, j, row)
	if r := ad.reserved; r != nil && !ad.mayUse(now, j, r.host, j.nextKind()) {
		list = p.but(row.key, list, r.host.place)
	}
	return list
}

// likeHosts says whether all hosts are to jobs what they were to the last plan.
func (p *planned) likeHosts(last *planned) bool {
	return p.changes == last.changes && !p.keys.Choosy && !last.keys.Choosy
}

// serving lists the hosts that serve jobs with the row's key. As long as no host changes, the last plan's list is right.
func (p *planned) serving(now time.Time, last *planned, j *job, row *jobRow) []int {
	if row.key == p.latest {
		return p.latestFit
	}
	list, known := p.allowed[row.key]
	if known {
		return list
	}
	if p.likeHosts(last) && !row.passing {
		list, known = last.allowed[row.key]
	}
	if !known {
		list = []int{}
		for n, h := range p.hosts {
			if h.serves(now, j) {
				list = append(list, n)
			}
		}
		if len(list) == len(p.hosts) {
			list = nil
		}
	}
	p.allowed[row.key], p.latest, p.latestFit = list, row.key, list
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
