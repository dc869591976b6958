package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"qb/api"
)

// memo remembers the answers to changes by the caller's Idempotency-Key, so that a repeated call hears the
// same and changes nothing. Only what was done is remembered: a refused call may be repeated afresh.
type memo struct {
	mu    sync.Mutex
	byKey map[memoKey]*memoEntry
	order []*memoEntry // oldest first; some may be forgotten already
	bytes int
}

type memoKey struct{ user, key string }

type memoEntry struct {
	memoKey
	hash   [sha256.Size]byte
	size   int
	at     time.Time
	done   chan struct{}
	answer any // set before done is closed, nil if the call was refused
}

func newMemo() *memo { return &memo{byKey: map[memoKey]*memoEntry{}} }

// once runs change unless the same caller's same call has run or runs now, whose answer it returns. The
// same key with another request is a conflict. Without a key it just runs.
func once[T any](ctx context.Context, m *memo, e api.Endpoint, key string, request any, change func() (*T, error)) (*T, error) {
	if key == "" {
		return change()
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request for its hash: %w", err)
	}
	hash := sha256.Sum256(append([]byte(e.ID+"\n"), data...))
	k := memoKey{principalOf(ctx).User, key}
	for {
		entry, mine := m.enter(k, hash, len(data))
		if entry.hash != hash {
			return nil, api.Errorf(api.KindConflict, "Idempotency-Key %q was used for another request; use a new key", key)
		}
		if mine {
			answer, err := change()
			m.leave(entry, answer, err)
			return answer, err
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if answer, ok := entry.answer.(*T); ok {
			return answer, nil
		}
	}
}

// enter finds the entry of a key, or makes one that is the caller's to fill.
func (m *memo) enter(k memoKey, hash [sha256.Size]byte, size int) (*memoEntry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetOld(time.Now())
	if e := m.byKey[k]; e != nil {
		return e, false
	}
	e := &memoEntry{memoKey: k, hash: hash, size: size + 4096, at: time.Now(), done: make(chan struct{})}
	m.byKey[k] = e
	m.order = append(m.order, e)
	m.bytes += e.size
	return e, true
}

func (m *memo) leave(e *memoEntry, answer any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		e.answer = answer
	} else if m.byKey[e.memoKey] == e {
		delete(m.byKey, e.memoKey)
	}
	close(e.done)
}

func (m *memo) forgetOld(now time.Time) {
	for len(m.order) > 0 {
		e := m.order[0]
		if now.Sub(e.at) < rememberFor && len(m.order) < rememberMost && m.bytes < rememberBytes {
			return
		}
		m.order[0], m.order = nil, m.order[1:]
		m.bytes -= e.size
		if m.byKey[e.memoKey] == e {
			delete(m.byKey, e.memoKey)
		}
	}
}
