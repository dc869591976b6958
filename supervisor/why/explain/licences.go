package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
)

// licence is a resource of the whole farm as it is now.
type licence struct {
	left int64
	jobs []facts.JobID // that hold some, those with the most first
	held map[facts.JobID]int64
}

// licence counts who holds a licence, once for all jobs.
func (x *Explainer) licence(name string) licence {
	l, known := x.licences[name]
	if known {
		return l
	}
	x.passing = true // how many there are changes with time
	l = licence{left: x.Policy.Resources[name], held: map[facts.JobID]int64{}}
	if agenda.PerHost(name) {
		l.left -= x.countSeats(name, l.held)
	}
	for n := range x.Hosts {
		for _, i := range x.Hosts[n].Instances {
			if n := i.Holds[name]; n > 0 && !agenda.PerHost(name) {
				l.left -= n
				l.held[i.Job] += n
			}
		}
	}
	l.jobs = slices.SortedFunc(maps.Keys(l.held), func(a, b facts.JobID) int {
		return cmp.Or(cmp.Compare(l.held[b], l.held[a]), cmp.Compare(a, b))
	})
	x.licences[name] = l
	return l
}

// site is what the configuration says of licences.
func (x *Explainer) site() licences.Policy { return x.Policy.Licences.Policy() }

// limits says why the farm may hold fewer of the resource than the configuration has; "" if it may hold all.
func (x *Explainer) limits(name string) string {
	if text := x.Policy.Licences.Status(x.Now, name, 0).Limits(); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// countSeats counts the seats of a resource, and by job on how many hosts it has one.
func (x *Explainer) countSeats(name string, held map[facts.JobID]int64) int64 {
	seats := map[licences.Seat]bool{}
	for n := range x.Hosts {
		has := map[facts.JobID]bool{}
		for _, i := range x.Hosts[n].Instances {
			if j := x.job(i.Job); j != nil && i.Holds[name] > 0 {
				seats[x.site().SeatOf(name, string(x.Hosts[n].ID), j.User)], has[i.Job] = true, true
			}
		}
		for id := range has {
			held[id]++
		}
	}
	return int64(len(seats))
}

// unseated says whether the job can open no further seat, and that of which resource none is left; then it can only run
// where it has one already. Whether a host has room there says the list of hosts.
func (w one) unseated() (name, text, held string) {
	for _, name := range w.j.Seats {
		l := w.licence(name)
		if l.left > 0 {
			continue
		}
		for n := range w.Hosts {
			h := &w.Hosts[n]
			takes := func(i Instance) bool {
				j := w.job(i.Job)
				return i.Holds[name] > 0 && j != nil && (j.User == w.j.User || w.site().Counted(name) == licences.PerHost)
			}
			if h.Free >= w.j.Slots && slices.ContainsFunc(h.Instances, takes) {
				return "", "", ""
			}
		}
		return name, fmt.Sprintf("all %d %s are taken%s, and no host that has one for this job has room",
			w.Policy.Resources[name], name, w.limits(name)), l.holdersText(w.j, namedHolders)
	}
	return "", "", ""
}

// licensed is how many more instances of the job the farm's licences allow. A negative number is no bound.
func (x *Explainer) licensed(j *fit.Job) int {
	return j.Startable(false, func(name string) int64 { return x.licence(name).left })
}

// holdersText tells a job who holds a licence: "job 3 holds 6, job 9 holds 4, this job holds 1".
func (l licence) holdersText(asks *Job, limit int) string {
	var parts []string
	for n, j := range l.jobs {
		if n == limit {
			parts = append(parts, fmt.Sprintf("%d more jobs the rest", len(l.jobs)-limit))
			break
		}
		if j == asks.ID {
			parts = append(parts, fmt.Sprintf("this job holds %d", l.held[j]))
			continue
		}
		parts = append(parts, fmt.Sprintf("job %d holds %d", j, l.held[j]))
	}
	return strings.Join(parts, ", ")
}

// scarce names the licence that keeps the job from starting another instance, if one does, and says who holds it.
func (w one) scarce() (name, text, held string) {
	for _, name := range slices.Sorted(maps.Keys(w.j.Takes)) {
		if each := w.j.Takes[name]; each > 0 && !strings.HasPrefix(name, "host.") {
			if l := w.licence(name); l.left < each {
				return name, fmt.Sprintf("%d of %d %s are left%s, an instance takes %d", max(0, l.left), w.Policy.Resources[name],
					name, w.limits(name), each), l.holdersText(w.j, namedHolders)
			}
		}
	}
	return w.unseated()
}

func (w one) licenceFacts() []string {
	var lines []string
	tell := func(name, counted string) {
		l := w.licence(name)
		line := fmt.Sprintf("%s: %d of %d left%s, %s", name, max(0, l.left), w.Policy.Resources[name], w.limits(name),
			counted)
		if held := l.holdersText(w.j, holderLines); held != "" {
			line += "; " + held
		}
		lines = append(lines, line)
	}
	for _, name := range w.j.Seats {
		tell(name, "counted per "+map[bool]string{true: "host",
			false: "user and host"}[w.site().Counted(name) == licences.PerHost])
	}
	for _, name := range slices.Sorted(maps.Keys(w.j.Takes)) {
		if !strings.HasPrefix(name, "host.") {
			tell(name, fmt.Sprintf("an instance takes %d", w.j.Takes[name]))
		}
	}
	return lines
}

// licenceChanges says how much less of a licence would do now, where that alone keeps the job from starting.
func (w one) licenceChanges() (list []change) {
	for _, name := range slices.Sorted(maps.Keys(w.j.Takes)) {
		if strings.HasPrefix(name, "host.") {
			continue
		}
		l := w.licence(name)
		if l.left <= 0 || l.left >= w.j.Takes[name] {
			continue
		}
		less := w.j.Job
		setTakes(&less, name, l.left)
		if w.rooms(&less, w.g.fitting) > 0 {
			list = append(list, change{way: fmt.Sprintf("with %d of %s", l.left, name), room: 1})
		}
	}
	return list
}
