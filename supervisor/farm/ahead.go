package farm

import (
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// ahead is which instances were given an item ahead, and when. A worker begins such an item by itself when it has done
// the one before it, so what is known here of the two is always a moment old.
type ahead struct {
	*shared
	syncs *syncs
	given []givenAhead // by time; those of the last moment
}

// givenAhead is an instance with the item that it had when it was given the next one.
type givenAhead struct {
	instance *model.Instance
	attempt  facts.AttemptID
	at       time.Time
}

// aheadMost is how long an item that should be short runs before the one behind it is handed back, as another instance
// may begin it.
const aheadMost = time.Second

// fewestShort is how many items of a job must have been done before the next ones count as short, too.
const fewestShort = 3

// maybeGiveNext gives an instance that has begun an item the next one, if the items of its job take less time than
// supervisor_short_item and are more than its instances take at once.
func (f *Farm) maybeGiveNext(now time.Time, i *model.Instance) {
	j := i.Job
	short := j.DoneCount >= fewestShort && j.MeanSeconds() < f.policy.ShortItem.Seconds()
	if !short || j.Pending() <= len(j.Instances) || j.TimeLimit > 0 || j.MemoryNeed > i.Attempt.Memory ||
		i.Next != nil || i.Stopping() || !i.Attached() || f.out.Spent() || f.cpuShare.contested() ||
		!takesNext(f.itemEnd(now, i)) {
		return
	}
	n, ok := j.Tally.NextPending()
	if !ok {
		return
	}
	a := newAttempt(now, i, facts.ItemNo(n), i.Attempt.Memory, f.attemptFloor)
	a.BehindItem, a.BehindNumber = i.Attempt.Item, i.Attempt.Number
	model.GiveNext(i, now, a, f.attemptFloor, &f.policy)
	f.out.Write(facts.StartAttempt{Attempt: facts.AttemptFacts{RunFacts: a}})
	f.syncs.answerSoon(i.Host)
	f.ahead.given = append(f.ahead.given, givenAhead{i, i.Attempt.AttemptID, now})
}

// takeNext decides what becomes of the item that an instance holds ahead when the one before it has ended; true if the
// instance has it now. After a done item its worker has begun it, or will unless it hears otherwise in time. After any
// other end it has not, and waits for the farm's word.
func (f *Farm) takeNext(now time.Time, i *model.Instance, end *facts.EndAttempt, closes bool) bool {
	goesOn := !closes && i.HandedAhead() != nil && takesNext(f.itemEnd(now, i))
	if end.State != facts.Done && !goesOn {
		f.takeBack(now, i.Next)
		return false
	}
	order := model.OrderOn(i)
	stopped := i.Stopped && order.Reason != facts.ReasonKilled
	sentAway := i.SentAway && !i.Stopped && !i.Next.SentAway
	model.TakeNext(i, now, end.Wall)
	f.syncs.answerSoon(i.Host)
	switch {
	case i.Stopping():
	case stopped: // the order was for its slot
		f.stop(now, i, order)
	case sentAway:
		i.Order = &order
		f.out.Write(facts.SendAwayAttempt{ID: i.Attempt.AttemptID, Why: order})
	case goesOn:
		f.planning.noteDemand(i)
		f.maybeGiveNext(now, i)
	}
	return true
}

// handBack has the item handed back that an instance holds ahead, or that the instance is. It is given to another when
// the worker has confirmed that it has not begun it.
func (ah *ahead) handBack(i *model.Instance) {
	if i.Behind() {
		i = i.Holder
	}
	if i.HandedAhead() != nil {
		i.Next.Back = true
		ah.syncs.answerSoon(i.Host)
	}
}

// takeBack ends an attempt that was held ahead and has not begun.
func (f *Farm) takeBack(now time.Time, next *model.Instance) {
	end := facts.EndAttempt{State: facts.Preempted, Again: facts.ByItself,
		Why: facts.Because(facts.ReasonHandedBack, facts.Params{}, "")}
	switch {
	case next.Stopping() && next.Killed():
		end.State = facts.Killed
		end.Again = facts.Never
		end.Why = model.OrderOn(next)
	case next.Stopping() || next.SentAway:
		end.Why = model.OrderOn(next)
	}
	if model.OrderOn(next).Reason != facts.ReasonRestored { // else it may have run in what was lost
		next.Attempt.StartedAt = now
	}
	f.endAttempt(now, next, end)
	f.ahead.drop(next)
	f.maybeFinish(now, next.Job)
}

// drop takes an attempt that has ended off the instance that held it ahead.
func (ah *ahead) drop(next *model.Instance) {
	next.Holder.Next = nil
	next.Holder.Touch()
	ah.syncs.answerSoon(next.Host)
	ah.planStale = true
}

// look has items handed back whose instances have been at the item before for longer than a short one takes.
func (ah *ahead) look(now time.Time) {
	for len(ah.given) > 0 && now.Sub(ah.given[0].at).Abs() >= aheadMost { // or the clock was set back
		g := ah.given[0]
		ah.given = ah.given[1:]
		if g.instance.Attempt.AttemptID == g.attempt {
			ah.handBack(g.instance)
		}
	}
}
