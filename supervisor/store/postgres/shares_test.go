package postgres

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

func (g *generator) shares() facts.Write {
	name := rapid.SampledFrom([]string{"ann", "show/ann", "show/"}).Draw(g.r, "name")
	value := float64(rapid.IntRange(0, 5).Draw(g.r, "value"))
	if g.odd() {
		value = -1
	}
	switch rapid.IntRange(0, 9).Draw(g.r, "share") {
	case 8:
		return facts.DropProfile{Profile: facts.ProfileKey{Owner: "ann", Name: name}}
	case 9:
		return facts.PutProfile{Profile: g.profile(name, value)}
	case 3:
		return facts.DropAccount{Path: name}
	case 5:
		return facts.DropBudget{Path: name}
	case 6:
		return facts.PutBudget{Budget: facts.BudgetFacts{Path: name, Amount: value, Period: 60, Beyond: "wait",
			Since: at(g.when()), Spent: []float64{value, 0, 1}, By: "boss", At: at(g.when())}}
	case 7:
		return facts.PutPublication{Publication: facts.PublicationFacts{Source: name, Owner: "ann", Date: at(g.when()),
			State: rapid.SampledFrom([]string{"reported", "accepted", "rejected", "lost"}).Draw(g.r, "state"), By: "boss",
			At: at(1)}}
	case 4:
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"ann", "*", "é", "a\\b", ""}), 0, 3)
		return facts.PutAccount{Account: facts.AccountFacts{Path: name, Users: names.Draw(g.r, "users"),
			DefaultFor: names.Draw(g.r, "default"), By: "boss", At: at(g.when())}}
	case 0:
		return facts.PutShare{Share: facts.ShareFacts{Path: name, Shares: value, By: "boss", At: at(g.when())}}
	case 1:
		return facts.AddCredit{Credit: facts.CreditFacts{Owner: name, Amount: value + 0.5, Source: "a shot",
			Date: at(g.when()), By: "boss", AddedAt: at(1)}}
	}
	return facts.ChargeUsage{Usage: facts.UsageFacts{Payer: facts.Payer{Account: "show", Owner: name},
		Charge: facts.Charge{CPU: value, RAM: 1.0 / 3}, At: at(g.when())}}
}

// What a term wrote of usage, shares and credit the next one loads.
func TestSharesOutliveATerm(t *testing.T) {
	for name, s := range map[string]*Store{"postgres": emptyPostgres(t)} {
		term := lead(t, s)
		payer := facts.Payer{Account: "show/shot", Owner: "ann"}
		usage := facts.UsageFacts{Payer: payer, Charge: facts.Charge{CPU: 0.1, RAM: math.Pi, Scratch: 1e-300}, At: at(7)}
		account := facts.AccountFacts{Path: "show", Users: []string{"*", "ann"}, Groups: []string{"fx"},
			DefaultFor: []string{}, By: "boss", At: at(4)}
		job := sampleJob(1)
		job.Account = payer.Account
		job.User = payer.Owner
		first := started(attemptID(1, 0, 1), at(1))
		first.Owner = payer.Owner
		end := facts.EndAttempt{ID: first.AttemptID, From: facts.Running, State: facts.Done, Wall: 3, EndedAt: at(5),
			Charge: facts.Charge{CPU: 8, GPU: 4}, Charged: true}
		commit(t, term, facts.PutJob{Job: job}, facts.StartAttempt{Attempt: first})
		commit(t, term, facts.ChargeUsage{Usage: facts.UsageFacts{Payer: payer, At: at(1)}}, end,
			facts.ChargeUsage{Usage: usage},
			facts.PutShare{Share: facts.ShareFacts{Path: "ann", Shares: 1, At: at(1)}},
			facts.PutShare{Share: facts.ShareFacts{Path: "ann", Shares: 2, By: "boss", At: at(2)}},
			facts.AddCredit{Credit: facts.CreditFacts{Owner: "ann", Amount: 0.5, Source: "a paper", Date: at(3), By: "boss",
				AddedAt: at(4)}},
			facts.PutAccount{Account: account}, facts.PutAccount{Account: facts.AccountFacts{Path: "gone", At: at(1)}},
			facts.DropAccount{Path: "gone"})
		term.Close(ctx)
		rows := load(t, lead(t, s))
		if len(rows.Usage) != 1 || rows.Usage[0] != usage {
			t.Errorf("%s: usage %+v", name, rows.Usage)
		}
		if len(rows.Shares) != 1 || rows.Shares[0].Shares != 2 || len(rows.Credits) != 1 || rows.Credits[0].Amount != 0.5 {
			t.Errorf("%s: shares %+v, credit %+v", name, rows.Shares, rows.Credits)
		}
		if d := diff([]facts.AccountFacts{account}, rows.Accounts); d != "" {
			t.Errorf("%s: accounts %s", name, d)
		}
		if a := recordOf(t, s, 1).Attempts[0]; a.Charge != end.Charge || !a.Charged ||
			rows.Jobs[0].Job.Account != "show/shot" {
			t.Errorf("%s: the attempt has %+v", name, a)
		}
		days := must(s.Ledger(ctx, payer.Owner, []string{payer.Account}, at(105), 100*time.Second))(t)
		if len(days) != 1 || days[0].Charge != 12 || days[0].Decayed != 6 || days[0].Attempts != 1 || !days[0].Charged {
			t.Errorf("%s: ledger %+v", name, days)
		}
		if got := must(s.Credits(ctx, "bob"))(t); len(got) != 0 {
			t.Errorf("%s: bob's credit is %+v", name, got)
		}
	}
}
