package farm

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// outlook is what each thing that a job asks costs it: the hosts that take work and lack that alone.
type outlook struct {
	alone   [][]*host // by clause; of those that can be asked for in part, who has most of it first
	failing [][]*host // by clause of the requirements
}

// outlookFor looks at the hosts that do not serve the job; jobs that ask for the same share an answer.
func (f *Farm) outlookFor(now time.Time, j *job, sight *sight) outlook {
	key := sight.keys.Of(j.asks())
	if o, ok := sight.outlooks[key]; ok {
		return o
	}
	all, bare := j.clauses(), j.bare()
	o := outlook{alone: make([][]*host, len(all)), failing: make([][]*host, len(j.needs.Required.Clauses()))}
	for _, h := range f.sortedHosts() {
		if !h.usable(now, f.policy) || h.serves(now, j) {
			continue
		}
		for n, c := range all {
			less := *j
			c.copy(&less, bare)
			if h.serves(now, &less) {
				o.alone[n] = append(o.alone[n], h)
			}
		}
		if failing := j.asks().Failing(&h.Host, load{h, nil}); len(failing) == 1 {
			less := *j
			less.needs.Required = fit.NoRequirement
			if h.serves(now, &less) {
				o.failing[failing[0].Clause] = append(o.failing[failing[0].Clause], h)
			}
		}
	}
	for n, c := range all {
		if c.has != nil {
			slices.SortStableFunc(o.alone[n], func(a, b *host) int { return cmp.Compare(c.has(b), c.has(a)) })
		}
	}
	sight.outlooks[key] = o
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
	hosts := several(c.more, "more host")
	if fit == 0 {
		hosts = several(c.more, "host")
	}
	room := fmt.Sprintf("%d with room now", c.room)
	switch {
	case c.room == c.more && c.more == 1:
		room = "with room now"
	case c.room == c.more:
		room = "all with room now"
	case c.room == 0 && c.more == 1:
		room = "without room now"
	case c.room == 0:
		room = "none with room now"
	}
	return fmt.Sprintf("%s %s would fit, %s", c.way, hosts, room)
}

// changesFor lists what would let the job start on more hosts: one thing at a time, and of each as little as helps.
func (f *Farm) changesFor(now time.Time, j *job, s survey, sight *sight) []change {
	key := f.openingKey(j, sight)
	if list, known := sight.changes[key]; known {
		return list
	}
	o := f.outlookFor(now, j, sight)
	var list []change
	for n, c := range j.clauses() {
		if n >= len(o.alone) {
			break
		}
		if ch := f.changeOf(now, j, c, o.alone[n]); ch.more > 0 {
			list = append(list, ch)
		}
	}
	for n, text := range j.needs.Required.Clauses() {
		if hosts := o.failing[n]; len(hosts) > 0 {
			less := *j
			less.needs.Required = fit.NoRequirement
			list = append(list, change{way: "without " + text, more: len(hosts), room: f.rooms(now, &less, hosts)})
		}
	}
	for _, c := range j.clauses() {
		if ch, helps := f.lesserNow(now, j, c, s.fitting); helps {
			list = append(list, ch)
		}
	}
	list = append(list, f.licenceChanges(now, j, s, sight)...)
	sight.changes[key] = list
	return list
}

// changeOf says how the job could ask less of one thing, where these hosts lack that alone.
func (f *Farm) changeOf(now time.Time, j *job, c clause, alone []*host) change {
	if len(alone) == 0 {
		return change{}
	}
	less := *j
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
			least = f.needIfAsked(now, j, amount)
		}
		if enough := sort.Search(len(alone), func(n int) bool { return c.has(alone[n]) < least }); enough > 0 {
			c.set(&less, least)
			return change{way: "with " + c.part(amount), more: enough, room: f.rooms(now, &less, alone[:enough])}
		}
	}
	if c.way == "" {
		return change{}
	}
	c.copy(&less, j.bare())
	return change{way: c.way, more: len(alone), room: f.rooms(now, &less, alone)}
}

// lesserNow says with how much less of one thing the job would have room on a host that fits anyway: as much as is
// left on the host with the most.
func (f *Farm) lesserNow(now time.Time, j *job, c clause, fitting []*host) (change, bool) {
	if c.left == nil || f.startable(j.needs, nil) == 0 || f.rooms(now, j, fitting) > 0 {
		return change{}, false
	}
	var best *host
	most := int64(0)
	for _, h := range fitting {
		amount := c.left(h)
		if amount <= most {
			continue
		}
		less := *j
		if c.memory {
			amount = wholeUnits(amount)
			if f.needIfAsked(now, j, amount) > c.left(h) {
				continue
			}
		}
		c.set(&less, amount)
		if amount > most && f.room(now, &less, h) {
			best, most = h, amount
		}
	}
	if best == nil {
		return change{}, false
	}
	return change{way: "with " + c.part(most), room: 1, on: best.ID}, true
}

// room says whether an instance of the job could start on a host that serves it now, were it the job's turn.
func (f *Farm) room(now time.Time, j *job, h *host) bool {
	slots, kept := h.grants(j.needs), f.reserved != nil && f.reserved.job.ID == j.ID // j may be a copy that asks for less
	return slots > 0 && (kept || f.mayUse(now, j, h, j.nextKind())) && f.startable(j.needs, h) != 0 && f.fitsMemory(now, j, h, slots)
}

// rooms counts the hosts with room.
func (f *Farm) rooms(now time.Time, j *job, hosts []*host) (n int) {
	if f.startable(j.needs, nil) == 0 {
		return 0
	}
	for _, h := range hosts {
		if f.room(now, j, h) {
			n++
		}
	}
	return n
}

// needIfAsked is what an instance would need if that much memory were asked for.
func (f *Farm) needIfAsked(now time.Time, j *job, amount int64) int64 {
	less := *j
	less.needs.Memory, less.book.need = amount, 0
	next, _ := j.tally.NextPending()
	if need, _ := j.book.learned(f.policy.Memory, amount, facts.ItemNo(next)); need > amount {
		f.refreshNeed(now, &less)
	}
	return max(amount, less.book.need)
}

// amountsTried bounds the amounts of memory that are looked at for one explanation.
const amountsTried = 100

// advice is the one change that would help most, to be added to a reason; "" if none helps: one that gives room now
// on most hosts, else one by which most hosts fit.
func (f *Farm) advice(now time.Time, j *job, s survey, sight *sight) string {
	var best change
	for _, c := range f.changesFor(now, j, s, sight) {
		if cmp.Or(cmp.Compare(c.room, best.room), cmp.Compare(c.more, best.more)) > 0 {
			best = c
		}
	}
	if best.more+best.room == 0 {
		return ""
	}
	return "; " + best.text(s.fit)
}
