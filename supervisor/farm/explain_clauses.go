package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"qb/agenda"
)

// clause is one thing that a job asks of a host.
type clause struct {
	one, many string               // of hosts that have it: "is among its hosts", "are among its hosts"
	way       string               // how to ask for it no longer: "without -hosts"
	copy      func(to, from *job)  // makes one job ask for it as the other does
	has       func(*host) int64    // of what can be asked for in part: how much of it the host has
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
	list(j.needs.within, "within its restrictions ", j.Restrictions, "without -restrictions", func(to, from *job) { to.needs.within = from.needs.within })
	if j.needs.slots > 1 {
		part := func(n int64) string { return several(int(n), "slot") }
		all = append(all, amount(part(int64(j.needs.slots)), part, func(h *host) int64 { return int64(h.Slots) },
			func(to, from *job) { to.needs.slots = from.needs.slots }))
	}
	for _, name := range slices.Sorted(maps.Keys(j.needs.takes)) {
		if strings.HasPrefix(name, "host.") && j.needs.takes[name] > 0 {
			c := amount(quantity(name, j.needs.takes[name]), func(n int64) string { return quantity(name, n) },
				func(h *host) int64 { return h.stock(name) }, copyTakes(name))
			c.way = "without " + name
			all = append(all, c)
		}
	}
	if need := max(j.needs.memory, j.book.need); need > 0 {
		c := amount(size(need)+" of memory", wholeText, func(h *host) int64 { return h.Memory },
			func(to, from *job) { to.needs.memory, to.book.need = from.needs.memory, from.book.need })
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
	return func(to, from *job) {
		takes := maps.Clone(to.needs.takes)
		delete(takes, name)
		if n, ok := from.needs.takes[name]; ok {
			takes[name] = n
		}
		to.needs.takes = takes
	}
}

// quantity writes an amount of a host's resource: "2 of host.gpus", "20 GB of host.scratch".
func quantity(name string, n int64) string {
	return amountOf(name, n) + " of " + name
}

// amountOf writes how much of a resource: disk space is counted in bytes, all else in pieces.
func amountOf(name string, n int64) string {
	if name == "host.scratch" {
		return size(n)
	}
	return fmt.Sprint(n)
}

var noRequirement = func() *agenda.Requirement {
	r, err := agenda.ParseRequirement("", nil)
	if err != nil {
		panic(err) // an empty text asks for nothing
	}
	return r
}()

// bare is the job as it would be if it asked for nothing.
func (j *job) bare() *job {
	b := *j
	b.Hosts, b.OmitHosts, b.Groups, b.OmitGroups = nil, nil, nil, nil
	b.needs = needs{slots: 1, takes: map[string]int64{}, required: noRequirement}
	b.book.need = 0
	return &b
}

// outlook is what each thing that a job asks costs it: the hosts that take work and lack that alone.
type outlook struct {
	alone   []int     // by clause
	has     [][]int64 // of clauses that can be asked for in part: what those hosts have of it, most first
	failing []int     // by clause of the requirements
}

// outlookFor looks at the hosts that do not serve the job; jobs that ask for the same share an answer.
func (f *Farm) outlookFor(now time.Time, j *job, sight *sight) outlook {
	key := f.placeKey(j, sight.fresh())
	if o, ok := sight.outlooks[key]; ok {
		return o
	}
	all, bare := j.clauses(), j.bare()
	o := outlook{alone: make([]int, len(all)), has: make([][]int64, len(all)), failing: make([]int, len(j.needs.required.Clauses()))}
	for _, h := range f.sortedHosts() {
		if !h.usable(now, f.policy) || f.refusal(now, h, j, nil) == "" {
			continue
		}
		for n, c := range all {
			less := *j
			c.copy(&less, bare)
			if f.refusal(now, h, &less, nil) != "" {
				continue
			}
			o.alone[n]++
			if c.has != nil {
				o.has[n] = append(o.has[n], c.has(h))
			}
		}
		if failing := j.needs.required.Failing(f.property(h, j, nil)); len(failing) == 1 {
			less := *j
			less.needs.required = noRequirement
			if f.refusal(now, h, &less, nil) == "" {
				o.failing[failing[0].Clause]++
			}
		}
	}
	for n := range o.has {
		slices.SortFunc(o.has[n], func(a, b int64) int { return cmp.Compare(b, a) })
	}
	sight.outlooks[key] = o
	return o
}

// change is one thing that a user could ask for otherwise, and how many more hosts would then fit.
type change struct {
	way  string
	more int
}

func (c change) text(fit int) string {
	hosts := several(c.more, "more host")
	if fit == 0 {
		hosts = several(c.more, "host")
	}
	return fmt.Sprintf("%s %s would fit", c.way, hosts)
}

// changesFor lists what would let more hosts serve the job: one thing at a time, and of each as little as helps.
func (f *Farm) changesFor(now time.Time, j *job, sight *sight) []change {
	o := f.outlookFor(now, j, sight)
	var list []change
	for n, c := range j.clauses() {
		if n >= len(o.alone) || o.alone[n] == 0 {
			continue
		}
		if ch := f.changeOf(now, j, c, o.alone[n], o.has[n]); ch.more > 0 {
			list = append(list, ch)
		}
	}
	for n, text := range j.needs.required.Clauses() {
		if o.failing[n] > 0 {
			list = append(list, change{"without " + text, o.failing[n]})
		}
	}
	return list
}

// changeOf says how the job could ask less of one thing, where so many hosts lack that alone and have so much of it.
func (f *Farm) changeOf(now time.Time, j *job, c clause, alone int, has []int64) change {
	for n, amount := range slices.Compact(slices.Clone(has)) {
		if amount <= 0 || n == amountsTried {
			break
		}
		least := amount
		if c.memory {
			amount = wholeUnits(amount)
			least = f.needIfAsked(now, j, amount)
		}
		if enough := sort.Search(len(has), func(n int) bool { return has[n] < least }); enough > 0 {
			return change{"with " + c.part(amount), enough}
		}
	}
	if c.way == "" {
		return change{}
	}
	return change{c.way, alone}
}

// needIfAsked is what an instance would need if that much memory were asked for.
func (f *Farm) needIfAsked(now time.Time, j *job, amount int64) int64 {
	less := *j
	less.needs.memory, less.book.need = amount, 0
	next, _ := j.tally.NextPending()
	if need, _ := j.book.learned(f.policy.Memory, amount, ItemNo(next)); need > amount {
		f.refreshNeed(now, &less)
	}
	return max(amount, less.book.need)
}

// amountsTried bounds the amounts of memory that are looked at for one explanation.
const amountsTried = 100

// advice is the one change that would help most, to be added to a reason; "" if none helps.
func (f *Farm) advice(now time.Time, j *job, s survey, sight *sight) string {
	if s.fit == s.usable || sight.brief {
		return ""
	}
	var best change
	for _, c := range f.changesFor(now, j, sight) {
		if c.more > best.more {
			best = c
		}
	}
	if best.more == 0 {
		return ""
	}
	return "; " + best.text(s.fit)
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
			if h.usable(now, f.policy) && f.refusal(now, h, only, nil) == "" {
				n++
			}
		}
		add("clause", "%s", c.count(n, among))
	}
	f.addRequirement(now, j, among, add)
	for _, c := range f.changesFor(now, j, sight) {
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
	texts := j.needs.required.Clauses()
	holds := make([]int, len(texts))
	for _, h := range f.hosts {
		if !h.usable(now, f.policy) || !h.serves(now, j.User) {
			continue
		}
		failing := j.needs.required.Failing(f.property(h, j, nil))
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
