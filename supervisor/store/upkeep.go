package store

import (
	"context"
	"time"

	"qb/supervisor/job/facts"
)

// Upkeep lets history age: attempts of closed jobs become daily sums, later the jobs go too. It works beside the
// term's session, in transactions of its own that hold the epoch for their last moment only, so that commits never
// wait for it. A transaction moves its rows wholly or not at all; after any error a call can be repeated.
type Upkeep interface {
	// Clock tells the time of the database's machine.
	Clock(ctx context.Context) (time.Time, error)
	// Closed lists jobs that ended before a moment and have attempts that are not yet sums, in the order in which they
	// ended. It leaves out the named jobs and jobs that an unfinished job waits for.
	Closed(ctx context.Context, before time.Time, limit int, without ...facts.JobID) ([]facts.JobID, error)
	// Compact makes one chunk of the jobs' attempts into sums, and what they made of their items into marks. It
	// returns how many attempts; 0 says that nothing is left of them. The farm must have forgotten the jobs. ErrRows
	// says that the rows of one of them cannot become sums.
	Compact(ctx context.Context, c Compaction) (attempts int64, err error)
	// Expired lists jobs that ended before a moment and are wholly compacted.
	Expired(ctx context.Context, before time.Time, limit int) ([]facts.JobID, error)
	// Remove takes those of the jobs that are expired away, with their marks and events, and returns how many. If there
	// are any, it adds rows to the audit trail.
	Remove(ctx context.Context, epoch int64, before time.Time, jobs []facts.JobID,
		audit ...facts.AuditFacts) (int64, error)
	// WaitFor lists some unfinished jobs that wait for a job.
	WaitFor(ctx context.Context, job facts.JobID) ([]facts.JobID, error)
	// Gone returns the given jobs that were removed.
	Gone(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error)
	// WithLogs lists jobs that ended before a moment and whose logs were not deleted since, in the order in which they
	// ended. With an owner it lists this owner's jobs.
	WithLogs(ctx context.Context, before time.Time, limit int, owner ...string) ([]WithLogs, error)
	// Owners tells whose jobs these are; one without a row is not in it.
	Owners(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]string, error)
	// LogsRemoved notes that the logs of these jobs' attempts are gone; why, if not empty, becomes an event of the farm.
	LogsRemoved(ctx context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error
	// ForgetAudits removes some of the audit trail's rows that are older than a moment, and returns how many.
	ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error)
	// Ended returns when jobs ended, zero for unfinished jobs. Jobs without a row are not in the result.
	Ended(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error)
}

// WithLogs is a job that may have logs.
type WithLogs struct {
	Job facts.JobID
	// Compacted says that the job never runs again and that not all of its attempts have rows.
	Compacted bool
}

// Past is what no longer can be read of a job.
type Past struct {
	Compacted   bool      // attempts of it are daily sums
	LogsRemoved time.Time // when those of its attempts till then were; zero: never
}

// Compaction is a chunk to be compacted.
type Compaction struct {
	Epoch    int64 // of the term in whose name it is done; another one leading is ErrTermOver
	Jobs     []facts.JobID
	Before   time.Time     // only of jobs that ended before it
	At       time.Time     // to be noted as the time of it
	HalfLife time.Duration // of use; 0: nothing decays
	Limit    int           // attempts; the attempts of the last item may exceed it
}
