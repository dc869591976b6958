package worker

import (
	"context"
	"time"

	"qb/worker/core"
	"qb/worker/people"
	"qb/worker/settings"
)

// keeper knows how many slots are kept for people now.
type keeper struct {
	calendar settings.Calendar
	watcher  *people.Watcher // nil: people at the host do not matter
	idle     time.Duration
	kept     core.KeptSlots // while they are
	stop     func()
}

// startKeeper is one for a configuration that is valid.
func (a *agent) startKeeper(c settings.Config) (k keeper) {
	ctx, stop := context.WithCancel(a.ctx)
	k.calendar, _ = settings.ParseCalendar(c.Calendar)
	k.idle, k.stop = c.Nimby.Std(), stop
	if k.idle > 0 {
		k.watcher = people.Watch(ctx, a.log)
	}
	k.kept = core.KeptSlots{Slots: c.CPUs, Return: c.KeptAction == settings.KeptReturn}
	if c.KeptSlots > 0 {
		k.kept.Slots = min(c.CPUs, c.KeptSlots)
	}
	return k
}

// now is what the clock and the people at the host make of it; the calendar goes by local time.
func (k keeper) now(now time.Time) core.KeptSlots {
	kept := k.kept
	switch {
	case k.calendar.Holds(now.Local()):
		kept.Code = core.KeptByCalendar
	case k.watcher != nil && k.watcher.Present(now, k.idle):
		kept.Code = core.KeptForPeople
	default:
		return core.KeptSlots{}
	}
	return kept
}
