package limits

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// What one user has of what users take in turn.
const (
	HeavyOfOne = 2 // calls under way that take long; searches are counted apart
	ReadsOfOne = 2 // of the database
	OneOfOne   = 1 // of what needs a processor or the live farm
)

// turnWait is how long somebody waits for a turn at most; a client repeats the call then.
const turnWait = 4 * time.Second

// Pools shares few places among users: each has at most so many of them at a time, and who waits gets the next one
// after the users who have had theirs less lately. Operators have places of their own beside those.
type Pools struct {
	limit   string
	what    string // what is done in a place, for the refusal
	ofOne   int
	places  map[bool]*pool // by whether they are for operators
	mu      sync.Mutex
	working map[string]int // by user
}

// pool is the places for operators, or for everybody else.
type pool struct {
	free   int
	queues []*queue // of users who wait, the next one first
}

type queue struct {
	user    string
	waiting list.List // of chan struct{}, closed when it has a place
}

// NewPools has so many places for users, of whom each takes at most ofOne, and so many for operators.
func NewPools(limit, what string, users, ofOne, operators int) *Pools {
	return &Pools{limit: limit, what: what, ofOne: ofOne,
		places: map[bool]*pool{false: {free: users}, true: {free: operators}}, working: map[string]int{}}
}

// Take waits for a place; leave gives it back. The wait ends with ctx.
func (t *Pools) Take(ctx context.Context, user string, operator bool) (leave func(), err error) {
	t.mu.Lock()
	p := t.places[operator]
	waiting := p.wait(user)
	t.hand(p)
	t.mu.Unlock()
	leave = sync.OnceFunc(func() { t.leave(p, user) })
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case <-waiting:
		return leave, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = Beyond(t.limit, time.Second, "too much %s is going on; try again in a moment", t.what)
	}
	if !t.giveUp(p, user, waiting) { // it was handed at this moment
		leave()
	}
	return nil, err
}

// wait puts a user's call behind those of the same user.
func (p *pool) wait(user string) chan struct{} {
	n := slices.IndexFunc(p.queues, func(q *queue) bool { return q.user == user })
	if n < 0 {
		n = len(p.queues)
		p.queues = append(p.queues, &queue{user: user})
	}
	waiting := make(chan struct{})
	p.queues[n].waiting.PushBack(waiting)
	return waiting
}

// hand gives free places to the first users who may have one more. Each goes behind the others then.
func (t *Pools) hand(p *pool) {
	for p.free > 0 {
		n := slices.IndexFunc(p.queues, func(q *queue) bool { return t.working[q.user] < t.ofOne })
		if n < 0 {
			return
		}
		q := p.queues[n]
		close(q.waiting.Remove(q.waiting.Front()).(chan struct{}))
		p.free--
		t.working[q.user]++
		p.queues = slices.Delete(p.queues, n, n+1)
		if q.waiting.Len() > 0 {
			p.queues = append(p.queues, q)
		}
	}
}

func (t *Pools) leave(p *pool, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.free++
	if t.working[user]--; t.working[user] == 0 {
		delete(t.working, user)
	}
	t.hand(p)
}

// giveUp ends a wait; false: it has ended with a place.
func (t *Pools) giveUp(p *pool, user string, waiting chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := slices.IndexFunc(p.queues, func(q *queue) bool { return q.user == user })
	if n < 0 {
		return false
	}
	q := p.queues[n]
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		if e.Value == waiting {
			q.waiting.Remove(e)
			if q.waiting.Len() == 0 {
				p.queues = slices.Delete(p.queues, n, n+1)
			}
			return true
		}
	}
	return false
}

// AtOnce bounds how many calls of a kind one user has under way; what is beyond is refused. It has no limit for all:
// what the calls need of the database and the processor they take in turn.
type AtOnce struct {
	limit string
	most  int

	mu     sync.Mutex
	byUser map[string]int
}

// NewAtOnce lets each user have so many calls under way.
func NewAtOnce(limit string, most int) *AtOnce {
	return &AtOnce{limit: limit, most: most, byUser: map[string]int{}}
}

// Enter begins a call; leave ends it.
func (a *AtOnce) Enter(user string) (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byUser[user] >= a.most {
		return nil, Beyond(a.limit, time.Second,
			"%s has %d calls under way that take long, the limit; try again when one has ended", user, a.most)
	}
	a.byUser[user]++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.byUser[user]--; a.byUser[user] == 0 {
			delete(a.byUser, user)
		}
	}), nil
}
