package credentials

import (
	"context"
	"crypto/hmac"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

const (
	tokenCacheFor  = 30 * time.Second
	tokenCacheMost = time.Minute // while the database does not answer
	TokenReads     = 30          // at once for ids that are not known; then one a second
)

// Table holds all good tokens and the rows of users, so that no request costs the database a question, whatever id it
// names. They are read again when they are tokenCacheFor old, and for an id that is not there, at most once a second in
// the long run: another process may just have made it. A revocation acts at once where it was made and within
// tokenCacheFor elsewhere; while the database does not answer, within tokenCacheMost.
type Table struct {
	reader  store.Reader
	touched func(error)   // called with the result of each recording of token use
	pace    *rate.Limiter // of reads for ids that are not there

	mu     sync.Mutex
	byID   map[string]*Token
	people map[string]store.Person
	at     time.Time            // when the last read began
	used   map[string]time.Time // since then
	next   *tokenRead           // that will begin; nil: none waits
}

// Token is the row of a good token as it was read. What follows from the row alone is computed once: a worker shows its
// token with each sync, and the row is read again within tokenCacheFor.
type Token struct {
	store.Token
	asWritten atomic.Pointer[bool]   // the row is as this farm wrote it
	secret    atomic.Pointer[[]byte] // hash of the secret that is the token's
}

// Holds reports whether the row is as this farm wrote it, and good now.
func (t *Token) Holds(key farmkey.Key, now time.Time) bool {
	written := t.asWritten.Load()
	if written == nil {
		is := hmac.Equal(TokenSeal(key, t.Token), t.Seal)
		written = &is
		t.asWritten.Store(written)
	}
	return *written && !t.Revoked && now.Before(t.ExpiresAt)
}

// HasSecret reports whether the row belongs to the token with those fields. It compares in constant time.
func (t *Token) HasSecret(key farmkey.Key, p TokenFields) bool {
	hash := hashSecret(p.Secret)
	if known := t.secret.Load(); known != nil && hmac.Equal(*known, hash) {
		return string(p.Role) == t.Role
	}
	is := p.IsOf(key, t.Token)
	if is {
		t.secret.Store(&hash)
	}
	return is
}

// tokenRead is a read of the table that others wait for.
type tokenRead struct {
	done chan struct{}
	err  error
}

// NewTable returns a table that reads from r. It calls touched with the result of each recording of token use.
func NewTable(r store.Reader, touched func(error)) *Table {
	return &Table{reader: r, touched: touched, pace: rate.NewLimiter(1, TokenReads), byID: map[string]*Token{},
		used: map[string]time.Time{}}
}

// Get finds a good token. With known only what is held already counts: nothing is read for an id that is not there.
func (c *Table) Get(ctx context.Context, id string, known bool) (*Token, bool, error) {
	t, ok, age := c.look(id)
	if ok && age < tokenCacheFor || !ok && known && age < tokenCacheFor {
		return t, ok, nil
	}
	if err := c.read(ctx, age >= tokenCacheFor); err != nil {
		if ok && age < tokenCacheMost {
			return t, true, nil
		}
		return nil, false, problem.Reading("the tokens", err)
	}
	t, ok, _ = c.look(id)
	return t, ok, nil
}

func (c *Table) look(id string) (t *Token, ok bool, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if t, ok = c.byID[id]; ok {
		c.used[id] = now
	}
	return t, ok, now.Sub(c.at)
}

// read waits for a read of the table that begins after this call; all who wait share one.
func (c *Table) read(ctx context.Context, due bool) error {
	c.mu.Lock()
	r := c.next
	if r == nil {
		r = &tokenRead{done: make(chan struct{})}
		c.next = r
		wait := time.Duration(0)
		if !due {
			wait = c.pace.Reserve().Delay()
		}
		go c.run(r, wait)
	}
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Table) run(r *tokenRead, wait time.Duration) {
	defer close(r.done)
	time.Sleep(wait)
	ctx, cancel := context.WithTimeout(context.Background(), store.ReadFor)
	defer cancel()
	c.mu.Lock()
	c.next = nil // who comes now waits for another
	used := c.used
	c.used = map[string]time.Time{}
	c.mu.Unlock()
	began := time.Now()
	tokens, err := c.reader.GoodTokens(ctx, began)
	if err != nil {
		r.err = err
		return
	}
	rows, err := c.reader.People(ctx)
	if err != nil {
		r.err = err
		return
	}
	people := make(map[string]store.Person, len(rows))
	for _, p := range rows {
		people[p.Name] = p
	}
	byID := make(map[string]*Token, len(tokens))
	for _, t := range tokens {
		byID[t.ID] = &Token{Token: t}
	}
	c.mu.Lock()
	c.byID = byID
	c.people = people
	c.at = began
	c.mu.Unlock()
	maps.DeleteFunc(used, func(id string, _ time.Time) bool { return byID[id] == nil })
	if len(used) > 0 {
		c.touched(c.reader.TouchTokens(ctx, used))
	}
}

// Stale lets the next request read the table: a token or a user was made, changed or taken away here.
func (c *Table) Stale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
