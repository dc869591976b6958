package accounting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

func made(t interface{ Fatal(...any) }, a *Accounts, now time.Time, c Change) Changed {
	done, r := a.Make(now, c, "op")
	if r != nil {
		t.Fatal(r)
	}
	return done
}

func refused(t *testing.T, a *Accounts, c Change, want string) {
	t.Helper()
	if _, r := a.Make(start, c, "op"); r == nil || !strings.Contains(r.Text, want) {
		t.Errorf("%+v: %v, want %q", c, r, want)
	}
}

// A budget is used up exactly when what counts against it reaches it, whichever user of its account used it, and fits
// again at the time that is shown.
func TestBudgetsBar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := New(Policy{Accounts: "listed", HalfLife: 100 * time.Hour}, facts.Facts{})
		made(t, a, start, AccountAdded{Path: "show", Users: []string{"*"}})
		made(t, a, start, AccountAdded{Path: "show/shot", Users: []string{"*"}})
		path := rapid.SampledFrom([]string{"ada", "show/", "show/ada", "show/shot/"}).Draw(t, "path")
		period := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "period")
		amount := rapid.Float64Range(100, 1000).Draw(t, "amount")
		made(t, a, start, BudgetSet{Path: path, Amount: amount, Period: period, Beyond: rapid.SampledFrom([]string{"wait", "idle"}).Draw(t, "beyond")})
		sum := 0.0
		for range rapid.IntRange(0, 8).Draw(t, "charges") {
			p := facts.Payer{Account: rapid.SampledFrom([]string{"", "show", "show/shot", "gone"}).Draw(t, "account"), Owner: rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "owner")}
			cpu := rapid.Float64Range(0, 300).Draw(t, "cpu")
			a.Charge(p, facts.Charge{CPU: cpu}, start)
			counts := map[string]bool{"ada": p.Owner == "ada", "show/": strings.HasPrefix(p.Account, "show"), "show/ada": p.Account == "show" && p.Owner == "ada", "show/shot/": p.Account == "show/shot"}
			if counts[path] {
				sum += cpu
			}
		}
		if sum > amount-0.01 && sum < amount+0.01 {
			return // rounding decides
		}
		payer := facts.Payer{Account: map[string]string{"show/": "show/shot", "show/ada": "show", "show/shot/": "show/shot"}[path], Owner: "ada"}
		o := a.Bars(a.Barred(start, nil), payer)
		if (o != nil) != (sum >= amount) {
			t.Fatalf("%v of %v is used: %+v", sum, amount, o)
		}
		if o == nil {
			return
		}
		if o.Why().Reason != facts.ReasonOverBudget || o.Why().Params.Until == "" {
			t.Fatalf("%+v", o.Why())
		}
		if a.Bars(a.Barred(o.Until.Add(time.Minute), nil), payer) != nil || !o.Until.After(start) {
			t.Fatalf("at %v it does not fit: %+v", o.Until, a.Budgets(o.Until.Add(time.Minute), nil))
		}
		if a.Bars(a.Barred(start, nil), facts.Payer{Owner: "bob"}) != nil {
			t.Fatal("bob outside of accounts is barred")
		}
	})
}

// A period ends at each moment: what was used leaves it as its part does, and the row says so after a takeover.
func TestBudgetPeriods(t *testing.T) {
	t.Parallel()
	a := New(Policy{}, facts.Facts{})
	made(t, a, start, BudgetSet{Path: "ada", Amount: 10, Period: time.Hour, Beyond: BeyondWait})
	ada := facts.Payer{Owner: "ada"}
	a.Charge(ada, facts.Charge{CPU: 10}, start.Add(time.Minute))
	o := a.Exhausted(start.Add(2*time.Minute), ada)
	if o == nil || !o.Until.Equal(start.Add(62*time.Minute)) || a.Exhausted(o.Until.Add(-time.Second), ada) == nil || a.Exhausted(o.Until, ada) != nil {
		t.Errorf("the period does not decide: %+v", o)
	}
	a.Charge(ada, facts.Charge{CPU: 3}, start.Add(150*time.Minute))
	var row facts.BudgetFacts
	a.Charged(func(w facts.Write) {
		if put, ok := w.(facts.PutBudget); ok {
			row = put.Budget
		}
	})
	if !slices.Equal(row.Spent, []float64{3}) || !row.Since.Equal(start.Add(150*time.Minute)) {
		t.Errorf("%+v", row)
	}
	b := New(Policy{}, facts.Facts{Budgets: []facts.BudgetFacts{row}})
	if list := b.Budgets(start.Add(151*time.Minute), nil); len(list) != 1 || list[0].Total != 3 || !list[0].Until.IsZero() {
		t.Errorf("%+v", list)
	}
	// Taken away in the batch in which it was charged, it has no row.
	a.Charge(ada, facts.Charge{CPU: 1}, start.Add(3*time.Hour))
	made(t, a, start, BudgetSet{Path: "ada"})
	a.Charged(func(w facts.Write) {
		if _, ok := w.(facts.PutBudget); ok {
			t.Errorf("%+v", w)
		}
	})
}

// A budget of a period looks at all that was used within it and, as it counts in parts, at no more than one part
// beyond: held against a list of all charges. The time at which jobs will fit again is the first at which they do, and
// its row is bounded.
func TestAWindowSlides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type charge struct {
			at     time.Time
			amount float64
		}
		var all []charge
		a, ada, now := New(Policy{}, facts.Facts{}), facts.Payer{Owner: "ada"}, start
		period := time.Duration(rapid.IntRange(60, 100_000).Draw(t, "period")) * time.Second
		amount := float64(rapid.IntRange(1, 40).Draw(t, "amount")) // whole numbers add up exactly
		made(t, a, now, BudgetSet{Path: "ada", Amount: amount, Period: period, Beyond: BeyondWait})
		for range rapid.IntRange(1, 40).Draw(t, "charges") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(period/8)).Draw(t, "later"))).Truncate(time.Microsecond)
			c := charge{now, float64(rapid.IntRange(0, 9).Draw(t, "charged"))}
			all = append(all, c)
			a.Charge(ada, facts.Charge{CPU: c.amount}, c.at)
			if rapid.IntRange(0, 5).Draw(t, "takeover") == 0 {
				a = New(Policy{}, facts.Facts{Budgets: []facts.BudgetFacts{a.budgets["ada"]}})
			}
			least, most := 0.0, 0.0
			for _, c := range all {
				if age := now.Sub(c.at); age < period {
					least, most = least+c.amount, most+c.amount
				} else if age < period+partOf(a.budgets["ada"])+30*time.Millisecond {
					most += c.amount
				}
			}
			o := a.Budgets(now, nil)[0]
			if o.Total < least || o.Total > most {
				t.Fatalf("%v is counted of what was used within %v, %v to %v of %+v", o.Total, period, least, most, all)
			}
			barred := a.Exhausted(now, ada)
			if (barred != nil) != (o.Total >= amount) || len(o.Spent) > parts+1 {
				t.Fatalf("%+v, %+v", barred, o)
			}
			if barred != nil && (!barred.Until.Equal(o.Until) || a.Exhausted(o.Until, ada) != nil || a.Exhausted(o.Until.Add(-time.Microsecond), ada) == nil) {
				t.Fatalf("it does not fit at %v", barred.Until)
			}
		}
	})
}

// The ways to write a DOI are one source, for one user once, and reported by one user.
func TestSourcesOnce(t *testing.T) {
	t.Parallel()
	a := New(Policy{}, facts.Facts{})
	made(t, a, start, PublicationReported{Owner: "ada", Source: " https://doi.org/10.1000/AbC"})
	for _, same := range []string{"doi:10.1000/abc", "DOI: 10.1000/abc", "http://dx.doi.org/10.1000/ABC", "10.1000/abc"} {
		refused(t, a, PublicationReported{Owner: "bob", Source: same}, "was reported by ada before and is reported")
	}
	refused(t, a, PublicationReported{Owner: "bob", Source: "x", Date: start.Add(100 * time.Hour)}, "lies ahead")
	refused(t, a, PublicationReported{Owner: "bob", Source: "\n"}, "name the publication")
	refused(t, a, PublicationDecided{Source: "10.1000/other", Accept: true}, "nobody reported")
	refused(t, a, PublicationDecided{Source: "10.1000/abc", Accept: true, Amount: -1}, "credit: -1")
	if done := made(t, a, start, PublicationDecided{Source: "10.1000/abc", Accept: true}); len(done.Rows) != 2 {
		t.Errorf("%+v", done)
	}
	refused(t, a, PublicationDecided{Source: "10.1000/abc"}, "is accepted, by op")
	refused(t, a, CreditAdded{Owner: "ada", Amount: 1, Source: "doi:10.1000/abc"}, "has credit for")
	made(t, a, start, CreditAdded{Owner: "bob", Amount: 1, Source: "doi:10.1000/abc"}) // an operator knows of two authors
	made(t, a, start, CreditAdded{Owner: "bob", Amount: 1, Source: "a survey"})
	refused(t, a, PublicationReported{Owner: "cy", Source: "A survey"}, "credit for a survey already, of bob")
	made(t, a, start, PublicationReported{Owner: "cy", Source: "a talk"})
	made(t, a, start, PublicationDecided{Source: "a talk"})
	made(t, a, start, PublicationReported{Owner: "dan", Source: "a talk"}) // it was not cy's
	for n := range maxReported {
		made(t, a, start, PublicationReported{Owner: "eve", Source: "paper " + strings.Repeat("i", n)})
	}
	refused(t, a, PublicationReported{Owner: "eve", Source: "one more"}, "not decided yet")
}

// Of many entries none is taken if one cannot be.
func TestAllCreditOrNone(t *testing.T) {
	t.Parallel()
	a := New(Policy{}, facts.Facts{})
	good := CreditAdded{Owner: "ada", Amount: 1, Source: "one"}
	for want, bad := range map[string]CreditAdded{"entry 2: user": {Owner: "a/b", Amount: 1, Source: "x"}, "entry 2: credit": {Owner: "ada", Source: "x"}, "entry 2: source: One is in entry 1": {Owner: "ada", Amount: 2, Source: "One"}} {
		refused(t, a, CreditsAdded{[]CreditAdded{good, bad}}, want)
	}
	refused(t, a, CreditsAdded{}, "0 entries")
	refused(t, a, CreditsAdded{make([]CreditAdded, maxImport+1)}, "give 1 to")
	if a.credits != 0 || len(a.credited) != 0 {
		t.Errorf("%d entries were taken: %v", a.credits, a.credited)
	}
	if done := made(t, a, start, CreditsAdded{[]CreditAdded{good, {Owner: "bob", Amount: 1, Source: "one"}}}); len(done.Rows) != 2 || a.credits != 2 {
		t.Errorf("%+v", done)
	}
}
