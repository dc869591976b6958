package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// asked is what a random job asks of hosts, kept beside the farm so that all it says can be counted again.
type asked struct {
	slots, gpus, memory, maya            int
	hosts, omithosts, groups, omitgroups []string
	within                               string // restrictions: one cluster
	bigger                               int    // requirement: host.memory>=NGB
	site                                 string // requirement: host.groups has SITE
	nuke                                 int    // of the whole farm
	cpus, max, priority                  int
}

// owns is what a random host has.
type owns struct {
	slots, gpus, memory, maya int
	groups                    []string
	cluster                   string
}

// check is one clause, by hand. amount and least tell of the ones that can be asked for in part.
type check struct {
	way, text string
	holds     func(owns, string) bool
	amount    func(owns) int
	unit      string // "slots": with 2 slots
	less      func(*asked, int)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

func (a asked) checks() []check {
	var all []check
	add := func(asked bool, c check) {
		if asked {
			all = append(all, c)
		}
	}
	add(len(a.hosts) > 0, check{way: "without -hosts", text: "in the job's hosts", holds: func(_ owns, name string) bool { return slices.Contains(a.hosts, name) }})
	add(len(a.omithosts) > 0, check{way: "without -omithosts", text: "not in the job's omithosts", holds: func(_ owns, name string) bool { return !slices.Contains(a.omithosts, name) }})
	add(len(a.groups) > 0, check{way: "without -groups", text: "in one of the job's groups (" + strings.Join(a.groups, ", ") + ")", holds: func(h owns, _ string) bool { return overlap(h.groups, a.groups) }})
	add(len(a.omitgroups) > 0, check{way: "without -omitgroups", text: "in none of the job's omitgroups (" + strings.Join(a.omitgroups, ", ") + ")", holds: func(h owns, _ string) bool { return !overlap(h.groups, a.omitgroups) }})
	add(a.within != "", check{way: "without -restrictions", text: "within the job's restrictions " + a.within, holds: func(h owns, _ string) bool { return h.cluster == a.within }})
	add(a.slots > 1, check{text: fmt.Sprintf("have %d slots", a.slots), holds: func(h owns, _ string) bool { return h.slots >= a.slots }, amount: func(h owns) int { return h.slots }, unit: "slot", less: func(a *asked, n int) { a.slots = n }})
	add(a.gpus > 0, check{way: "without host.gpus", text: fmt.Sprintf("have %d of host.gpus", a.gpus), holds: func(h owns, _ string) bool { return h.gpus >= a.gpus }, amount: func(h owns) int { return h.gpus }, unit: "of host.gpus", less: func(a *asked, n int) { a.gpus = n }})
	add(a.maya > 0, check{way: "without host.maya", text: fmt.Sprintf("have %d of host.maya", a.maya), holds: func(h owns, _ string) bool { return h.maya >= a.maya }, amount: func(h owns) int { return h.maya }, unit: "of host.maya", less: func(a *asked, n int) { a.maya = n }})
	add(a.memory > 0, check{text: fmt.Sprintf("have %d GiB of memory", a.memory), holds: func(h owns, _ string) bool { return h.memory >= a.memory }, amount: func(h owns) int { return h.memory }, unit: "GiB", less: func(a *asked, n int) { a.memory = n }})
	bigger := fmt.Sprintf("host.memory >= %dGiB", a.bigger)
	add(a.bigger > 0, check{way: "without " + bigger, text: bigger + " holds on", holds: func(h owns, _ string) bool { return h.memory >= a.bigger }})
	site := "host.groups has " + a.site
	add(a.site != "", check{way: "without " + site, text: site + " holds on", holds: func(h owns, _ string) bool { return slices.Contains(h.groups, a.site) }})
	return all
}

// lacks are the places of the checks that do not hold.
func lacks(all []check, h owns, name string) []int {
	var list []int
	for n, c := range all {
		if !c.holds(h, name) {
			list = append(list, n)
		}
	}
	return list
}

func (a asked) line() string {
	line := fmt.Sprintf("submit p items=1-5 cpus=%d max=%d priority=%d", a.cpus, a.max, a.priority)
	for name, list := range map[string][]string{"hosts": a.hosts, "omithosts": a.omithosts, "groups": a.groups, "omitgroups": a.omitgroups} {
		if len(list) > 0 {
			line += " " + name + "=" + strings.Join(list, ",")
		}
	}
	if a.within != "" {
		line += " restrictions=" + a.within
	}
	reservations := fmt.Sprintf("host.processors=%d", a.slots)
	for _, r := range []struct {
		n    int
		text string
	}{{a.gpus, "host.gpus=%d"}, {a.maya, "host.maya=%d"}, {a.memory, "host.memory=%dGB"}, {a.nuke, "license.nuke=%d"}} {
		if r.n > 0 {
			reservations += "," + fmt.Sprintf(r.text, r.n)
		}
	}
	var required []string
	if a.bigger > 0 {
		required = append(required, fmt.Sprintf("host.memory>=%dGB", a.bigger))
	}
	if a.site != "" {
		required = append(required, "host.groups_has_"+a.site)
	}
	return line + " reservations=" + reservations + " requirements=" + strings.Join(required, "_and_")
}

func drawAsked(rt *rapid.T) asked {
	number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(rt, name) }
	seldom := func(name string, most int) int { return max(0, number(name, 2*most)-most) }
	list := func(name string, words ...string) []string {
		switch number(name, 5) {
		case 0:
			return words[:1]
		case 1:
			return words
		}
		return nil
	}
	a := asked{slots: 1 + seldom("slots", 3), gpus: seldom("gpus", 2), memory: 100 * seldom("memory", 4), maya: seldom("maya", 2), nuke: seldom("nuke", 2)}
	a.hosts, a.omithosts = list("hosts", "h0", "h1", "h2"), list("omithosts", "h1", "h3")
	a.groups, a.omitgroups = list("groups", "fast", "big"), list("omitgroups", "old", "big")
	a.within = rapid.SampledFrom([]string{"", "", "", "/x", "/y"}).Draw(rt, "within")
	a.bigger, a.site = 100*seldom("bigger", 4), rapid.SampledFrom([]string{"", "", "", "fast", "old"}).Draw(rt, "site")
	a.cpus, a.max, a.priority = 1+number("cpus", 2), number("max", 5)-1, 1+number("priority", 2)
	return a
}

// TestExplanationsAreCountedAgain submits random jobs to random farms of unlike hosts, with GPUs and licences, and
// counts all that explanations say of clauses, changes, slots and licences again, by other means.
func TestExplanationsAreCountedAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy resources=license.nuke:3")
		hosts, jobs := map[string]owns{}, map[facts.JobID]asked{}
		for n := range rapid.IntRange(1, 5).Draw(rt, "hosts") {
			h := owns{slots: rapid.IntRange(1, 4).Draw(rt, "slots"), gpus: rapid.IntRange(0, 2).Draw(rt, "gpus"), maya: rapid.IntRange(0, 1).Draw(rt, "maya"),
				memory: 100 * rapid.IntRange(1, 4).Draw(rt, "memory"), cluster: rapid.SampledFrom([]string{"/", "/x"}).Draw(rt, "cluster")}
			for _, g := range []string{"fast", "big", "old"} {
				if rapid.Bool().Draw(rt, g) {
					h.groups = append(h.groups, g)
				}
			}
			name := fmt.Sprintf("h%d", n)
			hosts[name] = h
			r.say(fmt.Sprintf("host %s slots=%d mem=%d cluster=%s groups=%s resources=gpus:%d,maya:%d", name, h.slots, h.memory, h.cluster, strings.Join(h.groups, ","), h.gpus, h.maya))
		}
		for range rapid.IntRange(2, 15).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				finishOne(rt, r, false)
			case 1:
				r.say(fmt.Sprintf("%s h%d", rapid.SampledFrom([]string{"lock", "unlock", "unlock"}).Draw(rt, "lock"), rapid.IntRange(0, len(hosts)-1).Draw(rt, "host")))
			default:
				a := drawAsked(rt)
				r.say(a.line())
				jobs[facts.JobID(len(r.rows.jobs))] = a
			}
			r.say("advance 1s")
			v := r.farm.View(r.now)
			for _, j := range v.Jobs {
				if a, waits := jobs[j.ID], j.Items.Pending > 0; waits {
					recount(rt, r, v, j, a, hosts, jobs)
				}
			}
		}
	})
}

// recount compares one job's explanation and reason with what the lists say.
func recount(rt *rapid.T, r *rig, v *message.View, j *facts.JobView, a asked, hosts map[string]owns, jobs map[facts.JobID]asked) {
	e, _ := r.farm.Explain(r.now, j.ID)
	bad := func(format string, args ...any) {
		rt.Fatalf("job %d asks for %+v of %+v: %s; it says %q and\n%+v", j.ID, a, hosts, fmt.Sprintf(format, args...), e.Cause, e.Facts)
	}
	if e.Cause != j.Reason || e.Cause == "" {
		bad("%d items wait, and the listing says %q", j.Items.Pending, j.Reason)
	}
	said := func(kind string) []string {
		var texts []string
		for _, f := range e.Facts {
			if f.Kind == kind {
				texts = append(texts, f.Text)
			}
		}
		return texts
	}
	all := a.checks()
	up, fit, slots, free := 0, 0, 0, 0
	have, alone := make([]int, len(all)), make([][]*message.HostView, len(all))
	shut := []string{}
	for _, h := range v.Hosts {
		if h.State != "up" {
			if len(lacks(all, hosts[string(h.ID)], string(h.ID))) == 0 {
				shut = append(shut, string(h.ID))
			}
			continue
		}
		up++
		missing := lacks(all, hosts[string(h.ID)], string(h.ID))
		for n := range all {
			if !slices.Contains(missing, n) {
				have[n]++
			}
		}
		switch len(missing) {
		case 0:
			fit, slots, free = fit+1, slots+h.Slots, free+h.Slots-h.Used
		case 1:
			alone[missing[0]] = append(alone[missing[0]], h)
		}
	}
	if want := fmt.Sprintf("%d of %d hosts take work, %d of them serve this job", up, len(v.Hosts), fit); !slices.Equal(said("hosts"), []string{want}) {
		bad("hosts: want %q", want)
	}
	if want := fmt.Sprintf("%d slots on those hosts, %d free", slots, free); !slices.Equal(said("slots"), []string{want}) {
		bad("slots: want %q", want)
	}
	switch text := strings.Join(said("shut"), "; "); {
	case len(shut) == 1 && text != shut[0]+" would serve this job, but is locked by op":
		bad("only %s would serve it, and is locked", shut[0])
	case len(shut) > 1 && text != fmt.Sprintf("%d hosts would serve this job, but take no work now (%s is locked by op, …)", len(shut), shut[0]):
		bad("%v would serve it, and are locked", shut)
	case len(shut) == 0 && text != "":
		bad("no locked host would serve it")
	}
	recountClauses(said("clause"), all, have, up, bad)
	best := recountChanges(said("change"), sightOf(r, v, a, hosts, jobs), all, alone, fit, bad)
	recountReason(e.Cause, up, fit, free, best, bad)
	recountLicences(said("licence"), v, j.ID, a, jobs, bad)
}

func hostsText(n int, more string) string {
	if n == 1 {
		return fmt.Sprintf("%d %shost", n, more)
	}
	return fmt.Sprintf("%d %shosts", n, more)
}

func recountClauses(said []string, all []check, have []int, up int, bad func(string, ...any)) {
	said = slices.DeleteFunc(said, func(text string) bool { // what was learned of memory is not asked for
		return strings.HasSuffix(text, " of memory") && !slices.ContainsFunc(all, func(c check) bool { return c.unit == "GiB" })
	})
	if len(said) != len(all) {
		bad("%d clauses, want %d", len(said), len(all))
	}
	for n, c := range all {
		verb := "are "
		if have[n] == 1 {
			verb = "is "
		}
		want := fmt.Sprintf("%d of %s %s%s", have[n], hostsText(up, ""), verb, c.text)
		switch {
		case strings.HasSuffix(c.text, "holds on"):
			want = fmt.Sprintf("%s %d of %s", c.text, have[n], hostsText(up, ""))
		case c.amount != nil && have[n] == 1:
			want = fmt.Sprintf("1 of %s %s", hostsText(up, ""), strings.Replace(c.text, "have", "has", 1))
		case c.amount != nil:
			want = fmt.Sprintf("%d of %s %s", have[n], hostsText(up, ""), c.text)
		}
		if !slices.Contains(said, want) {
			bad("clause: want %q", want)
		}
	}
}

// seen is what there is on the hosts, for one job.
type seen struct {
	view  *message.View
	asks  asked
	hosts map[string]owns
	nuke  int    // left
	kept  string // host, for a wide job; which others may use it is not counted again
}

func sightOf(r *rig, v *message.View, a asked, hosts map[string]owns, jobs map[facts.JobID]asked) seen {
	s := seen{view: v, asks: a, hosts: hosts, nuke: 3}
	for _, h := range v.Hosts {
		for _, i := range h.Instances {
			s.nuke -= jobs[i.Job].nuke
		}
	}
	for id := range jobs {
		e, _ := r.farm.Explain(r.now, id)
		for _, f := range e.Facts {
			if f.Kind == "reserved" {
				s.kept = strings.Fields(f.Text)[1]
			}
		}
	}
	return s
}

// room says whether an instance that asks so has room on the host.
func (s seen) room(a asked, h *message.HostView) bool {
	has, memory := s.hosts[string(h.ID)], int64(s.hosts[string(h.ID)].memory)<<30
	for _, i := range h.Instances {
		memory -= i.Memory
		has.gpus -= int(i.Holds["host.gpus"])
		has.maya -= int(i.Holds["host.maya"])
	}
	return h.Slots-h.Used >= max(1, a.slots) && has.gpus >= a.gpus && has.maya >= a.maya && memory >= max(1, int64(a.memory)<<30) && s.nuke >= a.nuke
}

// rooms counts the hosts with room; the least is without the host that is kept.
func (s seen) rooms(a asked, hosts []*message.HostView) (least, most int) {
	for _, h := range hosts {
		if s.room(a, h) {
			most++
			if string(h.ID) != s.kept {
				least++
			}
		}
	}
	return least, most
}

func roomText(room, of int) string {
	words := []string{"without room now", "with room now"}
	if of > 1 {
		words[0] = "none with room now"
	}
	switch room {
	case 0:
		return words[0]
	case of:
		return words[1]
	}
	return fmt.Sprintf("%d with room now", room)
}

// recountChanges returns the change that helps most, as it must stand in the reason.
func recountChanges(said []string, s seen, all []check, alone [][]*message.HostView, fit int, bad func(string, ...any)) string {
	more := "more "
	if fit == 0 {
		more = ""
	}
	best, most := "", [2]int{}
	help := func(text string, room, more int) {
		if n := [2]int{room, more}; slices.Compare(n[:], most[:]) > 0 {
			best, most = text, n
		}
	}
	said = slices.DeleteFunc(slices.Clone(said), func(text string) bool { return strings.Contains(text, "qbmodify") })
	at := 0
	for n, c := range all {
		if len(alone[n]) == 0 {
			continue
		}
		way, helps, less := c.way, alone[n], s.asks
		if c.amount != nil {
			top := 0
			for _, h := range alone[n] {
				top = max(top, c.amount(s.hosts[string(h.ID)]))
			}
			c.less(&less, top)
			if top > 0 {
				helps = slices.DeleteFunc(slices.Clone(alone[n]), func(h *message.HostView) bool { return c.amount(s.hosts[string(h.ID)]) < top })
				way = fmt.Sprintf("with %d %s", top, c.unit)
				if c.unit == "slot" && top > 1 {
					way += "s"
				}
			}
		}
		found := false
		for room, to := s.rooms(less, helps); room <= to && !found; room++ {
			want := fmt.Sprintf("%s %s would fit, %s", way, hostsText(len(helps), more), roomText(room, len(helps)))
			if found = at < len(said) && said[at] == want; found {
				help(want, room, len(helps))
			}
		}
		if !found {
			bad("change %d: want %s %s would fit", at, way, hostsText(len(helps), more))
		}
		at++
	}
	for _, text := range said[at:] {
		recountLess(text, s, all, bad)
		help(text, 1, 0)
	}
	return best
}

// recountLess looks at "with 1 of host.gpus there is room on h2 now".
func recountLess(text string, s seen, all []check, bad func(string, ...any)) {
	var n int
	var host string
	way, where, _ := strings.Cut(text, " there is room ")
	if _, err := fmt.Sscanf(way, "with %d", &n); err != nil {
		bad("change: %q", text)
	}
	_, _ = fmt.Sscanf(where, "on %s now", &host) // a licence names none
	for _, h := range s.view.Hosts {
		if h.State != "up" || len(lacks(all, s.hosts[string(h.ID)], string(h.ID))) > 0 {
			continue
		}
		if s.room(s.asks, h) && string(h.ID) != s.kept {
			bad("%q, but %s has room anyway", text, h.ID)
		}
		for _, c := range all {
			less := s.asks
			switch {
			case strings.HasSuffix(way, "license.nuke"):
				less.nuke = n
			case c.amount != nil && strings.Contains(way, c.unit):
				c.less(&less, n)
			case c.unit == "GiB" && strings.HasSuffix(way, "MiB"): // what is left beside promises of a few GiB
				c.less(&less, n>>10)
			default:
				continue
			}
			if host == string(h.ID) && !s.room(less, h) {
				bad("%q, but it has none", text)
			}
		}
	}
}

// recountReason looks whether the sentence counts hosts right and offers the change that helps most.
func recountReason(reason string, up, fit, free int, best string, bad func(string, ...any)) {
	says := func(part string) bool { return strings.Contains(reason, part) }
	offers := false
	switch {
	case up == 0:
		if !says("no host takes work now") {
			bad("no host is up")
		}
	case fit == 0:
		if offers = true; !says("no host fits") && !says("no host that takes work fits") && !says("no host is called") && !says("no host is in the group") {
			bad("no host fits")
		}
	case says(" taken"), says(" left"):
		offers = !says("free slots")
	}
	cause, _, _ := strings.Cut(reason, "; without")
	cause, _, _ = strings.Cut(cause, "; with ")
	if offers && best != "" && !says("; "+best) && len(strings.Fields(cause+" "+best)) <= 25 {
		bad("it does not offer %q", best)
	}
}

// recountLicences counts what live attempts hold of the farm's licences.
func recountLicences(said []string, v *message.View, asks facts.JobID, a asked, jobs map[facts.JobID]asked, bad func(string, ...any)) {
	if a.nuke == 0 {
		if len(said) > 0 {
			bad("it asks for no licence")
		}
		return
	}
	left, held := 3, map[facts.JobID]int{}
	for _, h := range v.Hosts {
		for _, i := range h.Instances {
			if n := jobs[i.Job].nuke; n > 0 {
				left -= n
				held[i.Job] += n
			}
		}
	}
	if want := fmt.Sprintf("license.nuke: %d of 3 left, an instance takes %d", max(0, left), a.nuke); len(said) != 1 || !strings.HasPrefix(said[0], want) {
		bad("licence: want %q", want)
	}
	for id, n := range held {
		who := fmt.Sprintf("job %d", id)
		if id == asks {
			who = "this job"
		}
		if !strings.Contains(said[0], fmt.Sprintf("%s holds %d", who, n)) {
			bad("licence: %s holds %d", who, n)
		}
	}
}
