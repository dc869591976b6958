package limits

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"qb/internal/units"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

const (
	storedFor   = 5 * time.Minute  // a sum of what a user's jobs take is good for,
	storedAgain = 10 * time.Second // and for a refusal
)

// storedBytes bounds what the rows of one user's jobs take, those of ended jobs included. The database sums them up
// when the user submits first and now and then after that; what he submits between two sums is added.
type storedBytes struct {
	config func() *settings.Config
	reader store.Reader

	mu     sync.Mutex
	byUser map[string]*storedOf
}

// storedOf is what one user has.
type storedOf struct {
	turn     chan struct{} // has room for who looks at it
	bytes    atomic.Int64  // changed in turn; what was refused since the last sum is in it, too
	at       time.Time     // of that
	inFlight atomic.Int64  // of bytes, what may not be in the rows yet
}

func newStoredBytes(config func() *settings.Config, reader store.Reader) *storedBytes {
	return &storedBytes{config: config, reader: reader, byUser: map[string]*storedOf{}}
}

func (b *storedBytes) of(user string) *storedOf {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.byUser[user]
	if u == nil {
		if len(b.byUser) >= maxUsers {
			clear(b.byUser)
		}
		u = &storedOf{turn: make(chan struct{}, 1)}
		b.byUser[user] = u
	}
	return u
}

// Store adds what a user is about to store, unless that is beyond his limit by a sum that is at most storedAgain old.
// Written says that the rows have it, or never will.
func (b *storedBytes) Store(ctx context.Context, user string, bytes int64) (written func(), err error) {
	written = func() {}
	err = b.fits(ctx, user, bytes, func(u *storedOf) {
		u.bytes.Add(bytes)
		u.inFlight.Add(bytes)
		written = sync.OnceFunc(func() { u.inFlight.Add(-bytes) })
	})
	return written, err
}

// MayStore says what Store would, and adds nothing.
func (b *storedBytes) MayStore(ctx context.Context, user string, bytes int64) error {
	return b.fits(ctx, user, bytes, func(*storedOf) {})
}

// fits lets a user who has room for so many bytes do something in turn.
func (b *storedBytes) fits(ctx context.Context, user string, bytes int64, do func(*storedOf)) error {
	most := b.config().UserStored
	if most == 0 || bytes == 0 {
		return nil
	}
	u := b.of(user)
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return problem.ErrNoAnswer
	}
	if age := time.Since(u.at); age > storedFor || u.bytes.Load()+bytes > int64(most) && age > storedAgain {
		if err := b.sum(ctx, user, u); err != nil {
			return err
		}
	}
	if with := u.bytes.Load() + bytes; with > int64(most) {
		return Beyond(problem.LimitStored, 0,
			"the jobs of %s, ended ones included, would take %s of the database with this one, more than supervisor_user_stored = %s; "+
				"waiting a moment does not help: %s", user, units.Size(with), most, b.wayOut())
	}
	do(u)
	return nil
}

// sum reads what the user has. What was in flight before may be in the rows, too: the next sum has it once.
func (b *storedBytes) sum(ctx context.Context, user string, u *storedOf) error {
	ctx, cancel := context.WithTimeout(ctx, store.ReadFor)
	defer cancel()
	at, inFlight := time.Now(), u.inFlight.Load()
	rows, err := b.reader.Stored(ctx, user)
	if err != nil {
		return problem.Reading("what a user's jobs take", err)
	}
	u.bytes.Store(rows + inFlight)
	u.at = at
	return nil
}

// used is what the user had when it was looked at last; 0 if it never was.
func (b *storedBytes) used(user string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.byUser[user]; u != nil {
		return u.bytes.Load()
	}
	return 0
}

// wayOut is what makes room for a user's jobs.
func (b *storedBytes) wayOut() string {
	if keep := b.config().JobRetention; keep > 0 {
		return fmt.Sprintf("jobs are removed %s after their end (supervisor_job_retention), or an operator raises the limit",
			keep)
	}
	return "an operator raises the limit, or sets supervisor_job_retention, so that ended jobs are removed"
}
