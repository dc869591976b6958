package postgres

import (
	"fmt"
	"slices"
	"testing"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// used are writes of what the payers from first to last have used.
func used(first, last int, cpu, second float64) (writes []facts.Write) {
	for n := first; n <= last; n++ {
		writes = append(writes, facts.ChargeUsage{Usage: facts.UsageFacts{
			Payer:  facts.Payer{Account: fmt.Sprint("show", n%3), Owner: fmt.Sprint("user", n)},
			Charge: facts.Charge{CPU: cpu, RAM: cpu / 3, GPU: float64(n % 2)}, At: at(second)}})
	}
	return writes
}

// booksOf are what is kept of the payers: what the next term loads.
func booksOf(t *testing.T, term store.Term) map[facts.Payer]facts.UsageFacts {
	t.Helper()
	books := map[facts.Payer]facts.UsageFacts{}
	for _, u := range load(t, term).Usage {
		books[u.Payer] = u
	}
	return books
}

func sameBooks(t *testing.T, when string, got, want map[facts.Payer]facts.UsageFacts) {
	t.Helper()
	for p, u := range want {
		if got[p] != u {
			t.Errorf("%s %v has %+v, want %+v", when, p, got[p], u)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s there are %d payers, want %d", when, len(got), len(want))
	}
}

func enter(books map[facts.Payer]facts.UsageFacts, writes []facts.Write) {
	for _, w := range writes {
		u := w.(facts.ChargeUsage).Usage
		books[u.Payer] = u
	}
}

func newsOf(t *testing.T, p *Store) (rows, entries int) {
	t.Helper()
	if err := p.pool.QueryRow(ctx, sqlCountNews).Scan(&rows, &entries); err != nil {
		t.Fatal(err)
	}
	return rows, entries
}

// Usage is what was written last, whether it is news or a payer's row, in the same term, in the next, and after the
// rows took the news over.
func TestUsageIsWhatWasWrittenLast(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	want := map[facts.Payer]facts.UsageFacts{}
	step := func(when string, wantRows int, writes []facts.Write) {
		t.Helper()
		commit(t, term, writes...)
		enter(want, writes)
		sameBooks(t, when, booksOf(t, term), want)
		if rows, _ := newsOf(t, p); rows != wantRows {
			t.Errorf("%s there are %d rows of news, want %d", when, rows, wantRows)
		}
	}
	twice := func(when string, wantRows int, writes ...[]facts.Write) {
		t.Helper()
		step(when, wantRows, slices.Concat(writes...))
	}
	next := func() {
		term.Close(ctx)
		term = lead(t, p)
	}
	step("new payers", 0, used(1, 20, 1, 1))
	step("news", 1, used(5, 10, 2, 2))
	step("news of one that is news", 2, used(8, 8, 3, 3))
	step("news of new ones and of others", 3, used(19, 30, 4, 4))
	twice("twice of new ones and of others", 4, used(31, 33, 1, 4), used(6, 8, 1, 4), used(32, 34, 2, 5), used(5, 7, 2, 3))
	next()
	sameBooks(t, "the next term", booksOf(t, term), want)
	step("an older moment and less", 5, used(1, 30, 0.5, 1))
	step("nothing left", 6, used(2, 9, 0, 5))
	next()
	step("so many new ones that the rows the rows could take the news over", 7, used(1, newsPayers+50, 6, 6))
	step("the same again", 0, used(1, newsPayers+50, 7, 7))
	if rows, _ := newsOf(t, p); rows != 0 {
		t.Errorf("%d rows of news are left", rows)
	}
	step("afterwards", 1, used(3, 4, 8, 8))
	term.Close(ctx)
}

// The news stay few: after so many commits the rows of payers take them over.
func TestNewsOfManyCommits(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	commit(t, term, used(1, 1, 0, 0)...)
	for n := 1; n < newsRows; n++ {
		commit(t, term, used(1, 1, float64(n), float64(n))...)
	}
	if rows, _ := newsOf(t, p); rows != newsRows-1 {
		t.Errorf("%d rows of news before", rows)
	}
	term.Close(ctx)
	term = lead(t, p)
	last := used(1, 1, 0.25, newsRows)
	commit(t, term, last...)
	want := map[facts.Payer]facts.UsageFacts{}
	enter(want, last)
	sameBooks(t, "after all", booksOf(t, term), want)
	if rows, _ := newsOf(t, p); rows != 0 {
		t.Errorf("%d rows of news after", rows)
	}
	term.Close(ctx)
}

// A commit that breaks at any statement by which it writes usage changes nothing, and the next term writes it once.
func TestCrashWhileUsageIsWritten(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	before, after := used(1, newsPayers, 1, 1), used(1, newsPayers+5, 2, 2)
	news := used(7, 9, 1.5, 1)
	want := map[facts.Payer]facts.UsageFacts{}
	commit(t, term, before...)
	commit(t, term, news...)
	enter(want, before)
	enter(want, news)
	for _, step := range []struct{ table, when string }{
		{"payer", "INSERT"}, {"usage_news", "INSERT"}, {"payer", "UPDATE"}, {"usage_news", "DELETE"},
	} {
		exec(t, p, `CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''crash''; END'`)
		exec(t, p, `CREATE TRIGGER break AFTER `+step.when+` ON `+step.table+` EXECUTE FUNCTION break()`)
		if err := term.Commit(ctx, after); err == nil {
			t.Errorf("committed over a crash at %s", step)
		}
		exec(t, p, `DROP FUNCTION break CASCADE`)
		term.Close(ctx)
		term = lead(t, p)
		sameBooks(t, fmt.Sprintf("after a crash at %s", step), booksOf(t, term), want)
	}
	commit(t, term, after...)
	enter(want, after)
	sameBooks(t, "at last", booksOf(t, term), want)
	if rows, entries := newsOf(t, p); rows != 0 || entries != 0 {
		t.Errorf("%d rows of news with %d entries are left", rows, entries)
	}
	term.Close(ctx)
}

// News that another wrote, or took away, end the term rather than go astray.
func TestNewsFromElsewhere(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	commit(t, term, used(1, newsPayers, 1, 1)...)
	exec(t, p, `INSERT INTO usage_news (payer, at) VALUES ('{1}', '{2026-11-21}')`)
	if err := term.Commit(ctx, used(1, newsPayers, 2, 2)); err == nil {
		t.Error("the rows took over news that nobody knew of")
	}
	term.Close(ctx)
}
