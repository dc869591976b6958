package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// memoryDescent is what the row of terms and the table of restores say.
type memoryDescent struct {
	lineage      string
	copied       bool // since it was last led
	supersededBy string
	pending      bool // a restore that no term has settled
	moved        bool
	jobFloor     facts.JobID
	floors       []int // of attempts
	past         []store.PastTerm
}

func (d *memoryDescent) floor(number int) bool { return slices.Contains(d.floors, number) }

// lead is what the beginning of a term makes of it.
func (d *memoryDescent) lead() (store.Descent, error) {
	switch {
	case d.copied:
		*d = memoryDescent{lineage: rules.NewLineage(), pending: true, moved: true, jobFloor: d.jobFloor, floors: d.floors}
	case d.supersededBy != "":
		return store.Descent{}, store.ErrSuperseded
	case d.lineage == "":
		d.lineage = rules.NewLineage()
	}
	of := store.Descent{Lineage: d.lineage, PutBack: d.pending, Moved: d.moved}
	if !d.pending {
		of.Past = d.past[:min(len(d.past), store.PastTerms)]
	}
	return of, nil
}

// Descent is of the database in which the term leads.
func (t *memoryTerm) Descent() store.Descent { return t.descent }

// Succeed raises the epoch to the reported one, and records that the rows were put back.
func (t *memoryTerm) Succeed(ctx context.Context, h store.HigherTerm) error {
	return t.use(ctx, func(m *Memory) error {
		if h.Epoch < t.epoch {
			return fmt.Errorf("epoch %d is below the term's, %d", h.Epoch, t.epoch)
		}
		m.epoch, m.descent.pending = h.Epoch, true
		m.release(t)
		return nil
	})
}

// Supersede records that hosts obey a copy.
func (t *memoryTerm) Supersede(ctx context.Context, h store.HigherTerm) error {
	return t.use(ctx, func(m *Memory) error {
		m.descent.supersededBy = h.Lineage
		m.release(t)
		return nil
	})
}

// Settle sets the floors.
func (t *memoryTerm) Settle(ctx context.Context, lastJob facts.JobID, lastAttempt int) error {
	return t.use(ctx, func(m *Memory) error {
		d := &m.descent
		d.pending = false
		d.moved = false
		d.jobFloor = lastJob + store.FarmGap
		d.floors, d.past = append(slices.Clone(d.floors), lastAttempt+store.FarmGap), d.past[:1]
		return nil
	})
}

func (m *Memory) loadNumbers(d store.Descent, rows *facts.Facts) {
	rows.NextJob = m.descent.jobFloor + 1
	if len(m.descent.floors) > 0 {
		rows.AttemptFloor = slices.Max(m.descent.floors)
	}
	if !d.PutBack {
		return
	}
	for _, j := range m.jobs {
		for _, list := range j.attempts {
			rows.LastAttempt = max(rows.LastAttempt, list[len(list)-1].Number)
		}
	}
}

// Dump copies the rows. What was dumped can be put back, or become a database of its own: then it is a copy, and
// tells so at its first term.
func (m *Memory) Dump() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemory()
	c.Now = m.Now
	c.fill(m)
	c.descent.copied = true
	return c
}

// PutBack replaces the rows by those of a dump, as a restore into the same database does; who leads finds out by
// itself.
func (m *Memory) PutBack(dump *Memory) {
	dump.mu.Lock()
	defer dump.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release(m.leader)
	m.fill(dump)
	m.descent.copied = false
}

// fill takes over the rows of another; lists and attempts are never written into, so that they can be shared.
func (m *Memory) fill(from *Memory) {
	m.epoch = from.epoch
	m.descent = from.descent
	m.promise = from.promise
	m.jobs = make(map[facts.JobID]*memoryJob, len(from.jobs))
	for id, j := range from.jobs {
		one := *j
		one.attempts = maps.Clone(j.attempts)
		m.jobs[id] = &one
	}
	m.hosts = maps.Clone(from.hosts)
	m.shares = memoryShares{maps.Clone(from.shares.usage), maps.Clone(from.shares.shares),
		slices.Clone(from.shares.credits), maps.Clone(from.shares.accounts), maps.Clone(from.shares.budgets),
		maps.Clone(from.shares.publications)}
	m.profiles = maps.Clone(from.profiles)
	m.resources = maps.Clone(from.resources)
	m.breakages = maps.Clone(from.breakages)
	m.answers = slices.Clone(from.answers)
}
