package postgres

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// The statement that the documentation gives makes the sum that the farm keeps.
func TestDocumentedStatement(t *testing.T) {
	text, err := os.ReadFile("../../../docs/fairshare.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```sql\n")
	sql, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("there is no statement")
	}
	p := emptyPostgres(t)
	term := lead(t, p)
	now := time.Now().UTC()
	const halfLife = 416340 * time.Second
	job, writes := sampleJob(1), []facts.Write{}
	job.User = "ada"
	writes = append(writes, facts.PutJob{Job: job})
	var at time.Time
	value := 0.0
	for n := range 5 {
		a := started(attemptID(1, facts.ItemNo(n), 1), now.Add(-time.Duration(10-n)*100*time.Hour))
		a.Owner = "ada"
		ended := a.StartedAt.Add(time.Hour)
		charge := facts.Charge{CPU: 3600 * float64(n+1), GPU: float64(n) / 3}
		writes = append(writes, facts.StartAttempt{Attempt: a})
		end := facts.EndAttempt{ID: a.AttemptID, From: facts.Running, State: facts.Done, Wall: 3600, EndedAt: ended,
			Charge: charge, Charged: n != 2}
		writes = append(writes, end)
		if end.Charged {
			if !at.IsZero() {
				value *= math.Exp2(-ended.Sub(at).Seconds() / halfLife.Seconds())
			}
			value, at = value+charge.Total(), ended
		}
	}
	writes = append(writes, facts.ChargeUsage{Usage: facts.UsageFacts{Payer: facts.Payer{Owner: "ada"},
		Charge: facts.Charge{CPU: value}, At: at}})
	commit(t, term, writes...)
	check := func(when string) {
		t.Helper()
		var ledger, kept float64
		if err := p.pool.QueryRow(ctx, sql).Scan(&ledger, &kept); err != nil {
			t.Fatal(err)
		}
		if ledger <= 0 || math.Abs(ledger/kept-1) > 1e-9 {
			t.Errorf("%s the ledger says %v, the farm keeps %v", when, ledger, kept)
		}
	}
	check("of attempts")
	job.Version, job.State, job.FinishedAt = job.Version+1, facts.Complete, now
	commit(t, term, facts.PutJob{Job: job})
	chunk := store.Compaction{Epoch: term.Epoch(), Jobs: []facts.JobID{1}, Before: now.Add(time.Hour), At: now,
		HalfLife: halfLife, Limit: 2}
	for left := 5; left > 0; {
		n, err := p.Compact(ctx, chunk)
		if err != nil || n == 0 {
			t.Fatalf("compacting took %d attempts: %v", n, err)
		}
		left -= int(n)
		check(fmt.Sprintf("of days, and of %d attempts,", left))
	}
}
