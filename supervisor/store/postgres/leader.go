package postgres

import (
	"context"
	"fmt"
	"time"

	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Leader reads the row of terms.
func (p *Store) Leader(ctx context.Context) (store.Leader, error) {
	var l store.Leader
	var silent float64
	if err := p.pool.QueryRow(ctx, sqlLeader).Scan(&l.Name, &l.Epoch, &silent); err != nil {
		return store.Leader{}, fmt.Errorf("reading who leads: %w", err)
	}
	l.Silent = time.Duration(silent * float64(time.Second))
	return l, nil
}

// Advertise sets the name in the row of terms; before the first term.
func (p *Store) Advertise(name string) { p.name = rules.Clean(name) }
