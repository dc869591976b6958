package farm_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"qb/smartshare"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// The rules that hold whatever policies act together; docs/policies.md has them in words. Each is held against what the
// test knows by itself: the rows, the charges that it has seen, the budgets and members that it has set.

// policyWatch is what the test knows of accounts, budgets and charges.
type policyWatch struct {
	r       *rig
	open    bool // any account may be named
	members map[string][]string
	budgets map[string]watchedBudget
	charges []watchedCharge
	payers  map[facts.JobID]facts.Payer
	broken  string // the first rule that a write broke
	older   int    // secondaries that stayed when a newer one like them was stopped
}

type watchedBudget struct {
	amount float64
	period time.Duration
	beyond string
	since  int // how many were charged before it was set, which do not count in the period
}

// watchedCharge is one attempt's, with the places whose budgets it counted against at its end.
type watchedCharge struct {
	at     time.Time
	payer  facts.Payer
	amount float64
	places []string
}

func watchPolicies(r *rig, open bool) *policyWatch {
	w := &policyWatch{r: r, open: open, members: map[string][]string{}, budgets: map[string]watchedBudget{}, payers: map[facts.JobID]facts.Payer{}}
	r.taken = w.look
	return w
}

// chosen is the account to which a user's job is charged that asks for one; false: it is refused.
func (w *policyWatch) chosen(user, asked string) (string, bool) {
	member := func(path string) bool { return slices.Contains(w.members[path], user) || path == "misc" }
	switch {
	case asked != "":
		return asked, w.open || member(asked)
	case member("show/shot") && user == "u1": // whose default that is
		return "show/shot", true
	}
	return "misc", true
}

// places are those whose budgets a payer's use counts against now.
func (w *policyWatch) places(p facts.Payer) []string {
	all := []string{p.Owner}
	if _, listed := w.members[p.Account]; !listed || w.open {
		return all
	}
	for path := p.Account; path != ""; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
		all = append(all, path+"/")
	}
	return append(all, p.Account+"/"+p.Owner)
}

// spent is what ended attempts have used of a budget: no less than least, and no more than most.
func (w *policyWatch) spent(path string) (least, most float64) {
	b := w.budgets[path]
	for n, c := range w.charges {
		switch age := w.r.now.Sub(c.at); {
		case b.period == 0:
			if slices.Contains(w.places(c.payer), path) {
				least, most = least+c.amount, most+c.amount
			}
		case n < b.since || !slices.Contains(c.places, path):
		case age < b.period:
			least, most = least+c.amount, most+c.amount
		case age < b.period+b.period/30+12*time.Second: // a plan looks after 10 s again
			most += c.amount
		}
	}
	return least, most
}

// usedUp is a budget of the payer that is used up by ended attempts for sure, "" if none is; those of a kind alone that
// are for a period, if periods.
func (w *policyWatch) usedUp(p facts.Payer, beyond string, periods bool) string {
	for _, path := range w.places(p) {
		if b, has := w.budgets[path]; has && b.beyond == beyond && (b.period > 0 || !periods) {
			if least, _ := w.spent(path); least > b.amount+0.01 {
				return path
			}
		}
	}
	return ""
}

// barred says that a job waits, or runs on idle slots only, for a budget, or that its instances are at a limit.
func barred(j *facts.JobView) bool { return overBudget(j) || j.Code == facts.ReasonInstanceLimit }

func overBudget(j *facts.JobView) bool { return j.Code == facts.ReasonOverBudget }

func (w *policyWatch) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// look sees each batch before the rows have it.
func (w *policyWatch) look(batch outbox.Batch) {
	for _, write := range batch.Writes {
		switch e := write.(type) {
		case facts.PutJob:
			w.payers[e.Job.ID] = facts.Payer{Account: e.Job.Account, Owner: e.Job.User}
		case facts.EndAttempt:
			if e.Charged {
				p := w.payers[e.ID.Job]
				w.charges = append(w.charges, watchedCharge{e.EndedAt, p, e.Charge.Total(), w.places(p)})
			}
		case facts.StartAttempt:
			if path := w.usedUp(w.payers[e.Attempt.Job], "wait", true); path != "" && w.r.policy.CommitRows == 0 {
				w.breaks("%v starts, and the budget of %s is used up", e.Attempt.AttemptID, path)
			}
		case facts.StopAttempt:
			w.newestFirst(e)
		}
	}
}

// newestFirst: of the secondaries of a job on one host that are alike, the secondary that has run least is stopped, so
// that least is lost.
func (w *policyWatch) newestFirst(stop facts.StopAttempt) {
	gone := w.r.rows.attempts[stop.ID]
	shared := stop.Reason == facts.ReasonSurplusShared || stop.Reason == facts.ReasonPrimaryWaits || stop.Reason == facts.ReasonWidthLowered
	if w.r.policy.Share.Preempt != "aggressive" || w.r.policy.CommitRows > 0 || !shared || gone.Kind != facts.Secondary {
		return
	}
	protected := map[string]bool{}
	for _, i := range w.r.farm.Snapshot(w.r.now).Running {
		protected[i.ID] = i.Protected
	}
	for _, h := range w.r.farm.View(w.r.now).Hosts {
		for _, i := range h.Instances {
			alike := h.ID == gone.Host && i.Job == gone.Job && i.State == "active" && i.Kind == facts.Secondary && i.Slots == gone.Slots && i.Memory == gone.Memory
			if !alike || w.r.rows.attempts[i.Attempt].State != facts.Running || protected[fmt.Sprintf("%d.%d", i.Job, i.Number)] {
				continue
			}
			if i.ItemStarted.After(gone.StartedAt) {
				w.breaks("%v has run since %v and is stopped (%s), %v since %v and stays", stop.ID, gone.StartedAt, stop.Cause, i.Attempt, i.ItemStarted)
			}
			if i.ItemStarted.Before(gone.StartedAt) {
				w.older++
			}
		}
	}
}

// booksAreKept: what has been charged is what the rows of payers and of periods say, and what the farm shows of all
// places together, wherever payers stand: never twice, never not at all. Nothing decays on these farms.
func (w *policyWatch) booksAreKept(rt *rapid.T) {
	w.limitsHold(rt)
	if w.broken != "" {
		rt.Fatalf("%s\n%s", w.broken, strings.Join(w.r.said, "\n"))
	}
	owed, all, shown := map[facts.Payer]float64{}, 0.0, 0.0
	for _, c := range w.charges {
		owed[c.payer] += c.amount
		all += c.amount
	}
	off := func(a, b float64) bool { return math.Abs(a-b) > 1e-9*max(1, a) }
	for p, amount := range owed {
		if u := w.r.rows.books.usage[p]; off(amount, (facts.Charge{CPU: u.CPU, RAM: u.RAM, GPU: u.GPU, Scratch: u.Scratch}).Total()) {
			rt.Fatalf("books: %v owes %v, and the row says %+v", p, amount, u)
		}
	}
	for _, o := range w.r.farm.Shares(w.r.now).Owners {
		shown += o.Usage.Total()
		if _, listed := w.members[o.Account]; o.Account != "" && (w.open || !listed) {
			rt.Fatalf("accounts: %v stands in an account of its own making", o.Payer)
		}
	}
	if off(all, shown) {
		rt.Fatalf("books: %v was charged, and the places of all have %v", all, shown)
	}
	for path, b := range w.budgets {
		if least, most := w.spent(path); b.period > 0 && !w.open {
			kept := 0.0
			for _, amount := range w.r.rows.books.budgets[path].Spent {
				kept += amount
			}
			if age := w.r.now.Sub(w.r.rows.books.budgets[path].Since); age < b.period/30 && (kept < least-0.01 || kept > most+0.01) {
				rt.Fatalf("books: the row of the budget of %s has %v of %v to %v", path, kept, least, most)
			}
		}
	}
}

// budgetsBar: at rest a job whose payer is beyond a budget says so if it waits, and one whose payer is not does not say
// so.
func (w *policyWatch) budgetsBar(rt *rapid.T) {
	busy := map[string]bool{}
	for _, a := range w.r.rows.attempts {
		if a.State.Live() {
			for _, path := range w.places(w.payers[a.Job]) {
				busy[path] = true
			}
		}
	}
	for _, j := range w.r.farm.View(w.r.now).Jobs {
		p := w.payers[j.ID]
		if path := w.usedUp(p, "wait", false); path != "" && j.State == facts.Active && j.Items.Pending > 0 && !overBudget(j) {
			rt.Fatalf("budget: job %d waits (%s), and the budget of %s is used up", j.ID, j.Reason, path)
		}
		if !overBudget(j) {
			continue
		}
		b, has := w.budgets[j.Params.Path]
		_, most := w.spent(j.Params.Path)
		if !has || !slices.Contains(w.places(p), j.Params.Path) || !busy[j.Params.Path] && most < b.amount-0.01 {
			rt.Fatalf("budget: job %d of %v waits (%s), and %v of %+v is used", j.ID, p, j.Reason, most, b)
		}
	}
}

// alike says that nothing but slots and memory is asked for, one slot each.
func alike(j *facts.JobView) bool {
	return !strings.Contains(j.Reservations, "host.processors=2") && !strings.Contains(j.Reservations, "license")
}

// idleYields: at rest a job over a budget of the kind idle holds nothing that a job within its budgets waits for.
func (w *policyWatch) idleYields(rt *rapid.T) {
	w.eachWanted(rt, func(waits, holds *facts.JobView) {
		if overBudget(holds) && !barred(waits) && w.usedUp(w.payers[holds.ID], "idle", false) != "" {
			rt.Fatalf("budget: job %d is over its budget and holds a slot for which job %d waits (%s)\n%s%s", holds.ID, waits.ID, waits.Reason, w.r.say("jobs"), w.r.say("hosts"))
		}
	})
}

// equalShares: at rest no job has two secondaries more than another job that could use one of them, where all instances
// are alike, and the surplus is divided equally among jobs.
func (w *policyWatch) equalShares(rt *rapid.T) {
	if w.r.policy.Share.Mode != "jobs" || w.r.policy.Fairshare.Weights {
		return
	}
	w.eachWanted(rt, func(waits, holds *facts.JobView) {
		if !barred(waits) && holds.Secondary > waits.Secondary+1 {
			rt.Fatalf("surplus: job %d has %d secondaries, job %d %d and waits (%s)\n%s%s", holds.ID, holds.Secondary, waits.ID, waits.Secondary, waits.Reason, w.r.say("jobs"), w.r.say("hosts"))
		}
	})
}

// eachWanted calls with each pair of jobs of which one has a secondary on a slot that the other waits for and could
// use.
func (w *policyWatch) eachWanted(rt *rapid.T, found func(waits, holds *facts.JobView)) {
	r := w.r
	if r.policy.Share.Preempt == "disabled" || r.policy.Share.Mode == "none" {
		return
	}
	view, stays := r.farm.View(r.now), map[string]bool{}
	for _, i := range r.farm.Snapshot(r.now).Running {
		stays[i.ID] = i.Protected
	}
	byID := map[facts.JobID]*facts.JobView{}
	for _, j := range view.Jobs {
		if !alike(j) || j.Draining > 0 {
			return // what is wide may keep hosts free; what leaves is on its way to whom it is for
		}
		byID[j.ID] = j
	}
	for _, j := range view.Jobs {
		if j.State != facts.Active || j.Items.Pending == 0 || j.Primary+j.Secondary >= j.MaxCPUsEffective {
			continue
		}
		for _, h := range view.Hosts {
			if h.State != "up" || h.Promised > h.Available {
				continue
			}
			for _, i := range h.Instances {
				if i.Job != j.ID && i.Kind == facts.Secondary && i.State == "active" && !stays[fmt.Sprintf("%d.%d", i.Job, i.Number)] &&
					i.Memory >= max(1, j.Memory.Need, j.Memory.Requested) && mayRunOn(r, j, h.ID) {
					found(j, byID[i.Job])
				}
			}
		}
	}
}

// ranked is what a rank check remembers of the farm before a step.
type ranked struct {
	jobs      map[facts.JobID]*facts.JobView
	instances map[string]bool
	leaving   map[facts.HostID]bool // hosts that an instance leaves
	ended     int                   // attempts
	factors   map[facts.Payer]int   // of owners, in hundredths
}

func (w *policyWatch) rankedNow() ranked {
	s := ranked{map[facts.JobID]*facts.JobView{}, map[string]bool{}, map[facts.HostID]bool{}, 0, map[facts.Payer]int{}}
	for _, a := range w.r.rows.attempts {
		if !a.State.Live() {
			s.ended++
		}
	}
	for _, o := range w.r.farm.Shares(w.r.now).Owners {
		s.factors[o.Payer] = smartshare.FairshareBucket(o.Factor)
	}
	view := w.r.farm.View(w.r.now)
	for _, j := range view.Jobs {
		s.jobs[j.ID] = j
	}
	for _, h := range view.Hosts {
		for _, i := range h.Instances {
			s.instances[fmt.Sprintf("%d.%d", i.Job, i.Number)] = true
			if i.State != "active" {
				s.leaving[h.ID] = true
			}
		}
	}
	return s
}

// clusterRank is a job's rank on a host by their clusters: how far down the host's cluster is from what both have in
// common.
func clusterRank(job, host string) int {
	split := func(path string) []string { return strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) }
	x, y := split(job), split(host)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	if slices.Equal(x, y) {
		return 1
	}
	return 2 + len(y) - n
}

// goesBefore says whether one job goes before another on hosts of a cluster by priority, by cluster and priority, or by
// what operators gave, their owners' fairshare and, of one payer's, priority. Of fairshare it knows as long as no
// attempt has been charged in between.
func (w *policyWatch) goesBefore(before, after ranked, a, b *facts.JobView, cluster string) bool {
	p := &w.r.policy
	var x, y []int
	both := func(of func(*facts.JobView) int) { x, y = append(x, of(a)), append(y, of(b)) }
	operator := func(j *facts.JobView) int { return cmp.Or(j.OperatorPriority, p.DefaultPriority) - p.DefaultPriority }
	if p.Share.ByOwner() {
		both(func(j *facts.JobView) int { return cmp.Compare(operator(j), 0) })
	}
	if p.Share.Order[0] == "cluster" && (!p.Share.ByOwner() || operator(a) == 0) {
		// else the cluster is looked at for the farm as a whole
		both(func(j *facts.JobView) int { return clusterRank(cmp.Or(j.Cluster, "/"), cluster) })
	}
	if !p.Share.ByOwner() {
		both(func(j *facts.JobView) int { return j.Priority })
		return slices.Compare(x, y) < 0
	}
	both(operator)
	if slices.Compare(x, y) != 0 {
		return slices.Compare(x, y) < 0
	}
	payer := func(j *facts.JobView) facts.Payer {
		if p.Fairshare.Accounts == "open" {
			return facts.Payer{Owner: j.User}
		}
		return facts.Payer{Account: j.Account, Owner: j.User}
	}
	if payer(a) == payer(b) {
		return a.Priority < b.Priority && (p.Share.Order[0] != "cluster" || a.Cluster == b.Cluster)
	}
	worse := func(s ranked) bool { return s.factors[payer(a)] <= s.factors[payer(b)] }
	return p.Fairshare.Order && before.ended == after.ended && !worse(before) && !worse(after)
}

// primariesByRank: no job gets a primary on a host where another job that goes before it by priority, or by cluster and
// priority, and waits for its own, could have had it. Two exceptions: farms that share slot time, which passes a slot
// on among equals without a look at who else waits; and a job for which instances leave some host that it may use: it
// may have been given their room.
func (w *policyWatch) primariesByRank(rt *rapid.T, before ranked) {
	after := w.rankedNow()
	if w.r.policy.CPUShare.On() {
		return
	}
	left := maps.Clone(before.leaving)
	maps.Copy(left, after.leaving)
	givenRoom := func(j *facts.JobView) bool {
		for host := range left {
			if mayRunOn(w.r, j, host) {
				return true
			}
		}
		return false
	}
	lacks := func(j *facts.JobView) bool {
		return j.State == facts.Active && j.Items.Pending > 0 && j.Primary < j.CPUs && !barred(j) && alike(j)
	}
	for _, h := range w.r.farm.View(w.r.now).Hosts {
		for _, i := range h.Instances {
			got, now := before.jobs[i.Job], after.jobs[i.Job]
			old := before.instances[fmt.Sprintf("%d.%d", i.Job, i.Number)]
			if old || i.Kind != facts.Primary || i.State != "active" || got == nil || !alike(now) || got.Priority != now.Priority {
				continue
			}
			for id, j := range after.jobs {
				was := before.jobs[id]
				if was == nil {
					continue
				}
				before := w.goesBefore(before, after, j, now, w.r.workers[h.ID].cluster)
				if !givenRoom(j) && id != i.Job && lacks(j) && lacks(was) && before && j.Priority == was.Priority && mayRunOn(w.r, j, h.ID) &&
					i.Memory >= max(1, j.Memory.Need, j.Memory.Requested) {
					rt.Fatalf("rank: job %d has a new primary on %s, and job %d, which goes before it there, lacks one (%s)\n%s%s%s", i.Job, h.ID, id, j.Reason, w.r.say("jobs"), w.r.say("hosts"), strings.Join(w.r.said, "\n"))
				}
			}
		}
	}
}
