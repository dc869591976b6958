package farm

import (
	"fmt"
	"slices"

	"qb/supervisor/fit"
)

// refusals are the hosts that take work but do not serve the job for one and the same reason, be they short of
// the same by more or by less.
type refusals struct {
	fit.Refusal
	hosts []string
}

func (r refusals) String() string {
	if len(r.hosts) == 1 {
		return fmt.Sprintf("%s: %s", r.hosts[0], r.Refusal)
	}
	return fmt.Sprintf("%d hosts (%s, …): %s", len(r.hosts), r.hosts[0], r.Refusal)
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

// refusalList gathers refusals that are alike.
type refusalList struct {
	all   []refusals
	place map[fit.Refusal]int
}

func (l *refusalList) add(h *host, r fit.Refusal) {
	kind := r.Alike()
	n, seen := l.place[kind]
	if !seen {
		if l.place == nil {
			l.place = map[fit.Refusal]int{}
		}
		n = len(l.all)
		l.place[kind] = n
		l.all = append(l.all, refusals{Refusal: r})
	}
	all := &l.all[n]
	all.Mixed = all.Mixed || all.Have != r.Have && all.Refusal.String() != r.String()
	all.hosts = append(all.hosts, string(h.ID))
}

func (l *refusalList) mostFirst() []refusals {
	slices.SortStableFunc(l.all, func(a, b refusals) int { return len(b.hosts) - len(a.hosts) })
	return l.all
}
