package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// sight keeps, while the farm stands still, what jobs that ask for the same would each look up again.
type sight struct {
	keys     fit.Keys
	surveys  map[string]survey
	holders  map[string]holders
	openings map[string]openings
	outlooks map[string]outlook
	changes  map[string][]change
	licences map[string]licence
	surplus  map[string]int // of each user, in instances
}

func (f *Farm) newSight() *sight {
	return &sight{f.keys(), map[string]survey{}, map[string]holders{}, map[string]openings{}, map[string]outlook{}, map[string][]change{}, map[string]licence{}, map[string]int{}}
}

// holdersFor are those who hold slots of the hosts that serve the job. The job was surveyed before.
func (f *Farm) holdersFor(j *job, sight *sight) holders {
	key := sight.keys.Of(j.asks())
	found, known := sight.holders[key]
	if !known {
		found = holdersOn(sight.surveys[key].fitting)
		sight.holders[key] = found
	}
	return found
}

// openings are the hosts that serve a job and have slots for an instance, by what keeps it from starting.
type openings struct {
	ready, kept, without, thirsty int
	lacks                         string // the first resource that is used up on one of them
	thirst                        string
}

// openingKey is equal for jobs that have room on the same hosts now.
func (f *Farm) openingKey(j *job, sight *sight) string {
	key := fmt.Sprint(sight.keys.Of(j.asks()), "\x00", j.book.need, " ", j.needs.Memory, " ", j.needs.Slots)
	if r := f.reserved; r != nil {
		key += fmt.Sprint(" ", r.job == j, " ", j.expectedItem(), " ", j.nextKind(), " ", f.standing(j, r.host))
	}
	return key
}

// openingsFor asks of each host what a start asks of it, in the same order.
func (f *Farm) openingsFor(now time.Time, j *job, sight *sight) openings {
	key := f.openingKey(j, sight)
	o, known := sight.openings[key]
	if known {
		return o
	}
	for _, h := range sight.surveys[sight.keys.Of(j.asks())].open {
		slots := h.grants(j.needs)
		switch {
		case slots == 0:
		case !f.mayUse(now, j, h, j.nextKind()):
			o.kept++
		case f.startable(j.needs, h) == 0:
			o.without++
			o.lacks = cmp.Or(o.lacks, usedUp(j.needs, h))
		case !f.fitsMemory(now, j, h, slots):
			o.thirsty++
		default:
			o.ready++
		}
	}
	if o.thirsty > 0 {
		o.thirst = f.thirst(now, j, f.sortedHosts())
	}
	sight.openings[key] = o
	return o
}

// usedUp is the first resource of which the host has too little left for an instance.
func usedUp(n fit.Needs, h *host) string {
	for _, name := range slices.Sorted(maps.Keys(n.Takes)) {
		if strings.HasPrefix(name, "host.") && h.Stock(name)-h.held(name) < n.Takes[name] {
			return name
		}
	}
	return ""
}

// openReason says why a job does not start where an instance of it has the slots.
func (f *Farm) openReason(now time.Time, j *job, s survey, sight *sight) facts.Why {
	o := f.openingsFor(now, j, sight)
	primary, secondary, _ := j.counts()
	var why facts.Why
	switch short := o.without + o.thirsty; {
	case o.kept > 0 && short+o.ready == 0:
		r := f.reserved
		why = facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: r.job.ID, Host: r.host.ID},
			Cause: fmt.Sprintf("the free slots of %s are kept for job %d, which needs %d at once", r.host.ID, r.job.ID, r.job.needs.Slots)}
	case o.ready > 0 && j.held() >= f.width(j): // what leaves at its item's end counts until then
		return facts.Why{Reason: facts.ReasonWidthReached, Cause: fmt.Sprintf("%s, %d of them leaving at the end of an item", f.widthReason(j, j.held()), j.held()-primary-secondary)}
	case o.ready > 0 && f.dirty:
		return facts.Why{Reason: facts.ReasonAboutToStart, Cause: "its instances are about to start"}
	case o.ready > 0: // a reservation has moved since the plan
		return facts.Why{Reason: facts.ReasonNextPlan, Cause: fmt.Sprintf("an instance has room on %s; it starts with the next plan, unless a job before it takes the room", several(o.ready, "host"))}
	case o.without == o.kept+short:
		why = facts.Why{Reason: facts.ReasonResourceUsedUp, Params: facts.Params{Resource: o.lacks},
			Cause: fmt.Sprintf("too little of %s is left on the hosts that fit and have free slots, an instance takes %s", o.lacks, fit.Amount(o.lacks, j.needs.Takes[o.lacks]))}
	case o.thirsty == o.kept+short && o.thirst != "":
		why = facts.Why{Reason: facts.ReasonMemoryShort, Cause: o.thirst}
	default:
		why = facts.Why{Reason: facts.ReasonHostsShort, Cause: "of the hosts that fit and have free slots " + strings.Join(f.shortages(o), ", ")}
	}
	why.Cause += f.advice(now, j, s, sight)
	return why
}

// shortages are what the hosts lack that have slots for an instance.
func (f *Farm) shortages(o openings) (parts []string) {
	if o.kept > 0 {
		parts = append(parts, fmt.Sprintf("%s is kept for job %d", f.reserved.host.ID, f.reserved.job.ID))
	}
	if o.without > 0 {
		parts = append(parts, fmt.Sprintf("on %d too little of %s is left", o.without, o.lacks))
	}
	if o.thirsty > 0 {
		parts = append(parts, fmt.Sprintf("on %d too little memory", o.thirsty))
	}
	return parts
}

// narrowReason says why no host has slots for an instance although some are free.
func (f *Farm) narrowReason(j *job, s survey, sight *sight) string {
	why := fmt.Sprintf("an instance takes %d slots of one host, and no host that fits has so many free", j.needs.Slots)
	switch {
	case f.reserved != nil && f.reserved.job == j:
		why = fmt.Sprintf("an instance takes %d slots of one host; %s is being freed for it", j.needs.Slots, f.reserved.host.ID)
	case j.needs.Idle:
		why = "an instance takes a host that runs nothing else, and none that fits is idle"
	}
	parts, _ := f.holdersFor(j, sight).text(j)
	return fmt.Sprintf("%s; of their %d slots are taken %s", why, s.slots, strings.Join(parts, ", "))
}

// takenText says that no slot is free and who has them.
func (f *Farm) takenText(j *job, s survey, sight *sight) string {
	what := func(where, one string) string {
		if s.slots == 1 {
			return "the one slot " + one + " is taken"
		}
		return fmt.Sprintf("all %d slots %s are taken", s.slots, where)
	}
	text := what("that fit", "that fits")
	if s.fit < s.usable {
		text = j.fitText(s) + "; " + what("there", "there")
	}
	parts, alone := f.holdersFor(j, sight).text(j)
	if len(parts) == 1 {
		return text + " " + alone
	}
	return strings.Join(append([]string{text}, parts...), ", ")
}

// fitText says how many hosts serve the job; if it asks for one thing only, what that is.
func (j *job) fitText(s survey) string {
	all, required := j.clauses(), j.needs.Required.Clauses()
	switch {
	case s.closed == 0 && len(all) == 1 && len(required) == 0:
		return all[0].count(s.fit, s.usable)
	case s.closed == 0 && len(all) == 0 && len(required) == 1:
		return fmt.Sprintf("%s holds on %d of %s", required[0], s.fit, several(s.usable, "host"))
	case s.fit == 1:
		return fmt.Sprintf("1 of %s fits", several(s.usable, "host"))
	}
	return fmt.Sprintf("%d of %s fit", s.fit, several(s.usable, "host"))
}

// widthReason says why the job takes no more instances.
func (f *Farm) widthReason(j *job, runs int) string {
	width := f.width(j)
	if runs <= width {
		return fmt.Sprintf("it runs as wide as it may: %s (%s)", several(width, "instance"), f.widthCause(j))
	}
	if f.policy.Share.Preempt == "disabled" {
		return fmt.Sprintf("it may run %s (%s); it runs %d, as none is taken back while supervisor_smart_share_preempt_policy is disabled", several(width, "instance"), f.widthCause(j), runs)
	}
	return fmt.Sprintf("it may run %s (%s); it runs %d, and the others leave", several(width, "instance"), f.widthCause(j), runs)
}

// widerText says how a job that runs as wide as it may, while items wait, could run wider; "" if it is not so.
func (f *Farm) widerText(j *job) string {
	p, width := f.policy.Share, f.width(j)
	most := min(j.remaining(), p.MaxCPUsLimit)
	switch {
	case j.pending() == 0 || j.held() < width:
		return ""
	case p.Mode != "none" && j.hasAgenda() && most > width:
		return fmt.Sprintf("with qbmodify -mmax_cpus %d it may run %d wide", most, most)
	}
	return fmt.Sprintf("with qbmodify -mcpus %d it may run %d wide", j.remaining(), j.remaining())
}

// are counts things that are in some state: "1 item is", "2 items are".
func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return several(n, what) + " are"
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// widthCause names the limit that width comes from.
func (f *Farm) widthCause(j *job) string {
	s := f.policy.Share
	raw, whose := s.DefaultMaxCPUs, "supervisor_default_max_cpus"
	if j.MaxCPUs != nil {
		raw, whose = *j.MaxCPUs, "max_cpus"
	}
	switch {
	case s.Mode == "none":
		return fmt.Sprintf("cpus %d, SmartShare is off", j.CPUs)
	case !j.hasAgenda():
		return fmt.Sprintf("cpus %d, a job without an agenda takes no surplus", j.CPUs)
	case f.width(j) == j.CPUs && j.CPUs > s.MaxCPUsLimit && raw != 0:
		return fmt.Sprintf("cpus %d, supervisor_max_cpus_limit %d", j.CPUs, s.MaxCPUsLimit)
	case f.width(j) == j.CPUs:
		return fmt.Sprintf("cpus %d, %s %d", j.CPUs, whose, raw)
	case raw < 0 || raw > s.MaxCPUsLimit:
		return fmt.Sprintf("cpus %d, supervisor_max_cpus_limit %d", j.CPUs, s.MaxCPUsLimit)
	}
	return fmt.Sprintf("cpus %d, %s %d", j.CPUs, whose, raw)
}
