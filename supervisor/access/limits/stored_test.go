package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// sumReader has so many bytes of each user in its rows.
type sumReader struct {
	store.Reader
	bytes int64
	sums  int
}

func (r *sumReader) Stored(context.Context, string) (int64, error) {
	r.sums++
	return r.bytes, nil
}

// TestStoredBytes: rows are summed up seldom, what is in flight then is counted, and rows that went make room.
func TestStoredBytes(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.UserStored = 100_000
	r := &sumReader{bytes: 50_000}
	b := newStoredBytes(func() *settings.Config { return &cfg }, r)
	take := func(bytes int64) (written func(), err error) { return b.Store(t.Context(), "ann", bytes) }
	written, err := take(30_000)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := take(30_000); limitIn(err) != problem.LimitStored {
			t.Fatal(err)
		}
	}
	if r.sums != 1 {
		t.Errorf("%d sums", r.sums)
	}
	old := func(age time.Duration) { b.of("ann").at = time.Now().Add(-age) }
	old(storedAgain)
	if _, err := take(30_000); limitIn(err) != problem.LimitStored {
		t.Errorf("what is in flight is not counted: %v", err)
	}
	written()
	r.bytes = 60_000 // some rows went
	old(storedAgain)
	if _, err := take(30_000); err != nil || r.sums != 3 {
		t.Errorf("after %d sums: %v", r.sums, err)
	}
	old(storedFor)
	if _, err := take(facts.JobFacts{}.Stored()); err != nil || r.sums != 4 {
		t.Errorf("after %d sums: %v", r.sums, err)
	}
	for n := range 2 * maxUsers {
		if _, err := b.Store(t.Context(), fmt.Sprint(n), 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.byUser) > maxUsers {
		t.Errorf("%d users are remembered", len(b.byUser))
	}
}

// limitIn is the limit that a refusal names.
func limitIn(err error) string {
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return refusal.Limit
	}
	return ""
}
