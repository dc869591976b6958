package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// clause is one thing that a job asks of a host.
type clause struct {
	one, many string                  // of hosts that have it: "is in the job's hosts", "are in the job's hosts"
	way       string                  // how to ask for it no longer: "without -hosts"
	copy      func(to, from *fit.Job) // makes one job ask for it as the other does
	has       func(*Host) int64       // of what can be asked for in part: how much of it the host has
	left      func(*Host) int64       // and how much of that is left now
	set       func(*fit.Job, int64)   // makes a job ask for so much of it
	part      func(n int64) string    // and how that is written: "4 slots"
	memory    bool                    // what was learned counts, whatever is asked for
}

// clausesOf are what the job asks of hosts besides its requirements, in the order in which they are asked for except
// for memory, which is last: jobs of one group differ in it alone.
func clausesOf(j *fit.Job) []clause {
	all := listClauses(j)
	if j.Slots > 1 {
		part := func(n int64) string { return facts.Several(int(n), "slot") }
		c := amount(part(int64(j.Slots)), part, func(h *Host) int64 { return int64(h.Slots) },
			func(to, from *fit.Job) { to.Slots = from.Slots })
		c.left = func(h *Host) int64 { return int64(h.Free) }
		c.set = func(to *fit.Job, n int64) { to.Slots = int(n) }
		all = append(all, c)
	}
	for _, name := range slices.Sorted(maps.Keys(j.Takes)) {
		if strings.HasPrefix(name, "host.") && j.Takes[name] > 0 {
			c := amount(fit.Quantity(name, j.Takes[name]), func(n int64) string { return fit.Quantity(name, n) },
				func(h *Host) int64 { return h.Stock(name) }, func(to, from *fit.Job) { setTakes(to, name, from.Takes[name]) })
			c.way = "without " + name
			c.left = func(h *Host) int64 { return h.left(name) }
			c.set = func(to *fit.Job, n int64) { setTakes(to, name, n) }
			all = append(all, c)
		}
	}
	if need := j.MostMemory(); need > 0 {
		c := amount(units.Size(need)+" of memory", units.ExactText, func(h *Host) int64 { return h.Memory },
			func(to, from *fit.Job) { to.Memory, to.Learned = from.Memory, from.Learned })
		c.left = (*Host).memory
		c.set = func(to *fit.Job, n int64) { to.Memory, to.Learned = n, n }
		c.memory = true
		all = append(all, c)
	}
	return all
}

// listClauses are the lists of hosts, groups and clusters.
func listClauses(j *fit.Job) (all []clause) {
	row := func(change func(to, from *facts.JobFacts)) func(to, from *fit.Job) {
		return func(to, from *fit.Job) {
			copied := *to.JobFacts // the row is the farm's
			change(&copied, from.JobFacts)
			to.JobFacts = &copied
		}
	}
	list := func(asked []string, where, names, way string, copy func(to, from *fit.Job)) {
		if len(asked) > 0 {
			all = append(all, clause{one: "is " + where + names, many: "are " + where + names, way: way, copy: copy})
		}
	}
	list(j.Hosts, "in the job's hosts", "", "without -hosts",
		row(func(to, from *facts.JobFacts) { to.Hosts = from.Hosts }))
	list(j.OmitHosts, "not in the job's omithosts", "", "without -omithosts",
		row(func(to, from *facts.JobFacts) { to.OmitHosts = from.OmitHosts }))
	list(j.Groups, "in one of the job's groups ", "("+strings.Join(j.Groups, ", ")+")", "without -groups",
		row(func(to, from *facts.JobFacts) { to.Groups = from.Groups }))
	list(j.OmitGroups, "in none of the job's omitgroups ", "("+strings.Join(j.OmitGroups, ", ")+")", "without -omitgroups",
		row(func(to, from *facts.JobFacts) { to.OmitGroups = from.OmitGroups }))
	list(j.Within, "within the job's restrictions ", j.Restrictions, "without -restrictions",
		func(to, from *fit.Job) { to.Within = from.Within })
	return all
}

// amount is a clause of which less can be asked for.
func amount(what string, part func(int64) string, has func(*Host) int64, copy func(to, from *fit.Job)) clause {
	return clause{one: "has " + what, many: "have " + what, copy: copy, has: has, part: part}
}

// setTakes makes the job take so much of a resource, and leaves those alone that share its list.
func setTakes(j *fit.Job, name string, n int64) {
	j.Takes = maps.Clone(j.Takes)
	delete(j.Takes, name)
	if n > 0 {
		j.Takes[name] = n
	}
}

// addClauses tells for each thing the job asks how many of the hosts that take work have it, and how many
// more would serve the job if it asked for less.
func (w one) addClauses(add func(kind, format string, args ...any)) {
	among := w.g.usable - w.g.closed
	if w.g.closed > 0 {
		add("clause", "%d of %d hosts %s items of %s now", among, w.g.usable, takes(among), w.j.User)
	}
	for _, c := range clausesOf(&w.j.Job) {
		only := w.j.Bare()
		c.copy(&only, &w.j.Job)
		n := 0
		for at := range w.Hosts {
			if h := &w.Hosts[at]; h.Usable() && w.serves(&only, h) {
				n++
			}
		}
		add("clause", "%s", c.count(n, among))
	}
	w.addRequirement(among, add)
	for _, c := range w.changes() {
		add("change", "%s", c.text(w.g.fit))
	}
}

// takes is the verb of so many hosts.
func takes(hosts int) string {
	if hosts == 1 {
		return "takes"
	}
	return "take"
}

// serves says whether the host serves the job, whatever slots are taken now.
func (x *Explainer) serves(j *fit.Job, h *Host) bool {
	return j.Refused(x.Now, h.Host, h.Load).Serves()
}

// count says how many hosts have what the clause asks.
func (c clause) count(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s %s", facts.Several(of, "host"), c.one)
	}
	return fmt.Sprintf("%d of %s %s", n, facts.Several(of, "host"), c.many)
}

// addRequirement counts clause by clause where the requirement holds.
func (w one) addRequirement(among int, add func(kind, format string, args ...any)) {
	texts := w.j.Required.Clauses()
	holds := make([]int, len(texts))
	for at := range w.Hosts {
		h := &w.Hosts[at]
		if !h.Usable() || !h.RunsFor(w.Now, w.j.User) {
			continue
		}
		failing := w.j.Failing(h.Host, h.Load)
		for n := range texts {
			if !slices.ContainsFunc(failing, func(x agenda.Failure) bool { return x.Clause == n }) {
				holds[n]++
			}
		}
	}
	for n, text := range texts {
		add("clause", "%s holds on %d of %s", text, holds[n], facts.Several(among, "host"))
	}
}

// wholeUnits rounds memory down to what people write: whole GiB, below ten whole MiB.
func wholeUnits(bytes int64) int64 {
	if bytes >= 10<<30 {
		return bytes >> 30 << 30
	}
	return bytes >> 20 << 20
}
