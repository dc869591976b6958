package sim

import (
	"slices"

	"qb/supervisor/facts"
)

// simOrderRows makes orders large in most worlds: a commit changes so few attempts for them. It draws nothing, so that
// the worlds of old seeds stay what they were.
func simOrderRows(seed uint64) int {
	if seed%4 == 0 {
		return 0
	}
	return int(seed % 4)
}

// putOrder takes in the row of an order under way (S15): it begins once, applies to so many items and only comes on.
func (r *simRows) putOrder(w facts.PutOrder) {
	j, o := r.jobs[w.Order.Job], w.Order
	r.world.note("row: order %d on job %d: %s from item %d, %d of %d", o.Number, o.Job, o.Action, o.Next, o.Done, o.Affected)
	n := slices.IndexFunc(j.orders, func(old facts.OrderFacts) bool { return old.Number == o.Number })
	if w.Fresh != (n < 0) {
		r.world.fail("S15: order %d on job %d is written as new %v, and is there: %v", o.Number, o.Job, w.Fresh, n >= 0)
		return
	}
	if w.Fresh {
		r.orderEpoch[o.Number] = r.epoch
		j.orders = append(slices.Clone(j.orders), o)
		if len(j.orders) > 1 {
			r.world.some("an order waited for another on its job")
		}
		return
	}
	old := j.orders[n]
	if n != 0 || o.Next < old.Next || o.Done < old.Done && !old.Begun.IsZero() || !old.Begun.IsZero() && old.Affected != o.Affected {
		r.world.fail("S15: order %d on job %d goes from %+v to %+v, %d before it", o.Number, o.Job, old, o, n)
	}
	r.world.some("an order carried out in pieces")
	j.orders = slices.Clone(j.orders)
	j.orders[n] = o
}

func (r *simRows) dropOrder(w facts.DropOrder) {
	j := r.jobs[w.Job]
	if len(j.orders) == 0 || j.orders[0].Number != w.Number {
		r.world.fail("S15: order %d on job %d is deleted out of turn: %+v", w.Number, w.Job, j.orders)
		return
	}
	if o := j.orders[0]; o.Next > 0 && r.orderEpoch[o.Number] != r.epoch {
		r.world.some("an order carried out by a later term")
	}
	j.orders = j.orders[1:]
}

// reopening says whether an order under way lets ended items of the job run again.
func (j *simJobRow) reopening() bool {
	return slices.ContainsFunc(j.orders, func(o facts.OrderFacts) bool {
		return o.Action == facts.Retry || o.Action == facts.Requeue || o.Action == facts.Redo || o.Action == facts.ToComplete
	})
}

// sameOrders holds the orders of a job against those that a new term would go on with. What is left of one may differ
// by items that a mark held and that the new term lets go at once.
func (w *simWorld) sameOrders(was, is facts.JobView) {
	same := slices.EqualFunc(was.Orders, is.Orders, func(a, b facts.OrderFacts) bool {
		return a.Number == b.Number && a.Action == b.Action && a.Affected == b.Affected && a.Begun.IsZero() == b.Begun.IsZero()
	})
	if !same {
		w.fail("S15: a new term would go on with the orders %+v of job %d, not %+v", is.Orders, was.ID, was.Orders)
	}
}
