package store

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm"
)

func (g *generator) shares() farm.Write {
	name := rapid.SampledFrom([]string{"ann", "show/ann", "show/"}).Draw(g.r, "name")
	value := float64(rapid.IntRange(0, 5).Draw(g.r, "value"))
	if g.odd() {
		value = -1
	}
	switch rapid.IntRange(0, 2).Draw(g.r, "share") {
	case 0:
		return farm.PutShare{Share: farm.ShareFacts{Path: name, Shares: value, By: "boss", At: at(g.when())}}
	case 1:
		return farm.AddCredit{Credit: farm.CreditFacts{Owner: name, Amount: value + 0.5, Source: "a shot", Date: at(g.when()), By: "boss", AddedAt: at(1)}}
	}
	return farm.ChargeUsage{Usage: farm.UsageFacts{Payer: farm.Payer{Account: "show", Owner: name}, Charge: farm.Charge{CPU: value, RAM: 1.0 / 3}, At: at(g.when())}}
}

// compareLedger allows for sums in another order.
func (p *pair) compareLedger(r *rapid.T) {
	for _, job := range p.memory.jobs {
		payer := farm.Payer{Account: job.facts.Account, Owner: job.facts.User}
		m := must(p.memory.Ledger(ctx, payer, at(1000), 500*time.Second))(p.t)
		q := must(p.postgres.Ledger(ctx, payer, at(1000), 500*time.Second))(p.t)
		if len(m) != len(q) {
			r.Fatalf("ledger of %v: %+v, %+v", payer, m, q)
		}
		for i := range m {
			if math.Abs(m[i].Decayed-q[i].Decayed) > 1e-12*m[i].Decayed || math.Abs(m[i].Charge-q[i].Charge) > 1e-12*m[i].Charge ||
				!m[i].Day.Equal(q[i].Day) || m[i].Attempts != q[i].Attempts || m[i].Charged != q[i].Charged || m[i].Wall != q[i].Wall {
				r.Fatalf("ledger of %v: %+v, %+v", payer, m[i], q[i])
			}
		}
	}
}

// What a term wrote of usage, shares and credit the next one loads, in both stores.
func TestSharesOutliveATerm(t *testing.T) {
	for name, s := range map[string]interface {
		Store
		Reader
	}{"memory": NewMemory(), "postgres": emptyPostgres(t)} {
		term := lead(t, s)
		payer := farm.Payer{Account: "show/shot", Owner: "ann"}
		usage := farm.UsageFacts{Payer: payer, Charge: farm.Charge{CPU: 0.1, RAM: math.Pi, Scratch: 1e-300}, At: at(7)}
		job := sampleJob(1)
		job.Account = payer.Account
		job.User = payer.Owner
		first := started(attemptID(1, 0, 1), at(1))
		first.Owner = payer.Owner
		end := farm.EndAttempt{ID: first.AttemptID, From: farm.Running, State: farm.Done, Wall: 3, EndedAt: at(5), Charge: farm.Charge{CPU: 8, GPU: 4}, Charged: true}
		commit(t, term, farm.PutJob{Job: job}, farm.StartAttempt{Attempt: first})
		commit(t, term, farm.ChargeUsage{Usage: farm.UsageFacts{Payer: payer, At: at(1)}}, end, farm.ChargeUsage{Usage: usage},
			farm.PutShare{Share: farm.ShareFacts{Path: "ann", Shares: 1, At: at(1)}}, farm.PutShare{Share: farm.ShareFacts{Path: "ann", Shares: 2, By: "boss", At: at(2)}},
			farm.AddCredit{Credit: farm.CreditFacts{Owner: "ann", Amount: 0.5, Source: "a paper", Date: at(3), By: "boss", AddedAt: at(4)}})
		term.Close(ctx)
		facts := load(t, lead(t, s))
		if len(facts.Usage) != 1 || facts.Usage[0] != usage {
			t.Errorf("%s: usage %+v", name, facts.Usage)
		}
		if len(facts.Shares) != 1 || facts.Shares[0].Shares != 2 || len(facts.Credits) != 1 || facts.Credits[0].Amount != 0.5 {
			t.Errorf("%s: shares %+v, credit %+v", name, facts.Shares, facts.Credits)
		}
		if a := recordOf(t, s, 1).Attempts[0]; a.Charge != end.Charge || !a.Charged || facts.Jobs[0].Job.Account != "show/shot" {
			t.Errorf("%s: the attempt has %+v", name, a)
		}
		days := must(s.Ledger(ctx, payer, at(105), 100*time.Second))(t)
		if len(days) != 1 || days[0].Charge != 12 || days[0].Decayed != 6 || days[0].Attempts != 1 || !days[0].Charged {
			t.Errorf("%s: ledger %+v", name, days)
		}
		if got := must(s.Credits(ctx, "bob"))(t); len(got) != 0 {
			t.Errorf("%s: bob's credit is %+v", name, got)
		}
	}
}
