package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// statement is one SQL statement of a commit. With nothing to write it is left out.
type statement struct {
	sql     string
	args    []any
	writes  int  // how many rows it must change
	lenient bool // another number of rows is no error
	lasting bool // one plan serves it for good; see withPlanModes
	what    string
	ids     []facts.AttemptID // for the error, should another number of rows change
}

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

// send begins a transaction and executes the statements in it. It leaves the transaction open.
func send(ctx context.Context, conn *pgx.Conn, statements []statement) error {
	statements = append([]statement{{sql: "begin", lenient: true, what: "opening a transaction"}}, statements...)
	statements = withPlanModes(statements)
	queue := &pgx.Batch{}
	for _, s := range statements {
		queue.Queue(s.sql, s.args...)
	}
	results := conn.SendBatch(ctx, queue)
	defer results.Close()
	for _, s := range statements {
		tag, err := results.Exec()
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if changed := int(tag.RowsAffected()); !s.lenient && changed != s.writes {
			return s.surprise(changed)
		}
	}
	return results.Close()
}

// withPlanModes lets Postgres make the plans of lasting statements once in a session, and of all others each time.
// Making one takes longer than executing it for a few rows, but a plan that joins arrays to a table, and was made
// while the table was empty, ruins each later commit. A statement without such a join, which reads each table by the
// one index that fits, leaves no choice.
func withPlanModes(statements []statement) (list []statement) {
	lasting := false
	for _, s := range statements {
		if len(s.args) > 0 && s.lasting != lasting {
			lasting = s.lasting
			mode := planCacheMode
			if lasting {
				mode = lastingPlans
			}
			list = append(list, statement{sql: "SET LOCAL plan_cache_mode = " + mode, lenient: true,
				what: "choosing how plans are made"})
		}
		list = append(list, s)
	}
	return list
}

// exec executes the statement, unless it has no rows to write.
func (s statement) exec(ctx context.Context, tx pgx.Tx) error {
	if s.writes == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	return nil
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
	return fmt.Errorf("%s: %d rows were as expected, of %d%s", s.what, changed, s.writes, names.String())
}

// statements are the statements of a commit, in the order in which they must be executed.
func (t *term) statements(b batch) []statement {
	var fresh, changed []jobRow
	for _, j := range b.jobs {
		if j.Expected == 0 {
			fresh = append(fresh, j)
		} else {
			changed = append(changed, j)
		}
	}
	list := []statement{
		{sql: sqlHoldEpoch, args: []any{t.epoch}, writes: 1, lasting: true, what: "holding the epoch"},
		t.promiseStatement(b.promise),
		{sql: sqlInsertJobs, args: []any{fresh}, writes: len(fresh), lasting: true, what: "adding jobs"},
		{sql: sqlUpdateJobs, args: []any{changed}, writes: len(changed), what: "changing jobs"},
	}
	list = append(list, markStatements(b.marks)...)
	list = append(list, orderStatements(b.orders)...)
	for _, w := range b.waves {
		list = append(list, w.statements()...)
	}
	for _, w := range b.changed {
		list = append(list, statement{sql: sqlNoteChange, args: []any{w.Jobs, rules.Second(w.At)}, writes: len(w.Jobs),
			what: "noting when jobs changed"})
	}
	list = append(list,
		statement{sql: sqlForgetHosts, args: []any{b.forgotten}, writes: len(b.forgotten), lenient: true,
			what: "deleting tokens of removed hosts"},
		statement{sql: sqlDeleteHosts, args: []any{b.gone}, writes: len(b.gone), lenient: true, what: "deleting hosts"},
		statement{sql: sqlPutHosts, args: []any{b.hosts}, writes: len(b.hosts), what: "writing hosts"})
	list = t.payers.appendTo(list, b.shares.Usage)
	list = append(list,
		statement{sql: sqlPutShares, args: []any{b.shares.Shares.List}, writes: len(b.shares.Shares.List),
			what: "writing shares"},
		statement{sql: sqlAddCredit, args: []any{b.shares.Credits}, writes: len(b.shares.Credits), what: "adding credit"})
	list = append(list, accountStatements(&b.shares)...)
	list = append(list, profileStatements(&b.profiles)...)
	list = append(list, resourceStatement(&b.resources), breakageStatement(&b.breakages))
	list = append(list, answerStatements(b.answers)...)
	list = append(list, mailStatement(b.mails), auditStatement(b.audits), eventStatement(t.epoch, b.events))
	return slices.DeleteFunc(list, func(s statement) bool { return s.writes == 0 })
}

func (w wave) statements() []statement {
	var list []statement
	for _, r := range w.renames {
		list = append(list, statement{sql: sqlRenameHost,
			args: []any{rules.Clean(string(r.From)), rules.Clean(string(r.To.ID))}, writes: 1, lenient: true,
			what: "renaming a host"})
	}
	list = append(list, whyStatement(sqlSendAway, "noting that attempts are the last of their instances", w.sentAway),
		suspendStatement(w.suspends), releaseStatement(w.releases), whyStatement(sqlStop, "stopping attempts", w.stops),
		relabelStatement(w.relabels), endStatement(w.ends), foundStatement(w.ends), reopenStatement(w.reopens))
	return append(list, startStatements(w.starts)...)
}
