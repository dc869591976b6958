package accounting

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

var start = time.Unix(1_000_000, 0).UTC()

// randomFarm is a tree of accounts with members, a history that also knows accounts which no one added, and shares.
func randomFarm(t *rapid.T, mode string) (*Accounts, []string) {
	a := New(Policy{Accounts: mode, Rule: rapid.SampledFrom([]string{"tree", "fair_tree"}).Draw(t, "rule"), HalfLife: 100 * time.Hour}, facts.Facts{})
	user := rapid.SampledFrom([]string{"ada", "bob", "cy", "dan"})
	paths := []string{}
	for range rapid.IntRange(0, 6).Draw(t, "accounts") {
		path := rapid.SampledFrom([]string{"show", "test", "misc"}).Draw(t, "name")
		if len(paths) > 0 && rapid.Bool().Draw(t, "below") {
			path = rapid.SampledFrom(paths).Draw(t, "parent") + "/" + path
		}
		c := AccountAdded{Path: path, Users: rapid.SliceOfN(user, 0, 3).Draw(t, "users"), Groups: rapid.SliceOfN(rapid.SampledFrom([]string{"fx", "comp"}), 0, 1).Draw(t, "groups")}
		if rapid.Bool().Draw(t, "default") {
			c.DefaultFor = []string{user.Draw(t, "whose")}
		}
		if _, r := a.Make(start, c, "op"); r != nil {
			continue // too deep
		}
		paths = append(paths, path)
		if rapid.Bool().Draw(t, "shares") {
			a.shares[path+"/"] = facts.ShareFacts{Path: path + "/", Shares: rapid.Float64Range(0, 5).Draw(t, "share"), At: start}
		}
	}
	for range rapid.IntRange(0, 10).Draw(t, "charges") {
		account := rapid.SampledFrom(append([]string{"", "gone", "gone/too"}, paths...)).Draw(t, "account")
		a.Charge(facts.Payer{Account: account, Owner: user.Draw(t, "payer")}, facts.Charge{CPU: rapid.Float64Range(0, 1000).Draw(t, "cpu")}, start)
	}
	return a, paths
}

// factorOf is where a user's job to the account would stand, beside the others' work.
func factorOf(t *rapid.T, a *Accounts, user, account string) float64 {
	running := Running{}
	place := a.Place(facts.Payer{Account: account, Owner: user})
	running.Know(place)
	report := a.Report(start, running)
	if n := slices.IndexFunc(report.Owners, func(o OwnerShare) bool { return o.Payer == place }); n < 0 {
		t.Fatalf("%v stands nowhere", place)
	}
	return report.Of(place).Factor
}

// Whatever account a user names, his job is in an account that an operator gave him, or where he is with his whole past
// outside of accounts. An account that is made up changes nothing.
func TestNoAccountCanBeMadeUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, paths := randomFarm(t, rapid.SampledFrom([]string{"listed", ""}).Draw(t, "mode"))
		user := rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(t, "user")
		groups := Groups{Names: rapid.SliceOfN(rapid.SampledFrom([]string{"fx", "comp", "none"}), 0, 2).Draw(t, "groups")}
		asked := rapid.SampledFrom(append([]string{"", "gone", "new", "show/new"}, paths...)).Draw(t, "asked")
		granted := []string{}
		for _, row := range a.List() {
			if slices.Contains(row.Users, user) || slices.Contains(row.DefaultFor, user) || slices.ContainsFunc(groups.Names, func(g string) bool { return slices.Contains(row.Groups, g) }) {
				granted = append(granted, row.Path)
			}
		}
		got, refusal := a.Choose(user, groups, asked)
		switch {
		case refusal != nil && slices.Contains(granted, asked):
			t.Fatalf("%s is a member of %q and refused: %v", user, asked, refusal)
		case refusal != nil:
			if refusal.Code == "" {
				t.Fatalf("a refusal without a code: %v", refusal)
			}
			return
		case got == "" && len(granted) > 0, got != "" && !slices.Contains(granted, got), asked != "" && got != asked:
			t.Fatalf("%s asked for %q and got %q of %v", user, asked, got, granted)
		}
		best := 0.0
		for _, account := range granted {
			best = max(best, factorOf(t, a, user, account))
		}
		if len(granted) == 0 {
			best = factorOf(t, a, user, "")
		}
		if f := factorOf(t, a, user, got); f > best {
			t.Fatalf("%s stands at %v in %q, at most %v was granted", user, f, got, best)
		}
		for _, made := range []string{"new", "gone", "gone/too", "show/new/er"} { // a job of before the accounts were known
			if _, known := a.members.byPath[made]; !known && factorOf(t, a, user, made) != factorOf(t, a, user, "") {
				t.Fatalf("%s stands better in %q", user, made)
			}
		}
	})
}

// In the open an account is a tag: wherever a user's past was charged, and whatever a job names, he is in one place.
func TestOpenAccountsAreTags(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, paths := randomFarm(t, "open")
		user := rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(t, "user")
		asked := rapid.SampledFrom(append([]string{"", "new"}, paths...)).Draw(t, "asked")
		got, refusal := a.Choose(user, Groups{Unsure: true}, asked)
		if refusal != nil || asked != "" && got != asked {
			t.Fatalf("%q: %q, %v", asked, got, refusal)
		}
		if factorOf(t, a, user, got) != factorOf(t, a, user, "") {
			t.Fatalf("%q stands elsewhere", got)
		}
		var all, sum float64
		for p, u := range a.usage {
			if p.Owner == user {
				all += u.Total()
			}
		}
		for _, o := range a.Report(start, Running{}).Owners {
			if o.Owner == user {
				sum += o.Usage.Total()
			}
		}
		if diff := all - sum; diff > 1e-9*all || diff < -1e-9*all {
			t.Fatalf("%v of %v was counted", sum, all)
		}
	})
}

// Making a user a member elsewhere moves no past, and what a member has used stays with the account.
func TestMovingAUserMovesNoPast(t *testing.T) {
	t.Parallel()
	a := New(Policy{Accounts: "listed", Rule: "tree"}, facts.Facts{})
	make := func(c Change) {
		if _, r := a.Make(start, c, "op"); r != nil {
			t.Fatal(r)
		}
	}
	make(AccountAdded{Path: "old", Users: []string{"ada"}})
	make(AccountAdded{Path: "new"})
	a.Charge(facts.Payer{Account: "old", Owner: "ada"}, facts.Charge{CPU: 100}, start)
	make(AccountRemoved{Path: "old", Users: []string{"ada"}})
	make(AccountAdded{Path: "new", Users: []string{"ada"}})
	running := Running{}
	running.Know(facts.Payer{Account: "new", Owner: "ada"})
	report := a.Report(start, running)
	if o := report.Of(facts.Payer{Account: "new", Owner: "ada"}); o.Usage.Total() != 0 {
		t.Errorf("the past came along: %+v", o)
	}
	if o := report.Of(facts.Payer{Account: "old", Owner: "ada"}); o.Usage.Total() != 100 {
		t.Errorf("the past is gone: %+v", o)
	}
}

// Many accounts are added, or none: an entry that is refused leaves the members, groups and defaults of all as they
// were.
func TestManyAccountsOrNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, _ := randomFarm(t, "listed")
		path := rapid.SampledFrom([]string{"show", "show/shot", "new", "new/er", "bad/", ""})
		var c AccountsAdded
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			c.List = append(c.List, AccountAdded{Path: path.Draw(t, "path"), Users: rapid.SliceOfN(rapid.SampledFrom([]string{"ada", "bob", "a/b"}), 0, 2).Draw(t, "users"),
				DefaultFor: rapid.SliceOfN(rapid.SampledFrom([]string{"ada", "bob"}), 0, 1).Draw(t, "default")})
		}
		one := New(a.policy, facts.Facts{})
		one.members = newMembers(a.List())
		var refused *outbox.Refusal
		for _, entry := range c.List {
			if _, r := one.Make(start, entry, "op"); r != nil {
				refused = r
				break
			}
		}
		before := a.List()
		done, r := a.Make(start, c, "op")
		switch {
		case r != nil && (refused == nil && len(c.List) > 0 || !reflect.DeepEqual(a.members, newMembers(before))):
			t.Fatalf("%v is refused: %v; before %v, after %v", c.List, r, before, a.List())
		case r == nil && (refused != nil || !reflect.DeepEqual(a.members, one.members) || done.Reply != len(c.List)):
			t.Fatalf("%v gives %v, one at a time %v", c.List, a.List(), one.List())
		}
	})
}

// An operator's lists cannot grow without end.
func TestAccountLimits(t *testing.T) {
	t.Parallel()
	a := New(Policy{Accounts: "listed"}, facts.Facts{})
	many := make([]string, maxMembers+1)
	for n := range many {
		many[n] = "u" + string(rune('a'+n%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n/676))
	}
	if _, r := a.Make(start, AccountAdded{Path: "show", Users: many}, "op"); r == nil || r.Kind != "limit" {
		t.Errorf("%v", r)
	}
	if _, r := a.Make(start, AccountAdded{Path: "show", Users: many[:maxMembers]}, "op"); r != nil {
		t.Error(r)
	}
	if _, r := a.Make(start, AccountAdded{Path: "show", Users: []string{"one more"}}, "op"); r == nil || r.Kind != "limit" {
		t.Errorf("%v", r)
	}
}
