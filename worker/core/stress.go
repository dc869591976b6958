package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"qb/api"
	"qb/internal/units"
)

const codeHostSwapping = "host_swapping"

// How long a host has to swap until something follows, and how long it has to be quiet until it is over.
const (
	swapLooks    = 2 // regular looks in a row: one alone may be a program that starts
	swapPatience = 10 * time.Second
	swapCalm     = 10 * time.Second
)

// Stress bounds what else than memory keeps work away. The zero value bounds nothing.
type Stress struct {
	SwapLimit  int64 // bytes a second that the host may swap; 0: any
	ForeignCPU bool  // what others use of its processors is taken off its slots
}

// KeptSlots are slots that are kept for the people at the host.
type KeptSlots struct {
	Slots  int
	Code   string // why: KeptByCalendar, KeptForPeople
	Return bool   // items on them are stopped, to run elsewhere, instead of ending by themselves
}

// Why slots are kept, as a code in the sync.
const (
	KeptByCalendar = "calendar"
	KeptForPeople  = "people"
)

const codeHostInUse = "host_in_use"

// stress is what the core knows of that.
type stress struct {
	kept    KeptSlots
	swap    api.SyncSwap
	over    int    // regular looks in a row at which it swapped too much
	since   Moment // when it began to refuse items for that, or returned one; 0: it does not
	calm    Moment // since when it has swapped less than half of the limit; 0: it has not
	itemCPU float64
	looked  Moment  // at the processors
	before  float64 // itemCPU then
	foreign float64 // processors used by others, smoothed
	away    int     // slots that they take
}

// watchSwap refuses items while the host swaps, and returns the newest secondary if that does not help. Primaries stay.
func (c *Core) watchSwap(now api.SyncSwap) {
	s, limit := &c.stress, c.limits.SwapLimit
	s.swap = now
	if limit <= 0 {
		return
	}
	if now.Rate > limit {
		s.over++
	} else {
		s.over = 0
	}
	switch {
	case now.Rate > limit/2:
		s.calm = 0
	case s.calm == 0:
		s.calm = c.now
	}
	switch {
	case s.since == 0:
		if s.over >= swapLooks {
			s.since = c.now
		}
	case s.calm > 0 && c.now-s.calm >= swapCalm:
		s.since = 0
	case s.over > 0 && c.now-s.since >= swapPatience:
		if i := c.newestSecondary(); i != nil {
			c.end(i, StopItem{Key: i.key, Attempt: i.attempt, Grace: min(c.grace, memoryGrace), Outcome: OutcomeStopped,
				Code: codeHostSwapping,
				Reason: fmt.Sprintf("the host swapped %s a second, more than worker_swap_limit = %s", units.Size(now.Rate),
					units.Size(limit))})
			s.since = c.now
		}
	}
}

// swapText says why the host refuses items for its swapping. It does not change from look to look: each change makes a
// plan.
func (c *Core) swapText() string {
	if c.stress.since == 0 {
		return ""
	}
	return fmt.Sprintf("the host swaps more than worker_swap_limit = %s a second", units.Size(c.limits.SwapLimit))
}

// away are the slots that the host does not offer. What people do at it is in both figures, so they are not added.
func (c *Core) away() int { return max(c.stress.away, c.stress.kept.Slots) }

// keptFor is why slots are not offered; "" where programs use the processors.
func (c *Core) keptFor() string {
	if k := c.stress.kept; k.Slots >= max(1, c.stress.away) {
		return k.Code
	}
	return ""
}

// returnKept stops items on slots that people want back now: secondaries first, then the ones that have run for the
// shortest time.
func (c *Core) returnKept() {
	k := c.stress.kept
	if !k.Return || k.Slots <= 0 {
		return
	}
	over := k.Slots - c.identity.Slots
	var running []*instance
	for _, i := range c.sortedInstances() {
		want, ok := c.promised(i)
		if !ok || i.stopped || i.state == StateIdle || i.state == StateClosing {
			continue
		}
		over += max(1, want.Slots)
		if i.state == StateRunning {
			running = append(running, i)
		}
	}
	slices.SortStableFunc(running, func(a, b *instance) int {
		return cmp.Or(compareBools(c.wish.Instances[a.key].Kind != "secondary", c.wish.Instances[b.key].Kind != "secondary"),
			cmp.Compare(a.wall, b.wall))
	})
	for _, i := range running {
		if over <= 0 {
			return
		}
		over -= max(1, c.wish.Instances[i.key].Slots)
		c.end(i, StopItem{Key: i.key, Attempt: i.attempt, Grace: c.grace, Outcome: OutcomeStopped, Code: codeHostInUse,
			Reason: "the host is kept for the people who use it"})
	}
}

// newestSecondary is the secondary whose item has run for the shortest time; nil if there is none, or if one is on its
// way.
func (c *Core) newestSecondary() (newest *instance) {
	for _, i := range c.sortedInstances() {
		if i.stopped && !i.stuck && i.state != StateIdle && i.state != StateClosing {
			return nil
		}
		want, ok := c.promised(i)
		if ok && want.Kind == "secondary" && i.state == StateRunning && (newest == nil || i.wall < newest.wall) {
			newest = i
		}
	}
	return newest
}

// Smoothing of what others use of the processors, and by how much it has to differ from the last report to be reported.
const (
	foreignHalf = 20 * time.Second
	foreignStep = 0.75 // slots
)

// noteProcessors reckons how many processors others use: those in use since the last look, less what items had. A
// moment of it says little, so it is smoothed.
func (c *Core) noteProcessors(ev HostMeasured) {
	s := &c.stress
	own, since := s.itemCPU-s.before, (c.now - s.looked).Seconds()
	first := s.looked == 0
	s.before, s.looked = s.itemCPU, c.now
	if !c.limits.ForeignCPU || first || since <= 0 {
		return
	}
	slots, cores := float64(c.identity.Slots), float64(max(1, c.identity.Cores))
	used := min(max(0, ev.Busy-own/since-ev.OthersBusy), cores)
	s.foreign += (used - s.foreign) * (1 - math.Exp2(-since/foreignHalf.Seconds()))
	wish := s.foreign*max(1, slots/cores) - max(0, cores-slots) // what is left beside the slots goes first
	if math.Abs(wish-float64(s.away)) > foreignStep {
		s.away = min(max(0, int(math.Round(wish))), c.identity.Slots)
	}
}
