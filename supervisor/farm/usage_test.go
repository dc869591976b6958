package farm_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// bookRows are the rows of usage, shares and credit.
type bookRows struct {
	usage    map[facts.Payer]facts.UsageFacts
	shares   map[string]facts.ShareFacts
	credits  []facts.CreditFacts
	accounts map[string]facts.AccountFacts
	budgets  map[string]facts.BudgetFacts
}

func newBookRows() bookRows {
	return bookRows{usage: map[facts.Payer]facts.UsageFacts{}, shares: map[string]facts.ShareFacts{}, accounts: map[string]facts.AccountFacts{}, budgets: map[string]facts.BudgetFacts{}}
}

func (b *bookRows) apply(w facts.Write) {
	switch w := w.(type) {
	case facts.ChargeUsage:
		b.usage[w.Usage.Payer] = w.Usage
	case facts.PutShare:
		b.shares[w.Share.Path] = w.Share
	case facts.AddCredit:
		b.credits = append(b.credits, w.Credit)
	case facts.PutAccount:
		b.accounts[w.Account.Path] = w.Account
	case facts.PutBudget:
		b.budgets[w.Budget.Path] = w.Budget
	case facts.DropBudget:
		delete(b.budgets, w.Path)
	case facts.DropAccount:
		delete(b.accounts, w.Path)
	}
}

func (b *bookRows) load(given *facts.Facts) {
	given.Usage = slices.Collect(maps.Values(b.usage))
	given.Shares = slices.Collect(maps.Values(b.shares))
	given.Credits = slices.Clone(b.credits)
	given.Budgets = slices.Collect(maps.Values(b.budgets))
	given.Accounts = slices.Collect(maps.Values(b.accounts))
}

func near(t interface {
	Helper()
	Errorf(string, ...any)
}, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// fairRig is a rig with fairshare in force.
func fairRig(t *testing.T, change func(*accounting.Policy)) *rig {
	r := newRig(t)
	p := &r.policy.Fairshare
	p.Order, p.PE, p.Rule, p.HalfLife = true, "sum", "tree", 100*time.Hour
	change(p)
	r.farm = farm.New(r.policy)
	return r
}

func (r *rig) share(owner string) accounting.OwnerShare {
	r.t.Helper()
	for _, o := range r.farm.Shares(r.now).Owners {
		if o.Owner == owner {
			return o
		}
	}
	r.t.Fatalf("%s stands nowhere", owner)
	return accounting.OwnerShare{}
}

// Two users with equal shares, one with a heavy past: the other's jobs of equal priority start first.
func TestHeavyPastWaits(t *testing.T) {
	for _, order := range []bool{true, false} {
		r := fairRig(t, func(p *accounting.Policy) { p.Order = order })
		r.say("host a slots=1")
		r.say("submit past user=heavy items=1-20 max=0")
		for range 19 {
			r.say("finish 1")
		}
		r.say("submit first user=heavy items=1-2 max=0")
		r.say("submit second user=light items=1-2 max=0")
		out := r.say("finish 1")
		want := "start 3/1#1"
		if !order {
			want = "start 2/1#1"
		}
		if !strings.Contains(out, want) {
			t.Errorf("order %v: after the past came\n%s", order, out)
		}
		heavy, light := r.share("heavy"), r.share("light")
		near(t, "heavy's use", heavy.Usage.CPU, 200)
		if order && (light.Rank != 1 || heavy.Rank != 2 || heavy.Factor >= light.Factor || heavy.Entitled != 0.5) {
			t.Errorf("heavy %+v, light %+v", heavy, light)
		}
		if worse := r.say("submit urgent user=heavy items=1 max=0 priority=1"); strings.Contains(worse, "refused") {
			t.Error(worse)
		}
		if out := r.say(fmt.Sprintf("finish %d", map[bool]int{true: 3, false: 2}[order])); !strings.Contains(out, "start 4/1#1") {
			t.Errorf("priority no longer comes first:\n%s", out)
		}
	}
}

// Work that runs counts in advance by the mean of its job, and is trued up at its end.
func TestRunningWorkCountsInAdvance(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=2")
	r.say("submit one user=ada cpus=2 items=1-6 max=0")
	if o := r.share("ada"); o.Running.Total() != 0 || o.Ahead != 0 {
		t.Errorf("without an estimate %+v", o)
	}
	r.say("finish 1/1")
	o := r.share("ada")
	near(t, "charged", o.Usage.CPU, 10)
	near(t, "ahead", o.Ahead, 20)
	r.now = r.now.Add(4 * time.Second)
	o = r.share("ada")
	near(t, "running", o.Running.CPU, 8)
	near(t, "ahead", o.Ahead, 12)
	r.say("crash")
	o = r.share("ada")
	near(t, "running after a takeover", o.Running.CPU, 8)
	near(t, "charged after a takeover", o.Usage.CPU, 10*math.Exp2(-4.0/3600/100))
}

func TestChargeByResourceAndSpec(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=8 mem=64 resources=gpus:2")
	r.say("host b slots=8 mem=64")
	r.say("submit one user=ada items=1 max=0 reservations=host.processors=2,host.memory=32GB,host.gpus=1")
	r.say("finish 1")
	o := r.share("ada")
	near(t, "cpu", o.Usage.CPU, 20)
	near(t, "ram", o.Usage.RAM, 10*16*32.0/128)
	near(t, "gpu", o.Usage.GPU, 10*16*1.0/2)
	r = fairRig(t, func(p *accounting.Policy) { p.PE = "max" })
	r.say("host a slots=8 mem=64 resources=gpus:2")
	r.say("submit one user=ada items=1 max=0 reservations=host.processors=2,host.memory=48GB,host.gpus=1")
	r.say("finish 1")
	o = r.share("ada")
	near(t, "ram is the scarcest", o.Usage.RAM, 10*8*48.0/64)
	near(t, "all of it", o.Usage.Total(), o.Usage.RAM)
}

// Preempted work is in the books and charged to no one, except for the setting; lost work is charged until
// its lease ended.
func TestWhoPays(t *testing.T) {
	for _, charge := range []bool{false, true} {
		r := fairRig(t, func(p *accounting.Policy) { p.ChargePreempted = charge })
		r.say("host a slots=1")
		r.say("submit one user=ada items=1 max=0")
		r.now = r.now.Add(30 * time.Second)
		r.say("interrupt 1")
		a := r.rows.attempts[facts.AttemptID{Job: 1, Item: 0, Number: 1}]
		if a.State != facts.Preempted || a.Charge.CPU != 30 || a.Charged != charge {
			t.Errorf("charge preempted %v: %+v", charge, a)
		}
		near(t, "preempted", r.share("ada").Usage.CPU, map[bool]float64{false: 0, true: 30}[charge])
	}
	r := fairRig(t, func(p *accounting.Policy) { p.HalfLife = 0 })
	r.say("policy lease=60s")
	r.say("host a slots=1")
	r.say("submit one user=ada items=1 max=0")
	r.say("silent a")
	r.say("advance 10m")
	a := r.rows.attempts[facts.AttemptID{Job: 1, Item: 0, Number: 1}]
	// grace and margin: nothing runs in them
	near(t, "lost", r.share("ada").Usage.CPU, a.EndedAt.Sub(a.StartedAt).Seconds()-15)
	if a.State != facts.Lost || a.Charge.CPU < 60 || a.Charge.CPU > 85 || !a.Charged {
		t.Errorf("lost %+v", a)
	}
}

func TestSharesAndCredit(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	refused := func(c accounting.Change, want string) {
		t.Helper()
		r.out.Reset()
		r.step(message.AccountsChanged{Ticket: 1, Change: c})
		r.settle()
		if !strings.Contains(r.out.String(), "refused (invalid)") || !strings.Contains(r.out.String(), want) {
			t.Errorf("%+v: %q", c, r.out.String())
		}
	}
	refused(accounting.ShareSet{Path: "a//b", Shares: 1}, "no place in the tree")
	for _, path := range []string{"../x", "a/../b", ".", "a/./", "/a", "a//", ""} {
		refused(accounting.ShareSet{Path: path, Shares: 1}, "no place in the tree")
	}
	refused(accounting.ShareSet{Path: "a", Shares: -1}, "last in order")
	refused(accounting.ShareSet{Path: "a", Shares: math.NaN()}, "last in order")
	refused(accounting.CreditAdded{Owner: "ada", Amount: -1, Source: "x"}, "never taken back")
	refused(accounting.CreditAdded{Owner: "ada", Amount: 1}, "source")
	refused(accounting.CreditAdded{Owner: "ada", Amount: 1, Source: "x", Date: r.now.AddDate(1, 0, 0)}, "lies ahead")
	refused(accounting.ShareSet{Path: "show/", Shares: 3}, "there is no account \"show\"")
	r.say("account show users=ada")
	r.step(message.AccountsChanged{Change: accounting.ShareSet{Path: "show/", Shares: 3}, By: "boss"})
	r.step(message.AccountsChanged{Change: accounting.ShareSet{Path: "show/ada", Shares: 1}, By: "boss"})
	r.step(message.AccountsChanged{Change: accounting.ShareSet{Path: "none", Shares: 0}, By: "boss"})
	r.step(message.AccountsChanged{Change: accounting.CreditAdded{Owner: "bob", Amount: 4, Source: "a paper"}, By: "boss"})
	r.settle()
	for _, when := range []string{"at once", "after a takeover"} {
		ada, bob, none := r.share("ada"), r.share("bob"), r.share("none")
		near(t, when+": credit raises shares to twice", bob.Effective, 2)
		near(t, when+": in the account", ada.Entitled, 3.0/5)
		near(t, when+": beside it", bob.Entitled, 2.0/5)
		if none.Factor != 0 || none.Rank != 3 || ada.Factor != 1 || bob.Rank != 1 {
			t.Errorf("%s: %+v %+v %+v", when, ada, bob, none)
		}
		r.say("crash")
	}
}

// Slot time is made equal among equals only: a better factor keeps the slot, and nothing goes back and forth.
func TestSlotTimeComesAfterTheFactor(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("policy cpu_share=stride")
	r.say("host a slots=1")
	r.say("submit past user=heavy items=1-9 max=0")
	for range 8 {
		r.say("finish 1")
	}
	r.say("submit one user=light items=1-3 max=0")
	r.say("submit two user=heavy items=1-3 max=0")
	out := r.say("finish 1")
	for range 2 {
		out += r.say("finish 2")
	}
	if strings.Contains(out, "start 3/") || !strings.Contains(out, "start 2/3#1") {
		t.Errorf("heavy's job got a slot by its slot time:\n%s", out)
	}
}

// The factor weighs the surplus if the site wants it.
func TestWeights(t *testing.T) {
	r := fairRig(t, func(p *accounting.Policy) { p.Weights, p.Order = true, false })
	r.say("host a slots=8")
	r.say("submit past user=heavy items=1 max=0")
	r.say("finish 1")
	r.say("submit one user=heavy items=1-99")
	r.say("submit two user=light items=1-99")
	s := r.farm.Snapshot(r.now)
	if s.Jobs[0].Weight != 0.25 || s.Jobs[1].Weight != 1 || s.Jobs[0].Fairshare != 1 {
		t.Errorf("%+v", s.Jobs)
	}
}

// Whatever happens, who has what in the rows is the sum of his charged attempts, decayed: nothing twice,
// nothing forgotten, over any number of takeovers.
func TestUsageIsTheSumOfTheLedger(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := fairRig(t, func(p *accounting.Policy) {
			p.ChargePreempted = rapid.Bool().Draw(rt, "charge preempted")
			p.HalfLife = time.Duration(rapid.IntRange(0, 2).Draw(rt, "half-life")) * time.Minute
		})
		r.do("policy", []string{"lease=60s", "min_run=3s", "settle=1s"})
		hosts := rapid.IntRange(1, 3).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(1, 4).Draw(rt, "slots")))
		}
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			randomStep(rt, r, hosts)
		}
		want := map[facts.Payer]float64{}
		for _, a := range r.rows.attempts {
			if a.State.Live() && (a.Charged || a.Charge != facts.Charge{}) {
				rt.Fatalf("%v is charged while it runs: %+v", a.AttemptID, a)
			}
			if a.Charged {
				left := 1.0
				if h := r.policy.Fairshare.HalfLife; h > 0 {
					left = math.Exp2(-r.now.Sub(a.EndedAt).Seconds() / h.Seconds())
				}
				want[facts.Payer{Owner: a.Owner}] += a.Charge.Total() * left
			}
		}
		for _, o := range r.farm.Shares(r.now).Owners {
			if got := o.Usage.Total(); math.Abs(got-want[o.Payer]) > 1e-9*max(1, got) {
				rt.Fatalf("%v has used %v, his attempts say %v", o.Payer, got, want[o.Payer])
			}
		}
		for p, u := range r.rows.books.usage {
			if got := r.share(p.Owner).Usage; r.policy.Fairshare.HalfLife == 0 && got != u.Charge {
				rt.Fatalf("%v: the farm has %+v, the row %+v", p, got, u)
			}
		}
	})
}
