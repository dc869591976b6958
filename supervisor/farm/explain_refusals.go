package farm

import (
	"fmt"
	"slices"

	"qb/supervisor/facts"
)

// refusals are the hosts that take work but do not serve the job for one and the same reason, be they short of
// the same by more or by less.
type refusals struct {
	Reason       facts.Reason
	why, general string
	mixed        bool // why is that of the first only
	hosts        []string
}

func (r refusals) String() string {
	switch {
	case len(r.hosts) == 1:
		return fmt.Sprintf("%s: %s", r.hosts[0], r.why)
	case r.mixed:
		return fmt.Sprintf("%d hosts (%s, …): %s", len(r.hosts), r.hosts[0], r.general)
	}
	return fmt.Sprintf("%d hosts (%s, …): %s", len(r.hosts), r.hosts[0], r.why)
}

// refusalsText says why most hosts refuse, and why the next most do.
func refusalsText(all []refusals) string {
	text := all[0].String()
	if len(all) > 1 {
		text += "; " + all[1].String()
	}
	if len(all) > 2 {
		text += "; others for other reasons"
	}
	return text
}

// refusalList gathers refusals by what they are.
type refusalList struct {
	all   []refusals
	place map[misfit]int
}

func (l *refusalList) add(h *host, j *job, m misfit) {
	why, kind := m.on(h, j), misfit{Reason: m.Reason, name: m.name}
	n, seen := l.place[kind]
	if !seen {
		if l.place == nil {
			l.place = map[misfit]int{}
		}
		n = len(l.all)
		l.place[kind] = n
		l.all = append(l.all, refusals{Reason: m.Reason, why: why, general: m.generally(j)})
	}
	l.all[n].mixed = l.all[n].mixed || l.all[n].why != why
	l.all[n].hosts = append(l.all[n].hosts, string(h.ID))
}

func (l *refusalList) mostFirst() []refusals {
	slices.SortStableFunc(l.all, func(a, b refusals) int { return len(b.hosts) - len(a.hosts) })
	return l.all
}
