package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store/rules"
)

// statement is one SQL statement of a commit and the number of rows that it must change.
type statement struct {
	sql  string
	args []any
	want int
	what string // for the error, should another number of rows change
	ids  []facts.AttemptID
}

// anyRows marks statements whose count proves nothing.
const anyRows = -1

// Commit makes the writes durable in one transaction that holds the epoch. Everything but COMMIT itself travels in
// one round trip. Any error ends the term; what it did is then unknown until the next term loads.
func (t *term) Commit(ctx context.Context, writes []facts.Write) error {
	if len(writes) == 0 {
		return nil
	}
	b, err := sortWrites(writes)
	if err != nil {
		return t.fail(ctx, err)
	}
	return t.use(ctx, func(conn *pgx.Conn) error {
		if len(b.shares.Usage) > 0 {
			if err := t.payers.takeUp(ctx, conn); err != nil {
				return err
			}
		}
		if err := send(ctx, conn, t.statements(b)); err != nil {
			return err
		}
		tag, err := conn.Exec(ctx, "commit")
		if err != nil {
			return fmt.Errorf("committing, outcome unknown: %w", err)
		}
		if tag.String() != "COMMIT" {
			return fmt.Errorf("committing: Postgres answered %s", tag)
		}
		return nil
	})
}

// send opens a transaction and makes the statements in it; it stays open.
func send(ctx context.Context, conn *pgx.Conn, statements []statement) error {
	queue := &pgx.Batch{}
	queue.Queue("begin")
	for _, s := range statements {
		queue.Queue(s.sql, s.args...)
	}
	results := conn.SendBatch(ctx, queue)
	defer results.Close()
	if _, err := results.Exec(); err != nil {
		return fmt.Errorf("opening a transaction: %w", err)
	}
	for _, s := range statements {
		tag, err := results.Exec()
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if changed := int(tag.RowsAffected()); s.want != anyRows && changed != s.want {
			return s.surprise(changed)
		}
	}
	return results.Close()
}

// surprise says that rows were not as the writes expected.
func (s statement) surprise(changed int) error {
	var names strings.Builder
	for i, id := range s.ids {
		if i == 5 {
			fmt.Fprintf(&names, " and %d more", len(s.ids)-i)
			break
		}
		fmt.Fprintf(&names, " job %d item %d attempt %d", id.Job, id.Item, id.Number)
	}
	return fmt.Errorf("%s: %d rows were as expected, of %d%s", s.what, changed, s.want, names.String())
}

// statements in the order in which they must be made.
func (t *term) statements(b batch) []statement {
	list := []statement{{sql: sqlHoldEpoch, args: []any{t.epoch}, want: 1, what: "holding the epoch"}}
	if len(b.newJobs) > 0 {
		list = append(list, statement{sql: sqlInsertJobs, args: []any{b.newJobs}, want: len(b.newJobs), what: "adding jobs"})
	}
	if len(b.oldJobs) > 0 {
		list = append(list, statement{sql: sqlUpdateJobs, args: []any{b.oldJobs}, want: len(b.oldJobs), what: "changing jobs"})
	}
	list = appendMarks(list, b.marks)
	list = appendOrders(list, b.orders)
	for _, w := range b.waves {
		list = w.appendTo(list)
	}
	if len(b.forgotten) > 0 {
		list = append(list, statement{sql: sqlForgetHosts, args: []any{b.forgotten}, want: anyRows, what: "deleting tokens of removed hosts"})
	}
	if len(b.gone) > 0 {
		list = append(list, statement{sql: sqlDeleteHosts, args: []any{b.gone}, want: anyRows, what: "deleting hosts"})
	}
	if len(b.hosts) > 0 {
		list = append(list, statement{sql: sqlPutHosts, args: []any{b.hosts}, want: len(b.hosts), what: "writing hosts"})
	}
	list = t.payers.appendTo(list, b.shares.Usage)
	list = appendShares(list, &b.shares)
	list = appendAnswers(list, b.answers)
	if len(b.audits) > 0 {
		list = append(list, auditStatement(b.audits))
	}
	return appendEvents(list, t.epoch, b.events)
}

func (w wave) appendTo(list []statement) []statement {
	for _, r := range w.renames {
		list = append(list, statement{sql: sqlRenameHost, args: []any{rules.Clean(string(r.From)), rules.Clean(string(r.To.ID))}, want: anyRows, what: "renaming a host"})
	}
	if len(w.leaves) > 0 {
		list = append(list, leaveStatement(w.leaves))
	}
	if len(w.stops) > 0 {
		list = append(list, stopStatement(w.stops))
	}
	if len(w.relabels) > 0 {
		list = append(list, relabelStatement(w.relabels))
	}
	if len(w.ends) > 0 {
		list = append(list, endStatement(w.ends))
	}
	if len(w.reopens) > 0 {
		keys := newKeys(len(w.reopens))
		for _, id := range w.reopens {
			keys.add(id)
		}
		list = append(list, keys.statement(sqlReopen, "letting items run again"))
	}
	if len(w.starts) > 0 {
		list = append(list, startStatement(w.starts))
	}
	return list
}
