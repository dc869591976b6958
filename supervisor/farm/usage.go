package farm

import (
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

func (u *usage) onAccountsChanged(now time.Time, e message.AccountsChanged) {
	c, refusal := u.accounts.Make(now, e.Change, e.By)
	if refusal != nil {
		u.out.Reject(e.Ticket, refusal)
		return
	}
	for _, row := range c.Rows {
		u.out.Write(row)
	}
	u.out.Record(now, facts.EventFacts{Type: c.Event, Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: c.Text}})
	u.planStale = true
	u.out.Answer(e.Ticket, c.Reply)
}

// usage is what owners use of the farm, are charged for, and are ranked by.
type usage struct {
	*shared
	accounts *accounting.Accounts
	judged   bool // jobs may be over a budget
}

// chargeEnd enters an ended attempt into the books. It is called once for each end, in the step that
// writes it, so that end and charge are durable together.
func (u *usage) chargeEnd(now time.Time, i *model.Instance, end *facts.EndAttempt) {
	wall := end.Wall + end.Suspended // it held its memory then, too, and its slots unless others might have them
	_, released := i.Attempt.SuspendedSeconds(now)
	end.Released = min(accounting.Bounded(released), end.Suspended)
	if end.Wall == 0 && (end.State == facts.Lost || end.State == facts.Killed || end.State == facts.Preempted) {
		wall, end.Released = i.HeldFor(now)
	}
	end.Charge = accounting.ChargeOf(u.rate(i, i.Slots, end.Peak), accounting.Bounded(wall-end.Released))
	if end.Released > 0 {
		end.Charge = end.Charge.Plus(accounting.ChargeOf(u.rate(i, 0, end.Peak), end.Released))
	}
	end.Charged = end.State != facts.Preempted || u.policy.Fairshare.ChargePreempted
	if end.Charged && end.Charge != (facts.Charge{}) {
		u.accounts.Charge(facts.Payer{Account: i.Job.Account, Owner: i.Attempt.Owner}, end.Charge, end.EndedAt)
	}
}

// rate is what the instance uses each second, with so many slots. Memory is what it reserved, or the most that it was
// seen to have.
func (u *usage) rate(i *model.Instance, slots int, peak int64) fairshare.Resources {
	used := fairshare.Resources{CPUs: float64(slots), Memory: float64(max(i.Attempt.Memory, i.Memory, peak, 0))}
	if len(i.Attempt.Holds) > 0 {
		used.GPUs, used.Scratch = float64(i.Attempt.Holds["host.gpus"]), float64(i.Attempt.Holds["host.scratch"])
	}
	return u.accounts.Rate(used, i.Host.Whole(), u.hosts.Whole(), i.Host.Speed())
}

// Accounts are the known accounts and, with their users, accounts that only were charged.
func (f *Farm) Accounts() (known []facts.AccountFacts, past map[string][]string) {
	return f.usage.accounts.List(), f.usage.accounts.Past()
}

// Shares tells the position of everyone who has shares, credit, usage or a job in memory.
func (f *Farm) Shares(now time.Time) accounting.Report { return f.usage.shares(now) }

// running is what live attempts use, by place.
func (u *usage) running(now time.Time) accounting.Running {
	running := accounting.Running{}
	for _, j := range u.jobs.ByID {
		p := u.accounts.Place(j.Payer())
		running.Know(p)
		mean := j.MeanItem()
		for _, i := range j.Instances {
			held, released := i.HeldFor(now)
			running.Add(p, u.rate(i, i.Slots, 0), held-released, mean)
			if released > 0 {
				running.Add(p, u.rate(i, 0, 0), released, 0)
			}
		}
	}
	return running
}

// Budgets are all budgets, as they stand.
func (f *Farm) Budgets(now time.Time) []accounting.ExceededBudget {
	return f.usage.accounts.Budgets(now, f.usage.running(now))
}

// Publications are what users reported as published.
func (f *Farm) Publications() []facts.PublicationFacts { return f.usage.accounts.Publications() }

// budgetsLooked is the time after which budgets are looked at again while there are any: items end, and run, without a
// plan.
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
	for _, j := range u.jobs.ByID {
		over := u.accounts.Bars(barred, j.Payer())
		if over != nil || j.Limit != nil {
			j.Noted() // also if no plan comes of this
		}
		j.Limit = over
	}
}

// limit finds the budget that bars a job which is not one of the farm's.
func (u *usage) limit(now time.Time, j *model.Job) {
	if u.accounts.Budgeted() {
		j.Limit = u.accounts.Bars(u.accounts.Barred(now, u.running(now)), j.Payer())
	}
}

// newcomer is the fairshare factor of a payer who has no job yet.
func (u *usage) newcomer(now time.Time, p facts.Payer) float64 {
	running := u.running(now)
	running.Know(p)
	report := u.accounts.Report(now, running)
	return report.Of(p).Factor
}

func (u *usage) shares(now time.Time) accounting.Report {
	running := u.running(now)
	r := u.accounts.Report(now, running)
	if u.policy.Share.ByPoints() {
		r.Weight = u.policy.Multifactor.Weights.Fairshare
	}
	r.ByOwner = u.policy.Share.ByOwner()
	return r
}

// factors are the job's, each in [0,1], with its owner's fairshare factor given.
func (u *usage) factors(now time.Time, j *model.Job, factor float64) fairshare.Multifactor {
	return fairshare.Multifactor{
		Age:       fairshare.AgeFactor(now.Sub(j.SubmittedAt).Seconds(), u.policy.Multifactor.MaxAge.Seconds()),
		Fairshare: factor,
		Priority:  fairshare.PriorityFactor(j.Priority, u.policy.MaxPriority),
		Size:      fairshare.SizeFactor(float64(j.CPUs*j.Needs.Slots), u.hosts.Whole().CPUs),
	}
}

// rankJob gives a job of a snapshot its owner's factor and its points, as far as the policy wants them.
func (u *usage) rankJob(now time.Time, p *snapshot, s *planner.SnapJob, j *model.Job) {
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
	factor, known := p.factors[u.accounts.Place(j.Payer())]
	if !known {
		factor = u.newcomer(now, u.accounts.Place(j.Payer()))
	}
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
func (u *usage) orderText(now time.Time, j *model.Job) string {
	if text := j.ByHandText(u.policy.Share.ByOwner()); text != "" {
		return text
	}
	points := u.policy.Share.ByPoints()
	if j.State.Final() || (!points && !u.policy.Fairshare.Order) {
		return ""
	}
	report := u.shares(now)
	o := report.Of(u.accounts.Place(j.Payer())) // who has a job in memory is somewhere
	switch {
	case u.policy.Share.ByOwner():
		return report.OwnerText(o, &j.JobFacts, u.policy.DefaultPriority)
	case !points:
		return report.FactorText(o)
	}
	return u.policy.Multifactor.PointsText(u.factors(now, j, o.Factor))
}
