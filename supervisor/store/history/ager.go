package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/logstore"
)

// Limits of each step, and pauses between them.
const (
	Every       = 15 * time.Second // between two looks for what is old enough
	mostJobs    = 100              // looked at together
	Chunk       = 1000             // one chunk of history
	mostSpoiled = 10_000           // jobs left out since their rows cannot become sums
	mostLogs    = 1000             // files removed in one go
	sweepJobs   = 20               // jobs whose logs are removed before that is noted
	logGrace    = 10 * time.Minute // of logs of jobs that just ended, when the disk is short
	stepFor     = 10 * time.Second
	clockSkew   = time.Hour             // most that this clock and the database's may differ
	leastPause  = 50 * time.Millisecond // least pause between two chunks
	restFactor  = 9                     // so many times what a chunk took
	compactRest = 3                     // the same for attempts, which must become sums as fast as they end
)

// Ager lets history age while a term is led: what ended long ago becomes sums, later it is removed. It works beside
// the loop, in small chunks with long pauses between them, and in the name of the term: a leader that was replaced
// moves nothing. It may end after any chunk; the next term's goes on there.
type Ager struct {
	Store  Store
	Limits func() Limits // in force now
	// drops jobs from the farm's memory, and returns the jobs that it dropped
	Forget  func(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error)
	Epoch   int64
	Records *sync.RWMutex // held while rows become sums; who reads the record of a job holds it for reading
	Logs    *logstore.Store
	Room    func(folder string) (free, total int64, err error)
	Record  func(facts.EventFacts) // that logs were removed
	Metrics Metrics
	Log     *slog.Logger

	Every    time.Duration // between two looks for what is old enough
	Attempts int           // of one chunk

	// held by one who removes a job as ordered while rows become sums: the others need not look again and again
	ordered sync.Mutex
	warned  time.Time     // that room is short and nothing can be done
	strays  time.Time     // when all folders of logs were looked at
	spoiled []facts.JobID // whose rows cannot become sums; they are tried again in the next term
}

// Limits say when something is old. 0: never.
type Limits struct {
	HistoryDays  int           // after a job's end, until its attempts are sums
	JobRetention time.Duration // after a job's end, until the job is removed
	LogRetention time.Duration // after a job's end, until its logs are removed
	LogMinFree   int64         // bytes that the disk of the logs must have free
	AuditDays    int           // of a row of the audit trail
	HalfLife     time.Duration // of use, for the sums
}

const day = 24 * time.Hour

// Store is what the ager needs of a store.
type Store interface {
	store.Upkeep
	// Attempts of a job by (item, number), those after the given one.
	Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error)
}

// Metrics count what was done to history by this process.
type Metrics struct {
	Compacted, Removed, Failed, Logs, Early interface{ Add(float64) }
	Free                                    interface{ Set(float64) } // bytes
}

// Run goes on until ctx ends. What fails is tried again with the next look.
func (a *Ager) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, do := range []func(context.Context) error{a.compact, a.remove, a.removeLogs, a.removeStrays, a.forgetAudits} {
			wrong := a.clocksAgree(ctx) // before each, for one can take hours
			err := wrong
			if err == nil {
				err = do(ctx)
			}
			if err != nil && ctx.Err() == nil {
				a.Metrics.Failed.Add(1)
				a.Log.Warn("cannot compact history; will retry", "error", err)
			}
			if wrong != nil {
				break // the others would only say the same
			}
		}
		_ = pause.For(ctx, a.Every)
	}
}

// clocksAgree refuses to call anything old by a clock that is not the database's, for nothing that goes comes back.
func (a *Ager) clocksAgree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepFor)
	defer cancel()
	theirs, err := a.Store.Clock(ctx)
	if err != nil {
		return err
	}
	if ahead := time.Since(theirs); ahead.Abs() > clockSkew {
		return fmt.Errorf(
			"this machine's clock says %s, the database's %s: they differ by more than %s, so nothing is taken for old; set the wrong one right",
			time.Now().UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339),
			strings.TrimSuffix(clockSkew.String(), "0m0s"))
	}
	return nil
}

// compact makes sums of all jobs that are old enough.
func (a *Ager) compact(ctx context.Context) error {
	for ctx.Err() == nil {
		days := a.Limits().HistoryDays
		if days == 0 {
			return nil
		}
		before := time.Now().Add(-time.Duration(days) * day)
		jobs, err := a.Store.Closed(ctx, before, mostJobs, a.spoiled...)
		if err != nil {
			return fmt.Errorf("looking for jobs that ended before %s: %w", before.UTC().Format(time.DateOnly), err)
		}
		done, err := a.compactAll(ctx, jobs, before)
		if errors.Is(err, store.ErrRows) && len(a.spoiled) < mostSpoiled {
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
func (a *Ager) compactEach(ctx context.Context, jobs []facts.JobID, before time.Time) error {
	for _, id := range jobs {
		_, err := a.compactAll(ctx, []facts.JobID{id}, before)
		if errors.Is(err, store.ErrRows) {
			a.spoiled = append(a.spoiled, id)
			a.Metrics.Failed.Add(1)
			a.Log.Error("cannot replace a job's attempts with daily sums; they stay until the next term", "job", id,
				"error", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// compactAll moves the jobs' attempts chunk by chunk and returns how many jobs it finished.
func (a *Ager) compactAll(ctx context.Context, jobs []facts.JobID, before time.Time) (int, error) {
	attempts := int64(0)
	for len(jobs) > 0 {
		began := time.Now()
		free, moved, err := a.chunk(ctx, jobs, before)
		if err != nil {
			return 0, err
		}
		attempts += moved
		a.Metrics.Compacted.Add(float64(moved))
		if moved == 0 {
			a.Log.Info("history: attempts replaced with daily sums", "jobs", free, "attempts", attempts)
			return free, nil
		}
		_ = pause.For(ctx, max(leastPause, compactRest*time.Since(began)))
	}
	return 0, nil
}

// chunk moves some attempts of those jobs that the farm lets go, and returns of how many it may. An order that reads
// the record of such a job waits meanwhile, and finds in it that the job cannot run again; a job that runs again
// stays as it is.
func (a *Ager) chunk(ctx context.Context, jobs []facts.JobID, before time.Time) (free int, moved int64, err error) {
	for !a.Records.TryLock() { // who reads records goes first
		if pause.For(ctx, leastPause) != nil {
			return 0, 0, ctx.Err()
		}
	}
	defer a.Records.Unlock()
	if jobs, err = a.Forget(ctx, jobs); err != nil {
		return 0, 0, fmt.Errorf("taking %d jobs out of memory: %w", len(jobs), err)
	}
	ctx, cancel := context.WithTimeout(ctx, stepFor)
	defer cancel()
	moved, err = a.Store.Compact(ctx, store.Compaction{
		Epoch: a.Epoch, Jobs: jobs, Before: before, At: time.Now(), HalfLife: a.Limits().HalfLife, Limit: a.Attempts,
	})
	return len(jobs), moved, err
}

// remove takes away what is older than jobs are kept, their logs first: nothing would find those without them.
func (a *Ager) remove(ctx context.Context) error {
	for ctx.Err() == nil {
		keep := a.Limits().JobRetention
		if keep == 0 {
			return nil
		}
		began := time.Now()
		before := began.Add(-keep)
		jobs, err := a.Store.Expired(ctx, before, mostJobs)
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
		removed, err := a.Store.Remove(ctx, a.Epoch, before, jobs)
		if err != nil {
			return err
		}
		a.Logs.Forget(jobs)
		a.Metrics.Removed.Add(float64(removed))
		a.Log.Info("history: old jobs deleted", "jobs", removed, "ended_before", before.UTC().Format(time.DateOnly))
		if removed == 0 {
			return nil
		}
		a.rest(ctx, time.Since(began))
	}
	return nil
}

// rest leaves the database to the farm for most of the time.
func (a *Ager) rest(ctx context.Context, worked time.Duration) {
	_ = pause.For(ctx, max(leastPause, restFactor*worked))
}

// forgetAudits removes rows that are older than supervisor_audit_days.
func (a *Ager) forgetAudits(ctx context.Context) error {
	days := a.Limits().AuditDays
	for days > 0 && ctx.Err() == nil {
		began := time.Now()
		n, err := a.Store.ForgetAudits(ctx, began.AddDate(0, 0, -days), Chunk)
		if err != nil || n < Chunk {
			return err
		}
		a.rest(ctx, time.Since(began))
	}
	return nil
}
