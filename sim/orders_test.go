package sim

import (
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
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
func (r *simRows) putOrder(w facts.PutAction) {
	j, o := r.jobs[w.Order.Job], w.Order
	r.world.note("row: order %d on job %d: %s from item %d, %d of %d", o.Number, o.Job, o.Action, o.Next, o.Done, o.Affected)
	n := slices.IndexFunc(j.orders, func(old facts.ActionFacts) bool { return old.Number == o.Number })
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

func (r *simRows) dropOrder(w facts.DropAction) {
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
	return slices.ContainsFunc(j.orders, func(o facts.ActionFacts) bool {
		return o.Action == facts.Retry || o.Action == facts.Requeue || o.Action == facts.Redo || o.Action == facts.ToComplete
	})
}

// sameOrders holds the orders of a job against the ones that a new term would go on with. What is left of one may
// differ by items that a mark held and that the new term lets go at once.
func (w *simWorld) sameOrders(was, is *facts.JobView) {
	same := slices.EqualFunc(was.Orders, is.Orders, func(a, b facts.ActionFacts) bool {
		return a.Number == b.Number && a.Action == b.Action && a.Affected == b.Affected && a.Begun.IsZero() == b.Begun.IsZero()
	})
	if !same {
		w.fail("S15: a new term would go on with the orders %+v of job %d, not %+v", is.Orders, was.ID, was.Orders)
	}
}

// simUndo are the orders that take others back.
var simUndo = map[facts.Action]facts.Action{facts.Kill: facts.Retry, facts.Block: facts.Unblock, facts.Suspend: facts.Resume}

// undo takes some orders back: on just the items that they applied to, if no one has changed the job since. It affects
// no others (S24).
func (c *simClients) undo(e message.JobAction, r outbox.Reply) {
	w := c.world
	action, known := simUndo[e.Action]
	reply, is := r.Body.(message.ActionReply)
	if !known || !is || r.Err != nil || w.calm || e.IfVersion != 0 || len(reply.Items) == 0 || (int(w.seed)+len(c.calls))%2 == 0 {
		return
	}
	total := 0
	for _, s := range reply.Items {
		total += (s.Last-s.First)/max(1, s.Step) + 1
	}
	back := message.JobAction{Job: e.Job, Action: action, By: "op", Items: reply.Items, IfVersion: reply.Version}
	w.after(time.Duration(len(c.calls)%7)*300*time.Millisecond, func() {
		call := c.order(back, w.rows.jobs[e.Job].items)
		call.done = func(r outbox.Reply) {
			c.checkOrder(back, r)
			if r.Err != nil {
				if r.Err.Kind != "stale" && r.Err.Kind != "not-found" && r.Err.Kind != "unavailable" {
					w.fail("S24: %s of %v of job %d, which takes back %s, is refused: %v", action, back.Items, e.Job, e.Action, r.Err)
				}
				return
			}
			if n := r.Body.(message.ActionReply).Affected; n > total {
				w.fail("S24: %s of the %d items that %s had taken affects %d", action, total, e.Action, n)
			}
			w.some("an order taken back")
		}
	})
}
