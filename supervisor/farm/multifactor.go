package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// MultifactorPolicy is how the order multifactor adds up a job's points.
type MultifactorPolicy struct {
	Weights fairshare.Multifactor // in points; Size may be below zero, then small jobs go first
	MaxAge  time.Duration         // from when on a job's age counts whole
}

// factors are the job's, each in [0,1], with its owner's fairshare factor given.
func (f *Farm) factors(now time.Time, j *job, factor float64) fairshare.Multifactor {
	return fairshare.Multifactor{
		Age:       fairshare.AgeFactor(now.Sub(j.SubmittedAt).Seconds(), f.policy.Multifactor.MaxAge.Seconds()),
		Fairshare: factor,
		Priority:  fairshare.PriorityFactor(j.Priority, f.policy.MaxPriority),
		Size:      fairshare.SizeFactor(float64(j.CPUs*j.needs.Slots), f.wholeFarm().CPUs),
	}
}

// rankJob gives a job of a snapshot its owner's factor and its points, as far as the policy wants them.
func (f *Farm) rankJob(now time.Time, s *planner.SnapJob, j *job) {
	p, points := f.policy.Fairshare, f.policy.Share.ByPoints()
	if !p.Order && !p.Weights && !points {
		return
	}
	if f.books.standing == nil {
		f.books.standing = map[facts.Payer]float64{}
		for _, o := range f.Shares(now).Owners {
			f.books.standing[o.Payer] = o.Factor
		}
	}
	factor := f.books.standing[facts.Payer{Account: j.Account, Owner: j.User}]
	if p.Order {
		s.Fairshare = factor
	}
	if p.Weights {
		s.Weight = fairshare.Weight(factor)
	}
	if points {
		s.Points = f.policy.Multifactor.Weights.Points(f.factors(now, j, factor))
	}
}

// orderText tells what decides, beside the priority, when the job's turn comes; "" where nothing does.
func (f *Farm) orderText(now time.Time, j *job) string {
	points := f.policy.Share.ByPoints()
	if j.State.Final() || (!points && !f.policy.Fairshare.Order) {
		return ""
	}
	owners := f.Shares(now).Owners
	at := slices.IndexFunc(owners, func(o OwnerShare) bool { return o.Payer == facts.Payer{Account: j.Account, Owner: j.User} })
	o := owners[at] // who has a job in memory stands somewhere
	if !points {
		return fmt.Sprintf("among jobs of equal priority by the owners' fairshare factors, in steps of 0.01: %s has %.4f, rank %d of %d (qbshare %s -explain)",
			j.User, o.Factor, o.Rank, len(owners), j.User)
	}
	w, x := f.policy.Multifactor.Weights, f.factors(now, j, o.Factor)
	t := w.Times(x)
	term := func(name string, weight, factor, product float64) string {
		return fmt.Sprintf("%s %.4f × %.10g = %.1f", name, factor, weight, product)
	}
	return fmt.Sprintf("%.0f points, the most go first: %s; %s; %s; %s (supervisor_queue_algorithm = \"multifactor\")", w.Points(x),
		term("age", w.Age, x.Age, t.Age), term("fairshare", w.Fairshare, x.Fairshare, t.Fairshare),
		term("priority", w.Priority, x.Priority, t.Priority), term("size", w.Size, x.Size, t.Size))
}

// turnText is what the next slots go by.
func (f *Farm) turnText() string {
	if f.policy.Share.ByPoints() {
		return "in order of points"
	}
	return "in order of priority"
}
