package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simAccounts are the accounts of a world and the budgets that people set in it. They have a chance of their own: the
// other worlds do not change with them.
type simAccounts struct {
	on     bool
	random *rand.Rand
	added  int               // of simMembers
	named  map[string]string // by submission: the account to which its job is charged
}

// simMembers are who may charge jobs to which account. misc is everybody's default.
var simMembers = []accounting.AccountAdded{
	{Path: "misc", DefaultFor: []string{"*"}}, {Path: "show", Users: []string{"u0", "u1"}}, {Path: "show/shot", Users: []string{"u2"}, DefaultFor: []string{"u1"}},
}

// simAccountsEvery is one world in so many. Their commits are whole: a plan that is written in pieces may start more
// than is left.
const simAccountsEvery = 8

func newSimAccounts(w *simWorld) simAccounts {
	a := simAccounts{on: w.seed%simAccountsEvery == 5 && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0xacc)), named: map[string]string{}}
	w.policy.Fairshare.Order = w.policy.Fairshare.Order || a.on
	return a
}

// begin adds the accounts one after the other, and sets budgets later.
func (a *simAccounts) begin(w *simWorld) {
	if !a.on {
		return
	}
	a.add(w)
	for range 10 {
		w.after(time.Duration(a.random.Int64N(int64(w.faults.lasts))), func() {
			if !w.calm {
				a.budget(w)
			}
		})
	}
}

func (a *simAccounts) add(w *simWorld) {
	if a.added == len(simMembers) {
		return
	}
	a.change(w, simMembers[a.added], func(r outbox.Reply) {
		if r.Err != nil {
			w.fail("accounts: %s is refused: %v", simMembers[a.added].Path, r.Err)
		}
		a.added++
		a.add(w)
	})
}

// change has an operator change accounts or budgets.
func (a *simAccounts) change(w *simWorld, change accounting.Change, done func(outbox.Reply)) {
	key, e := w.clients.key(), message.AccountsChanged{Change: change, By: "op"}
	w.clients.call(&simCall{name: "change accounts " + key, done: done, run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		s.once(key, func(answer func(outbox.Reply, error)) {
			if s.term == nil {
				answer(outbox.Reply{}, errSimNoTerm)
				return
			}
			s.term.ask(simAskFor, func(ticket outbox.Ticket) message.Event { s.term.keyed(ticket, key); e.Ticket = ticket; return e }, answer)
		}, answer)
	}})
}

// budget sets a budget that holds for longer than the world.
func (a *simAccounts) budget(w *simWorld) {
	// also where clocks are set
	b := accounting.BudgetSet{Path: []string{"u0", "u1", "misc/", "show/", "show/shot/", "misc/u2"}[a.random.IntN(6)], Period: 3650 * 24 * time.Hour,

		Amount: float64(2 + a.random.IntN(60)), Beyond: []string{accounting.BeyondWait, accounting.BeyondIdle}[a.random.IntN(2)]}
	if a.added < len(simMembers) {
		return
	}
	a.change(w, b, nil)
}

// letGo takes all budgets away.
func (a *simAccounts) letGo(w *simWorld) {
	for _, path := range slices.Sorted(maps.Keys(w.rows.books.budgets)) {
		a.change(w, accounting.BudgetSet{Path: path}, nil)
	}
}

// choose has a submission name an account, or none.
func (a *simAccounts) choose(given *facts.JobFacts) {
	if !a.on {
		return
	}
	given.Account = []string{"", "", "misc", "show", "show/shot", "new"}[a.random.IntN(6)]
	a.named[given.Submission] = simCharged(given.User, given.Account)
}

// simNoAccount means no account.
const simNoAccount = "-"

func simCharged(user, asked string) string {
	may := map[string][]string{"u0": {"misc", "show"}, "u1": {"misc", "show", "show/shot"}, "u2": {"misc", "show/shot"}}
	switch {
	case asked == "" && user == "u1":
		return "show/shot"
	case asked == "":
		return "misc"
	case slices.Contains(may[user], asked):
		return asked
	}
	return simNoAccount
}

// checkAccount: a job is charged to an account that its owner may name, or to the default.
func (r *simRows) checkAccount(given facts.JobFacts) {
	if account, has := r.world.clients.accounts.named[given.Submission]; has && given.Account != account {
		r.world.fail("accounts: %s of %s is charged to %q, not to %q", given.Submission, given.User, given.Account, account)
	}
}

// simBudget is what the checks know of a budget: its row, and what was charged to it since it was set.
type simBudget struct {
	row   facts.BudgetFacts
	spent float64
}

// simPlaces are those whose budgets a payer's use counts against.
func simPlaces(p facts.Payer) []string {
	all := []string{p.Owner, p.Account + "/" + p.Owner}
	for path := p.Account; path != ""; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
		all = append(all, path+"/")
	}
	return all
}

func (b *simBooks) applyBudget(w facts.Write) {
	switch w := w.(type) {
	case facts.PutBudget:
		b.putBudget(w.Budget)
	case facts.DropBudget:
		delete(b.budgets, w.Path)
	}
}

// putBudget takes in the row of a budget.
func (b *simBooks) putBudget(row facts.BudgetFacts) {
	b.budgets[row.Path] = simBudget{row, b.budgets[row.Path].spent}
}

// spend enters a charge into all budgets that it counts against.
func (b *simBooks) spend(p facts.Payer, amount float64) {
	for _, path := range simPlaces(p) {
		if budget, has := b.budgets[path]; has {
			budget.spent += amount
			b.budgets[path] = budget
		}
	}
}

// checkBudgets: after each transaction the rows of budgets say what was charged to them since they were set.
func (r *simRows) checkBudgets() {
	for path, b := range r.books.budgets {
		sum := 0.0
		for _, spent := range b.row.Spent {
			sum += spent
		}
		if b.row.Beyond == accounting.BeyondWait && sum > b.row.Amount {
			r.world.some("a budget used up")
		}
		if off := sum - b.spent; off > 1e-6 || off < -1e-6 {
			r.world.fail("budget: %v was charged to %s since its budget was set, and the row says %v", b.spent, path, sum)
			return
		}
	}
}

// mayBeIdle says that a job may be beyond a budget of the kind idle, and have no primaries for it: what runs counts,
// too.
func (r *simRows) mayBeIdle(j facts.JobFacts) bool {
	return slices.ContainsFunc(simPlaces(facts.Payer{Account: j.Account, Owner: j.User}), func(path string) bool { return r.books.budgets[path].row.Beyond == accounting.BeyondIdle })
}

// checkWithin: nothing starts beyond a budget for which its job waits.
func (r *simRows) checkWithin(a facts.AttemptFacts) {
	p := facts.Payer{Account: r.jobs[a.Job].facts.Account, Owner: a.Owner}
	for _, path := range simPlaces(p) {
		switch b, has := r.books.budgets[path]; {
		case !has:
		case b.row.Beyond == accounting.BeyondWait && b.spent > b.row.Amount+simCent:
			r.world.fail("budget: %v of %v starts, and %v of the %v of %s are used", a.AttemptID, p, b.spent, b.row.Amount, path)
		case b.row.Beyond == accounting.BeyondIdle && b.spent > b.row.Amount+simCent:
			r.world.some("an item beyond a budget ran on an idle slot")
		}
	}
}
