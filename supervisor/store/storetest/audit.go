package storetest

import (
	"context"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// AuditLog lists the trail, the newest rows first.
func (m *Memory) AuditLog(_ context.Context, q store.AuditQuery) ([]store.AuditRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []store.AuditRow
	for _, a := range slices.Backward(m.audits) {
		if (q.User == "" || a.Who == q.User) && !a.At.Before(rules.Exact(q.Since)) && (q.Before == 0 || a.ID < q.Before) && len(rows) < rules.PageOf(q.Limit) {
			rows = append(rows, a)
		}
	}
	return rows, nil
}

// AddAudits adds rows that belong to no commit.
func (m *Memory) AddAudits(_ context.Context, list []facts.AuditFacts) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addAudits(list)
	return nil
}

func (m *Memory) putAudit(a facts.AuditFacts, undo *undoLog) error {
	save(undo, &m.audits)
	m.addAudits([]facts.AuditFacts{a})
	return nil
}

// addAudits is AddAudits; m.mu is held.
func (m *Memory) addAudits(list []facts.AuditFacts) {
	for _, a := range list {
		last := int64(0)
		if n := len(m.audits); n > 0 {
			last = m.audits[n-1].ID
		}
		m.audits = append(m.audits, store.AuditRow{ID: last + 1, AuditFacts: rules.NormalAudit(a)})
	}
}

// ForgetAudits removes some of the rows that are older than a moment.
func (m *Memory) ForgetAudits(_ context.Context, before time.Time, limit int) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.audits) && n < limit && m.audits[n].At.Before(rules.Exact(before)) {
		n++
	}
	m.audits = slices.Delete(m.audits, 0, n)
	return int64(n), nil
}

// Leader tells the epoch; in memory there is one process.
func (m *Memory) Leader(context.Context) (store.Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.Leader{Epoch: m.epoch}, nil
}

// Advertise has nobody to tell.
func (m *Memory) Advertise(string) {}

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

// Trouble never is: memory always answers.
func (m *Memory) Trouble() error { return nil }
