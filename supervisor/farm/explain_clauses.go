package farm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// clause is one thing that a job asks of a host.
type clause struct {
	one, many string               // of hosts that have it: "is among its hosts", "are among its hosts"
	way       string               // how to ask for it no longer: "without -hosts"
	copy      func(to, from *job)  // makes one job ask for it as the other does
	has       func(*host) int64    // of what can be asked for in part: how much of it the host has
	left      func(*host) int64    // and how much of that is left now
	set       func(*job, int64)    // makes a job ask for so much of it
	part      func(n int64) string // and how that is written: "4 slots"
	memory    bool                 // what was learned counts, whatever is asked for
}

// clauses are what the job asks of hosts besides its requirements, in the order in which refusal looks but for
// memory, which is last: jobs that share a survey differ in it alone.
func (j *job) clauses() []clause {
	var all []clause
	list := func(asked []string, where, names, way string, copy func(to, from *job)) {
		if len(asked) > 0 {
			all = append(all, clause{one: "is " + where + names, many: "are " + where + names, way: way, copy: copy})
		}
	}
	list(j.Hosts, "among its hosts", "", "without -hosts", func(to, from *job) { to.Hosts = from.Hosts })
	list(j.OmitHosts, "not among its omithosts", "", "without -omithosts", func(to, from *job) { to.OmitHosts = from.OmitHosts })
	list(j.Groups, "in one of its groups ", "("+strings.Join(j.Groups, ", ")+")", "without -groups", func(to, from *job) { to.Groups = from.Groups })
	list(j.OmitGroups, "in none of its omitgroups ", "("+strings.Join(j.OmitGroups, ", ")+")", "without -omitgroups", func(to, from *job) { to.OmitGroups = from.OmitGroups })
	list(j.needs.Within, "within its restrictions ", j.Restrictions, "without -restrictions", func(to, from *job) { to.needs.Within = from.needs.Within })
	if j.needs.Slots > 1 {
		part := func(n int64) string { return several(int(n), "slot") }
		c := amount(part(int64(j.needs.Slots)), part, func(h *host) int64 { return int64(h.Slots) },
			func(to, from *job) { to.needs.Slots = from.needs.Slots })
		c.left = func(h *host) int64 { return int64(h.free()) }
		c.set = func(to *job, n int64) { to.needs.Slots = int(n) }
		all = append(all, c)
	}
	for _, name := range slices.Sorted(maps.Keys(j.needs.Takes)) {
		if strings.HasPrefix(name, "host.") && j.needs.Takes[name] > 0 {
			c := amount(fit.Quantity(name, j.needs.Takes[name]), func(n int64) string { return fit.Quantity(name, n) },
				func(h *host) int64 { return h.Stock(name) }, copyTakes(name))
			c.way = "without " + name
			c.left = func(h *host) int64 { return h.Stock(name) - h.held(name) }
			c.set = func(to *job, n int64) { to.setTakes(name, n) }
			all = append(all, c)
		}
	}
	if need := max(j.needs.Memory, j.book.need); need > 0 {
		c := amount(facts.Size(need)+" of memory", wholeText, func(h *host) int64 { return h.Memory },
			func(to, from *job) { to.needs.Memory, to.book.need = from.needs.Memory, from.book.need })
		c.left = func(h *host) int64 { return h.ledger(nil) }
		c.set = func(to *job, n int64) { to.needs.Memory, to.book.need = n, n }
		c.memory = true
		all = append(all, c)
	}
	return all
}

// amount is a clause of which less can be asked for.
func amount(what string, part func(int64) string, has func(*host) int64, copy func(to, from *job)) clause {
	return clause{one: "has " + what, many: "have " + what, copy: copy, has: has, part: part}
}

// copyTakes makes one job take as much of the resource as the other does.
func copyTakes(name string) func(to, from *job) {
	return func(to, from *job) { to.setTakes(name, from.needs.Takes[name]) }
}

// setTakes makes the job take so much of a resource, and leaves those alone that share its list.
func (j *job) setTakes(name string, n int64) {
	j.needs.Takes = maps.Clone(j.needs.Takes)
	delete(j.needs.Takes, name)
	if n > 0 {
		j.needs.Takes[name] = n
	}
}

// bare is the job as it would be if it asked for nothing.
func (j *job) bare() *job {
	b := *j
	b.Hosts, b.OmitHosts, b.Groups, b.OmitGroups = nil, nil, nil, nil
	b.needs = fit.Needs{Slots: 1, Takes: map[string]int64{}, Required: fit.NoRequirement}
	b.book.need = 0
	return &b
}

// addClauses tells for each thing the job asks how many of the hosts that take work have it, and how many
// more would serve the job if it asked for less.
func (f *Farm) addClauses(now time.Time, j *job, s survey, sight *sight, add func(kind, format string, args ...any)) {
	among := s.usable - s.closed
	if s.closed > 0 {
		add("clause", "%d of %d hosts run items of %s", among, s.usable, j.User)
	}
	for _, c := range j.clauses() {
		only := j.bare()
		c.copy(only, j)
		n := 0
		for _, h := range f.hosts {
			if h.usable(now, f.policy) && h.serves(now, only) {
				n++
			}
		}
		add("clause", "%s", c.count(n, among))
	}
	f.addRequirement(now, j, among, add)
	for _, c := range f.changesFor(now, j, s, sight) {
		add("change", "%s", c.text(s.fit))
	}
}

// count says how many hosts have what the clause asks.
func (c clause) count(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s %s", several(of, "host"), c.one)
	}
	return fmt.Sprintf("%d of %s %s", n, several(of, "host"), c.many)
}

// addRequirement counts clause by clause where the requirement holds.
func (f *Farm) addRequirement(now time.Time, j *job, among int, add func(kind, format string, args ...any)) {
	texts := j.needs.Required.Clauses()
	holds := make([]int, len(texts))
	for _, h := range f.hosts {
		if !h.usable(now, f.policy) || !h.RunsFor(now, j.User) {
			continue
		}
		failing := j.asks().Failing(&h.Host, load{h, nil})
		for n := range texts {
			if !slices.ContainsFunc(failing, func(x agenda.Failure) bool { return x.Clause == n }) {
				holds[n]++
			}
		}
	}
	for n, text := range texts {
		add("clause", "%s holds on %d of %s", text, holds[n], several(among, "host"))
	}
}

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
