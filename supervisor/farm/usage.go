package farm

import (
	"math"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/accounting"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/planner"
)

func (f *Farm) onAccountsChanged(now time.Time, e message.AccountsChanged) {
	c, refusal := f.usage.accounts.Make(now, e.Change, e.By)
	if refusal != nil {
		f.out.Reject(e.Ticket, refusal)
		return
	}
	for _, row := range c.Rows {
		f.out.Write(row)
	}
	f.out.Record(now, facts.EventFacts{Type: c.Event, Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: c.Text}})
	f.planStale = true
	f.out.Answer(e.Ticket, c.Reply)
}

// usage is what owners use of the farm, are charged for, and are ranked by.
type usage struct {
	policy   *message.Policy
	jobs     *jobs
	hosts    *hosts
	accounts *accounting.Accounts
	judged   bool // jobs may be over a budget
}

// chargeEnd enters an ended attempt into the books. It is called once for each end, in the step that
// writes it, so that end and charge are durable together.
func (u *usage) chargeEnd(now time.Time, i *instance, end *facts.EndAttempt) {
	wall := end.Wall
	if wall == 0 && (end.State == facts.Lost || end.State == facts.Killed || end.State == facts.Preempted) {
		wall = i.heldFor(now, u.policy)
	}
	end.Charge = accounting.ChargeOf(u.rate(i, end.Peak), accounting.Bounded(wall))
	end.Charged = end.State != facts.Preempted || u.policy.Fairshare.ChargePreempted
	if end.Charged && end.Charge != (facts.Charge{}) {
		u.accounts.Charge(facts.Payer{Account: i.job.Account, Owner: i.attempt.Owner}, end.Charge, end.EndedAt)
	}
}

// heldFor is how long the instance has its attempt, at most until the lease ended: what the worker did not say is
// taken to have run so long. Grace and margin come after that: they are the farm's patience, nothing runs in them.
func (i *instance) heldFor(now time.Time, p *message.Policy) float64 {
	if end := i.leaseEnds.Add(p.ExecutionLease - p.LeaseInFull()); now.After(end) {
		now = end
	}
	return accounting.Bounded(now.Sub(i.attempt.StartedAt).Seconds())
}

// rate is what the instance uses each second. Memory is what it reserved, or the most that it was seen to have.
func (u *usage) rate(i *instance, peak int64) fairshare.Resources {
	used := fairshare.Resources{CPUs: float64(i.slots), Memory: float64(max(i.attempt.Memory, i.memory, peak, 0))}
	if len(i.attempt.Holds) > 0 {
		used.GPUs, used.Scratch = float64(i.attempt.Holds["host.gpus"]), float64(i.attempt.Holds["host.scratch"])
	}
	return u.accounts.Rate(used, i.host.whole(), u.hosts.whole(), i.host.speed())
}

// speed is the host's speed; 1 is the reference.
func (h *host) speed() float64 {
	if !(h.Spec > 0) || math.IsInf(h.Spec, 0) {
		return 1
	}
	return h.Spec
}

func (h *host) whole() fairshare.Resources {
	return fairshare.Resources{CPUs: float64(h.Slots), Memory: float64(max(h.Memory, 0)),
		GPUs: float64(h.Stock("host.gpus")), Scratch: float64(h.Stock("host.scratch"))}
}

// Accounts are those that are known and, with their users, those that only were charged.
func (f *Farm) Accounts() (known []facts.AccountFacts, past map[string][]string) {
	return f.usage.accounts.List(), f.usage.accounts.Past()
}

// Shares tells where everybody stands who has shares, credit, usage or a job in memory.
func (f *Farm) Shares(now time.Time) accounting.Report { return f.usage.shares(now) }

// running is what live attempts use, by place.
func (u *usage) running(now time.Time) accounting.Running {
	running := accounting.Running{}
	for _, j := range u.jobs.byID {
		p := u.accounts.Place(j.payer())
		running.Know(p)
		mean := j.meanItem()
		for _, i := range j.instances {
			running.Add(p, u.rate(i, 0), i.heldFor(now, u.policy), mean)
		}
	}
	return running
}

// Budgets are all budgets, as they stand.
func (f *Farm) Budgets(now time.Time) []accounting.Over {
	return f.usage.accounts.Budgets(now, f.usage.running(now))
}

// Publications are those that users reported.
func (f *Farm) Publications() []facts.PublicationFacts { return f.usage.accounts.Publications() }

// budgetsLooked is the time after which budgets are looked at again while there are any: items end, and run, without a plan.
const budgetsLooked = 10 * time.Second

// judge finds the jobs whose payers are over a budget.
func (u *usage) judge(now time.Time) {
	before := u.judged
	u.judged = u.accounts.Budgeted()
	if !u.judged && !before {
		return
	}
	var barred accounting.Barred
	if u.judged {
		barred = u.accounts.Barred(now, u.running(now))
	}
	for _, j := range u.jobs.byID {
		j.limit = u.accounts.Bars(barred, j.payer())
	}
}

// waitsForBudget says that the job starts nothing until its payer is within the budget again. Where no job has secondaries,
// none can run on idle slots alone.
func (j *job) waitsForBudget(p *planner.SharePolicy) bool {
	return j.limit != nil && (j.limit.Beyond == accounting.BeyondWait || p.Mode == "none" || !j.hasAgenda())
}

// idleWeight is so small that all other jobs have what they want before a job of this weight has anything.
const idleWeight = 1e-9

// limitJob makes the row of a job in a snapshot obey the budget of its payer: it starts nothing, or has secondaries alone, of
// what everybody else leaves.
func (j *job) limitJob(s *planner.SnapJob, p *planner.SharePolicy) {
	s.CPUs, s.MaxCPUs = j.CPUs, j.MaxCPUs
	switch {
	case j.limit == nil:
	case j.waitsForBudget(p):
		s.Remaining = j.held()
	default:
		width := j.width(p)
		s.CPUs, s.MaxCPUs, s.Weight = 0, &width, idleWeight
	}
}

func (u *usage) shares(now time.Time) accounting.Report {
	running := u.running(now)
	r := u.accounts.Report(now, running)
	if u.policy.Share.ByPoints() {
		r.Weight = u.policy.Multifactor.Weights.Fairshare
	}
	return r
}

func (j *job) payer() facts.Payer { return facts.Payer{Account: j.Account, Owner: j.User} }

// factors are the job's, each in [0,1], with its owner's fairshare factor given.
func (u *usage) factors(now time.Time, j *job, factor float64) fairshare.Multifactor {
	return fairshare.Multifactor{
		Age:       fairshare.AgeFactor(now.Sub(j.SubmittedAt).Seconds(), u.policy.Multifactor.MaxAge.Seconds()),
		Fairshare: factor,
		Priority:  fairshare.PriorityFactor(j.Priority, u.policy.MaxPriority),
		Size:      fairshare.SizeFactor(float64(j.CPUs*j.needs.Slots), u.hosts.whole().CPUs),
	}
}

// rankJob gives a job of a snapshot its owner's factor and its points, as far as the policy wants them.
func (u *usage) rankJob(now time.Time, p *planned, s *planner.SnapJob, j *job) {
	policy, points := u.policy.Fairshare, u.policy.Share.ByPoints()
	if !policy.Order && !policy.Weights && !points {
		return
	}
	if p.factors == nil {
		p.factors = map[facts.Payer]float64{}
		for _, o := range u.shares(now).Owners {
			p.factors[o.Payer] = o.Factor
		}
	}
	factor := p.factors[u.accounts.Place(j.payer())]
	if policy.Order {
		s.Fairshare = factor
	}
	if policy.Weights {
		s.Weight = fairshare.Weight(factor)
	}
	if points {
		s.Points = u.policy.Multifactor.Weights.Points(u.factors(now, j, factor))
	}
}

// orderText tells what decides, beside the priority, when the job's turn comes; "" where nothing does.
func (u *usage) orderText(now time.Time, j *job) string {
	points := u.policy.Share.ByPoints()
	if j.State.Final() || (!points && !u.policy.Fairshare.Order) {
		return ""
	}
	report := u.shares(now)
	o := report.Of(u.accounts.Place(j.payer())) // who has a job in memory stands somewhere
	if !points {
		return report.FactorText(o)
	}
	return u.policy.Multifactor.PointsText(u.factors(now, j, o.Factor))
}
