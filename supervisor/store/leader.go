package store

import (
	"context"
	"fmt"
	"time"
)

// Leader reads the row of terms.
func (p *Postgres) Leader(ctx context.Context) (Leader, error) {
	var l Leader
	var silent float64
	if err := p.pool.QueryRow(ctx, sqlLeader).Scan(&l.Name, &l.Epoch, &silent); err != nil {
		return Leader{}, fmt.Errorf("reading who leads: %w", err)
	}
	l.Silent = time.Duration(silent * float64(time.Second))
	return l, nil
}

// Advertise sets the name in the row of terms; before the first term.
func (p *Postgres) Advertise(name string) { p.name = clean(name) }

// Leader tells the epoch; in memory there is one process.
func (m *Memory) Leader(context.Context) (Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Leader{Epoch: m.epoch}, nil
}

// Advertise has nobody to tell.
func (m *Memory) Advertise(string) {}
