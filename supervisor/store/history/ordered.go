package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// ErrHeld says that a job cannot be removed because the farm holds it: it runs again.
var ErrHeld = errors.New("the farm holds the job")

// endOfTime is after the end of every job: a person's order to remove a job asks for no age.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// RemoveJob removes an ended job by the same steps as an expired one: attempts become sums, logs are deleted, then the
// rows are, with an entry of the audit trail. It may be interrupted after any step; the next call continues there.
// Calls may run concurrently.
func (a *Ager) RemoveJob(ctx context.Context, id facts.JobID, audit ...facts.AuditFacts) error {
	jobs := []facts.JobID{id}
	for {
		began := time.Now()
		a.ordered.Lock()
		free, moved, err := a.chunk(ctx, jobs, endOfTime)
		a.ordered.Unlock()
		switch {
		case err != nil:
			return err
		case free == 0:
			return ErrHeld
		}
		a.Metrics.Compacted.Add(float64(moved))
		if moved == 0 {
			break
		}
		_ = pause.For(ctx, time.Since(began)) // half of the database's time is left to the farm
	}
	if err := a.clearLogs(ctx, store.WithLogs{Job: id, Compacted: true}); err != nil {
		return err
	}
	removed, err := a.Store.Remove(ctx, a.Epoch, endOfTime, jobs, audit...)
	if err != nil {
		return err
	}
	if removed == 0 {
		if gone, err := a.Store.Gone(ctx, jobs); err != nil || len(gone) == 1 { // by another call
			return err
		}
		return fmt.Errorf("%w: job %d has not ended, or its attempts are not sums", store.ErrRows, id)
	}
	a.Logs.Forget(jobs)
	a.Metrics.Removed.Add(1)
	return nil
}
