package accounting

import (
	"fmt"
	"slices"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/facts"
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
	return fmt.Sprintf("among jobs of equal priority by the owners' fairshare factors, in steps of 0.01: %s has %.4f, rank %d of %d (qbshare %s -explain)",
		o.Owner, o.Factor, o.Rank, len(r.Owners), o.Owner)
}

// PointsText explains the points of a job with these factors.
func (m Multifactor) PointsText(x fairshare.Multifactor) string {
	w := m.Weights
	t := w.Times(x)
	term := func(name string, weight, factor, product float64) string {
		return fmt.Sprintf("%s %.4f × %.10g = %.1f", name, factor, weight, product)
	}
	return fmt.Sprintf("%.0f points, the most go first: %s; %s; %s; %s (supervisor_queue_algorithm = \"multifactor\")", w.Points(x),
		term("age", w.Age, x.Age, t.Age), term("fairshare", w.Fairshare, x.Fairshare, t.Fairshare),
		term("priority", w.Priority, x.Priority, t.Priority), term("size", w.Size, x.Size, t.Size))
}
