package reads

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// slow is a database each of whose statements takes so long, or never ends.
type slow struct {
	store.Reader
	takes time.Duration
}

type slowRows struct {
	store.JobRows
	takes time.Duration
}

func (s slow) ReadJob(ctx context.Context, _ facts.JobID,
	read func(context.Context, facts.JobFacts, store.JobRows) error) (bool, error) {
	return true, read(ctx, facts.JobFacts{}, slowRows{takes: s.takes})
}

func (s slowRows) Latest(ctx context.Context, _, _ facts.ItemNo) ([]facts.AttemptFacts, error) {
	select {
	case <-time.After(s.takes):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestReadJobIsBounded: a job may be read for as long as its statements are answered. A statement without an answer is
// given up and reported as an outage as soon as in any other read; a caller that disconnects is no outage.
func TestReadJobIsBounded(t *testing.T) {
	for _, c := range []struct {
		name         string
		takes, leave time.Duration
		fails        error
		after        time.Duration
		outage       bool
	}{
		{"long", store.ReadFor - time.Second, time.Hour, nil, 5 * (store.ReadFor - time.Second), false},
		{"hung", time.Hour, time.Hour, context.DeadlineExceeded, store.ReadFor, true},
		{"left", time.Hour, time.Second, context.Canceled, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(c.leave, cancel)
			outage := NewOutage(slog.New(slog.NewTextHandler(io.Discard, nil)), "reading")
			r := Reader{slow{takes: c.takes}, outage, func(context.Context) (func(), error) { return func() {}, nil }}
			began := time.Now()
			_, err := r.ReadJob(ctx, 1, func(ctx context.Context, _ facts.JobFacts, rows store.JobRows) error {
				for range 5 {
					if _, err := rows.Latest(ctx, 0, 9); err != nil {
						return err
					}
				}
				return nil
			})
			if took := time.Since(began); !errors.Is(err, c.fails) || took != c.after || outage.since.IsZero() == c.outage {
				t.Errorf("%s: %v after %s, an outage: %v", c.name, err, took, !outage.since.IsZero())
			}
		})
	}
}
