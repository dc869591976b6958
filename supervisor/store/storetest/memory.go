package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Memory is a store that forgets when the process ends: the double for simulations. It refuses to write what Postgres
// refuses, and has of all reads those of a term, and of what orders and repeated calls need. No method waits but Lead,
// and that only while another leads. It is safe for concurrent use.
type Memory struct {
	Now func() time.Time // the clock of the database, by which terms begin

	mu     sync.Mutex
	epoch  int64
	leader *memoryTerm
	freed  chan struct{} // closed when the leader's lock comes free
	full   bool          // no commit finds room

	jobs      map[facts.JobID]*memoryJob
	hosts     map[facts.HostID]facts.HostFacts
	shares    memoryShares
	profiles  memoryProfiles
	resources memoryResources
	breakages memoryBreakages
	mails     memoryMails

	answers memoryAnswers
	promise facts.PromiseFacts
	descent memoryDescent
}

// memoryJob is a row of job with the rows that refer to it. Attempts of an item are by their numbers.
type memoryJob struct {
	facts    facts.JobFacts
	marks    []facts.Mark
	orders   []facts.ActionFacts // by number
	attempts map[facts.ItemNo][]facts.AttemptFacts
}

var _ store.Store = (*Memory)(nil)

// NewMemory is an empty store.
func NewMemory() *Memory {
	return &Memory{Now: time.Now, freed: make(chan struct{}), jobs: map[facts.JobID]*memoryJob{},
		hosts: map[facts.HostID]facts.HostFacts{}, shares: newMemoryShares(), profiles: memoryProfiles{},
		resources: memoryResources{}, breakages: memoryBreakages{}, mails: memoryMails{rows: map[int64]facts.MailFacts{}}}
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
	m.leader = &memoryTerm{store: m, epoch: m.epoch, began: m.Now(), descent: d}
	m.descent.past = append([]store.PastTerm{{Epoch: m.epoch, Began: m.leader.began}}, m.descent.past...)
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

// Began is when the term began, by the clock of the database.
func (t *memoryTerm) Began() time.Time { return t.began }

// use runs f with the store locked; any error ends the term.
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

// Check proves that the term is still valid.
func (t *memoryTerm) Check(ctx context.Context) error {
	return t.use(ctx, func(*Memory) error { return nil })
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
		rows.Ended, rows.Promise = map[facts.JobID]facts.JobState{}, m.promise
		m.loadNumbers(t.descent, &rows)
		for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
			rows.NextJob = max(rows.NextJob, id+1)
			j := m.jobs[id]
			if j.facts.State.Final() && !m.watched(id) {
				continue
			}
			if rows.Jobs = append(rows.Jobs, j.loaded()); !j.facts.State.Final() {
				m.addEnded(&rows, j.facts.WaitFor)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(m.hosts)) {
			rows.Hosts = append(rows.Hosts, rules.NormalHost(m.hosts[id]))
		}
		m.shares.load(&rows)
		rows.Profiles = m.profiles.load()
		rows.Resources, rows.Breakages = m.resources.load(), m.breakages.load()
		return nil
	})
	return rows, err
}

// watched says whether an unfinished job waits for items of this one.
func (m *Memory) watched(id facts.JobID) bool {
	for _, j := range m.jobs {
		if !j.facts.State.Final() && slices.ContainsFunc(j.facts.WaitFor, func(l facts.Link) bool {
			return l.Job == id && l.Of == facts.OfItems
		}) {
			return true
		}
	}
	return false
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
	return facts.JobRecord{Job: rules.NormalJob(j.facts), Marks: slices.Clone(j.marks), Orders: slices.Clone(j.orders),
		Attempts: j.all()}
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

// Record gives a job with everything that happened to it to r.
func (m *Memory) Record(_ context.Context, id facts.JobID, r facts.Recorder) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.jobs[id]
	if j == nil {
		return false, nil
	}
	head := j.record()
	head.Attempts = nil
	if err := r.Begin(head); err != nil {
		return false, err
	}
	for _, a := range j.all() {
		if err := r.Add(a); err != nil {
			return false, err
		}
	}
	r.Finish()
	return true, nil
}

// Labels tells which jobs of a process group have these labels.
func (m *Memory) Labels(_ context.Context, group facts.JobID, labels []string) (map[string]facts.JobID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]facts.JobID{}
	for id, j := range m.jobs {
		if l := j.facts.Label; l != "" && !j.facts.Part() && j.facts.PGrp == group && slices.Contains(labels, l) {
			found[l] = max(found[l], id)
		}
	}
	return found, nil
}

// Before tells which other jobs the submissions made whose last jobs these are.
func (m *Memory) Before(_ context.Context, ids []facts.JobID) (map[facts.JobID][]facts.JobID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := map[facts.JobID][]facts.JobID{}
	for _, id := range ids {
		if j := m.jobs[id]; j != nil && len(j.facts.Before()) > 0 {
			before[id] = j.facts.Before()
		}
	}
	return before, nil
}

// JobStates returns the states of the existing jobs among ids.
func (m *Memory) JobStates(_ context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := map[facts.JobID]facts.JobState{}
	for _, id := range ids {
		if j := m.jobs[id]; j != nil {
			states[id] = j.facts.State
		}
	}
	return states, nil
}

// Fill makes the double's disk full, so that each commit fails with store.ErrFull, or frees it.
func (m *Memory) Fill(full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = full
}

// Room tells what Fill said.
func (m *Memory) Room(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return store.ErrFull
	}
	return nil
}

// Submission finds the job that a submission token made, 0 if none.
func (m *Memory) Submission(_ context.Context, token string) (facts.JobID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bySubmission(rules.Clean(token)), nil
}
