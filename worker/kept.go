package worker

import (
	"context"
	"log/slog"
	"time"

	"qb/worker/core"
	"qb/worker/people"
)

// keeper knows how many slots are kept for people now.
type keeper struct {
	calendar people.Calendar
	watcher  *people.Watcher // nil: nobody asks who is there
	idle     time.Duration
	kept     core.Kept // while they are
}

func newKeeper(ctx context.Context, log *slog.Logger, c Config) (k keeper, err error) {
	if k.calendar, err = people.ParseCalendar(c.Calendar); err != nil {
		return k, err
	}
	if k.idle = c.Nimby.Std(); k.idle > 0 {
		k.watcher = people.Watch(ctx, log)
	}
	k.kept = core.Kept{Slots: c.CPUs, Return: c.KeptAction == KeptReturn}
	if c.KeptSlots > 0 {
		k.kept.Slots = min(c.CPUs, c.KeptSlots)
	}
	return k, nil
}

// startKeeper is one for the configuration, and what ends it.
func (a *agent) startKeeper(c Config) (keeper, func(), error) {
	ctx, stop := context.WithCancel(a.ctx)
	k, err := newKeeper(ctx, a.log, c)
	if err != nil {
		stop()
	}
	return k, stop, err
}

// now is what the clock and the people at the host make of it; the calendar goes by local time.
func (k keeper) now(now time.Time) core.Kept {
	kept := k.kept
	switch {
	case k.calendar.Holds(now.Local()):
		kept.Code = core.KeptByCalendar
	case k.watcher != nil && k.watcher.Present(now, k.idle):
		kept.Code = core.KeptForPeople
	default:
		return core.Kept{}
	}
	return kept
}
