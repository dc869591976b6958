package farm

import (
	"fmt"
	"slices"
	"strings"

	"qb/supervisor/facts"
)

// refusals are the hosts that take work but do not serve the job for one and the same reason, be they short of
// the same by more or by less.
type refusals struct {
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

// generally is a refusal without what only its host has.
func generally(why string) string {
	if text, _, ok := strings.Cut(why, " does not hold ("); ok {
		return text + " does not hold"
	}
	if _, rest, ok := strings.Cut(why, " is not within the job's restrictions "); ok {
		return "its cluster is not within the job's restrictions " + rest
	}
	amount, ask, short := strings.Cut(why, ", an instance takes ")
	if !short {
		return why
	}
	what := "too few slots"
	if _, of, ok := strings.Cut(amount, " of "); ok {
		what = strings.Replace("too little of "+of, "of memory", "memory", 1)
	}
	return what + ", an instance takes " + ask
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

// refusalList gathers refusals by what they say.
type refusalList struct {
	all   []refusals
	place map[string]int
}

func (l *refusalList) add(h facts.HostID, why string) {
	general := generally(why)
	n, seen := l.place[general]
	if !seen {
		if l.place == nil {
			l.place = map[string]int{}
		}
		n = len(l.all)
		l.place[general] = n
		l.all = append(l.all, refusals{why: why, general: general})
	}
	l.all[n].mixed = l.all[n].mixed || l.all[n].why != why
	l.all[n].hosts = append(l.all[n].hosts, string(h))
}

func (l *refusalList) mostFirst() []refusals {
	slices.SortStableFunc(l.all, func(a, b refusals) int { return len(b.hosts) - len(a.hosts) })
	return l.all
}
