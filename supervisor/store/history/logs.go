package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// Logs are deleted when they are older than supervisor_log_retention, when their job is deleted, and, when their disk
// is short of space, in the order in which their jobs ended. Only ended attempts lose their logs: the rows say which
// attempts have ended, and attempt numbers are never reused.

// clearLogs removes what an ended job's attempts wrote, in small steps.
func (a *Ager) clearLogs(ctx context.Context, w store.WithLogs) error {
	after := facts.AttemptID{Job: w.Job}
	for ctx.Err() == nil {
		began := time.Now()
		files, more := 0, false
		var err error
		if w.Compacted {
			files, err = a.Logs.RemoveSome(w.Job, mostLogs)
			more = files == mostLogs
		} else {
			var ended []facts.AttemptID
			if ended, after, more, err = a.endedAfter(ctx, after); err == nil {
				files, err = a.Logs.Remove(ended)
			}
			if err == nil && !more {
				err = a.Logs.RemoveSessions(w.Job)
			}
		}
		a.Metrics.Logs.Add(float64(files))
		if err != nil || !more {
			return err
		}
		a.rest(ctx, time.Since(began))
	}
	return ctx.Err()
}

// endedAfter returns a page of a job's attempts, without live ones.
func (a *Ager) endedAfter(ctx context.Context,
	after facts.AttemptID) (ended []facts.AttemptID, last facts.AttemptID, more bool, err error) {
	rows, err := a.Store.Attempts(ctx, after.Job, after, mostLogs)
	if err != nil {
		return nil, after, false, fmt.Errorf("reading the attempts of job %d: %w", after.Job, err)
	}
	for _, row := range rows {
		if !row.State.Live() {
			ended = append(ended, row.AttemptID)
		}
		after = row.AttemptID
	}
	return ended, after, len(rows) == mostLogs, nil
}

// sweepLogs removes the logs of jobs that ended before a moment, as long as more are to go, and returns of how
// many; with an owner only his.
func (a *Ager) sweepLogs(ctx context.Context, before time.Time, more func() bool,
	owner ...string) (swept int, err error) {
	for ctx.Err() == nil {
		jobs, err := a.Store.WithLogs(ctx, before, sweepJobs, owner...)
		if err != nil {
			return swept, fmt.Errorf("looking for logs to remove: %w", err)
		}
		began, gone := time.Now(), []facts.JobID{}
		for _, w := range jobs {
			if !more() {
				break
			}
			if err := a.clearLogs(ctx, w); err != nil {
				return swept, err
			}
			gone = append(gone, w.Job)
		}
		if len(gone) == 0 {
			return swept, nil
		}
		now := time.Now()
		if err := a.Store.LogsRemoved(ctx, a.Epoch, gone, now, ""); err != nil {
			return swept, err
		}
		for _, id := range gone {
			a.Record(facts.LogsRemoved(id, now))
		}
		swept += len(gone)
		a.rest(ctx, time.Since(began))
	}
	return swept, ctx.Err()
}

// removeLogs removes what is older than logs are kept, then what must go for want of room.
func (a *Ager) removeLogs(ctx context.Context) error {
	if keep := a.Limits().LogRetention; keep > 0 {
		before := time.Now().Add(-keep)
		jobs, err := a.sweepLogs(ctx, before, func() bool { return true })
		if jobs > 0 {
			a.Log.Info("logs deleted", "jobs", jobs, "ended_before", before.UTC().Format(time.RFC3339))
		}
		if err != nil {
			return err
		}
	}
	return a.makeRoom(ctx)
}

// makeRoom removes logs, of the jobs first that ended first, until the least room is free again. The floor is never
// more than a quarter of the disk, so that a small one keeps logs too.
func (a *Ager) makeRoom(ctx context.Context) error {
	free, total, err := a.Room(a.Logs.Path)
	if err != nil {
		return err
	}
	a.Metrics.Free.Set(float64(free))
	floor := min(a.Limits().LogMinFree, total/4)
	if free >= floor {
		return nil
	}
	had := free
	short := func() bool {
		if now, _, err := a.Room(a.Logs.Path); err == nil {
			free = now
		}
		return free < floor
	}
	jobs, err := a.removeFlood(ctx, short)
	if err == nil && short() {
		var others int
		others, err = a.sweepLogs(ctx, time.Now().Add(-logGrace), short)
		jobs += others
	}
	_ = short() // what the last removal gave is in no look of the sweep
	a.Metrics.Free.Set(float64(free))
	if jobs > 0 {
		a.Metrics.Early.Add(float64(jobs))
		why := fmt.Sprintf(
			"the disk of the logs had %s free, less than supervisor_log_min_free: those of the %d jobs that ended first were removed; now %s are free",
			units.Size(had), jobs, units.Size(free))
		now := time.Now()
		err = errors.Join(err, a.Store.LogsRemoved(ctx, a.Epoch, []facts.JobID{}, now, why))
		a.Log.Warn("logs deleted early", "reason", why)
		a.Record(facts.LogsRemovedEarly(now, why))
	}
	if err == nil && free < floor && time.Since(a.warned) > time.Hour {
		a.warned = time.Now()
		a.Log.Warn("the log disk is almost full, and no logs of finished jobs are left to delete", "free", units.Size(free),
			"under", a.Logs.Path, "supervisor_log_min_free", units.ExactSize(a.Limits().LogMinFree))
	}
	return err
}
