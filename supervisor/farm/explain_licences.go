package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// licence is a resource of the whole farm as it is now.
type licence struct {
	left int64
	jobs []*job // that hold some, those with the most first
	held map[*job]int64
}

func (f *Farm) licenceNow(name string, sight *sight) licence {
	l, known := sight.licences[name]
	if known {
		return l
	}
	l = licence{left: f.policy.Resources[name], held: map[*job]int64{}}
	for _, h := range f.hosts {
		for _, i := range h.instances {
			if n := i.attempt.Holds[name]; n > 0 {
				l.left -= n
				l.held[i.job] += n
			}
		}
	}
	l.jobs = slices.SortedFunc(maps.Keys(l.held), func(a, b *job) int {
		return cmp.Or(cmp.Compare(l.held[b], l.held[a]), cmp.Compare(a.ID, b.ID))
	})
	sight.licences[name] = l
	return l
}

// holdersText tells a job who holds a licence: "; job 3 holds 6, job 9 holds 4, the job itself holds 1".
func (l licence) holdersText(asks *job, limit int) string {
	var parts []string
	for n, j := range l.jobs {
		if n == limit {
			parts = append(parts, fmt.Sprintf("%d more jobs the rest", len(l.jobs)-limit))
			break
		}
		if j == asks {
			parts = append(parts, fmt.Sprintf("the job itself holds %d", l.held[j]))
			continue
		}
		parts = append(parts, fmt.Sprintf("job %d holds %d", j.ID, l.held[j]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// scarce names the licence that keeps the job from starting another instance, if one does.
func (f *Farm) scarce(j *job, sight *sight) (name, text string) {
	for _, name := range slices.Sorted(maps.Keys(j.needs.Takes)) {
		if each := j.needs.Takes[name]; each > 0 && !strings.HasPrefix(name, "host.") {
			if l := f.licenceNow(name, sight); l.left < each {
				return name, fmt.Sprintf("%d of %d %s are left, an instance takes %d%s", max(0, l.left), f.policy.Resources[name], name, each, l.holdersText(j, namedHolders))
			}
		}
	}
	return "", ""
}

func (f *Farm) licenceFacts(j *job, sight *sight) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(j.needs.Takes)) {
		if !strings.HasPrefix(name, "host.") {
			l := f.licenceNow(name, sight)
			lines = append(lines, fmt.Sprintf("%s: %d of %d left, an instance takes %d%s", name, max(0, l.left), f.policy.Resources[name], j.needs.Takes[name], l.holdersText(j, holderLines)))
		}
	}
	return lines
}

// licenceChanges says how much less of a licence would do now, where that alone keeps the job from starting.
func (f *Farm) licenceChanges(now time.Time, j *job, s survey, sight *sight) (list []change) {
	for _, name := range slices.Sorted(maps.Keys(j.needs.Takes)) {
		if strings.HasPrefix(name, "host.") {
			continue
		}
		l := f.licenceNow(name, sight)
		if l.left <= 0 || l.left >= j.needs.Takes[name] {
			continue
		}
		less := *j
		less.setTakes(name, l.left)
		if f.rooms(now, &less, s.fitting) > 0 {
			list = append(list, change{way: fmt.Sprintf("with %d of %s", l.left, name), room: 1})
		}
	}
	return list
}
