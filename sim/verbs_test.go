package sim

import (
	"fmt"
	"slices"
	"strings"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simEffect is what a transaction changed of a job on which it carries out an order, by the rows alone.
type simEffect struct {
	action   facts.Action
	job      facts.JobID
	was, is  facts.JobFacts
	pieces   bool // the order goes on in later transactions
	alone    bool // nothing else was ordered or carried out on the job in this transaction
	before   []agenda.State
	after    []agenda.State
	plain    []bool       // by item: its attempt was neither stopping nor sent away nor suspended
	touched  map[int]bool // items that the order changed
	busy     map[int]bool // items of which an attempt began or ended in the same transaction, too
	retired  int          // instances
	counted  int          // instances that the job had
	draining int          // of these, those that were to leave for sharing's sake: maybe for good
	moves    int          // orders and changes in the transaction that may move jobs
	position simPosition
}

// simStopReasons are why an order stops what runs, or has it be the last of its instance.
var simStopReasons = map[facts.Reason]facts.Action{
	facts.ReasonKilled: facts.Kill, facts.ReasonBlocked: facts.Block, facts.ReasonInterrupted: facts.Interrupt, facts.ReasonMigrated: facts.Migrate,
	facts.ReasonMarkedComplete: facts.ToComplete, facts.ReasonMarkedFailed: facts.ToFailed, facts.ReasonSentAway: facts.Preempt, facts.ReasonRetired: facts.Retire,
}

// simTakes has the states of the items that an order is for. It is for what runs if that runs on as if nothing had been
// ordered.
var simTakes = map[facts.Action][]agenda.State{
	facts.Kill: {agenda.Pending, agenda.Blocked, agenda.Running}, facts.ToFailed: {agenda.Pending, agenda.Blocked, agenda.Running},
	facts.Retry: {agenda.Failed, agenda.Killed}, facts.Requeue: {agenda.Failed, agenda.Killed}, facts.Redo: {agenda.Failed, agenda.Killed, agenda.Complete},
	facts.Block: {agenda.Pending, agenda.Running}, facts.Unblock: {agenda.Blocked}, facts.Retire: {agenda.Pending, agenda.Blocked},
	facts.Interrupt: {agenda.Running}, facts.Preempt: {agenda.Running}, facts.Migrate: {agenda.Running},
	facts.ToComplete: {agenda.Pending, agenda.Blocked, agenda.Running, agenda.Failed, agenda.Killed},
}

// simMakes has the states that an order gives to items that do not run.
var simMakes = map[facts.Action]agenda.State{
	facts.Kill: agenda.Killed, facts.ToFailed: agenda.Failed, facts.ToComplete: agenda.Complete, facts.Retire: agenda.Complete,
	facts.Block: agenda.Blocked, facts.Unblock: agenda.Pending, facts.Retry: agenda.Pending, facts.Requeue: agenda.Pending, facts.Redo: agenda.Pending,
}

// beforeOrders looks at the jobs on which a transaction carries out orders, before it is applied.
func (r *simRows) beforeOrders(writes []facts.Write) (effects []*simEffect) {
	for _, w := range writes {
		e, ok := w.(facts.AddEvent)
		if !ok || r.jobs[e.Event.Job] == nil {
			continue
		}
		action, ordered := strings.CutPrefix(e.Event.Type, "ordered-")
		if !ordered {
			continue
		}
		if at := slices.IndexFunc(effects, func(x *simEffect) bool { return x.job == e.Event.Job }); at >= 0 {
			effects[at].alone = false
			continue
		}
		j := r.jobs[e.Event.Job]
		x := &simEffect{action: facts.Action(action), job: e.Event.Job, was: j.facts, alone: true, touched: map[int]bool{}, busy: map[int]bool{}}
		for n := range j.items {
			a, state := j.latest(facts.ItemNo(n)), j.state(facts.ItemNo(n))
			x.before = append(x.before, state)
			plain := state == agenda.Running && a.State == facts.Running && a.SuspensionState() == facts.NotSuspended
			x.plain = append(x.plain, plain && simStopReasons[a.Reason] == "")
			away := a != nil && (a.Reason == facts.ReasonSentAway || a.Reason == facts.ReasonRetired) && a.SuspensionState() == facts.NotSuspended
			if state == agenda.Running && a.State == facts.Running && !away { // what is suspended stays until it goes on
				x.counted++
				if r.draining[simInstance{x.job, a.Instance}] {
					x.draining++
				}
			}
		}
		x.position.before = r.places()
		effects = append(effects, x)
		x.read(writes)
	}
	return effects
}

// read takes from the writes which attempts the order changed.
func (x *simEffect) read(writes []facts.Write) {
	stopped := func(id facts.AttemptID, why facts.Why) {
		if action := simStopReasons[why.Reason]; id.Job == x.job && action != "" {
			x.alone = x.alone && action == x.action
			x.touched[int(id.Item)] = true
			if why.Reason == facts.ReasonRetired {
				x.retired++
			}
		} else if id.Job == x.job { // by the plan, maybe before the order
			x.plain[id.Item] = false
		}
	}
	for _, w := range writes {
		switch w := w.(type) {
		case facts.StopAttempt:
			stopped(w.ID, w.Why)
		case facts.SendAwayAttempt:
			stopped(w.ID, w.Why)
		case facts.ReopenAttempts:
			for _, id := range w.Attempts {
				if w.Job == x.job {
					x.touched[int(id.Item)] = true
				}
			}
		case facts.StartAttempt:
			if w.Attempt.Job == x.job {
				x.busy[int(w.Attempt.Item)] = true
			}
		case facts.EndAttempt:
			if w.ID.Job == x.job {
				x.busy[int(w.ID.Item)] = true
			}
		case facts.PutAction:
			if w.Order.Job == x.job {
				x.pieces, x.alone = true, x.alone && w.Fresh && !w.Order.Begun.IsZero()
				if x.action == facts.Retire {
					x.retired = w.Order.Affected
				}
			}
		case facts.AddEvent:
			switch w.Event.Type {
			case "ordered-top", "ordered-bottom", "modified":
				x.moves++
			case "late-end":
				if w.Event.Job == x.job {
					x.busy[int(w.Event.Item)] = true
				}
			}
		case facts.DropAction:
			x.alone = x.alone && w.Job != x.job
		}
	}
}

// afterOrders looks at them when the transaction is applied, and keeps it for the answers.
func (r *simRows) afterOrders(effects []*simEffect) {
	for _, x := range effects {
		j := r.jobs[x.job]
		x.is = j.facts
		for n := range j.items {
			state := j.state(facts.ItemNo(n))
			x.after = append(x.after, state)
			if state != x.before[n] && !x.busy[n] {
				x.touched[n] = true
				if makes := simMakes[x.action]; x.alone && state != makes {
					r.world.fail("S24: %s of job %d makes item %d, which was %v, %v", x.action, x.job, n, x.before[n], state)
				}
			}
		}
		x.position.after = r.places()
		if x.alone && x.action == facts.Retire {
			r.checkRetired(x)
		}
		j.effects = append(j.effects, x)
	}
}

// effectOf finds what an order did that was answered with a version of its job, nil if the rows do not tell it from
// other changes.
func (w *simWorld) effectOf(job facts.JobID, action facts.Action, version int64) *simEffect {
	if w.faults.putBack != "" { // versions come again
		return nil
	}
	for _, x := range w.rows.jobs[job].effects {
		if x.was.Version < version && version <= x.is.Version {
			if !x.alone || x.action != action {
				return nil
			}
			return x
		}
	}
	return nil
}

// checkItems: an order changes exactly the items that its answer names, and these are all that it is for of the ones
// that were asked for (S24).
func (c *simClients) checkItems(e message.JobAction, r outbox.Reply) {
	reply, is := r.Body.(message.ActionReply)
	if !is || r.Err != nil || reply.Affected == 0 || simTakes[e.Action] == nil {
		return
	}
	w, x := c.world, c.world.effectOf(e.Job, e.Action, reply.Version)
	whole := e.Items == nil && !e.Choice.Given()
	if x == nil || whole && (e.Action == facts.Block || e.Action == facts.Unblock) { // the job itself
		return
	}
	byInstance := e.Action == facts.Retire && e.Choice.OfInstances()
	w.some("the items of an order compared")
	for n := range x.before {
		named := agenda.Within(reply.Items, n)
		asked := whole || agenda.Within(e.Items, n)
		what := fmt.Sprintf("%s of %v of job %d, answered with %v", e.Action, e.Items, e.Job, reply.Items)
		runs := x.before[n] == agenda.Running
		switch {
		case x.busy[n]:
		case x.touched[n] && !named:
			w.fail("S24: %s, changes item %d, which was %v", what, n, x.before[n])
		case named && !x.touched[n] && !(x.pieces && x.before[n] != agenda.Pending && x.before[n] != agenda.Blocked) && !(runs && !x.plain[n]):
			w.fail("S24: %s, leaves item %d as it was, %v", what, n, x.before[n])
		case named && !asked && !e.Choice.Given():
			w.fail("S24: %s, names item %d, for which nobody asked", what, n)
		case named && !slices.Contains(simTakes[e.Action], x.before[n]) && !byInstance:
			w.fail("S24: %s, names item %d, which was %v", what, n, x.before[n])
		case asked && !named && !e.Choice.Given() && slices.Contains(simTakes[e.Action], x.before[n]) && (!runs || x.plain[n]):
			w.fail("S24: %s, leaves out item %d, which was %v", what, n, x.before[n])
		}
	}
}
