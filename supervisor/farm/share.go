package farm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qb/smartshare/fairshare"
	"qb/supervisor/facts"
)

const (
	maxShares    = 100_000 // rows
	maxShare     = 1e9
	maxCredits   = 1_000_000 // rows
	maxCredit    = 1000      // of one row
	maxDepth     = 16        // of accounts
	defaultShare = 1
)

const creditHalfLife = time.Duration(fairshare.CreditHalfLife * float64(time.Second))

func (f *Farm) onShareSet(now time.Time, e ShareSet) {
	if err := CheckPath(e.Path); err != nil {
		f.out.Refuse(e.Ticket, "invalid", "%v", err)
		return
	}
	if !(e.Shares >= 0 && e.Shares <= maxShare) {
		f.out.Refuse(e.Ticket, "invalid", "shares: %v; use 0 (last in order) to %.0f, 1 is the default", e.Shares, maxShare)
		return
	}
	if _, known := f.books.shares[e.Path]; !known && len(f.books.shares) >= maxShares {
		f.out.Refuse(e.Ticket, "limit", "%d places have shares of their own, the limit", maxShares)
		return
	}
	s := facts.ShareFacts{Path: e.Path, Shares: e.Shares, By: e.By, At: facts.RowTime(now)}
	f.books.shares[s.Path] = s
	f.out.Write(facts.PutShare{Share: s})
	f.out.Record(now, facts.EventFacts{Type: "share-set", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: fmt.Sprintf("%s has %v shares", e.Path, e.Shares)}})
	f.dirty = true
	f.out.Answer(e.Ticket, ShareReply{Share: s})
}

// CheckPath refuses what is no place: a user ada, an account show/, a user in it show/ada. Paths go down only: "." and
// ".." would be accounts of that name, and nobody means that.
func CheckPath(path string) error {
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(parts) > maxDepth+1 || utf8.RuneCountInString(path) > maxNameRunes {
		return fmt.Errorf("path: %.40q has %d parts; at most %d, and %d characters", path, len(parts), maxDepth+1, maxNameRunes)
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.TrimSpace(part) != part || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
			return fmt.Errorf("path: %q is no place in the tree of shares; write ada for a user, show/ for an account, show/ada for a user in it", path)
		}
	}
	return nil
}

func (f *Farm) onCreditAdded(now time.Time, e CreditAdded) {
	if e.Date.IsZero() {
		e.Date = now
	}
	switch {
	case CheckPath(e.Owner) != nil || strings.Contains(e.Owner, "/"):
		f.out.Refuse(e.Ticket, "invalid", "user: %q is no user's name", e.Owner)
	case !(e.Amount > 0 && e.Amount <= maxCredit):
		f.out.Refuse(e.Ticket, "invalid", "credit: %v; use more than 0, at most %d; credit is never taken back, it decays", e.Amount, maxCredit)
	case strings.TrimSpace(e.Source) == "" || utf8.RuneCountInString(e.Source) > maxNameRunes:
		f.out.Refuse(e.Ticket, "invalid", "source: say in at most %d characters what the credit is for, such as a publication or a shot", maxNameRunes)
	case e.Date.After(now.Add(24 * time.Hour)):
		f.out.Refuse(e.Ticket, "invalid", "date: %s lies ahead; credit counts from its date on", e.Date.Format(time.DateOnly))
	case f.books.credits >= maxCredits:
		f.out.Refuse(e.Ticket, "limit", "there are %d entries of credit, the limit", maxCredits)
	default:
		c := facts.CreditFacts{Owner: e.Owner, Amount: e.Amount, Source: e.Source, Date: facts.RowTime(e.Date), By: e.By, AddedAt: facts.RowTime(now)}
		f.enterCredit(c)
		f.out.Write(facts.AddCredit{Credit: c})
		f.out.Record(now, facts.EventFacts{Type: "credit-added", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: fmt.Sprintf("%s gets %v for %s", e.Owner, e.Amount, e.Source)}})
		f.dirty = true
		f.out.Answer(e.Ticket, CreditReply{Credit: c})
	}
}

func (f *Farm) enterCredit(c facts.CreditFacts) {
	sum, known := f.books.credit[c.Owner]
	if !known {
		sum.At = c.Date
	}
	f.books.credit[c.Owner] = sum.Plus(facts.Charge{CPU: c.Amount}, c.Date, creditHalfLife)
	f.books.credits++
}

// shareOf are the shares of a place as set, else the default.
func (f *Farm) shareOf(path string) float64 {
	if s, ok := f.books.shares[path]; ok {
		return s.Shares
	}
	return defaultShare
}

// Shares tells where everybody stands who has shares, credit, usage or a job in memory.
func (f *Farm) Shares(now time.Time) ShareReport {
	owners := f.owners(now)
	tree, at := f.shareTree(owners)
	weigh := fairshare.Standings
	if f.policy.Fairshare.Rule == "fair_tree" {
		weigh = fairshare.FairTree
	}
	standings := weigh(tree)
	factors := make([]float64, len(owners))
	for n := range owners {
		o, s := &owners[n], standings[at+n]
		o.Entitled, o.Received, o.Counted, o.Factor = s.Entitled, s.Received, s.Counted, s.Factor
		factors[n] = s.Factor
	}
	for n, rank := range fairshare.RanksOf(factors) {
		owners[n].Rank = rank
	}
	slices.SortStableFunc(owners, func(a, b OwnerShare) int { return cmp.Compare(a.Rank, b.Rank) })
	weight := 0.0
	if f.policy.Share.ByPoints() {
		weight = f.policy.Multifactor.Weights.Fairshare
	}
	return ShareReport{At: now, Policy: f.policy.Fairshare, Weight: weight, Owners: owners}
}

// owners are all payers by path, with what each has used.
func (f *Farm) owners(now time.Time) []OwnerShare {
	running := f.running(now)
	known := map[facts.Payer]bool{}
	for p := range f.books.usage {
		known[p] = true
	}
	for owner := range f.books.credit {
		known[facts.Payer{Owner: owner}] = true
	}
	for path := range f.books.shares {
		if p, isOwner := payerAt(path); isOwner {
			known[p] = true
		}
	}
	for _, j := range f.jobs {
		known[facts.Payer{Account: j.Account, Owner: j.User}] = true
	}
	halfLife := f.policy.Fairshare.HalfLife
	owners := make([]OwnerShare, 0, len(known))
	for p := range known {
		o := OwnerShare{Payer: p, Shares: f.shareOf(p.Path())}
		if c, ok := f.books.credit[p.Owner]; ok {
			o.Credit = c.Decayed(now, creditHalfLife).CPU
		}
		o.Effective = fairshare.Credited(o.Shares, o.Credit)
		if u := f.books.usage[p]; u != nil {
			o.Usage = u.Decayed(now, halfLife)
		}
		if r := running[p]; r != nil {
			o.Running, o.Ahead = r.sofar(), float64(r.ahead)/milli
		}
		owners = append(owners, o)
	}
	slices.SortFunc(owners, func(a, b OwnerShare) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Owner, b.Owner))
	})
	return owners
}

// payerAt is the owner whose place a path is; an account's path ends with a slash.
func payerAt(path string) (facts.Payer, bool) {
	if strings.HasSuffix(path, "/") {
		return facts.Payer{}, false
	}
	cut := strings.LastIndexByte(path, '/')
	return facts.Payer{Account: path[:max(cut, 0)], Owner: path[cut+1:]}, true
}

// shareTree puts the accounts first, each behind the one above it, then the owners from index at on.
func (f *Farm) shareTree(owners []OwnerShare) (tree []fairshare.Sharer, at int) {
	accounts := map[string]int{}
	for _, o := range owners {
		for a := o.Account; a != ""; a = a[:max(strings.LastIndexByte(a, '/'), 0)] {
			accounts[a] = 0
		}
	}
	above := func(account string) int {
		if account == "" {
			return -1
		}
		return accounts[account]
	}
	for _, a := range slices.Sorted(maps.Keys(accounts)) {
		accounts[a] = len(tree)
		tree = append(tree, fairshare.Sharer{Parent: above(a[:max(strings.LastIndexByte(a, '/'), 0)]), Group: true, Shares: f.shareOf(a + "/")})
	}
	at = len(tree)
	for _, o := range owners {
		tree = append(tree, fairshare.Sharer{Parent: above(o.Account), Shares: o.Effective, Usage: o.Usage.Total() + o.Running.Total() + o.Ahead})
	}
	return tree, at
}

// milli is the unit in which running work is summed: whole numbers add up to the same in any order.
const milli = 1e3

type runningSum struct{ cpu, ram, gpu, scratch, ahead int64 }

func (r *runningSum) sofar() facts.Charge {
	return facts.Charge{CPU: float64(r.cpu) / milli, RAM: float64(r.ram) / milli, GPU: float64(r.gpu) / milli, Scratch: float64(r.scratch) / milli}
}

// running sums what live attempts have used so far and, from the mean of their job's complete items, what
// they will have used at their end. Work that will be charged to nobody is not known before it ends.
func (f *Farm) running(now time.Time) map[facts.Payer]*runningSum {
	sums := map[facts.Payer]*runningSum{}
	whole := func(v float64) int64 { return int64(math.Round(min(v, 1e11) * milli)) }
	for _, j := range f.jobs {
		if len(j.instances) == 0 {
			continue
		}
		p := facts.Payer{Account: j.Account, Owner: j.User}
		sum := sums[p]
		if sum == nil {
			sum = &runningSum{}
			sums[p] = sum
		}
		mean := j.meanItem()
		for _, i := range j.instances {
			rate, held := f.rate(i, 0), f.heldFor(now, i)
			c := chargeOf(rate, held)
			sum.cpu, sum.ram, sum.gpu, sum.scratch = sum.cpu+whole(c.CPU), sum.ram+whole(c.RAM), sum.gpu+whole(c.GPU), sum.scratch+whole(c.Scratch)
			sum.ahead += whole(chargeOf(rate, max(0, mean-held)).Total())
		}
	}
	return sums
}
