package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Memory is a store that forgets when the process ends: the double for simulations. It refuses what Postgres
// refuses, and can be told to fail as Postgres may. Without faults no method waits but Lead, and that only while
// another leads. It is safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	epoch  int64
	leader *memoryTerm
	freed  chan struct{} // closed when the leader's lock comes free
	fault  Fault
	full   bool // no commit finds room

	jobs     map[facts.JobID]*memoryJob
	tokens   map[string]store.Token
	people   map[string]store.Person
	hosts    map[facts.HostID]facts.HostFacts
	events   []facts.EventFacts
	shares   memoryShares
	profiles memoryProfiles

	answers memoryAnswers
	audits  []store.AuditRow
	history memoryHistory
	descent memoryDescent
}

// memoryJob is a row of job with the rows that refer to it. Attempts of an item are by their numbers.
type memoryJob struct {
	facts    facts.JobFacts
	marks    []facts.Mark
	orders   []facts.OrderFacts // by number
	attempts map[facts.ItemNo][]facts.AttemptFacts

	compacted   *memoryCompacted
	logsRemoved time.Time
	changed     time.Time
}

// Fault is a failure that Memory plays once.
type Fault uint8

// The faults. After FailAfterCommit the writes are durable though Commit returned an error. Each of them ends the
// session, as an error in Postgres does.
const (
	NoFault Fault = iota
	FailBeforeCommit
	FailAfterCommit
	FailCheck
	FailLoad
)

// errPlayed is what a played fault returns, under store.ErrTermOver.
var errPlayed = errors.New("the connection broke (a fault was asked for)")

var (
	_ store.Store  = (*Memory)(nil)
	_ store.Reader = (*Memory)(nil)
	_ store.Upkeep = (*Memory)(nil)
)

// NewMemory is an empty store.
func NewMemory() *Memory {
	return &Memory{freed: make(chan struct{}), jobs: map[facts.JobID]*memoryJob{}, tokens: map[string]store.Token{}, people: map[string]store.Person{},
		hosts: map[facts.HostID]facts.HostFacts{}, shares: newMemoryShares(), profiles: memoryProfiles{}, history: memoryHistory{days: map[dayKey]daySums{}}}
}

// FailNext makes the next call that the fault concerns fail; NoFault takes it back.
func (m *Memory) FailNext(f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

// Depose ends the leader's session, as Postgres does when it hears nothing from it; the leader itself finds out
// when it next uses its term.
func (m *Memory) Depose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release(m.leader)
}

// release frees the lock if t holds it; m.mu is held.
func (m *Memory) release(t *memoryTerm) {
	if t != nil && m.leader == t {
		m.leader = nil
		close(m.freed)
		m.freed = make(chan struct{})
	}
}

// Lead waits until this caller leads, or ctx ends.
func (m *Memory) Lead(ctx context.Context) (store.Term, error) {
	for {
		t, freed := m.tryLead()
		if t != nil {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting to lead: %w", ctx.Err())
		case <-freed:
		}
	}
}

func (m *Memory) tryLead() (*memoryTerm, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leader != nil {
		return nil, m.freed
	}
	d, err := m.descent.lead()
	if err != nil {
		return nil, m.freed
	}
	m.epoch++
	m.leader = &memoryTerm{store: m, epoch: m.epoch, began: time.Now(), descent: d}
	return m.leader, nil
}

type memoryTerm struct {
	store *Memory
	epoch int64
	began time.Time

	descent store.Descent
}

// Epoch is the term's number.
func (t *memoryTerm) Epoch() int64 { return t.epoch }

// Began is when the term began, by the clock of this machine.
func (t *memoryTerm) Began() time.Time { return t.began }

// use runs f while nobody else uses the store; any error ends the term.
func (t *memoryTerm) use(ctx context.Context, f func(*Memory) error) error {
	m := t.store
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leader != t {
		return fmt.Errorf("%w: epoch %d is no longer the supervisor's", store.ErrTermOver, t.epoch)
	}
	err := ctx.Err()
	if err == nil {
		err = f(m)
	}
	if err != nil {
		m.release(t)
		return fmt.Errorf("%w: %w", store.ErrTermOver, err)
	}
	return nil
}

// played says whether the fault is due, once; m.mu is held.
func (m *Memory) played(f Fault) bool {
	if m.fault != f {
		return false
	}
	m.fault = NoFault
	return true
}

// Check proves that the term stands.
func (t *memoryTerm) Check(ctx context.Context) error {
	return t.use(ctx, func(m *Memory) error {
		if m.played(FailCheck) {
			return errPlayed
		}
		return nil
	})
}

// Close gives the lock back.
func (t *memoryTerm) Close(context.Context) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.store.release(t)
}

// Load reads all that the farm starts from.
func (t *memoryTerm) Load(ctx context.Context) (rows facts.Facts, err error) {
	err = t.use(ctx, func(m *Memory) error {
		if m.played(FailLoad) {
			return errPlayed
		}
		rows.Ended = map[facts.JobID]facts.JobState{}
		m.loadNumbers(t.descent, &rows)
		for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
			rows.NextJob = max(rows.NextJob, id+1)
			if j := m.jobs[id]; !j.facts.State.Final() {
				rows.Jobs = append(rows.Jobs, j.loaded())
				m.addEnded(&rows, j.facts.WaitFor)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(m.hosts)) {
			rows.Hosts = append(rows.Hosts, rules.NormalHost(m.hosts[id]))
		}
		m.shares.load(&rows)
		rows.Profiles = m.profiles.load()
		return nil
	})
	return rows, err
}

// addEnded adds those of the links' jobs that are final.
func (m *Memory) addEnded(rows *facts.Facts, links []facts.Link) {
	for _, l := range links {
		if parent := m.jobs[l.Job]; parent != nil && parent.facts.State.Final() {
			rows.Ended[l.Job] = parent.facts.State
		}
	}
}

func (j *memoryJob) record() facts.JobRecord {
	return facts.JobRecord{Job: rules.NormalJob(j.facts), Marks: slices.Clone(j.marks), Orders: slices.Clone(j.orders), Attempts: j.all()}
}

// loaded is the record with the attempts that did their items in short.
func (j *memoryJob) loaded() facts.JobRecord {
	if len(j.orders) > 0 {
		return j.record()
	}
	r := facts.JobRecord{Job: rules.NormalJob(j.facts), Marks: slices.Clone(j.marks)}
	for _, a := range j.all() {
		r.Add(a)
	}
	return r
}

// all attempts by (item, number).
func (j *memoryJob) all() []facts.AttemptFacts {
	var list []facts.AttemptFacts
	for _, item := range slices.Sorted(maps.Keys(j.attempts)) {
		list = append(list, j.attempts[item]...)
	}
	return list
}

// Commit makes all writes or none.
func (t *memoryTerm) Commit(ctx context.Context, writes []facts.Write) error {
	if len(writes) == 0 {
		return nil
	}
	return t.use(ctx, func(m *Memory) error {
		if m.played(FailBeforeCommit) {
			return errPlayed
		}
		if m.full {
			return store.ErrFull
		}
		var undo undoLog
		for _, w := range writes {
			if err := m.apply(w, &undo); err != nil {
				undo.all()
				return err
			}
		}
		m.forgetAnswers(writes)
		if m.played(FailAfterCommit) {
			return errPlayed
		}
		return nil
	})
}

// undoLog takes back a transaction.
type undoLog []func()

func (u *undoLog) add(f func()) { *u = append(*u, f) }

func (u undoLog) all() {
	for _, f := range slices.Backward(u) {
		f()
	}
}

// save notes a value as it is before it is changed. What a list holds is never written into.
func save[T any](undo *undoLog, at *T) {
	before := *at
	undo.add(func() { *at = before })
}

// put sets a key and notes how to take it back.
func put[K comparable, V any](undo *undoLog, m map[K]V, key K, value V) {
	old, had := m[key]
	undo.add(func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
	m[key] = value
}

// remove deletes a key and notes how to take it back.
func remove[K comparable, V any](undo *undoLog, m map[K]V, key K) {
	if old, had := m[key]; had {
		undo.add(func() { m[key] = old })
		delete(m, key)
	}
}

// CreateToken adds a token; its id must be new.
func (m *Memory) CreateToken(_ context.Context, t store.Token, audit ...facts.AuditFacts) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.addToken(t); err != nil {
		return err
	}
	m.addAudits(audit)
	return nil
}

func (m *Memory) addToken(t store.Token) error {
	if _, known := m.tokens[t.ID]; known || t.ID == "" || len(t.MAC) != 32 || t.Seal == nil || t.UsesLeft != nil && *t.UsesLeft < 0 {
		return fmt.Errorf("adding a token: id %q is taken or empty, the MAC has not 32 bytes, there is no seal, or its uses are negative", t.ID)
	}
	m.tokens[t.ID] = rules.NormalToken(t)
	return nil
}

// ExchangeToken takes a use from a token, if it still is as before and has one, and adds the token that was made for it.
func (m *Memory) ExchangeToken(_ context.Context, before, after, made store.Token, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.tokens[before.ID]
	if !known || !bytes.Equal(t.Seal, before.Seal) || t.Revoked || t.UsesLeft == nil || *t.UsesLeft == 0 {
		return false, nil
	}
	if err := m.addToken(made); err != nil {
		return false, err
	}
	t.UsesLeft, t.Seal = after.UsesLeft, after.Seal
	m.tokens[t.ID] = t
	m.addAudits(audit)
	return true, nil
}

// HostTokens lists the tokens that are bound to a host's key, the newest first.
func (m *Memory) HostTokens(_ context.Context, hostKey string) ([]store.Token, error) {
	return page(m.tokensIf(func(t store.Token) bool { return hostKey != "" && t.HostKey == hostKey }, newestFirst)), nil
}

// tokensIf lists those that fit.
func (m *Memory) tokensIf(fits func(store.Token) bool, order func(a, b store.Token) int) (list []store.Token) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if fits(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, order)
	return list
}

// page is as much of a list as one call returns.
func page[T any](list []T) []T { return list[:min(len(list), store.MaxPage)] }

func newestFirst(a, b store.Token) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// Token finds a token by its id.
func (m *Memory) Token(_ context.Context, id string) (store.Token, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.tokens[id]
	return t, known, nil
}

// Tokens lists tokens, the oldest first.
func (m *Memory) Tokens(context.Context) ([]store.Token, error) {
	return page(m.tokensIf(func(store.Token) bool { return true }, func(a, b store.Token) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})), nil
}

// RevokeToken says whether there is such a token.
func (m *Memory) RevokeToken(_ context.Context, id string, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.tokens[id]
	if known {
		m.revoke(func(t store.Token) bool { return t.ID == id })
		m.addAudits(audit)
	}
	return known, nil
}

// GoodTokens lists tokens that may be used now.
func (m *Memory) GoodTokens(_ context.Context, now time.Time) ([]store.Token, error) {
	return m.tokensIf(func(t store.Token) bool { return !t.Revoked && t.ExpiresAt.After(rules.Exact(now)) }, func(a, b store.Token) int {
		return cmp.Or(cmp.Compare(turn(a), turn(b)), newestFirst(a, b))
	}), nil
}

// turn is the place of a token's kind among the good ones.
func turn(t store.Token) int {
	switch {
	case t.HostKey == "":
		return 0
	case !t.LastUsed.IsZero():
		return 1
	}
	return 2
}

// DropSpareTokens deletes hosts' tokens that nobody needs, and sessions that have ended.
func (m *Memory) DropSpareTokens(_ context.Context, before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = rules.Exact(before)
	lastUse := func(t store.Token) time.Time {
		if t.LastUsed.IsZero() {
			return t.CreatedAt
		}
		return t.LastUsed
	}
	of, was := map[string][]store.Token{}, len(m.tokens)
	maps.DeleteFunc(m.tokens, func(_ string, t store.Token) bool { return t.SessionOf != "" && t.ExpiresAt.Before(before) })
	for _, t := range m.tokens {
		if t.HostKey != "" {
			of[t.HostKey] = append(of[t.HostKey], t)
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b store.Token) int { return cmp.Or(lastUse(b).Compare(lastUse(a)), cmp.Compare(a.ID, b.ID)) })
		for place, t := range list {
			if place >= rules.KeptTokens || t.ExpiresAt.Before(before) || t.LastUsed.IsZero() && t.CreatedAt.Before(before) {
				delete(m.tokens, t.ID)
			}
		}
	}
	return was - len(m.tokens), nil
}

// TouchTokens notes when tokens were used last.
func (m *Memory) TouchTokens(_ context.Context, used map[string]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, at := range used {
		if t, known := m.tokens[id]; known {
			t.LastUsed = rules.NotBefore(rules.Exact(at), t.LastUsed)
			m.tokens[id] = t
		}
	}
	return nil
}

// ChangeToken gives a token the end of next and lets it wait as next does, if it still is as before.
func (m *Memory) ChangeToken(_ context.Context, before, next store.Token, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.tokens[before.ID]
	if !known || !bytes.Equal(t.Seal, before.Seal) {
		return false, nil
	}
	t.ExpiresAt, t.Pending, t.Seal = rules.Exact(next.ExpiresAt), rules.Clean(next.Pending), next.Seal
	m.tokens[t.ID] = t
	m.addAudits(audit)
	return true, nil
}

// RevokeHostTokens revokes the tokens that are bound to a host's key.
func (m *Memory) RevokeHostTokens(_ context.Context, hostKey string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revoke(func(t store.Token) bool { return hostKey != "" && t.HostKey == hostKey })
	return nil
}

// revoke takes the seals of tokens away; m.mu is held.
func (m *Memory) revoke(fits func(store.Token) bool) {
	for id, t := range m.tokens {
		if fits(t) {
			t.Revoked, t.Seal = true, []byte{}
			m.tokens[id] = t
		}
	}
}
