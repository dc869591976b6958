package fairshare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawTree is a tree in which each account has members.
func drawTree(t *rapid.T) []Sharer {
	var tree []Sharer
	for a := range rapid.IntRange(0, 3).Draw(t, "accounts") {
		tree = append(tree, Sharer{Parent: rapid.IntRange(-1, a-1).Draw(t, "above"), Group: true, Shares: float64(rapid.IntRange(1, 5).Draw(t, "shares"))})
	}
	accounts := len(tree)
	for o := range rapid.IntRange(2, 7).Draw(t, "owners") {
		parent := rapid.IntRange(-1, accounts-1).Draw(t, "account")
		if o < accounts {
			parent = o
		}
		tree = append(tree, Sharer{Parent: parent, Shares: float64(rapid.IntRange(1, 5).Draw(t, "shares")), Usage: float64(rapid.IntRange(0, 100).Draw(t, "usage"))})
	}
	return tree
}

func TestN14AndN15AsATree(t *testing.T) {
	s := Standings([]Sharer{{Parent: -1, Shares: 1, Usage: 75}, {Parent: -1, Shares: 1, Usage: 25}})
	near(t, "heavy", s[0].Factor, 0.354, 0.0005)
	near(t, "light", s[1].Factor, 0.707, 0.0005)
	s = Standings([]Sharer{{Parent: -1, Shares: Credited(1, 4), Usage: 50}, {Parent: -1, Shares: 1, Usage: 50}})
	near(t, "with credit", s[0].Factor, 0.595, 0.0005)
	near(t, "without", s[1].Factor, 0.354, 0.0005)
}

// The numbers by hand: two accounts with 3 : 1 shares, two members each with equal shares.
func TestStandingsOfAccounts(t *testing.T) {
	s := Standings([]Sharer{
		{Parent: -1, Group: true, Shares: 3}, {Parent: -1, Group: true, Shares: 1},
		{Parent: 0, Shares: 1, Usage: 60}, {Parent: 0, Shares: 1, Usage: 20}, {Parent: 1, Shares: 1, Usage: 20}, {Parent: 1, Shares: 1},
	})
	near(t, "entitled", s[2].Entitled, 0.375, 1e-12)
	near(t, "received", s[2].Received, 0.6, 1e-12)
	near(t, "of the account", s[0].Received, 0.8, 1e-12)
	near(t, "counted", s[2].Counted, 0.6+(0.8-0.6)*0.5, 1e-12)
	near(t, "factor", s[2].Factor, math.Exp2(-0.7/0.375), 1e-12)
	near(t, "one who used nothing answers for his account", s[5].Factor, math.Exp2(-0.1/0.125), 1e-12)
}

func TestFairTreeComparesAccountsFirst(t *testing.T) {
	s := FairTree([]Sharer{
		{Parent: -1, Group: true, Shares: 1}, {Parent: -1, Group: true, Shares: 1},
		{Parent: 0, Shares: 1, Usage: 80}, {Parent: 0, Shares: 1, Usage: 1}, {Parent: 1, Shares: 1, Usage: 19}, {Parent: 1, Shares: 0},
	})
	for i, want := range []float64{0.5, 1, 0.25, 0.5, 1, 0} {
		near(t, "factor", s[i].Factor, want, 1e-12)
	}
}

// What EPFL publishes of its Slurm farm: members of an account with one share of 23 each, ten of whom have used
// nothing. Level is shares by usage among siblings; those level at the top have one place, then each has his own.
func TestFairTreeOfAPublishedFarm(t *testing.T) {
	usage := []float64{0.250000, 0.255072, 0.494928} // "effectv usage" of three; the others have none
	tree := []Sharer{{Parent: -1, Group: true, Shares: 1}}
	for n := range 23 {
		s := Sharer{Parent: 0, Shares: 1}
		if n < len(usage) {
			s.Usage = usage[n]
		}
		tree = append(tree, s)
	}
	_, level := levels(tree)
	for n, want := range []float64{0.173913, 0.170455, 0.087848} { // as printed by sshare -l
		near(t, "level", level[n+1].part/level[n+1].used, want, 5e-7)
	}
	s := FairTree(tree)
	for n, want := range []float64{3.0 / 23, 2.0 / 23, 1.0 / 23, 1, 1} {
		near(t, "factor", s[n+1].Factor, want, 1e-12)
	}
}

// No member of a worse account comes before one of a better: what the tree rule does not promise.
func TestFairTreeKeepsAccountsTogether(t *testing.T) {
	crossed := false
	rapid.Check(t, func(t *rapid.T) {
		tree := []Sharer{{Parent: -1, Group: true, Shares: float64(rapid.IntRange(1, 3).Draw(t, "shares"))}, {Parent: -1, Group: true, Shares: 1}}
		for o := range rapid.IntRange(2, 8).Draw(t, "owners") {
			tree = append(tree, Sharer{Parent: o % 2, Shares: float64(rapid.IntRange(1, 3).Draw(t, "shares")), Usage: float64(rapid.IntRange(0, 9).Draw(t, "usage"))})
		}
		_, level := levels(tree)
		a, b := level[0].part*level[1].used, level[1].part*level[0].used // which account is better
		fair, classic := FairTree(tree), Standings(tree)
		for i := 2; i < len(tree); i++ {
			for k := 2; k < len(tree); k++ {
				if tree[i].Parent == 0 && tree[k].Parent == 1 && a > b {
					if fair[i].Factor <= fair[k].Factor {
						t.Fatalf("%+v: %v of the better account, %v of the worse", tree, fair[i].Factor, fair[k].Factor)
					}
					crossed = crossed || classic[i].Factor < classic[k].Factor
				}
			}
		}
	})
	if !crossed {
		t.Error("the tree rule never differed")
	}
}

// Invariant 36, for both rules and any tree.
func TestInvariant36Tree(t *testing.T) {
	for name, rule := range map[string]func([]Sharer) []Standing{"tree": Standings, "fair tree": FairTree} {
		rapid.Check(t, func(t *rapid.T) {
			tree := drawTree(t)
			before := rule(tree)
			entitled, received := 0.0, 0.0
			for i, s := range before {
				if s.Factor < 0 || s.Factor > 1 || math.IsNaN(s.Factor) {
					t.Fatalf("%s: factor %v", name, s.Factor)
				}
				if !tree[i].Group {
					entitled, received = entitled+s.Entitled, received+s.Received
				}
			}
			if entitled > 1+1e-9 || received > 1+1e-9 {
				t.Fatalf("%s: %v entitled, %v received", name, entitled, received)
			}
			i := len(tree) - 1
			more, richer := append([]Sharer{}, tree...), append([]Sharer{}, tree...)
			more[i].Usage += 50
			richer[i].Shares *= 2
			if rule(more)[i].Factor > before[i].Factor+1e-12 || rule(richer)[i].Factor < before[i].Factor-1e-12 {
				t.Fatalf("%s: factor %v does not fall with usage (%v) or rise with shares (%v) in %+v", name,
					before[i].Factor, rule(more)[i].Factor, rule(richer)[i].Factor, tree)
			}
			twin := append(append([]Sharer{}, tree...), tree[i])
			if s := rule(twin); s[i].Factor != s[i+1].Factor {
				t.Fatalf("%s: equal owners have %v and %v", name, s[i].Factor, s[i+1].Factor)
			}
		})
	}
}

func TestZeroSharesAreLast(t *testing.T) {
	for _, rule := range []func([]Sharer) []Standing{Standings, FairTree} {
		s := rule([]Sharer{{Parent: -1, Shares: 0}, {Parent: -1, Shares: 1, Usage: 100}})
		if s[0].Factor != 0 || s[1].Factor <= 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestRanksOf(t *testing.T) {
	got := RanksOf([]float64{0.5, 1, 0.5, 0})
	for i, want := range []int{2, 1, 2, 4} {
		if got[i] != want {
			t.Errorf("ranks %v", got)
		}
	}
}

// Each resource is charged by its part of the whole: all of them added up, or the scarcest alone.
func TestSharesOfEquivalent(t *testing.T) {
	whole := Resources{CPUs: 64, Memory: 512, GPUs: 8, Scratch: 1000}
	r := Resources{CPUs: 4, Memory: 64, GPUs: 2, Scratch: 250}
	if got, want := SharesOfEquivalent(r, whole, false), (Resources{CPUs: 4, Memory: 8, GPUs: 16, Scratch: 16}); got != want {
		t.Errorf("by the sum: %+v, want %+v", got, want)
	}
	if got, want := SharesOfEquivalent(r, whole, true), (Resources{GPUs: 16}); got != want {
		t.Errorf("by the maximum: %+v, want %+v", got, want)
	}
	if got, want := SharesOfEquivalent(r, Resources{CPUs: 64}, false), (Resources{CPUs: 4}); got != want {
		t.Errorf("of a farm that has nothing else: %+v, want %+v", got, want)
	}
}

func total(r Resources) float64 { return r.CPUs + r.Memory + r.GPUs + r.Scratch }

// A week in pieces of an hour decays as the formula says, to twelve digits.
func TestAWeekDecaysToTwelveDigits(t *testing.T) {
	h := HalfLife(0.75, 2*day)
	u, want := Usage{}, 0.0
	for hour := range 168 {
		at := float64(hour) * 3600
		u = u.Charge(at, 3600, h)
		want += 3600 * math.Exp2(-(7*day-at)/h)
	}
	near(t, "usage", u.Read(7*day, h)/want, 1, 1e-12)
}

// A clock that jumps neither charges nor refunds: reading in the past changes nothing.
func TestClockThatJumps(t *testing.T) {
	u := Usage{}.Charge(1000, 100, 500)
	near(t, "back", u.Read(10, 500), 100, 0)
	back := u.Charge(500, 0, 500)
	if back != u {
		t.Errorf("a charge of nothing in the past made %+v of %+v", back, u)
	}
}
