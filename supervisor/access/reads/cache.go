package reads

import (
	"context"
	"errors"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

const (
	keptFor  = time.Minute // rows that are compacted or removed after a job's end are not noted
	mostKept = 64 << 20    // bytes of all answers
)

// Key names an answer.
type Key struct {
	Job facts.JobID
	Of  string
}

// Cache keeps answers.
type Cache struct {
	mu    sync.Mutex
	of    map[facts.JobID]map[string]*entry
	bytes int
}

// Answer is what is kept, and how many bytes it takes.
type Answer struct {
	Value any
	Bytes int
}

// entry is an answer, or the reading of it that is under way.
type entry struct {
	done    chan struct{} // closed when it is read
	callers int           // who wait for it
	stop    context.CancelFunc
	answer  Answer
	err     error
	at      time.Time // zero: it is not read yet
}

// NewCache is an empty cache.
func NewCache() *Cache { return &Cache{of: map[facts.JobID]map[string]*entry{}} }

// Get is an answer that is kept, or that read makes. Read goes on while anybody waits for it.
func (c *Cache) Get(ctx context.Context, key Key, read func(context.Context) (Answer, error)) (any, error) {
	for {
		e, mine := c.enter(ctx, key)
		left := context.AfterFunc(ctx, func() { c.leave(key, e) })
		if mine != nil {
			c.read(mine, key, e, read)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
		}
		if left() {
			c.leave(key, e)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if mine == nil && ofAnother(e.err) {
			continue // it ended for a reason of the caller who began it
		}
		return e.answer.Value, e.err
	}
}

// ofAnother says whether a reading failed for what only the caller who began it had used up.
func ofAnother(err error) bool {
	var refused *api.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &refused) && refused.Kind == api.KindLimit
}

// enter finds the entry; mine is the context of a reading that the caller has to begin.
func (c *Cache) enter(ctx context.Context, key Key) (e *entry, mine context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.of[key.Job][key.Of]
	if e != nil && (e.at.IsZero() || time.Since(e.at) < keptFor) {
		e.callers++
		return e, nil
	}
	if e != nil {
		c.drop(key, e)
	}
	e = &entry{done: make(chan struct{}), callers: 1}
	mine, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	if c.of[key.Job] == nil {
		c.of[key.Job] = map[string]*entry{}
	}
	c.of[key.Job][key.Of] = e
	return e, mine
}

func (c *Cache) leave(key Key, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.callers--; e.callers == 0 && e.at.IsZero() {
		e.stop()
		c.drop(key, e)
	}
}

// errPanic is what the others hear who wait for a reading that panics.
var errPanic = errors.New("the reading panicked")

func (c *Cache) read(ctx context.Context, key Key, e *entry, read func(context.Context) (Answer, error)) {
	e.err = errPanic
	defer c.finish(key, e)
	e.answer, e.err = read(ctx)
}

// finish hands the answer to all who wait for it, and keeps it if no row has changed meanwhile.
func (c *Cache) finish(key Key, e *entry) {
	e.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.done)
	e.at = time.Now()
	switch {
	case c.of[key.Job][key.Of] != e: // the answer is for the callers that wait for it only
	case e.err != nil:
		e.answer.Bytes = 0
		c.drop(key, e)
	default:
		if c.bytes += e.answer.Bytes; c.bytes > mostKept {
			c.clear()
		}
	}
}

// drop forgets an entry; who waits for it gets its answer.
func (c *Cache) drop(key Key, e *entry) {
	if c.of[key.Job][key.Of] != e {
		return
	}
	if !e.at.IsZero() {
		c.bytes -= e.answer.Bytes
	}
	delete(c.of[key.Job], key.Of)
	if len(c.of[key.Job]) == 0 {
		delete(c.of, key.Job)
	}
}

// Note forgets what was read of a job that has changed; a reading that is under way is for its callers alone.
func (c *Cache) Note(job facts.JobID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, e := range c.of[job] {
		c.drop(Key{job, of}, e) // callers who wait hear its answer, later ones a newer one
	}
}

// Clear forgets all.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

func (c *Cache) clear() {
	c.of = map[facts.JobID]map[string]*entry{}
	c.bytes = 0
}
