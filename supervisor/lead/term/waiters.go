package term

import (
	"context"
	"slices"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/termwatch"
)

// waiters are the requests that wait for what the farm makes of them, each on a channel of its own. The outcome for one
// that has left is dropped.
type waiters struct {
	mu      sync.Mutex
	last    outbox.Ticket
	waiting map[outbox.Ticket]*waiter
	keyed   map[outbox.Ticket]*keyedReply // whether anybody waits or not
	noted   map[outbox.Ticket]Note
	keys    *inFlightKeys
	closed  bool
}

type waiter struct {
	outcome chan outcome // has room for one, so that deliver never waits
	sync    bool
}

// Note is what is known of a change, of which a row of the audit trail is made as soon as it is done.
type Note interface {
	Begun() bool // it leaves a row
	Done(now time.Time, body any) facts.AuditFacts
}

type outcome struct {
	reply outbox.Reply
	err   error
}

func newWaiters(m *inFlightKeys) *waiters {
	return &waiters{waiting: map[outbox.Ticket]*waiter{}, keyed: map[outbox.Ticket]*keyedReply{},
		noted: map[outbox.Ticket]Note{}, keys: m}
}

// take returns a ticket for a request that will wait. m is nil for a request without a key, n for a request without a
// row in the audit trail.
func (d *waiters) take(isSync bool, m *keyedCall, n Note) (outbox.Ticket, *waiter, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, nil, termwatch.ErrTermEnds
	}
	if len(d.waiting) >= maxWaiting {
		return 0, nil, api.Errorf(api.KindUnavailable, "%d requests wait already; try again in a moment", len(d.waiting))
	}
	d.last++
	w := &waiter{outcome: make(chan outcome, 1), sync: isSync}
	d.waiting[d.last] = w
	if n != nil && n.Begun() {
		d.noted[d.last] = n
	}
	if m != nil {
		d.keyed[d.last] = &keyedReply{call: m}
		d.keys.handOver(m)
	}
	return d.last, w, nil
}

// leave takes back the ticket of one who waits no longer; false: the outcome was handed out.
func (d *waiters) leave(t outbox.Ticket) (waited bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, waited = d.waiting[t]
	delete(d.waiting, t)
	return waited
}

// supersede ends the wait of a worker whose report was merged into a later one; 0 is none.
func (d *waiters) supersede(t outbox.Ticket) {
	if t != 0 {
		d.deliver([]outbox.Reply{Superseded(t)})
	}
}

// Superseded is the answer to a report that was merged into a later one before it was read.
func Superseded(t outbox.Ticket) outbox.Reply {
	return outbox.Reply{Ticket: t,
		Err: outbox.Refused("conflict", "a later sync of the same worker takes the place of this one")}
}

// deliver hands out replies that may go now.
func (d *waiters) deliver(replies []outbox.Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range replies {
		d.resolve(r.Ticket)
		if w := d.waiting[r.Ticket]; w != nil {
			w.outcome <- outcome{reply: r}
			delete(d.waiting, r.Ticket)
		}
	}
}

// toPeople says whether anybody but workers waits for one of the replies.
func (d *waiters) toPeople(replies []outbox.Reply) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(replies, func(r outbox.Reply) bool {
		w := d.waiting[r.Ticket]
		return w != nil && !w.sync
	})
}

// refuse answers all waiting requests with an error, except those of workers. With closing it answers these too, and
// refuses new ones.
func (d *waiters) refuse(err error, closing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = d.closed || closing
	for t, w := range d.waiting {
		if w.sync && !closing {
			continue
		}
		w.outcome <- outcome{err: err}
		delete(d.waiting, t)
	}
	if closing {
		for t, k := range d.keyed {
			k.answer = nil // it may be durable or not: the next term reads it from the rows
			d.resolve(t)
		}
	}
}

// Ask puts a person's event to the farm and waits for its reply. A refusal of the farm's comes back as an *api.Error.
func (l *Loop) Ask(ctx context.Context, event func(outbox.Ticket) message.Event) (any, error) {
	return l.askOnce(ctx, nil, AskFor, event)
}

// AskSync puts a worker's report to the farm and waits for its reply, at most for the time given. A later report of the
// same agent takes its place while it is unread.
func (l *Loop) AskSync(ctx context.Context, wait time.Duration, e message.WorkerSynced) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticket, w, err := l.waiters.take(true, nil, nil)
	if err != nil {
		return nil, err
	}
	e.Ticket = ticket
	superseded, ok := l.syncs.Put(l.clock.Now(), e)
	if !ok {
		l.waiters.leave(ticket)
		return nil, api.Errorf(api.KindUnavailable, "%d reports of workers wait already; try again in a moment", maxWaiting)
	}
	l.waiters.supersede(superseded)
	defer func() {
		if l.waiters.leave(ticket) {
			l.syncs.Leave(l.clock.Now(), e)
		}
	}()
	return heard(ctx, w)
}

// Tell puts an event without a waiting request to the farm. It returns false if too many events wait.
func (l *Loop) Tell(e message.Event) bool {
	select {
	case l.inbox <- e:
		return true
	default:
		return false
	}
}

// askOnce is Ask for a call that may be repeated under its key; m is nil if it has none.
func (l *Loop) askOnce(ctx context.Context, m *keyedCall, wait time.Duration,
	event func(outbox.Ticket) message.Event) (any, error) {
	if l.readOnly != "" {
		return nil, api.Errorf(api.KindUnavailable, "%s", l.readOnly)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var n Note
	if l.noteOf != nil {
		n = l.noteOf(ctx)
	}
	ticket, w, err := l.waiters.take(false, m, n)
	if err != nil {
		return nil, err
	}
	defer l.waiters.leave(ticket)
	select {
	case l.inbox <- event(ticket):
	case heard := <-w.outcome:
		l.waiters.drop(ticket)
		return nil, heard.err
	case <-ctx.Done():
		l.waiters.drop(ticket)
		return nil, problem.ErrNoAnswer
	}
	return heard(ctx, w)
}

// heard waits for what becomes of a request.
func heard(ctx context.Context, w *waiter) (any, error) {
	select {
	case heard := <-w.outcome:
		if heard.err != nil {
			return nil, heard.err
		}
		if r := heard.reply.Err; r != nil {
			return nil, ErrorOf(r)
		}
		return heard.reply.Body, nil
	case <-ctx.Done():
		return nil, problem.ErrNoAnswer
	}
}

// ErrorOf is a refusal of the farm as a request is answered.
func ErrorOf(r *outbox.Refusal) *api.Error {
	return &api.Error{Kind: api.Kind(r.Kind), Text: r.Text, Code: r.Code, Limit: r.Limit, RetryAfter: r.Wait,
		Member: r.Member}
}

// Forget drops closed jobs from the farm's memory, and returns the jobs that it dropped.
func (l *Loop) Forget(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) {
	body, err := l.Ask(ctx, func(t outbox.Ticket) message.Event { return message.JobsAged{Ticket: t, Jobs: jobs} })
	if err != nil {
		return nil, err
	}
	return body.(message.AgedReply).Jobs, nil
}
