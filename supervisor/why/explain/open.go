package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// freeHosts are the hosts that serve a job and have slots for an instance, by what keeps it from starting.
type freeHosts struct {
	ready, kept, without, short int
	meant                       int   // of the ones that are ready: an instance waits there for an end
	meantOn                     *Host // the first of them
	meantFor                    map[facts.JobID]bool
	lacks                       string // the first resource that is used up on one of them
	memory                      string // for want of what memory it does not start, if nothing else keeps it from it
}

// freeHosts asks of each host what a start asks of it, in the same order.
func (w one) freeHosts() freeHosts {
	if w.c.free != nil {
		return *w.c.free
	}
	var o freeHosts
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
			o.mean(h)
		}
	}
	if most != nil && !enough && o.ready == 0 {
		o.memory = w.memoryShort(most)
	}
	w.c.free = &o
	return o
}

// mean notes for whom the room of a host is meant. Jobs that ask for the same share what is noted, so it leaves out
// none.
func (o *freeHosts) mean(h *Host) {
	if h.MeantFor == 0 {
		return
	}
	if o.meantFor == nil {
		o.meantFor = map[facts.JobID]bool{}
	}
	o.meant++
	o.meantOn, o.meantFor[h.MeantFor] = cmp.Or(o.meantOn, h), true
}

// memoryShort says that no host has the memory for an instance, and who has most.
func (w one) memoryShort(most *Host) string {
	left := units.Size(max(0, most.memory()))
	if w.j.Learned == 0 {
		return fmt.Sprintf("no host with a free slot has memory left; the largest free is %s on %s", left, most.ID)
	}
	return fmt.Sprintf("an instance needs %s, the largest free memory is %s on %s", units.Size(w.j.Learned), left, most.ID)
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
func (w one) openReason() answer {
	o, j, none := w.freeHosts(), w.j, facts.Params{}
	var a answer
	switch short := o.without + o.short; {
	case o.kept > 0 && short+o.ready == 0:
		r := w.Reserved
		a = because(facts.ReasonKeptForJob, facts.Params{Job: r.Job, Host: r.Host},
			fmt.Sprintf("the free slots of %s are kept for job %d, which needs %d at once", r.Host, r.Job, r.Slots))
	case o.ready > 0 && j.Held >= j.Width: // what leaves at its item's end counts until then
		return because(facts.ReasonWidthReached, none, fmt.Sprintf("%s, %d of them leaving at the end of an item",
			j.widthReason(w.Policy.Share, j.Held), j.Held-j.Primary-j.Secondary))
	case o.ready > 0 && w.Planning:
		return because(facts.ReasonAboutToStart, none, "instances of this job are about to start")
	case o.ready > 0 && o.ready == o.meant && !o.meantFor[j.ID]:
		return because(facts.ReasonKeptForJob, facts.Params{Job: o.meantOn.MeantFor, Host: o.meantOn.ID},
			fmt.Sprintf("the free slots of %s are kept for job %d, which starts there when another instance has ended",
				o.meantOn.ID, o.meantOn.MeantFor))
	case o.ready > 0 && w.PutOff:
		return because(facts.ReasonNextPlan, none,
			fmt.Sprintf("an instance of this job has room on %s; it may start with the next plan, which is put off for a moment, as too many plans followed one event",
				facts.Several(o.ready, "host")))
	case o.ready > 0: // a reservation has moved since the plan
		return because(facts.ReasonNextPlan, none,
			fmt.Sprintf("an instance of this job has room on %s; it starts with the next plan, unless a job before this one takes the room", facts.Several(o.ready, "host")))
	case o.without == o.kept+short:
		a = because(facts.ReasonResourceUsedUp, facts.Params{Resource: o.lacks},
			fmt.Sprintf("no host that fits and has free slots has %s left", fit.Quantity(o.lacks, j.Takes[o.lacks])))
	case o.short == o.kept+short && o.memory != "":
		a = because(facts.ReasonMemoryShort, none, o.memory)
	default:
		a = because(facts.ReasonHostsShort, none, "of the hosts with free slots "+strings.Join(w.shortages(o), ", "))
	}
	return a.hint(w.advice())
}

// shortages are what the hosts lack that have slots for an instance.
func (w one) shortages(o freeHosts) (parts []string) {
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

// scattered says why no host has slots for an instance although some are free.
func (w one) scattered() answer {
	why := fmt.Sprintf("no host that fits has the %d free slots that an instance takes", w.j.Slots)
	switch {
	case w.reservedFor(w.j):
		why = fmt.Sprintf("%s is being freed for this job, whose instances take %d slots each", w.Reserved.Host, w.j.Slots)
	case w.j.Idle:
		why = "no host that fits is idle, and an instance takes a whole one"
	}
	parts, _ := w.holders().text(w.j)
	return because(facts.ReasonSlotsScattered, facts.Params{}, why).hint(w.advice()).
		and(fmt.Sprintf("taken of the %d slots that fit: %s", w.g.slots, strings.Join(parts, ", ")))
}

// taken says that no slot is free and who has them.
func (w one) taken() answer {
	parts, alone := w.holders().text(w.j)
	own, mine := w.holders().of(w.j)
	if mine && len(w.holders().jobs) == 1 && own.slots[Ending] == 0 {
		return because(facts.ReasonHasAllSlots, facts.Params{Limit: int64(w.g.slots)}, w.hasAll(own.total())).hint(w.advice())
	}
	text := fmt.Sprintf("all %d slots that fit are taken", w.g.slots)
	if w.g.slots == 1 {
		text = "the one slot that fits is taken"
	}
	text += w.g.foreignText() + w.g.keptText()
	whole := strings.Join(append([]string{text}, parts...), ", ")
	if len(parts) == 1 {
		whole = text + " " + alone
	}
	a := because(facts.ReasonSlotsTaken, facts.Params{}, whole)
	if !fits(whole) {
		a.Cause = text + ", " + most(parts)
	}
	return a.hint(w.advice()).and(w.turn())
}

// hasAll says of a job that holds so many slots, beside which none is free, that it can have no more of them.
func (w one) hasAll(own int) string {
	where := "of all hosts that take work now"
	if w.g.fit < w.g.usable {
		where = "of the hosts that fit"
	}
	has := fmt.Sprintf("this job already has all %d slots %s", own, where)
	switch {
	case own < w.g.slots:
		has = fmt.Sprintf("this job already has %d of the %d slots %s", own, w.g.slots, where)
	case own == 1:
		has = "this job already has the one slot " + where
	}
	return has + w.g.foreignText() + w.g.keptText()
}

// most is the part with the highest number.
func most(parts []string) string {
	return slices.MaxFunc(parts, func(a, b string) int { return cmp.Compare(leading(a), leading(b)) })
}

func leading(part string) int {
	number, _, _ := strings.Cut(part, " ")
	n, _ := strconv.Atoi(number)
	return n
}
