package fit

import (
	"fmt"
	"slices"

	"qb/supervisor/job/facts"
)

// Refusals gathers why hosts do not serve a job.
type Refusals struct {
	all   []Refusing
	place map[Refusal]int
}

// Refusing are the hosts that do not serve a job for one and the same reason, whether they are short of the same by
// more or by less.
type Refusing struct {
	Refusal
	Hosts []facts.HostID
}

// Add notes a host's refusal.
func (l *Refusals) Add(host facts.HostID, r Refusal) {
	kind := r.Alike()
	n, seen := l.place[kind]
	if !seen {
		if l.place == nil {
			l.place = map[Refusal]int{}
		}
		n = len(l.all)
		l.place[kind] = n
		l.all = append(l.all, Refusing{Refusal: r})
	}
	all := &l.all[n]
	all.Mixed = all.Mixed || (all.Have != r.Have || !all.Until.Equal(r.Until)) && all.Refusal.String() != r.String()
	all.Hosts = append(all.Hosts, host)
}

// MostFirst lists them, that of most hosts first.
func (l *Refusals) MostFirst() []Refusing {
	all := slices.Clone(l.all)
	slices.SortStableFunc(all, func(a, b Refusing) int { return len(b.Hosts) - len(a.Hosts) })
	return all
}

// Text says why most hosts refuse, and why the next most do.
func (l *Refusals) Text() string {
	all := l.MostFirst()
	text := all[0].String()
	if len(all) > 1 {
		text += "; " + all[1].String()
	}
	if len(all) > 2 {
		text += "; others for other reasons"
	}
	return text
}

func (r Refusing) String() string {
	if len(r.Hosts) == 1 {
		return fmt.Sprintf("%s: %s", r.Hosts[0], r.Refusal)
	}
	return fmt.Sprintf("%d hosts (%s, …): %s", len(r.Hosts), r.Hosts[0], r.Refusal)
}
