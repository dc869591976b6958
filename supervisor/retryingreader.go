package supervisor

import (
	"context"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/term"
)

// retryingReader repeats reads that fail, a few times in quick order: after a restart of the database every pooled
// connection fails once. Writes of tokens go through as they are.
type retryingReader struct {
	store.Reader
	reads *outage
}

const (
	steadyTries = 10 // more than there are pooled connections
	steadyPause = 5 * time.Millisecond
)

func again[T any](ctx context.Context, s retryingReader, what string, read func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		v, err := read()
		if err == nil || n == steadyTries || ctx.Err() != nil {
			s.reads.note(what, err)
			return v, err
		}
		term.Sleep(ctx, time.Duration(n)*steadyPause)
	}
}

func (s retryingReader) Jobs(ctx context.Context, q store.JobQuery) ([]facts.JobView, error) {
	return again(ctx, s, "jobs", func() ([]facts.JobView, error) { return s.Reader.Jobs(ctx, q) })
}

func (s retryingReader) JobRefs(ctx context.Context, q store.JobQuery) ([]store.JobRef, error) {
	return again(ctx, s, "jobs in short", func() ([]store.JobRef, error) { return s.Reader.JobRefs(ctx, q) })
}

func (s retryingReader) LastChange(ctx context.Context) (time.Time, error) {
	return again(ctx, s, "the last change", func() (time.Time, error) { return s.Reader.LastChange(ctx) })
}

func (s retryingReader) Facts(ctx context.Context, id facts.JobID) (*facts.JobFacts, error) {
	return again(ctx, s, "a job", func() (*facts.JobFacts, error) { return s.Reader.Facts(ctx, id) })
}

func (s retryingReader) Record(ctx context.Context, id facts.JobID, r facts.Recorder) (bool, error) {
	return again(ctx, s, "a job", func() (bool, error) { return s.Reader.Record(ctx, id, r) })
}

func (s retryingReader) Submission(ctx context.Context, token string) (facts.JobID, error) {
	return again(ctx, s, "a submission", func() (facts.JobID, error) { return s.Reader.Submission(ctx, token) })
}

func (s retryingReader) Stored(ctx context.Context, owner string) (int64, error) {
	return again(ctx, s, "the bytes of an owner's jobs", func() (int64, error) { return s.Reader.Stored(ctx, owner) })
}

func (s retryingReader) Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error) {
	type found struct {
		answer facts.AnswerFacts
		ok     bool
	}
	f, err := again(ctx, s, "an answer", func() (found, error) {
		a, ok, err := s.Reader.Answer(ctx, user, key)
		return found{a, ok}, err
	})
	return f.answer, f.ok, err
}

func (s retryingReader) JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	return again(ctx, s, "states of jobs", func() (map[facts.JobID]facts.JobState, error) { return s.Reader.JobStates(ctx, ids) })
}

func (s retryingReader) Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return again(ctx, s, "items", func() ([]facts.AttemptFacts, error) { return s.Reader.Latest(ctx, job, first, last) })
}

func (s retryingReader) Marks(ctx context.Context, job facts.JobID) ([]facts.Mark, error) {
	return again(ctx, s, "marks", func() ([]facts.Mark, error) { return s.Reader.Marks(ctx, job) })
}

func (s retryingReader) Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return again(ctx, s, "attempts", func() ([]facts.AttemptFacts, error) { return s.Reader.Attempts(ctx, job, after, limit) })
}

func (s retryingReader) History(ctx context.Context, job facts.JobID, page store.HistoryPage) (lines []store.HistoryLine, earlier int, err error) {
	lines, err = again(ctx, s, "history", func() (_ []store.HistoryLine, err error) {
		lines, earlier, err = s.Reader.History(ctx, job, page)
		return lines, err
	})
	return lines, earlier, err
}

func (s retryingReader) Past(ctx context.Context, job facts.JobID) (store.Past, error) {
	return again(ctx, s, "past", func() (store.Past, error) { return s.Reader.Past(ctx, job) })
}

func (s retryingReader) Token(ctx context.Context, id string) (store.Token, bool, error) {
	type found struct {
		token store.Token
		ok    bool
	}
	f, err := again(ctx, s, "a token", func() (found, error) {
		t, ok, err := s.Reader.Token(ctx, id)
		return found{t, ok}, err
	})
	return f.token, f.ok, err
}

func (s retryingReader) GoodTokens(ctx context.Context, now time.Time) ([]store.Token, error) {
	return again(ctx, s, "good tokens", func() ([]store.Token, error) { return s.Reader.GoodTokens(ctx, now) })
}

func (s retryingReader) People(ctx context.Context) ([]store.Person, error) {
	return again(ctx, s, "users", func() ([]store.Person, error) { return s.Reader.People(ctx) })
}

func (s retryingReader) Tokens(ctx context.Context) ([]store.Token, error) {
	return again(ctx, s, "tokens", func() ([]store.Token, error) { return s.Reader.Tokens(ctx) })
}
