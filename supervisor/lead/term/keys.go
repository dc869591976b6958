package term

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// inFlightKeys holds the calls with an idempotency key that a term works on, so that a call that is repeated meanwhile
// waits for the first. A call whose sender left stays until the farm's reply is durable or is a refusal. Answers of
// finished calls are in the rows.
type inFlightKeys struct {
	mu    sync.Mutex
	byKey map[callKey]*keyedCall
}

type callKey struct{ user, key string }

type keyedCall struct {
	callKey
	hash   [sha256.Size]byte
	shape  func(any) any
	events int  // that the farm has not replied to
	left   bool // no more events of this call will follow
	done   chan struct{}
	answer any // set before done is closed, nil if the call was refused
}

func newInFlightKeys() *inFlightKeys { return &inFlightKeys{byKey: map[callKey]*keyedCall{}} }

// enter finds the entry of a key, or makes an entry, which the caller must leave.
func (m *inFlightKeys) enter(k callKey, hash [sha256.Size]byte, shape func(any) any) (*keyedCall, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byKey[k]; e != nil {
		if e.hash != hash {
			return nil, false, KeyTaken(k.key)
		}
		return e, false, nil
	}
	if len(m.byKey) >= maxWaiting {
		return nil, false, api.Errorf(api.KindUnavailable, "%d changes wait already; try again in a moment", len(m.byKey))
	}
	e := &keyedCall{callKey: k, hash: hash, shape: shape, done: make(chan struct{})}
	m.byKey[k] = e
	return e, true, nil
}

// handOver notes that the farm may get an event of the call. Resolve notes that the farm has replied to it; answer is
// durable now, or nil.
func (m *inFlightKeys) handOver(e *keyedCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.events++
}

func (m *inFlightKeys) resolve(e *keyedCall, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.events--
	m.close(e, answer)
}

func (m *inFlightKeys) leave(e *keyedCall, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.left = true
	m.close(e, answer)
}

// close ends the waiting as soon as there is an answer, or none will come.
func (m *inFlightKeys) close(e *keyedCall, answer any) {
	if m.byKey[e.callKey] != e || answer == nil && (e.events > 0 || !e.left) {
		return
	}
	e.answer = answer
	delete(m.byKey, e.callKey)
	close(e.done)
}

// keyedReply is what is said to a call with a key as soon as it is durable.
type keyedReply struct {
	call   *keyedCall
	answer any
}

// writes are the rows that go with the replies: answers to calls with a key, and the audit trail of changes.
func (d *waiters) writes(now time.Time, replies []outbox.Reply) (writes []facts.Write) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range replies {
		if r.Err != nil {
			continue
		}
		if n := d.noted[r.Ticket]; n != nil {
			writes = append(writes, facts.AddAudit{Audit: n.Done(now, r.Body)})
		}
		k := d.keyed[r.Ticket]
		if k == nil {
			continue
		}
		answer := k.call.shape(r.Body)
		if answer == nil {
			continue
		}
		if body, err := json.Marshal(answer); err == nil { // otherwise it cannot be sent either
			k.answer = answer
			writes = append(writes, facts.PutAnswer{Answer: facts.AnswerFacts{
				User: k.call.user, Key: k.call.key, Hash: bytes.Clone(k.call.hash[:]), Body: string(body), At: now,
			}})
		}
	}
	return writes
}

// resolve passes the answer to the callers that repeated the call. The caller holds d.mu.
func (d *waiters) resolve(t outbox.Ticket) {
	delete(d.noted, t)
	if k := d.keyed[t]; k != nil {
		delete(d.keyed, t)
		d.keys.resolve(k.call, k.answer)
	}
}

// drop forgets an event that the farm never got.
func (d *waiters) drop(t outbox.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resolve(t)
}

// KeyTaken refuses a call whose key belongs to another request.
func KeyTaken(key string) error {
	return api.Errorf(api.KindConflict,
		"key %q belongs to an earlier request that differs in its command, an option, its folder or its environment; repeat that request unchanged, or choose another key",
		key)
}
