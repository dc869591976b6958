package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// nearMisses is what each thing that a job asks costs it: the hosts that take work and lack that alone.
type nearMisses struct {
	alone   [][]*Host // by clause; of the ones that can be asked for in part, who has most of it first
	failing [][]*Host // by clause of the requirements
}

// nearMisses looks at the hosts that do not serve the job.
func (w one) nearMisses() nearMisses {
	if w.g.nearMisses != nil {
		return *w.g.nearMisses
	}
	all, bare := clausesOf(&w.j.Job), w.j.Bare()
	less := make([]fit.Job, len(all))
	for n, c := range all {
		less[n] = w.j.Job
		c.copy(&less[n], &bare)
	}
	free := w.j.Job
	free.Required = fit.NoRequirement
	o := nearMisses{alone: make([][]*Host, len(all)), failing: make([][]*Host, len(w.j.Required.Clauses()))}
	for at := range w.Hosts {
		h := &w.Hosts[at]
		if !h.Usable() || w.serves(&w.j.Job, h) {
			continue
		}
		for n := range all {
			if w.serves(&less[n], h) {
				o.alone[n] = append(o.alone[n], h)
			}
		}
		if failing := w.j.Failing(h.Host, h.Load); len(failing) == 1 && w.serves(&free, h) {
			o.failing[failing[0].Clause] = append(o.failing[failing[0].Clause], h)
		}
	}
	for n, c := range all {
		if c.has != nil {
			slices.SortStableFunc(o.alone[n], func(a, b *Host) int { return cmp.Compare(c.has(b), c.has(a)) })
		}
	}
	w.g.nearMisses = &o
	return o
}

// change is one thing that a user could ask for otherwise: how many more hosts would then fit, and how many of
// those have room for an instance now. Of hosts that fit anyway, more is 0 and on names one.
type change struct {
	way        string
	more, room int
	on         facts.HostID
}

func (c change) text(fit int) string {
	if c.more == 0 {
		where := "on " + string(c.on)
		if c.on == "" {
			where = "for one more instance"
		}
		return fmt.Sprintf("%s there is room %s now", c.way, where)
	}
	hosts := facts.Several(c.more, "more host")
	if fit == 0 {
		hosts = facts.Several(c.more, "host")
	}
	room := fmt.Sprintf("%d with room now", c.room)
	switch {
	case c.room == c.more:
		room = "with room now"
	case c.room == 0 && c.more == 1:
		room = "without room now"
	case c.room == 0:
		room = "none with room now"
	}
	return fmt.Sprintf("%s %s would fit, %s", c.way, hosts, room)
}

// changes lists what would let the job start on more hosts: one thing at a time, and of each as little as helps.
func (w one) changes() []change {
	if w.c.changes != nil {
		return *w.c.changes
	}
	o := w.nearMisses()
	var list []change
	for n, c := range clausesOf(&w.j.Job) {
		if n >= len(o.alone) {
			break
		}
		if ch := w.changeOf(c, o.alone[n]); ch.more > 0 {
			list = append(list, ch)
		}
	}
	for n, text := range w.j.Required.Clauses() {
		if hosts := o.failing[n]; len(hosts) > 0 {
			less := w.j.Job
			less.Required = fit.NoRequirement
			list = append(list, change{way: "without " + text, more: len(hosts), room: w.rooms(&less, hosts)})
		}
	}
	for _, c := range clausesOf(&w.j.Job) {
		if ch, helps := w.lesserNow(c); helps {
			list = append(list, ch)
		}
	}
	list = append(list, w.licenceChanges()...)
	w.c.changes = &list
	return list
}

// changeOf says how the job could ask less of one thing, where these hosts lack that alone.
func (w one) changeOf(c clause, alone []*Host) change {
	if len(alone) == 0 {
		return change{}
	}
	less := w.j.Job
	tried := int64(-1)
	for n := 0; c.has != nil && n < min(len(alone), amountsTried); n++ {
		amount := c.has(alone[n])
		if amount == tried {
			continue
		}
		if tried = amount; amount <= 0 {
			break
		}
		least := amount
		if c.memory {
			amount = wholeUnits(amount)
			least = w.needIfAsked(amount)
		}
		if enough := sort.Search(len(alone), func(n int) bool { return c.has(alone[n]) < least }); enough > 0 {
			c.set(&less, least)
			return change{way: "with " + c.part(amount), more: enough, room: w.rooms(&less, alone[:enough])}
		}
	}
	if c.way == "" {
		return change{}
	}
	bare := w.j.Bare()
	c.copy(&less, &bare)
	return change{way: c.way, more: len(alone), room: w.rooms(&less, alone)}
}

// lesserNow says with how much less of one thing the job would have room on a host that fits anyway: as much as is
// left on the host with the most.
func (w one) lesserNow(c clause) (change, bool) {
	if c.left == nil || w.licensed(&w.j.Job) == 0 || w.rooms(&w.j.Job, w.g.fitting) > 0 {
		return change{}, false
	}
	var best *Host
	most := int64(0)
	for _, h := range w.g.fitting {
		amount := c.left(h)
		if amount <= most {
			continue
		}
		less := w.j.Job
		if c.memory {
			amount = wholeUnits(amount)
			if w.needIfAsked(amount) > c.left(h) {
				continue
			}
		}
		c.set(&less, amount)
		if amount > most && w.room(&less, h) {
			best, most = h, amount
		}
	}
	if best == nil {
		return change{}, false
	}
	return change{way: "with " + c.part(most), room: 1, on: best.ID}, true
}

// needIfAsked is the memory that the job would need if it asked for so many bytes: by what its items have taught.
func (w one) needIfAsked(bytes int64) int64 {
	w.passing = true
	return w.NeedIfAsked(w.j.ID, bytes)
}

// room says whether an instance of the job, if it asked for less, could start on a host that serves it now, were it the
// job's turn.
func (w one) room(less *fit.Job, h *Host) bool {
	slots := less.Grant(h.Free, h.Used)
	return slots > 0 && w.mayUse(w.j, h) && less.Startable(true, h.left) != 0 && w.fitsMemory(less, h, slots)
}

// rooms counts the hosts with room.
func (w one) rooms(less *fit.Job, hosts []*Host) (n int) {
	if w.licensed(less) == 0 {
		return 0
	}
	for _, h := range hosts {
		if w.room(less, h) {
			n++
		}
	}
	return n
}

// amountsTried bounds the amounts of memory that are looked at for one explanation.
const amountsTried = 100

// advice is the one change that would help most, to be added to a reason; "" if none helps: a change that gives room
// now on most hosts, else one by which most hosts fit.
func (w one) advice() string {
	var best change
	for _, c := range w.changes() {
		if cmp.Or(cmp.Compare(c.room, best.room), cmp.Compare(c.more, best.more)) > 0 {
			best = c
		}
	}
	if best.more+best.room == 0 {
		return ""
	}
	return best.text(w.g.fit)
}
