package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/api"
	"qb/internal/units"
)

// What ends an item otherwise than by itself or by the supervisor's order; the outcome in its record.
const (
	OutcomeStopped = "stopped"
	OutcomeMemory  = "memory"
	OutcomeFull    = "full"
	OutcomeTimeout = "timeout"
)

// Why an item was stopped, as a code in its record.
const (
	codeWorkerStopped = "worker_stopped"
	codeHostMemoryLow = "host_memory_low"
	codeNotWanted     = "not_wanted" // no answer lists it any more
)

// unseenMost is how many regular looks in a row may not count: an item that never starts has no memory to look at, and
// a shim that hangs reports nothing new.
const unseenMost = 2

// memoryGrace is between TERM and KILL where memory runs out: there is no time for more.
const memoryGrace = time.Second

func (c *Core) onHostMeasured(ev HostMeasured) {
	c.memory, c.refusing = ev.Memory, ev.Refusing
	if !ev.Between {
		c.identity.Usage = ev.Usage
		c.watchSwap(ev.Swap)
		c.noteProcessors(ev)
		c.stress.kept = ev.Kept
		c.returnKept()
		c.refusing = cmp.Or(ev.Refusing, c.swapText())
	}
	m := &c.memory
	if m.Total <= 0 {
		return
	}
	c.noteForeign(m.Total-m.Available-ev.Others, ev)
	c.relieve()
}

// noteForeign reckons what others than the farm's items use: what is used, less what our items had when they were last
// measured. An item may have less by the time of the look, or be gone, and it was not reported yet: then too much is
// taken off. What is heard of it next corrects the look (noteLess), and the more of the last two regular looks counts,
// of which the former has been corrected by then. A look between them may raise that, never lower it. What an item has
// that was never measured would be taken for others'; so such a look does not count, unless it is so for long. Nor does
// a look before which an item was not measured since the last that counted, as one before and one after the host slept:
// that one is not yet corrected. It only raises, unless it is so for long. An item whose shim does not answer may be
// gone, and what it had is free or others' by now: it is taken off no more.
func (c *Core) noteForeign(used int64, ev HostMeasured) {
	unseen, again := false, false
	var off []*instance
	for _, i := range c.instances {
		if !slices.Contains(ev.Ended, i.key) && i.state != StateUnknown {
			off = append(off, i)
			used -= i.memory
			unseen = unseen || (i.memory == 0 && i.state != StateIdle && i.state != StateClosing)
			again = again || (i.memory > 0 && i.counted)
		}
	}
	early := (unseen || again) && c.looks >= 2 && c.unseen < unseenMost
	if early && !ev.Between {
		c.unseen++
	}
	switch {
	case early && unseen:
	case early, ev.Between:
		c.raised = max(c.raised, used)
	default:
		c.foreign, c.raised = [2]int64{max(c.foreign[1], c.raised), used}, 0
		c.looks = c.looks + 1
		c.unseen = 0
		c.lookedAt = c.now
		for _, i := range off {
			i.counted = true
		}
	}
	c.tellForeign()
}

// noteLess corrects the last look at the host that counted: it took off what the item had when it was last measured,
// and the next that is heard of it is that it has so much.
func (c *Core) noteLess(i *instance, now int64) {
	if i.counted {
		c.foreign[1] += max(0, i.memory-now)
		c.tellForeign()
	}
	i.counted = false
}

// goneAtLook says whether the item had ended by the last look at the host that counted. Its shim's clock tells for how
// long it lived on after it was measured.
func (c *Core) goneAtLook(i *instance, f api.Finished) bool {
	return i.measured+Moment((f.Wall-i.wall)*float64(time.Second)) <= c.lookedAt
}

func (c *Core) tellForeign() {
	c.memory.Foreign = min(max(0, c.foreign[0], c.foreign[1], c.raised), c.memory.Total)
}

// promised is what the supervisor wants of the instance's attempt, if it still does.
func (c *Core) promised(i *instance) (api.Desired, bool) {
	want, ok := c.wish.of(i, c.records)
	return want, ok && want.Attempt == i.attempt
}

// admits says whether a start still fits: what is available, less what others were promised and do not
// have yet. Foreign use may have taken it since the supervisor reckoned. A little less than promised will
// do, as what is available moves all the time.
func (c *Core) admits(want api.Desired) bool {
	m := c.memory
	if m.Total <= 0 || want.Memory <= 0 {
		return true
	}
	left := m.Available - m.Reserve
	for _, i := range c.instances {
		switch d, ok := c.promised(i); {
		case i.loaded && i.key == (Key{want.Attempt.Job, want.Instance}): // the program that gets the item has it
			left += i.memory
		case ok && (i.state != StateIdle || i.loaded) && i.state != StateClosing:
			left -= max(0, d.Memory-i.memory)
		}
	}
	if want.Memory <= left+max(want.Memory/8, m.Total/32) {
		return true
	}
	former := c.instances[Key{want.Attempt.Job, want.Instance}]
	c.records[want.Attempt] = &record{finished: api.Finished{Attempt: want.Attempt, Instance: want.Instance,
		Outcome: OutcomeFull, Loaded: former != nil && former.loaded,
		Reason: fmt.Sprintf("the item was not started: it needs %s of memory, %s are available, %s of them in reserve or promised to others",
			units.Size(want.Memory), units.Size(m.Available), units.Size(max(0, m.Available-left)))}}
	return false
}

// relieve ends one item when the host falls under its reserve, at the second look or at once if half of it
// is gone: of the secondaries, else of all, the one furthest over its need. One goes at a time. An instance that is
// within its need did nothing wrong; it is put back as it was.
func (c *Core) relieve() {
	m := c.memory
	if m.Reserve <= 0 || m.Available >= m.Reserve || c.closing != "" {
		c.pressed = 0
		return
	}
	c.pressed++
	if c.pressed < 2 && m.Available > m.Reserve/2 {
		return
	}
	victim, over := c.furthestOver()
	if victim == nil {
		return
	}
	o := StopItem{Key: victim.key, Attempt: victim.attempt, Grace: min(c.grace, memoryGrace), Outcome: OutcomeMemory,
		Reason: fmt.Sprintf("the host had only %s of memory left of the %s in reserve, and the item had %s more than it needs", units.Size(m.Available), units.Size(m.Reserve), units.Size(over))}
	if over <= 0 {
		o.Outcome = OutcomeStopped
		o.Code = codeHostMemoryLow
		o.Reason = fmt.Sprintf("the host had only %s of memory left of the %s in reserve", units.Size(m.Available),
			units.Size(m.Reserve))
	}
	c.end(victim, o)
}

// furthestOver is the item that goes first when memory runs out, and by how much it is over its need; nil
// if none is to go, also because one is on its way.
func (c *Core) furthestOver() (victim *instance, over int64) {
	var secondary bool
	for _, i := range c.sortedInstances() {
		if i.stopped && !i.stuck && i.state != StateIdle && i.state != StateClosing {
			return nil, 0 // its memory is on the way
		}
		want, ok := c.promised(i)
		if !ok || i.memory <= 0 || (i.state != StateRunning && i.state != StateFrozen && i.state != StateSuspended) {
			continue
		}
		by, second := i.memory-want.Memory, want.Kind == "secondary"
		if victim == nil || cmp.Or(compareBools(by > 0, over > 0), compareBools(second, secondary),
			cmp.Compare(by, over)) > 0 {
			victim, over, secondary = i, by, second
		}
	}
	return victim, over
}

// compareBools puts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// watchLimits ends an item that has run beyond its hard limit of memory, where the kernel does not, or beyond its time
// limit. The item of a load-once program counts as running from the start of that: the program may never take it.
func (c *Core) watchLimits(i *instance) {
	want, ok := c.promised(i)
	if !ok || i.state != StateRunning && !(i.state == StateStarting && c.specs[i.key.Job].LoadOnce) {
		return
	}
	switch {
	case want.HardLimit && want.Memory > 0 && i.memory > want.Memory && !i.held:
		c.end(i, StopItem{Key: i.key, Attempt: i.attempt, Outcome: OutcomeMemory, Limit: true,
			Reason: fmt.Sprintf("the item had %s, its limit is %s", units.Size(i.memory), units.Size(want.Memory))})
	case want.TimeLimit > 0 && i.wall >= want.TimeLimit:
		c.end(i, StopItem{Key: i.key, Attempt: i.attempt, Grace: c.grace, Outcome: OutcomeTimeout,
			Reason: fmt.Sprintf("the item ran for %.0f s, its time limit is %.0f s", i.wall, want.TimeLimit)})
	}
}

// end is a stop of the agent's own: the attempt stays desired until its record is reported.
func (c *Core) end(i *instance, o StopItem) {
	if i.stopped {
		return
	}
	i.stopped, i.state = true, StateStopping
	c.order(o)
}
