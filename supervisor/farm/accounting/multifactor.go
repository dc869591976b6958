package accounting

import (
	"fmt"
	"slices"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/job/facts"
)

// Multifactor is how the order multifactor adds up a job's points.
type Multifactor struct {
	Weights fairshare.Multifactor // in points; Size may be below zero, then small jobs go first
	MaxAge  time.Duration         // from when on a job's age counts whole
}

// Of returns the entry of an owner who has a job.
func (r Report) Of(p facts.Payer) OwnerShare {
	return r.Owners[slices.IndexFunc(r.Owners, func(o OwnerShare) bool { return o.Payer == p })]
}

// FactorText explains an order by the owners' fairshare factors, to one of them.
func (r Report) FactorText(o OwnerShare) string {
	among := "among jobs of equal priority by"
	if r.ByOwner {
		among = "by"
	}
	return fmt.Sprintf("%s the owners' fairshare factors, in steps of 0.01: %s has %.4f, rank %d of %d (qbshare %s -explain)",
		among, o.Owner, o.Factor, o.Rank, len(r.Owners), o.Owner)
}

// OwnerText adds to what fairshare makes of a job what an operator's priority does, and what its owner's. usual is the
// site's default priority.
func (r Report) OwnerText(o OwnerShare, j *facts.JobFacts, usual int) string {
	fairshare := r.FactorText(o)
	own := fmt.Sprintf("; priority %d orders the jobs of %s", j.Priority, j.User)
	switch operator := j.OperatorPriority; {
	case j.Elite():
		return "before all others: it is elite"
	case operator == 0 || operator == usual:
		return fairshare + own
	case operator < usual:
		return fmt.Sprintf("before all jobs to which no operator gave a priority: an operator gave it %d; then %s%s",
			operator, fairshare, own)
	default:
		return fmt.Sprintf("behind all jobs to which no operator gave a priority: an operator gave it %d; then %s%s",
			operator, fairshare, own)
	}
}

// PointsText explains the points of a job with these factors.
func (m Multifactor) PointsText(x fairshare.Multifactor) string {
	w := m.Weights
	t := w.Times(x)
	term := func(name string, weight, factor, product float64) string {
		return fmt.Sprintf("%s %.4f × %.10g = %.1f", name, factor, weight, product)
	}
	return fmt.Sprintf("%.0f points, the most go first: %s; %s; %s; %s (supervisor_queue_algorithm = \"multifactor\")",
		w.Points(x),
		term("age", w.Age, x.Age, t.Age), term("fairshare", w.Fairshare, x.Fairshare, t.Fairshare),
		term("priority", w.Priority, x.Priority, t.Priority), term("size", w.Size, x.Size, t.Size))
}
