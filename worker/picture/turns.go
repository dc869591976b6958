package picture

import (
	"slices"
	"sync"
)

// waiting bounds the orders that wait. A later one gets no picture, unless another owner has more of them: then that
// owner's newest gets none.
const waiting = 64

// queue lets owners take turns: an owner's slow files keep each other's orders waiting, and another's for one
// picture.
type queue struct {
	wake chan struct{} // has one when there is an order

	mu     sync.Mutex
	count  int
	owners []*ownerQueue // the next one first
	stuck  map[int64]bool
}

type ownerQueue struct {
	owner  int64
	orders []Request
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1), stuck: map[int64]bool{}} }

// owner is the uid of who owns the files, or -1 for the agent's own.
func (t *Request) owner() int64 {
	if t.Owner == nil {
		return -1
	}
	return int64(t.Owner.Uid)
}

// add says whether there is a place for the order.
func (q *queue) add(t Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(q.owners, func(o *ownerQueue) bool { return o.owner == t.owner() })
	own := 0
	if n >= 0 {
		own = len(q.owners[n].orders)
	}
	if q.count >= waiting && !q.giveUpOne(own) {
		return false
	}
	if n < 0 {
		n = len(q.owners)
		q.owners = append(q.owners, &ownerQueue{owner: t.owner()})
	}
	q.owners[n].orders = append(q.owners[n].orders, t)
	q.count++
	q.nudge()
	return true
}

// giveUpOne drops the newest order of the owner with most of them, if that is more than one beyond another's own.
func (q *queue) giveUpOne(own int) bool {
	most := slices.MaxFunc(q.owners, func(x, y *ownerQueue) int { return len(x.orders) - len(y.orders) })
	if len(most.orders) <= own+1 {
		return false
	}
	most.orders = most.orders[:len(most.orders)-1]
	q.count--
	return true
}

func (q *queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next is an order of the owner whose turn it is; the owner goes behind the others.
func (q *queue) next() (t Request, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(q.owners, func(o *ownerQueue) bool { return !q.stuck[o.owner] })
	if n < 0 {
		return t, false
	}
	o := q.owners[n]
	t, o.orders = o.orders[0], o.orders[1:]
	q.count--
	q.owners = slices.Delete(q.owners, n, n+1)
	if len(o.orders) > 0 {
		q.owners = append(q.owners, o)
	}
	return t, true
}

// stick passes over an owner whose child does not end, until it has.
func (q *queue) stick(t Request, ended <-chan error) {
	q.mu.Lock()
	q.stuck[t.owner()] = true
	q.mu.Unlock()
	go func() {
		<-ended
		q.mu.Lock()
		delete(q.stuck, t.owner())
		q.mu.Unlock()
		q.nudge()
	}()
}
