package supervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
)

// call is a change on its way to the farm of a term.
type call struct {
	loop *loop
	memo *memoEntry // nil without a key
}

func (c call) ask(ctx context.Context, event func(outbox.Ticket) farm.Event) (any, error) {
	return c.loop.askOnce(ctx, c.memo, askFor, false, event)
}

// once runs a change unless the same caller's same call was answered before, under any leader, or runs now: then its
// answer is the answer. The same key with another request is a conflict. Only what was done is remembered, in the
// commit that makes it durable: a refused call may be repeated afresh. Shape makes the answer from the farm's reply, or
// nil for one that is not worth remembering; the loop calls it too. Without a key the change just runs.
func once[T any](ctx context.Context, s *server, e api.Endpoint, key string, request any, shape func(any) *T, change func(call) (any, error)) (*T, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	if key == "" {
		body, err := change(call{loop: l})
		if err != nil {
			return nil, err
		}
		return shape(body), nil
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request for its hash: %w", err)
	}
	k, hash := memoKey{principalOf(ctx).User, key}, sha256.Sum256(append([]byte(e.ID+"\n"), data...))
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	for {
		entry, mine, err := l.memo.enter(k, hash, untyped(shape))
		if err != nil {
			return nil, err
		}
		if mine {
			return first(ctx, s, call{l, entry}, shape, change)
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return nil, problem.ErrNoAnswer
		}
		if answer, ok := entry.answer.(*T); ok {
			return answer, nil
		}
	}
}

// first is the call that others of its key wait for now. What earlier terms answered is in the rows; this term began
// after the last of their commits.
func first[T any](ctx context.Context, s *server, c call, shape func(any) *T, change func(call) (any, error)) (out *T, err error) {
	defer func() {
		if out == nil {
			c.loop.memo.leave(c.memo, nil)
		} else {
			c.loop.memo.leave(c.memo, out)
		}
	}()
	if out, err = answered[T](ctx, s, c.memo); out != nil || err != nil {
		return out, err
	}
	body, err := change(c)
	if err != nil {
		return nil, err
	}
	return shape(body), nil
}

// answered is what the rows say that the call was answered, nil if nothing.
func answered[T any](ctx context.Context, s *server, m *memoEntry) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	a, known, err := s.reader.Answer(ctx, m.user, m.key)
	if err != nil {
		return nil, problem.Reading("what an earlier call was answered", err)
	}
	if !known {
		return nil, nil
	}
	if !bytes.Equal(a.Hash, m.hash[:]) {
		return nil, keyTaken(m.key)
	}
	out := new(T)
	if err := json.Unmarshal([]byte(a.Body), out); err != nil {
		return nil, fmt.Errorf("what a call under the key %q was answered cannot be read: %w", m.key, err)
	}
	return out, nil
}

func keyTaken(key string) error {
	return api.Errorf(api.KindConflict, "key %q belongs to an earlier request that differs in its command, an option, its folder or its environment; repeat that request unchanged, or choose another key", key)
}

func untyped[T any](shape func(any) *T) func(any) any {
	return func(body any) any {
		if out := shape(body); out != nil {
			return out
		}
		return nil
	}
}

// memo holds the calls with a key that a term works on, so that a call repeated meanwhile waits for the first. One
// whose sender left stays until the farm's word on it is durable or refused; what was answered is in the rows.
type memo struct {
	mu    sync.Mutex
	byKey map[memoKey]*memoEntry
}

type memoKey struct{ user, key string }

type memoEntry struct {
	memoKey
	hash   [sha256.Size]byte
	shape  func(any) any
	events int  // in the farm's hands
	left   bool // nobody will hand over another
	done   chan struct{}
	answer any // set before done is closed, nil if the call was refused
}

func newMemo() *memo { return &memo{byKey: map[memoKey]*memoEntry{}} }

// enter finds the entry of a key, or makes one that is the caller's to leave.
func (m *memo) enter(k memoKey, hash [sha256.Size]byte, shape func(any) any) (*memoEntry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byKey[k]; e != nil {
		if e.hash != hash {
			return nil, false, keyTaken(k.key)
		}
		return e, false, nil
	}
	if len(m.byKey) >= maxWaiting {
		return nil, false, api.Errorf(api.KindUnavailable, "%d changes wait already; try again in a moment", len(m.byKey))
	}
	e := &memoEntry{memoKey: k, hash: hash, shape: shape, done: make(chan struct{})}
	m.byKey[k] = e
	return e, true, nil
}

// handOver notes that the farm may get an event of the call; resolve, that it said what it had to say, with the
// answer that is durable now, or nil.
func (m *memo) handOver(e *memoEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.events++
}

func (m *memo) resolve(e *memoEntry, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.events--
	m.close(e, answer)
}

func (m *memo) leave(e *memoEntry, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.left = true
	m.close(e, answer)
}

// close ends the waiting as soon as there is an answer, or none will come.
func (m *memo) close(e *memoEntry, answer any) {
	if m.byKey[e.memoKey] != e || answer == nil && (e.events > 0 || !e.left) {
		return
	}
	e.answer = answer
	delete(m.byKey, e.memoKey)
	close(e.done)
}

// keyedReply is what is said to a call with a key as soon as it is durable.
type keyedReply struct {
	memo   *memoEntry
	answer any
}

// answers are the rows that go with the replies to calls with a key.
func (d *desk) answers(now time.Time, replies []outbox.Reply) []facts.Write {
	d.mu.Lock()
	defer d.mu.Unlock()
	var writes []facts.Write
	for _, r := range replies {
		k := d.keyed[r.Ticket]
		if k == nil || r.Err != nil {
			continue
		}
		answer := k.memo.shape(r.Body)
		if answer == nil {
			continue
		}
		body, err := json.Marshal(answer)
		if err != nil {
			continue // it cannot be told either
		}
		k.answer = answer
		writes = append(writes, facts.PutAnswer{Answer: facts.AnswerFacts{
			User: k.memo.user, Key: k.memo.key, Hash: bytes.Clone(k.memo.hash[:]), Body: string(body), At: now,
		}})
	}
	return writes
}

// audits are the rows of the audit trail that go with the replies to changes.
func (d *desk) audits(now time.Time, replies []outbox.Reply) []facts.Write {
	d.mu.Lock()
	defer d.mu.Unlock()
	var writes []facts.Write
	for _, r := range replies {
		if n := d.noted[r.Ticket]; n != nil && r.Err == nil {
			writes = append(writes, facts.AddAudit{Audit: n.done(now, r.Body)})
		}
	}
	return writes
}

// resolve tells those who repeated a call; d.mu is held.
func (d *desk) resolve(t outbox.Ticket) {
	delete(d.noted, t)
	if k := d.keyed[t]; k != nil {
		delete(d.keyed, t)
		d.memo.resolve(k.memo, k.answer)
	}
}

// drop forgets an event that the farm never got.
func (d *desk) drop(t outbox.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resolve(t)
}
