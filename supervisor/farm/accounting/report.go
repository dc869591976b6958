package accounting

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/job/facts"
)

// OwnerShare is where a payer is. Usage and Running are decayed; Ahead is what the factor counts
// beyond them for work that runs.
type OwnerShare struct {
	facts.Payer
	Shares    float64      // as set, else 1
	Credit    float64      // decayed
	Effective float64      // shares, raised by credit
	Usage     facts.Charge // of ended attempts
	Accounts  []string     // to which it was charged; more than the own where those are not known
	Running   facts.Charge // so far
	Ahead     float64
	Entitled  float64 // fraction of the farm
	Received  float64 // fraction of all that is counted
	Counted   float64 // the same with the account's part, as the factor's rule takes it
	Factor    float64
	Rank      int
}

// Report is the position of everyone at a moment, by rank.
type Report struct {
	At      time.Time
	Policy  Policy
	Weight  float64 // of the factor in the points of the order multifactor; 0: none
	ByOwner bool    // the factor ranks owners before the priorities of their jobs do
	Owners  []OwnerShare
}

// Report tells the position of everyone who has shares, credit, usage or a job in memory. The last are the places of
// running, with or without work that runs.
func (a *Accounts) Report(now time.Time, running Running) Report {
	owners := a.owners(now, running)
	tree, at := a.shareTree(owners)
	weigh := fairshare.Standings
	if a.policy.Rule == "fair_tree" {
		weigh = fairshare.FairTree
	}
	standings := weigh(tree)
	factors := make([]float64, len(owners))
	for n := range owners {
		o, s := &owners[n], standings[at+n]
		o.Entitled = s.Entitled
		o.Received = s.Received
		o.Counted = s.Counted
		o.Factor = s.Factor
		factors[n] = s.Factor
	}
	for n, rank := range fairshare.RanksOf(factors) {
		owners[n].Rank = rank
	}
	slices.SortStableFunc(owners, func(a, b OwnerShare) int { return cmp.Compare(a.Rank, b.Rank) })
	return Report{At: now, Policy: a.policy, Owners: owners}
}

// owners are all payers by path, with what each has used.
func (a *Accounts) owners(now time.Time, running Running) []OwnerShare {
	known := map[facts.Payer]bool{}
	var moved []facts.Payer // who stand elsewhere than in the account that they were charged in
	for p := range a.usage {
		place := a.Place(p)
		if known[place] = true; place != p {
			moved = append(moved, p)
		}
	}
	for owner := range a.credit {
		known[facts.Payer{Owner: owner}] = true
	}
	for path := range a.shares {
		if p, isOwner := payerAt(path); isOwner && a.Place(p) == p {
			known[p] = true
		}
	}
	for p := range running {
		known[p] = true
	}
	halfLife := a.policy.HalfLife
	owners := make([]OwnerShare, 0, len(known))
	for p := range known {
		o := OwnerShare{Payer: p, Shares: a.shareOf(p.Path()), Accounts: []string{p.Account}}
		if c, ok := a.credit[p.Owner]; ok {
			o.Credit = c.Decayed(now, creditHalfLife).CPU
		}
		o.Effective = fairshare.Credited(o.Shares, o.Credit)
		if u := a.usage[p]; u != nil {
			o.Usage = u.Decayed(now, halfLife)
		}
		if r := running[p]; r != nil {
			o.Running, o.Ahead = r.sofar(), float64(r.ahead)/milli
		}
		owners = append(owners, o)
	}
	slices.SortFunc(owners, func(a, b OwnerShare) int { return comparePayers(a.Payer, b.Payer) })
	a.addMoved(now, owners, moved)
	return owners
}

func comparePayers(a, b facts.Payer) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Owner, b.Owner))
}

// addMoved adds what was charged to accounts that are not known to the places of the users who were charged.
func (a *Accounts) addMoved(now time.Time, owners []OwnerShare, moved []facts.Payer) {
	slices.SortFunc(moved, comparePayers) // floating sums depend on the order
	for _, p := range moved {
		n, _ := slices.BinarySearchFunc(owners, a.Place(p),
			func(o OwnerShare, place facts.Payer) int { return comparePayers(o.Payer, place) })
		u := a.usage[p].Decayed(now, a.policy.HalfLife)
		owners[n].Usage = owners[n].Usage.Plus(u)
		owners[n].Accounts = append(owners[n].Accounts, p.Account)
	}
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
func (a *Accounts) shareTree(owners []OwnerShare) (tree []fairshare.Sharer, at int) {
	accounts := map[string]int{}
	for _, o := range owners {
		for path := o.Account; path != ""; path = parentOf(path) {
			accounts[path] = 0
		}
	}
	above := func(account string) int {
		if account == "" {
			return -1
		}
		return accounts[account]
	}
	for _, path := range slices.Sorted(maps.Keys(accounts)) {
		accounts[path] = len(tree)
		tree = append(tree, fairshare.Sharer{Parent: above(parentOf(path)), Group: true, Shares: a.shareOf(path + "/")})
	}
	at = len(tree)
	for _, o := range owners {
		tree = append(tree, fairshare.Sharer{Parent: above(o.Account), Shares: o.Effective,
			Usage: o.Usage.Total() + o.Running.Total() + o.Ahead})
	}
	return tree, at
}

// parentOf is the account above one; "" above those at the top.
func parentOf(account string) string { return account[:max(strings.LastIndexByte(account, '/'), 0)] }

// Running is by place what live attempts have used so far and, from the mean of their job's complete items, what they
// will have used at their end. Work that will be charged to no one is not known before it ends.
type Running map[facts.Payer]*runningSum

// milli is the unit in which running work is summed: whole numbers add up to the same in any order.
const milli = 1e3

type runningSum struct{ cpu, ram, gpu, scratch, ahead int64 }

func (r *runningSum) sofar() facts.Charge {
	return facts.Charge{CPU: float64(r.cpu) / milli, RAM: float64(r.ram) / milli, GPU: float64(r.gpu) / milli,
		Scratch: float64(r.scratch) / milli}
}

// Know enters a payer who has a job.
func (r Running) Know(p facts.Payer) {
	if r[p] == nil {
		r[p] = &runningSum{}
	}
}

// Add enters an attempt that has run for held seconds at the rate; items of its job take mean seconds.
func (r Running) Add(p facts.Payer, rate fairshare.Resources, held, mean float64) {
	whole := func(v float64) int64 { return int64(math.Round(min(v, 1e11) * milli)) }
	sum, c := r[p], ChargeOf(rate, held)
	sum.cpu = sum.cpu + whole(c.CPU)
	sum.ram = sum.ram + whole(c.RAM)
	sum.gpu = sum.gpu + whole(c.GPU)
	sum.scratch = sum.scratch + whole(c.Scratch)
	sum.ahead += whole(ChargeOf(rate, max(0, mean-held)).Total())
}
