package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/logstore"
	"qb/supervisor/settings"
	"qb/supervisor/store"
)

// Limits of each step, and pauses between them.
const (
	ageEvery    = 15 * time.Second // between two looks for what is old enough
	ageJobs     = 100              // looked at together
	ageAttempts = 1000             // one chunk of history
	ageSpoiled  = 10_000           // jobs left out since their rows cannot become sums
	ageLogs     = 1000             // files removed in one go
	ageSweep    = 20               // jobs whose logs are removed before that is noted
	logGrace    = 10 * time.Minute // of logs of jobs that just ended, when the disk is short
	ageFor      = 10 * time.Second
	ageSkew     = time.Hour             // most that this clock and the database's may differ
	agePause    = 50 * time.Millisecond // least pause between two chunks
	ageRest     = 9                     // so many times what a chunk took
)

// ager lets history age while a term is led: what ended long ago becomes sums, later it is removed. It works beside
// the loop, in small chunks with long pauses between them, and in the name of the term: a leader that was replaced
// moves nothing. It may end after any chunk; the next term's goes on there.
type ager struct {
	store   ageStore
	config  func() *settings.Config                                              // in force now
	forget  func(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) // has the farm forget jobs, and returns those that it did
	epoch   int64
	records *sync.RWMutex // held while rows become sums; who reads the record of a job holds it for reading
	logs    *logstore.Store
	room    func(folder string) (free, total int64, err error)
	tell    func(facts.Why) // that logs were removed early
	metrics ageMetrics
	log     *slog.Logger

	every    time.Duration // between two looks for what is old enough
	attempts int           // of one chunk

	warned  time.Time     // that room is short and nothing can be done
	strays  time.Time     // when all folders of logs were looked at
	spoiled []facts.JobID // whose rows cannot become sums; they are tried again in the next term
}

// ageStore is what the ager needs of a store.
type ageStore interface {
	store.Upkeep
	// Attempts of a job by (item, number), those after the given one.
	Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error)
}

// ageMetrics count what was done to history by this process.
type ageMetrics struct {
	compacted, removed, failed, logs, early interface{ Add(float64) }
	free                                    interface{ Set(float64) } // bytes
}

// run goes on until ctx ends. What fails is tried again with the next look.
func (a *ager) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, do := range []func(context.Context) error{a.compact, a.remove, a.removeLogs, a.removeStrays, a.forgetAudits} {
			wrong := a.clocksAgree(ctx) // before each, for one can take hours
			err := wrong
			if err == nil {
				err = do(ctx)
			}
			if err != nil && ctx.Err() == nil {
				a.metrics.failed.Add(1)
				a.log.Warn("cannot compact history; will retry", "error", err)
			}
			if wrong != nil {
				break // the others would only say the same
			}
		}
		ageSleep(ctx, a.every)
	}
}

// clocksAgree refuses to call anything old by a clock that is not the database's, for nothing that goes comes back.
func (a *ager) clocksAgree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ageFor)
	defer cancel()
	theirs, err := a.store.Clock(ctx)
	if err != nil {
		return err
	}
	if ahead := time.Since(theirs); ahead.Abs() > ageSkew {
		return fmt.Errorf("this machine's clock says %s, the database's %s: they differ by more than %s, so nothing is taken for old; set the wrong one right",
			time.Now().UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339), settings.Duration(ageSkew))
	}
	return nil
}

// compact makes sums of all jobs that are old enough.
func (a *ager) compact(ctx context.Context) error {
	for ctx.Err() == nil {
		c := a.config()
		if c.HistoryDays == 0 {
			return nil
		}
		before := time.Now().Add(-time.Duration(c.HistoryDays) * settings.Day)
		jobs, err := a.store.Closed(ctx, before, ageJobs, a.spoiled...)
		if err != nil {
			return fmt.Errorf("looking for jobs that ended before %s: %w", before.UTC().Format(time.DateOnly), err)
		}
		done, err := a.compactAll(ctx, jobs, before)
		if errors.Is(err, store.ErrRows) && len(a.spoiled) < ageSpoiled {
			err = a.compactEach(ctx, jobs, before)
			done = len(jobs)
		}
		if err != nil || done < len(jobs) || len(jobs) == 0 {
			return err
		}
	}
	return nil
}

// compactEach moves the attempts of one job at a time, so that rows which cannot become sums keep back their own job
// only.
func (a *ager) compactEach(ctx context.Context, jobs []facts.JobID, before time.Time) error {
	for _, id := range jobs {
		_, err := a.compactAll(ctx, []facts.JobID{id}, before)
		if errors.Is(err, store.ErrRows) {
			a.spoiled = append(a.spoiled, id)
			a.metrics.failed.Add(1)
			a.log.Error("cannot replace a job's attempts with daily sums; they stay until the next term", "job", id, "error", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// compactAll moves the jobs' attempts chunk by chunk and returns how many jobs it finished.
func (a *ager) compactAll(ctx context.Context, jobs []facts.JobID, before time.Time) (int, error) {
	attempts := int64(0)
	for len(jobs) > 0 {
		began := time.Now()
		free, moved, err := a.chunk(ctx, jobs, before)
		if err != nil {
			return 0, err
		}
		attempts += moved
		a.metrics.compacted.Add(float64(moved))
		if moved == 0 {
			a.log.Info("history: attempts replaced with daily sums", "jobs", free, "attempts", attempts)
			return free, nil
		}
		a.rest(ctx, time.Since(began))
	}
	return 0, nil
}

// chunk moves some attempts of those jobs that the farm lets go, and returns of how many it may. An order that reads
// the record of such a job waits meanwhile, and finds in it that the job cannot run again; a job that runs again
// stays as it is.
func (a *ager) chunk(ctx context.Context, jobs []facts.JobID, before time.Time) (free int, moved int64, err error) {
	for !a.records.TryLock() { // who reads records goes first
		if ageSleep(ctx, agePause); ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
	}
	defer a.records.Unlock()
	if jobs, err = a.forget(ctx, jobs); err != nil {
		return 0, 0, fmt.Errorf("taking %d jobs out of memory: %w", len(jobs), err)
	}
	ctx, cancel := context.WithTimeout(ctx, ageFor)
	defer cancel()
	moved, err = a.store.Compact(ctx, store.Compaction{
		Epoch: a.epoch, Jobs: jobs, Before: before, At: time.Now(), HalfLife: a.config().HalfLife(), Limit: a.attempts,
	})
	return len(jobs), moved, err
}

// remove takes away what is older than jobs are kept, their logs first: nothing would find those without them.
func (a *ager) remove(ctx context.Context) error {
	for ctx.Err() == nil {
		c := a.config()
		if c.JobRetention == 0 {
			return nil
		}
		began := time.Now()
		before := began.Add(-c.JobRetention.Std())
		jobs, err := a.store.Expired(ctx, before, ageJobs)
		if err != nil {
			return fmt.Errorf("looking for jobs to remove: %w", err)
		}
		if len(jobs) == 0 {
			return nil
		}
		for _, id := range jobs {
			if err := a.clearLogs(ctx, store.WithLogs{Job: id, Compacted: true}); err != nil {
				return err
			}
		}
		removed, err := a.store.Remove(ctx, a.epoch, before, jobs)
		if err != nil {
			return err
		}
		a.logs.Forget(jobs)
		a.metrics.removed.Add(float64(removed))
		a.log.Info("history: old jobs deleted", "jobs", removed, "ended_before", before.UTC().Format(time.DateOnly))
		if removed == 0 {
			return nil
		}
		a.rest(ctx, time.Since(began))
	}
	return nil
}

// rest leaves the database to the farm for most of the time.
func (a *ager) rest(ctx context.Context, worked time.Duration) {
	ageSleep(ctx, max(agePause, ageRest*worked))
}

// forgetAudits removes rows that are older than supervisor_audit_days.
func (a *ager) forgetAudits(ctx context.Context) error {
	days := a.config().AuditDays
	for days > 0 && ctx.Err() == nil {
		began := time.Now()
		n, err := a.store.ForgetAudits(ctx, began.AddDate(0, 0, -days), ageAttempts)
		if err != nil || n < ageAttempts {
			return err
		}
		a.rest(ctx, time.Since(began))
	}
	return nil
}

// sleep waits, or until ctx ends.
func ageSleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
