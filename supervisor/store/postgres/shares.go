package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// chargeColumns are the last columns of ends; 0 is null.
func chargeColumns(list []facts.EndAttempt) []any {
	n := len(list)
	v := make([]*float64, 4*n)
	cpu := v[:n]
	ram := v[n : 2*n]
	gpu := v[2*n : 3*n]
	scratch := v[3*n:]
	charged := make([]bool, n)
	for i := range list {
		c := &list[i].Charge
		cpu[i] = orNull(&c.CPU)
		ram[i] = orNull(&c.RAM)
		gpu[i] = orNull(&c.GPU)
		scratch[i] = orNull(&c.Scratch)
		charged[i] = list[i].Charged
	}
	return []any{some(cpu), some(ram), some(gpu), some(scratch), some(charged)}
}

func orNull(v *float64) *float64 {
	if *v == 0 {
		return nil
	}
	return v
}

func chargeOf(c [4]pgtype.Float8) facts.Charge {
	return facts.Charge{CPU: c[0].Float64, RAM: c[1].Float64, GPU: c[2].Float64, Scratch: c[3].Float64}
}

func loadShares(ctx context.Context, tx pgx.Tx, rows *facts.Facts) error {
	return cmp.Or(
		readInto(ctx, tx, &rows.Usage, "usage", sqlLoadUsage),
		readInto(ctx, tx, &rows.Shares, "shares", sqlLoadShares),
		readInto(ctx, tx, &rows.Credits, "credit", sqlLoadCredit),
		readInto(ctx, tx, &rows.Accounts, "accounts", sqlLoadAccounts),
		readInto(ctx, tx, &rows.Budgets, "budgets", sqlLoadBudgets),
		readInto(ctx, tx, &rows.Publications, "publications", sqlLoadPublications))
}

// Shares lists the places with shares of their own, by path.
func (p *Store) Shares(ctx context.Context) ([]facts.ShareFacts, error) {
	return readRows(ctx, p.pool, "shares", pgx.RowToStructByPos[facts.ShareFacts], sqlShares, store.MaxPage)
}

// Credits lists credit, the latest entry first; with an owner only his.
func (p *Store) Credits(ctx context.Context, owner string) ([]facts.CreditFacts, error) {
	return readRows(ctx, p.pool, "credit", pgx.RowToStructByPos[facts.CreditFacts], sqlCredits, rules.Clean(owner),
		store.MaxPage)
}

// accountStatements write and delete accounts and budgets, and write publications.
func accountStatements(w *rules.ShareWrites) []statement {
	put, gone := []facts.AccountFacts{}, []string{}
	for _, a := range w.Accounts.List {
		if a.At.IsZero() {
			gone = append(gone, a.Path)
		} else {
			put = append(put, a)
		}
	}
	budgets, ended := []facts.BudgetFacts{}, []string{}
	for _, b := range w.Budgets.List {
		if b.At.IsZero() {
			ended = append(ended, b.Path)
		} else {
			budgets = append(budgets, b)
		}
	}
	return []statement{
		{sql: sqlPutBudgets, args: []any{budgets}, writes: len(budgets), what: "writing budgets"},
		{sql: sqlDropBudgets, args: []any{ended}, writes: len(ended), lenient: true, what: "deleting budgets"},
		{sql: sqlPutPublications, args: []any{w.Publications.List}, writes: len(w.Publications.List),
			what: "writing publications"},
		{sql: sqlPutAccounts, args: []any{put}, writes: len(put), what: "writing accounts"},
		{sql: sqlDropAccounts, args: []any{gone}, writes: len(gone), lenient: true, what: "deleting accounts"},
	}
}

// Ledger sums an owner's ended attempts in the accounts by day, decayed to a moment.
func (p *Store) Ledger(ctx context.Context, owner string, accounts []string, now time.Time,
	halfLife time.Duration) ([]store.LedgerDay, error) {
	return readRows(ctx, p.pool, "an owner's ledger", pgx.RowToStructByPos[store.LedgerDay], sqlLedger,
		rules.Clean(owner), orEmpty(rules.CleanAll(accounts)), rules.Exact(now), halfLife.Seconds(), store.MaxPage)
}
