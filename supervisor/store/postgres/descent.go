package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// descend reads and completes what the row says of farm and database, in the transaction that begins a term. A database
// that was copied gets a lineage of its own.
func (p *Store) descend(ctx context.Context, tx pgx.Tx, identity string,
	timeline int64) (d store.Descent, note string, err error) {
	var key []byte
	var recorded, supersededBy string
	var before, newer int64
	if err := tx.QueryRow(ctx, sqlDescent).Scan(&key, &d.Lineage, &recorded, &supersededBy, &before, &newer); err != nil {
		return d, "", err
	}
	d.Timeline = timeline
	switch {
	case key != nil && p.farm != nil && !bytes.Equal(key, p.farm):
		return d, "", store.ErrOtherKey
	case recorded != "" && recorded != identity: // what a copy says of being superseded was said of another database
		before := d.Lineage
		d.Lineage, d.Moved = rules.NewLineage(), true
		if _, err := tx.Exec(ctx, sqlNoteCopy, d.Lineage, before); err != nil {
			return d, "", err
		}
		note = fmt.Sprintf("this database is a copy of lineage %s and is lineage %s from now on", before, d.Lineage)
	case timeline > 0 && timeline < newer:
		return d, "", store.ErrOlderServer
	case supersededBy != "":
		return d, "", fmt.Errorf("lineage %s: %w", supersededBy, store.ErrSuperseded)
	case d.Lineage == "":
		d.Lineage = rules.NewLineage()
	}
	if _, err := tx.Exec(ctx, sqlSetDescent, p.farm, d.Lineage, identity, d.Moved); err != nil {
		return d, "", err
	}
	if timeline > 0 {
		if _, err := tx.Exec(ctx, sqlSetTimeline, timeline); err != nil {
			return d, "", err
		}
	}
	if !d.Moved && before > 0 && timeline > before { // its last commits may be lost, of which hosts know
		if _, err := tx.Exec(ctx, sqlNotePromotion, d.Lineage); err != nil {
			return d, "", err
		}
		note = fmt.Sprintf(
			"the database's server was promoted, timeline %d after %d: all hosts are listened to before anything is given out",
			timeline, before)
	}
	return d, note, tx.QueryRow(ctx, sqlUnsettled).Scan(&d.PutBack, &d.Moved)
}

// identity tells server and database apart from every other. Some hosted servers keep theirs to themselves: then only
// the database in it is known.
func identity(ctx context.Context, conn *pgx.Conn) (id string, err error) {
	err = conn.QueryRow(ctx, sqlIdentity).Scan(&id)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		err = conn.QueryRow(ctx, sqlDatabaseIdentity).Scan(&id)
	}
	if err != nil {
		return "", fmt.Errorf("asking the database who it is: %w", err)
	}
	return id, nil
}

// checkFarm refuses at the start what could never lead.
func (p *Store) checkFarm(ctx context.Context) error {
	if p.farm == nil {
		return nil
	}
	var key []byte
	if err := p.pool.QueryRow(ctx, sqlFarmKey).Scan(&key); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("reading whose farm this is: %w", err)
	}
	if key != nil && !bytes.Equal(key, p.farm) {
		return store.ErrOtherKey
	}
	return nil
}

// Descent is of the database in which the term leads.
func (t *term) Descent() store.Descent { return t.descent }

// Succeed records that the rows were put back, as a host obeyed the term that was heard. It raises the epoch to that
// one and so ends this term.
func (t *term) Succeed(ctx context.Context, h store.HigherTerm) error {
	if err := t.store.isBest(ctx, t.conn, t.descent.Timeline); err != nil { // not put back: the newer rows are there
		return t.fail(ctx, err)
	}
	cause := fmt.Sprintf("the database was restored: host %s obeyed a term that it does not know; the next is above %d",
		h.Host, h.Epoch)
	return t.change(ctx, "restored", cause, sqlSucceed, t.epoch, h.Epoch, h.Lineage)
}

// Supersede records that hosts obey a copy of this database: no supervisor leads in this one any more.
func (t *term) Supersede(ctx context.Context, h store.HigherTerm) error {
	if h.Timeline > t.descent.Timeline && h.Lineage == t.descent.Lineage {
		t.store.noteTimeline(h.Timeline)
		cause := fmt.Sprintf("superseded: host %s obeys a server on timeline %d, and this one is on timeline %d", h.Host,
			h.Timeline, t.descent.Timeline)
		return t.change(ctx, "superseded", cause, sqlOlder, t.epoch, h.Timeline)
	}
	cause := fmt.Sprintf("superseded: host %s obeys lineage %s in place of this database, lineage %s", h.Host, h.Lineage,
		t.descent.Lineage)
	return t.change(ctx, "superseded", cause, sqlSupersede, t.epoch, h.Lineage)
}

// Settle ends the time after a restore in which nothing is given out. New jobs and attempts have numbers above the
// floors.
func (t *term) Settle(ctx context.Context, lastJob facts.JobID, lastAttempt int) error {
	return t.change(ctx, "settled", fmt.Sprintf("after the restore, jobs begin above %d, attempts above %d",
		lastJob+store.FarmGap, lastAttempt+store.FarmGap),
		sqlSettle, t.epoch, lastJob+store.FarmGap, lastAttempt+store.FarmGap)
}

// change makes one statement and its event durable.
func (t *term) change(ctx context.Context, kind, cause, sql string, args ...any) error {
	return t.use(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, args...)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("epoch %d is no longer the supervisor's", t.epoch)
			}
			_, err = tx.Exec(ctx, sqlRestoreEvent, t.epoch, kind, cause)
			return err
		})
	})
}

// loadNumbers reads from where jobs and attempts are numbered.
func loadNumbers(ctx context.Context, tx pgx.Tx, d store.Descent, rows *facts.Facts) error {
	var lastJob facts.JobID
	if err := tx.QueryRow(ctx, sqlFloors).Scan(&lastJob, &rows.AttemptFloor); err != nil {
		return fmt.Errorf("reading the floors of numbers: %w", err)
	}
	rows.NextJob = max(rows.NextJob, lastJob+1)
	if !d.PutBack {
		return nil
	}
	if err := tx.QueryRow(ctx, sqlLastAttempt).Scan(&rows.LastAttempt); err != nil {
		return fmt.Errorf("reading the highest number of an attempt: %w", err)
	}
	return nil
}
