package history

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// strayLooks is after how many looks it is looked whether output came in late, of jobs that are gone: an hour.
const strayLooks = 240

// removeStrays removes logs of jobs that were removed, which nothing else would find: a worker that was cut off may
// have shipped them while its job went, and a crash may have kept them.
func (a *Ager) removeStrays(ctx context.Context) error {
	if time.Since(a.strays) < strayLooks*a.Every {
		return nil
	}
	groups, err := a.Logs.Names(".", -1)
	if err != nil {
		return err
	}
	for _, group := range groups {
		began := time.Now()
		if err := a.removeStraysOf(ctx, group); err != nil {
			return err
		}
		a.rest(ctx, time.Since(began))
	}
	a.strays = time.Now()
	return nil
}

// removeStraysOf looks at a group's folders, which are a thousand at most.
func (a *Ager) removeStraysOf(ctx context.Context, group string) error {
	if _, err := strconv.ParseInt(group, 10, 64); err != nil {
		return nil // not ours
	}
	names, err := a.Logs.Names(group, -1)
	if err != nil {
		return err
	}
	var jobs []facts.JobID
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil && strconv.FormatInt(id/1000*1000, 10) == group {
			jobs = append(jobs, facts.JobID(id))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	reading, cancel := context.WithTimeout(ctx, stepFor)
	gone, err := a.Store.Gone(reading, jobs)
	cancel()
	if err != nil {
		return fmt.Errorf("looking for logs of removed jobs: %w", err)
	}
	for _, id := range gone {
		if err := a.clearLogs(ctx, store.WithLogs{Job: id, Compacted: true}); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		a.Log.Info("late output of deleted jobs deleted", "jobs", len(gone))
	}
	return nil
}
