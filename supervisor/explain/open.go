package explain

import (
	"cmp"
	"fmt"
	"strings"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// openings are the hosts that serve a job and have slots for an instance, by what keeps it from starting.
type openings struct {
	ready, kept, without, short int
	meant                       int    // of those that are ready: another job's instance waits there for an end
	meantOn                     *Host  // the first of them
	lacks                       string // the first resource that is used up on one of them
	memory                      string // for want of what memory it does not start, if nothing else keeps it from it
}

// openings asks of each host what a start asks of it, in the same order.
func (w one) openings() openings {
	if w.c.openings != nil {
		return *w.c.openings
	}
	var o openings
	var most *Host // of those short of memory, the one with the most
	enough := false
	for _, h := range w.g.open {
		slots := w.j.Grant(h.Free, h.Used)
		switch {
		case slots == 0:
		case !w.mayUse(w.j, h):
			o.kept++
		case w.j.Startable(true, h.left) == 0:
			o.without++
			o.lacks = cmp.Or(o.lacks, w.j.usedUp(h))
		case !w.fitsMemory(&w.j.Job, h, slots):
			o.short++
			enough = enough || w.fitsMemory(&w.j.Job, h, w.j.Slots)
			if most == nil || h.memory() > most.memory() {
				most = h
			}
		default:
			o.ready++
			if h.MeantFor != 0 && h.MeantFor != w.j.ID {
				o.meant++
				o.meantOn = cmp.Or(o.meantOn, h)
			}
		}
	}
	if most != nil && !enough && o.ready == 0 {
		o.memory = w.memoryShort(most)
	}
	w.c.openings = &o
	return o
}

// memoryShort says that no host has the memory for an instance, and who has most.
func (w one) memoryShort(most *Host) string {
	left := facts.Size(max(0, most.memory()))
	if w.j.Learned == 0 {
		return fmt.Sprintf("no host with a free slot has memory left; the largest free is %s on %s", left, most.ID)
	}
	return fmt.Sprintf("an instance needs %s of memory, the largest free is %s on %s", facts.Size(w.j.Learned), left, most.ID)
}

// fitsMemory says whether the host has the memory for one more instance of the job, which takes so many slots.
func (x *Explainer) fitsMemory(j *fit.Job, h *Host, slots int) bool {
	if !h.Limited {
		return true
	}
	if h.Full {
		return false
	}
	need := j.Learned
	if need == 0 {
		need = min(x.Policy.Memory, h.PerIdle*int64(max(1, slots)))
	}
	return need <= h.Ledger && (need > 0 || x.Policy.Memory == 0)
}

// openReason says why a job does not start where an instance of it has the slots.
func (w one) openReason() facts.Why {
	o, j := w.openings(), w.j
	var why facts.Why
	switch short := o.without + o.short; {
	case o.kept > 0 && short+o.ready == 0:
		r := w.Reserved
		why = facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: r.Job, Host: r.Host},
			Cause: fmt.Sprintf("the free slots of %s are kept for job %d, which needs %d at once", r.Host, r.Job, r.Slots)}
	case o.ready > 0 && j.Held >= j.Width: // what leaves at its item's end counts until then
		return facts.Why{Reason: facts.ReasonWidthReached, Cause: fmt.Sprintf("%s, %d of them leaving at the end of an item",
			j.widthReason(w.Policy.Share, j.Held), j.Held-j.Primary-j.Secondary)}
	case o.ready > 0 && w.Planning:
		return facts.Why{Reason: facts.ReasonAboutToStart, Cause: "its instances are about to start"}
	case o.ready > 0 && o.ready == o.meant:
		return facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: o.meantOn.MeantFor, Host: o.meantOn.ID},
			Cause: fmt.Sprintf("the free slots of %s are kept for job %d, which starts there when another instance has ended", o.meantOn.ID, o.meantOn.MeantFor)}
	case o.ready > 0: // a reservation has moved since the plan
		return facts.Why{Reason: facts.ReasonNextPlan, Cause: fmt.Sprintf("an instance has room on %s; it starts with the next plan, unless a job before it takes the room", facts.Several(o.ready, "host"))}
	case o.without == o.kept+short:
		why = facts.Why{Reason: facts.ReasonResourceUsedUp, Params: facts.Params{Resource: o.lacks},
			Cause: fmt.Sprintf("too little of %s is left on the hosts that fit and have free slots, an instance takes %s", o.lacks, fit.Amount(o.lacks, j.Takes[o.lacks]))}
	case o.short == o.kept+short && o.memory != "":
		why = facts.Why{Reason: facts.ReasonMemoryShort, Cause: o.memory}
	default:
		why = facts.Why{Reason: facts.ReasonHostsShort, Cause: "of the hosts that fit and have free slots " + strings.Join(w.shortages(o), ", ")}
	}
	why.Cause += w.advice()
	return why
}

// shortages are what the hosts lack that have slots for an instance.
func (w one) shortages(o openings) (parts []string) {
	if o.kept > 0 {
		parts = append(parts, fmt.Sprintf("%s is kept for job %d", w.Reserved.Host, w.Reserved.Job))
	}
	if o.without > 0 {
		parts = append(parts, fmt.Sprintf("on %d too little of %s is left", o.without, o.lacks))
	}
	if o.short > 0 {
		parts = append(parts, fmt.Sprintf("on %d too little memory", o.short))
	}
	return parts
}

// narrowReason says why no host has slots for an instance although some are free.
func (w one) narrowReason() string {
	why := fmt.Sprintf("an instance takes %d slots of one host, and no host that fits has so many free", w.j.Slots)
	switch {
	case w.reservedFor(w.j):
		why = fmt.Sprintf("an instance takes %d slots of one host; %s is being freed for it", w.j.Slots, w.Reserved.Host)
	case w.j.Idle:
		why = "an instance takes a host that runs nothing else, and none that fits is idle"
	}
	parts, _ := w.holders().text(w.j)
	return fmt.Sprintf("%s; of their %d slots are taken %s", why, w.g.slots, strings.Join(parts, ", "))
}

// takenText says that no slot is free and who has them.
func (w one) takenText() string {
	what := func(where, one string) string {
		if w.g.slots == 1 {
			return "the one slot " + one + " is taken"
		}
		return fmt.Sprintf("all %d slots %s are taken", w.g.slots, where)
	}
	text := what("that fit", "that fits")
	if w.g.fit < w.g.usable {
		text = w.fitText() + "; " + what("there", "there")
	}
	parts, alone := w.holders().text(w.j)
	if len(parts) == 1 {
		return text + " " + alone
	}
	return strings.Join(append([]string{text}, parts...), ", ")
}

// fitText says how many hosts serve the job; if it asks for one thing only, what that is.
func (w one) fitText() string {
	all, required, s := clausesOf(&w.j.Job), w.j.Required.Clauses(), &w.g.survey
	switch {
	case s.closed == 0 && len(all) == 1 && len(required) == 0:
		return all[0].count(s.fit, s.usable)
	case s.closed == 0 && len(all) == 0 && len(required) == 1:
		return fmt.Sprintf("%s holds on %d of %s", required[0], s.fit, facts.Several(s.usable, "host"))
	case s.fit == 1:
		return fmt.Sprintf("1 of %s fits", facts.Several(s.usable, "host"))
	}
	return fmt.Sprintf("%d of %s fit", s.fit, facts.Several(s.usable, "host"))
}
