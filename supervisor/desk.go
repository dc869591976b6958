package supervisor

import (
	"context"
	"slices"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/termwatch"
)

// desk keeps the requests that wait for the farm's word. Each waits on a channel of its own; who is not
// there any more when the word comes is no longer on the desk, and the word is dropped.
type desk struct {
	mu      sync.Mutex
	last    outbox.Ticket
	waiting map[outbox.Ticket]*waiter
	keyed   map[outbox.Ticket]*keyedReply // whether anybody waits or not
	noted   map[outbox.Ticket]*auditNote
	memo    *memo
	closed  bool
}

type waiter struct {
	word chan word // room for one, so that nobody who speaks ever waits
	sync bool
}

type word struct {
	reply outbox.Reply
	err   error
}

func newDesk(m *memo) *desk {
	return &desk{waiting: map[outbox.Ticket]*waiter{}, keyed: map[outbox.Ticket]*keyedReply{}, noted: map[outbox.Ticket]*auditNote{}, memo: m}
}

// take gives a ticket to one who will wait; m is nil for a request without a key, n for one that leaves no row in the
// audit trail.
func (d *desk) take(isSync bool, m *memoEntry, n *auditNote) (outbox.Ticket, *waiter, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, nil, termwatch.ErrTermEnds
	}
	if len(d.waiting) >= maxWaiting {
		return 0, nil, api.Errorf(api.KindUnavailable, "%d requests wait already; try again in a moment", len(d.waiting))
	}
	d.last++
	w := &waiter{word: make(chan word, 1), sync: isSync}
	d.waiting[d.last] = w
	if n.begun() {
		d.noted[d.last] = n
	}
	if m != nil {
		d.keyed[d.last] = &keyedReply{memo: m}
		d.memo.handOver(m)
	}
	return d.last, w, nil
}

func (d *desk) leave(t outbox.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, t)
}

// say hands out what may be said now.
func (d *desk) say(replies []outbox.Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range replies {
		d.resolve(r.Ticket)
		if w := d.waiting[r.Ticket]; w != nil {
			w.word <- word{reply: r}
			delete(d.waiting, r.Ticket)
		}
	}
}

// toPeople says whether anybody but workers waits for one of the replies.
func (d *desk) toPeople(replies []outbox.Reply) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(replies, func(r outbox.Reply) bool {
		w := d.waiting[r.Ticket]
		return w != nil && !w.sync
	})
}

// refuse tells everybody, or everybody but the workers, that no word will come. With closing nobody is
// let in after it.
func (d *desk) refuse(err error, alsoSyncs, closing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = d.closed || closing
	for t, w := range d.waiting {
		if w.sync && !alsoSyncs {
			continue
		}
		w.word <- word{err: err}
		delete(d.waiting, t)
	}
	if closing {
		for t, k := range d.keyed {
			k.answer = nil // it may be durable or not: the next term reads it from the rows
			d.resolve(t)
		}
	}
}

// ask puts an event to the farm and waits for the word on it, at most for the time given. A refusal of
// the farm's comes back as an *api.Error.
func (l *loop) ask(ctx context.Context, wait time.Duration, isSync bool, event func(outbox.Ticket) farm.Event) (any, error) {
	return l.askOnce(ctx, nil, wait, isSync, event)
}

// askOnce is ask for a call that may be repeated under its key; m is nil if it has none.
func (l *loop) askOnce(ctx context.Context, m *memoEntry, wait time.Duration, isSync bool, event func(outbox.Ticket) farm.Event) (any, error) {
	if l.standing != "" && !isSync {
		return nil, api.Errorf(api.KindUnavailable, "%s", l.standing)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticket, w, err := l.desk.take(isSync, m, noteOf(ctx))
	if err != nil {
		return nil, err
	}
	defer l.desk.leave(ticket)
	inbox := l.inbox
	if isSync {
		inbox = l.syncs
	}
	select {
	case inbox <- event(ticket):
	case heard := <-w.word:
		l.desk.drop(ticket)
		return nil, heard.err
	case <-ctx.Done():
		l.desk.drop(ticket)
		return nil, problem.ErrNoAnswer
	}
	select {
	case heard := <-w.word:
		if heard.err != nil {
			return nil, heard.err
		}
		if r := heard.reply.Err; r != nil {
			return nil, &api.Error{Kind: api.Kind(r.Kind), Text: r.Text, Code: r.Code, Limit: r.Limit, RetryAfter: r.Wait}
		}
		return heard.reply.Body, nil
	case <-ctx.Done():
		return nil, problem.ErrNoAnswer
	}
}

// forget takes closed jobs out of the farm's memory, and returns those that it let go.
func (l *loop) forget(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) {
	body, err := l.ask(ctx, askFor, false, func(t outbox.Ticket) farm.Event { return farm.JobsAged{Ticket: t, Jobs: jobs} })
	if err != nil {
		return nil, err
	}
	return body.(farm.AgedReply).Jobs, nil
}
