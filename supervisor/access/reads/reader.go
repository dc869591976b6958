package reads

import (
	"context"
	"errors"
	"time"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// Reader bounds each read, and repeats reads that fail, a few times in quick order: after a restart of the database
// every pooled connection fails once. Writes of tokens go through as they are.
type Reader struct {
	store.Reader
	Outage *Outage
	Turn   func(context.Context) (leave func(), err error) // waits for the caller's turn
}

const (
	steadyTries = 10 // more than there are pooled connections
	steadyPause = 5 * time.Millisecond
)

// again reads in turn, and for store.ReadFor at most.
func again[T any](ctx context.Context, s Reader, what string, read func(context.Context) (T, error)) (T, error) {
	leave, err := s.Turn(ctx)
	if err != nil {
		return *new(T), err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, store.ReadFor)
	defer cancel()
	return repeated(ctx, s, what, read)
}

// againWith is again for a read with an argument.
func againWith[A, T any](ctx context.Context, s Reader, what string,
	read func(context.Context, A) (T, error), arg A) (T, error) {
	return again(ctx, s, what, func(ctx context.Context) (T, error) { return read(ctx, arg) })
}

func repeated[T any](ctx context.Context, s Reader, what string, read func(context.Context) (T, error)) (T, error) {
	for n := 1; ; n++ {
		v, err := read(ctx)
		if err == nil || n == steadyTries || ctx.Err() != nil {
			if err != nil && errors.Is(ctx.Err(), context.Canceled) {
				err = context.Cause(ctx) // the database says that a statement was cancelled: the caller left, or it took too long
			}
			s.Outage.Note(what, err)
			return v, err
		}
		_ = pause.For(ctx, time.Duration(n)*steadyPause)
	}
}

func (s Reader) Jobs(ctx context.Context, q store.JobQuery) ([]facts.JobView, error) {
	return againWith(ctx, s, "jobs", s.Reader.Jobs, q)
}

func (s Reader) JobRefs(ctx context.Context, q store.JobQuery) ([]store.JobRef, error) {
	return againWith(ctx, s, "jobs in short", s.Reader.JobRefs, q)
}

func (s Reader) LastChange(ctx context.Context) (time.Time, error) {
	return again(ctx, s, "the last change", s.Reader.LastChange)
}

func (s Reader) Facts(ctx context.Context, id facts.JobID) (*facts.JobFacts, error) {
	return againWith(ctx, s, "a job", s.Reader.Facts, id)
}

// Record takes as long as its caller gives it: a job may have a million attempts.
func (s Reader) Record(ctx context.Context, id facts.JobID, r facts.Recorder) (bool, error) {
	return repeated(ctx, s, "a job", func(ctx context.Context) (bool, error) { return s.Reader.Record(ctx, id, r) })
}

func (s Reader) Submission(ctx context.Context, token string) (facts.JobID, error) {
	return againWith(ctx, s, "a submission", s.Reader.Submission, token)
}

func (s Reader) Stored(ctx context.Context, owner string) (int64, error) {
	return againWith(ctx, s, "the bytes of an owner's jobs", s.Reader.Stored, owner)
}

func (s Reader) Answer(ctx context.Context, user, key string) (a facts.AnswerFacts, known bool, err error) {
	a, err = again(ctx, s, "an answer", func(ctx context.Context) (_ facts.AnswerFacts, err error) {
		a, known, err = s.Reader.Answer(ctx, user, key)
		return a, err
	})
	return a, known, err
}

func (s Reader) Labels(ctx context.Context, group facts.JobID, labels []string) (map[string]facts.JobID, error) {
	return againWith(ctx, s, "labels", func(ctx context.Context, labels []string) (map[string]facts.JobID, error) {
		return s.Reader.Labels(ctx, group, labels)
	}, labels)
}

func (s Reader) Before(ctx context.Context, ids []facts.JobID) (map[facts.JobID][]facts.JobID, error) {
	return againWith(ctx, s, "jobs of submissions", s.Reader.Before, ids)
}

func (s Reader) JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	return againWith(ctx, s, "states of jobs", s.Reader.JobStates, ids)
}

func (s Reader) Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return again(ctx, s, "items", func(ctx context.Context) ([]facts.AttemptFacts, error) {
		return s.Reader.Latest(ctx, job, first, last)
	})
}

// ReadJob has the time limit of its caller, as a job may have a million attempts, and a limit of store.ReadFor for each
// statement: a database that does not answer is noticed as fast as in other reads.
func (s Reader) ReadJob(
	ctx context.Context, id facts.JobID, read func(context.Context, facts.JobFacts, store.JobRows) error,
) (bool, error) {
	leave, err := s.Turn(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	limit := time.AfterFunc(store.ReadFor, func() { end(context.DeadlineExceeded) })
	defer limit.Stop()
	return repeated(ctx, s, "items", func(ctx context.Context) (bool, error) {
		limit.Reset(store.ReadFor)
		return s.Reader.ReadJob(ctx, id, func(ctx context.Context, j facts.JobFacts, rows store.JobRows) error {
			return read(ctx, j, limitedRows{rows, limit})
		})
	})
}

// limitedRows gives each statement the whole time.
type limitedRows struct {
	store.JobRows
	limit *time.Timer
}

func (r limitedRows) Marks(ctx context.Context) ([]facts.Mark, error) {
	r.limit.Reset(store.ReadFor)
	return r.JobRows.Marks(ctx)
}

func (r limitedRows) Latest(ctx context.Context, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	r.limit.Reset(store.ReadFor)
	return r.JobRows.Latest(ctx, first, last)
}

func (r limitedRows) FailedBefore(ctx context.Context, first, last facts.ItemNo) ([]store.FailedBefore, error) {
	r.limit.Reset(store.ReadFor)
	return r.JobRows.FailedBefore(ctx, first, last)
}

func (r limitedRows) Attempts(ctx context.Context, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	r.limit.Reset(store.ReadFor)
	return r.JobRows.Attempts(ctx, after, limit)
}

func (r limitedRows) Found(ctx context.Context, first, last facts.AttemptID) (map[facts.AttemptID]facts.Found, error) {
	r.limit.Reset(store.ReadFor)
	return r.JobRows.Found(ctx, first, last)
}

func (s Reader) EndedSo(ctx context.Context, job facts.JobID, host facts.HostID, exit *int) ([]facts.ItemNo, error) {
	return again(ctx, s, "how items ended", func(ctx context.Context) ([]facts.ItemNo, error) {
		return s.Reader.EndedSo(ctx, job, host, exit)
	})
}

func (s Reader) Attempts(ctx context.Context, job facts.JobID,
	after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return again(ctx, s, "attempts", func(ctx context.Context) ([]facts.AttemptFacts, error) {
		return s.Reader.Attempts(ctx, job, after, limit)
	})
}

func (s Reader) History(ctx context.Context, job facts.JobID,
	page store.HistoryPage) (lines []store.HistoryLine, earlier int, err error) {
	lines, err = again(ctx, s, "history", func(ctx context.Context) (_ []store.HistoryLine, err error) {
		lines, earlier, err = s.Reader.History(ctx, job, page)
		return lines, err
	})
	return lines, earlier, err
}

func (s Reader) Past(ctx context.Context, job facts.JobID) (store.Past, error) {
	return againWith(ctx, s, "past", s.Reader.Past, job)
}

func (s Reader) Token(ctx context.Context, id string) (t store.Token, known bool, err error) {
	t, err = again(ctx, s, "a token", func(ctx context.Context) (_ store.Token, err error) {
		t, known, err = s.Reader.Token(ctx, id)
		return t, err
	})
	return t, known, err
}

func (s Reader) GoodTokens(ctx context.Context, now time.Time) ([]store.Token, error) {
	return againWith(ctx, s, "good tokens", s.Reader.GoodTokens, now)
}

func (s Reader) People(ctx context.Context) ([]store.Person, error) {
	return again(ctx, s, "users", s.Reader.People)
}

func (s Reader) Tokens(ctx context.Context) ([]store.Token, error) {
	return again(ctx, s, "tokens", s.Reader.Tokens)
}

func (s Reader) UserTokens(ctx context.Context, user string) ([]store.Token, error) {
	return againWith(ctx, s, "tokens", s.Reader.UserTokens, user)
}

func (s Reader) Shares(ctx context.Context) ([]facts.ShareFacts, error) {
	return again(ctx, s, "shares", s.Reader.Shares)
}

func (s Reader) Credits(ctx context.Context, owner string) ([]facts.CreditFacts, error) {
	return againWith(ctx, s, "credit", s.Reader.Credits, owner)
}

func (s Reader) Ledger(ctx context.Context, owner string, accounts []string, now time.Time,
	halfLife time.Duration) ([]store.LedgerDay, error) {
	return again(ctx, s, "a ledger", func(ctx context.Context) ([]store.LedgerDay, error) {
		return s.Reader.Ledger(ctx, owner, accounts, now, halfLife)
	})
}

func (s Reader) AuditLog(ctx context.Context, q store.AuditQuery) ([]store.AuditRow, error) {
	return againWith(ctx, s, "the audit trail", s.Reader.AuditLog, q)
}

func (s Reader) Stats(ctx context.Context, q store.StatsQuery) ([]store.StatsRow, error) {
	return againWith(ctx, s, "statistics", s.Reader.Stats, q)
}

func (s Reader) FarmHistory(ctx context.Context, q store.EventQuery) (list []facts.EventFacts, next int64, err error) {
	list, err = again(ctx, s, "the history of the farm", func(ctx context.Context) (_ []facts.EventFacts, err error) {
		list, next, err = s.Reader.FarmHistory(ctx, q)
		return list, err
	})
	return list, next, err
}
