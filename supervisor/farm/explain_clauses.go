package farm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/agenda"
)

// clause is one thing that a job asks of a host, with the job as it would be without it.
type clause struct {
	text  string // "are in its hosts"
	relax func(*job)
	way   string // what would change it: "without its list of hosts"
}

// clauses are what the job asks of hosts, in the order in which refusal looks.
func (j *job) clauses() []clause {
	var all []clause
	add := func(asked bool, text, way string, relax func(*job)) {
		if asked {
			all = append(all, clause{text, relax, way})
		}
	}
	add(len(j.Hosts) > 0, "are in its hosts", "without -hosts", func(j *job) { j.Hosts = nil })
	add(len(j.OmitHosts) > 0, "are not in its omithosts", "without -omithosts", func(j *job) { j.OmitHosts = nil })
	add(len(j.Groups) > 0, "are in one of its groups "+strings.Join(j.Groups, ","), "without -groups", func(j *job) { j.Groups = nil })
	add(len(j.OmitGroups) > 0, "are in none of its omitgroups "+strings.Join(j.OmitGroups, ","), "without -omitgroups", func(j *job) { j.OmitGroups = nil })
	add(len(j.needs.within) > 0, "are within its restrictions "+j.Restrictions, "without -restrictions", func(j *job) { j.needs.within = nil })
	add(j.needs.slots > 1, fmt.Sprintf("have %d slots", j.needs.slots), "with 1 slot", func(j *job) { j.needs.slots = 1 })
	need := max(j.needs.memory, j.book.need)
	add(need > 0, "have "+size(need)+" of memory", "", func(j *job) { j.needs.memory, j.book.need = 0, 0 })
	return all
}

// addClauses tells for each thing the job asks how many of the hosts that take work have it, and how many
// more would serve the job if it did not ask for it.
func (f *Farm) addClauses(now time.Time, j *job, s survey, add func(kind, format string, args ...any)) {
	bare := *j
	bare.Hosts, bare.OmitHosts, bare.Groups, bare.OmitGroups = nil, nil, nil, nil
	bare.needs = needs{slots: 1, takes: map[string]int64{}, required: noRequirement}
	bare.book.need = 0
	for _, c := range j.clauses() {
		without, only := *j, bare
		c.relax(&without)
		c.keepOnly(&only, j)
		add("clause", "%d of %d hosts %s", f.serving(now, &only), s.usable, c.text)
		if c.way == "" {
			f.addLessMemory(now, j, s, add)
			continue
		}
		if more := f.serving(now, &without) - s.fit; more > 0 {
			add("change", "%s %d more hosts would fit", c.way, more)
		}
	}
	if j.Requirements != "" {
		f.addRequirement(now, j, add)
	}
}

// keepOnly gives a job that asks for nothing this one clause of j.
func (c clause) keepOnly(only, j *job) {
	full := *only
	full.Hosts, full.OmitHosts, full.Groups, full.OmitGroups = j.Hosts, j.OmitHosts, j.Groups, j.OmitGroups
	full.needs.within, full.needs.slots, full.needs.memory, full.book.need = j.needs.within, j.needs.slots, j.needs.memory, j.book.need
	without := full
	c.relax(&without)
	switch { // what relaxing takes away is what the clause is
	case len(without.Hosts) != len(full.Hosts):
		only.Hosts = j.Hosts
	case len(without.OmitHosts) != len(full.OmitHosts):
		only.OmitHosts = j.OmitHosts
	case len(without.Groups) != len(full.Groups):
		only.Groups = j.Groups
	case len(without.OmitGroups) != len(full.OmitGroups):
		only.OmitGroups = j.OmitGroups
	case len(without.needs.within) != len(full.needs.within):
		only.needs.within = j.needs.within
	case without.needs.slots != full.needs.slots:
		only.needs.slots = j.needs.slots
	default:
		only.needs.memory, only.book.need = j.needs.memory, j.book.need
	}
}

var noRequirement = func() *agenda.Requirement {
	r, err := agenda.ParseRequirement("", nil)
	if err != nil {
		panic(err) // an empty text asks for nothing
	}
	return r
}()

// serving counts the hosts that take work and serve the job.
func (f *Farm) serving(now time.Time, j *job) int {
	n := 0
	for _, h := range f.hosts {
		if h.usable(now, f.policy) && f.refusal(now, h, j, nil) == "" {
			n++
		}
	}
	return n
}

// addLessMemory names the largest amount that a user could ask for with which more hosts would fit. What
// the job's ended items had counts still, whatever is asked for.
func (f *Farm) addLessMemory(now time.Time, j *job, s survey, add func(kind, format string, args ...any)) {
	need := max(j.needs.memory, j.book.need)
	var amounts []int64
	for _, h := range f.hosts {
		if whole := wholeUnits(h.Memory); whole > 0 && whole < need {
			amounts = append(amounts, whole)
		}
	}
	slices.Sort(amounts)
	amounts = slices.Compact(amounts)
	slices.Reverse(amounts)
	for n, amount := range amounts {
		less := *j
		less.needs.memory, less.book.need = amount, 0
		f.refreshNeed(now, &less)
		more := f.serving(now, &less) - s.fit
		if more > 0 {
			add("change", "with %s %d more hosts would fit", wholeText(amount), more)
		}
		if more > 0 || n == amountsTried {
			return
		}
	}
}

// amountsTried bounds the amounts of memory that are looked at for one explanation.
const amountsTried = 100

// wholeUnits rounds memory down to what people write: whole GB, below ten whole MB.
func wholeUnits(bytes int64) int64 {
	if bytes >= 10<<30 {
		return bytes >> 30 << 30
	}
	return bytes >> 20 << 20
}

// wholeText writes what wholeUnits leaves, and nothing of it is lost.
func wholeText(bytes int64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%d GB", bytes>>30)
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}

// addRequirement counts clause by clause where the requirement holds, and the hosts that miss one clause only.
func (f *Farm) addRequirement(now time.Time, j *job, add func(kind, format string, args ...any)) {
	rest := *j
	rest.needs.required = noRequirement
	texts := j.needs.required.Clauses()
	holds, alone, usable := make([]int, len(texts)), make([]int, len(texts)), 0
	for _, h := range f.hosts {
		if !h.usable(now, f.policy) {
			continue
		}
		usable++
		failing := j.needs.required.Failing(f.property(h, j, nil))
		for n := range texts {
			if !slices.ContainsFunc(failing, func(x agenda.Failure) bool { return x.Clause == n }) {
				holds[n]++
			}
		}
		if len(failing) == 1 && f.refusal(now, h, &rest, nil) == "" {
			alone[failing[0].Clause]++
		}
	}
	for n, text := range texts {
		add("clause", "on %d of %d hosts holds %s", holds[n], usable, text)
		if alone[n] > 0 {
			add("change", "without %s %d more hosts would fit", text, alone[n])
		}
	}
}
