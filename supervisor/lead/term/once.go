package term

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

// Call is a change on its way to the farm of a term.
type Call struct {
	loop *Loop
	key  *keyedCall // nil without a key
}

// Ask puts the change to the farm and waits for what comes of it.
func (c Call) Ask(ctx context.Context, event func(outbox.Ticket) message.Event) (any, error) {
	return c.loop.askOnce(ctx, c.key, AskFor, event)
}

// Key is the call's Idempotency-Key, empty if it has none.
func (c Call) Key() string {
	if c.key == nil {
		return ""
	}
	return c.key.key
}

// Beside returns the call without its key, for a change that precedes the change whose answer the call returns.
func (c Call) Beside() Call { return Call{loop: c.loop} }

// Repeatable says what makes a call the same as an earlier one: the user, the endpoint, the key that the caller gave,
// empty for none, and the request.
type Repeatable struct {
	User, Endpoint, Key string
	Request             any
	Answers             Answers // what earlier calls were answered
}

// Answers reads what a call of a user under a key was answered, under any leader.
type Answers interface {
	Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error)
}

// Once runs a change unless the same caller's same call was answered before, under any leader, or runs now: then it
// returns that answer. The same key with another request is a conflict. Only successful changes are remembered, in the
// commit that makes them durable; a refused call may be repeated. Shape makes the answer from the farm's reply, or nil
// if the answer need not be remembered; the loop calls it too. Without a key the change just runs.
func Once[T any](ctx context.Context, l *Loop, r Repeatable, shape func(any) *T,
	change func(Call) (any, error)) (*T, error) {
	if r.Key == "" {
		return shaped(Call{loop: l}, shape, change)
	}
	data, err := json.Marshal(r.Request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request for its hash: %w", err)
	}
	k, hash := callKey{r.User, r.Key}, sha256.Sum256(append([]byte(r.Endpoint+"\n"), data...))
	ctx, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	for {
		entry, mine, err := l.keys.enter(k, hash, untyped(shape))
		if err != nil {
			return nil, err
		}
		if mine {
			return first(ctx, r.Answers, Call{l, entry}, shape, change)
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

func shaped[T any](c Call, shape func(any) *T, change func(Call) (any, error)) (*T, error) {
	body, err := change(c)
	if err != nil {
		return nil, err
	}
	return shape(body), nil
}

// first is the call that others of its key wait for now. What earlier terms answered is in the rows; this term began
// after the last of their commits.
func first[T any](ctx context.Context, earlier Answers, c Call, shape func(any) *T,
	change func(Call) (any, error)) (out *T, err error) {
	defer func() {
		if out == nil {
			c.loop.keys.leave(c.key, nil)
		} else {
			c.loop.keys.leave(c.key, out)
		}
	}()
	if out, err = answered[T](ctx, earlier, c.key); out != nil || err != nil {
		return out, err
	}
	return shaped(c, shape, change)
}

// answered is what the rows say that the call was answered, nil if nothing.
func answered[T any](ctx context.Context, earlier Answers, m *keyedCall) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, store.ReadFor)
	defer cancel()
	a, known, err := earlier.Answer(ctx, m.user, m.key)
	if err != nil {
		return nil, problem.Reading("what an earlier call was answered", err)
	}
	if !known {
		return nil, nil
	}
	if !bytes.Equal(a.Hash, m.hash[:]) {
		return nil, KeyTaken(m.key)
	}
	out := new(T)
	if err := json.Unmarshal([]byte(a.Body), out); err != nil {
		return nil, fmt.Errorf("what a call under the key %q was answered cannot be read: %w", m.key, err)
	}
	return out, nil
}

func untyped[T any](shape func(any) *T) func(any) any {
	return func(body any) any {
		if out := shape(body); out != nil {
			return out
		}
		return nil
	}
}
