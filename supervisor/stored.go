package supervisor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"qb/supervisor/store"
)

// storedBytes bounds what the rows of one user's jobs take, those of ended jobs included. The database sums them up when
// the user submits first and now and then after that; what he submits between two sums is added.
type storedBytes struct {
	config func() *Config
	reader store.Reader

	mu     sync.Mutex
	byUser map[string]*storedOf
}

// storedOf is what one user has.
type storedOf struct {
	turn     chan struct{} // has room for who looks at it
	bytes    int64         // at most, but for what was refused since
	at       time.Time     // of the last sum
	inFlight atomic.Int64  // of it, what may not be in the rows yet
}

func newStoredBytes(config func() *Config, reader store.Reader) *storedBytes {
	return &storedBytes{config: config, reader: reader, byUser: map[string]*storedOf{}}
}

func (b *storedBytes) of(user string) *storedOf {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.byUser[user]
	if u == nil {
		if len(b.byUser) >= maxAllowed {
			clear(b.byUser)
		}
		u = &storedOf{turn: make(chan struct{}, 1)}
		b.byUser[user] = u
	}
	return u
}

// take adds what a user is about to store, unless that is beyond his limit by a sum that is at most storedAgain old.
// Written says that the rows have it, or never will.
func (b *storedBytes) take(ctx context.Context, user string, bytes int64) (written func(), err error) {
	most := b.config().UserStored
	if most == 0 || bytes == 0 {
		return func() {}, nil
	}
	u := b.of(user)
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return nil, errNoWord
	}
	if age := time.Since(u.at); age > storedFor || u.bytes+bytes > int64(most) && age > storedAgain {
		if err := b.sum(ctx, user, u); err != nil {
			return nil, err
		}
	}
	if u.bytes+bytes > int64(most) {
		return nil, beyond(limitStored, 0, "the jobs of %s, ended ones included, would take %d bytes of the database with this one, more than supervisor_user_stored = %s; "+
			"waiting a moment does not help: jobs go when supervisor_job_retention is over (%s), or an operator raises the limit", user, u.bytes+bytes, most, b.retention())
	}
	u.bytes += bytes
	u.inFlight.Add(bytes)
	return sync.OnceFunc(func() { u.inFlight.Add(-bytes) }), nil
}

// sum reads what the user has. What was in flight before may be in the rows, too: the next sum has it once.
func (b *storedBytes) sum(ctx context.Context, user string, u *storedOf) error {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	at, inFlight := time.Now(), u.inFlight.Load()
	rows, err := b.reader.Stored(ctx, user)
	if err != nil {
		return reading("what a user's jobs take", err)
	}
	u.bytes, u.at = rows+inFlight, at
	return nil
}

// retention is how long ended jobs stay, in words.
func (b *storedBytes) retention() string {
	if keep := b.config().JobRetention; keep > 0 {
		return keep.String() + " after their end"
	}
	return "0: never"
}
