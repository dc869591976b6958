package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// named is the host of that name; if there is none, the ticket is refused.
func (f *Farm) named(t outbox.Ticket, id facts.HostID) *model.Host {
	h := f.hosts.ByID[id]
	if h == nil {
		f.out.Refuse(t, "not-found", "there is no host %q; qbhosts lists them", id)
	}
	return h
}

func (f *Farm) onHostLocked(now time.Time, e message.HostLocked) {
	h := f.named(e.Ticket, e.Host)
	if h == nil {
		return
	}
	if h.Removing() {
		f.out.Refuse(e.Ticket, "conflict",
			"host %q was removed and is forgotten when its items have been given up, in at most %s; join it again then", e.Host,
			h.LeaseLeft(now).Round(time.Second))
		return
	}
	if e.LockedBy != "" && h.LockedBy != e.LockedBy {
		f.out.Refuse(e.Ticket, "stale", "host %q is not locked by %s any more; read it again", e.Host, e.LockedBy)
		return
	}
	if e.Slots > h.Slots {
		f.out.Refuse(e.Ticket, "invalid",
			"host %q has %s, so %d of them cannot be locked; lock at most as many, or the whole host", e.Host,
			facts.Several(h.Slots, "slot"), e.Slots)
		return
	}
	affected, stopped := 0, 0
	whole := e.Lock && e.Slots == 0
	takesOver := whole && h.LockedBy == model.LockedByFarm // whose lock would end by itself
	if h.Locked != e.Slots || (h.LockedBy != "") != whole || takesOver {
		affected = 1
		kind, why := "unlocked", facts.Why{Reason: facts.ReasonOrdered, Cause: e.Reason}
		h.LockedBy = ""
		h.LockReason = ""
		h.Locked = e.Slots
		if whole {
			h.LockedBy, h.LockReason = e.By, e.Reason
		} else if e.Lock {
			why.Cause = fmt.Sprintf("%d of its %s", e.Slots, facts.Several(h.Slots, "slot"))
		}
		if e.Lock {
			kind = "locked"
		}
		h.OnTrial, h.Lock.Trial = false, false
		f.putHost(h)
		f.out.Record(now, facts.EventFacts{Type: "host-" + kind, Host: h.ID, Item: -1, Instance: -1, By: e.By, Why: why})
		f.planStale, f.planNow = true, true
	}
	if e.Lock && e.Purge {
		stopped = f.purge(now, h, facts.Because(facts.ReasonHostLocked, facts.Params{By: e.By, Host: h.ID}, ""))
	}
	reply := message.HostReply{Host: e.Host, Affected: max(affected, min(1, stopped)), Stopped: stopped}
	if whole {
		reply.Running = h.RunOn()
	}
	f.out.Answer(e.Ticket, reply)
}

// purge stops what runs on locked slots of the host, to run elsewhere.
func (f *Farm) purge(now time.Time, h *model.Host, why facts.Why) (stopped int) {
	for _, i := range h.OnLocked() {
		f.stop(now, i, why)
		stopped++
	}
	f.programs.giveWay(h)
	return stopped
}

func (f *Farm) onHostConfirmedDead(now time.Time, e message.HostConfirmedDead) {
	h := f.named(e.Ticket, e.Host)
	if h == nil {
		return
	}
	if h.Speaks(now, f.policy.Liveness) {
		f.out.Refuse(e.Ticket, "conflict",
			"host %q was heard %.0f s ago; stop its worker before you confirm that nothing runs there", e.Host,
			now.Sub(h.LastSync).Seconds())
		return
	}
	n := f.loseAll(now, h, facts.Because(facts.ReasonConfirmedDead, facts.Params{By: e.By, Host: h.ID}, ""))
	f.out.Record(now, facts.EventFacts{Type: "host-confirmed-dead", Host: h.ID, Item: -1, Instance: -1, By: e.By})
	f.out.Answer(e.Ticket, message.HostReply{Host: e.Host, Affected: n})
}

// maybeLose ends the attempts whose execution lease, with grace and margin, has lapsed unheard: at its end
// the shims have frozen them.
func (f *Farm) maybeLose(now time.Time, h *model.Host) {
	if h.Idle() || now.Before(h.NoneLapses) {
		return
	}
	var lapsed []*model.Instance
	first := time.Time{}
	for i := range h.Holding() {
		if first.IsZero() || i.LeaseEnds.Before(first) {
			first = i.LeaseEnds
		}
		if i.LeaseLapsed(now.Add(-h.Excused()), &f.policy, !f.brake.since.IsZero()) {
			lapsed = append(lapsed, i)
		}
	}
	h.NoneLapses = first // leases only become longer, and a new lease that ends sooner says so
	slices.SortFunc(lapsed, model.CompareInstances)
	for _, i := range lapsed {
		if f.out.Spent() {
			return // the next tick finds the others
		}
		if i.Loaded() {
			f.programs.gone(i)
			continue
		}
		f.lose(now, i, h.OutOfTouch(now, f.policy))
	}
}

// lose ends an attempt without a report of the worker: by other proof, or because its lease is over.
func (f *Farm) lose(now time.Time, i *model.Instance, why facts.Why) {
	comes := false
	switch _, there := i.Host.Reported[model.NextAttempt(i)]; {
	case i.Next == nil:
	case why.Reason != "": // it may have begun, without the farm's knowledge
		f.lose(now, i.Next, why)
	case there: // the end of this one is lost with the database that was restored
		comes = true
	default:
		f.takeBack(now, i.Next)
	}
	end := facts.EndAttempt{State: facts.Lost, Again: facts.ByItself, Why: why}
	if i.Stopping() && i.Killed() {
		end.State = facts.Killed
		end.Again = facts.Never
		end.Why = model.OrderOn(i)
	} else if i.Stopping() {
		end.State, end.Why = facts.Preempted, model.OrderOn(i)
	}
	f.endAttempt(now, i, end)
	i.Job.NoteLapsed(&facts.AttemptFacts{RunFacts: i.Attempt, Again: end.Again, Why: end.Why})
	switch {
	case i.Behind():
		f.ahead.drop(i)
	case comes:
		model.TakeNext(i, now, 0)
		f.syncs.answerSoon(i.Host)
	default:
		f.close(i)
	}
	f.maybeFinish(now, i.Job)
}

// countLate lets items count as complete that a host did before its leases ended, and tells of only now. Row is the
// host as its worker announced it. An item is completed by a mark, as by a person's order: in one commit with the stop
// of its next attempt.
func (f *Farm) countLate(now time.Time, row facts.HostFacts, ends []message.ReportedEnd) {
	running := model.Runs{}
	for n := range ends {
		j := f.jobs.ByID[ends[n].Attempt.Job]
		if j == nil {
			continue
		}
		late := j.DoneLate(now, row, &ends[n], running)
		if late == nil {
			continue
		}
		f.setMarks(j, late.Marks)
		f.out.Record(now, facts.EventFacts{Type: "late-end", Job: j.ID, Item: late.Item, Instance: -1, Host: late.By.Host,
			By: model.LockedByFarm, Why: late.Event})
		if late.Next != nil {
			late.Next.Under = agenda.Complete
			f.stop(now, late.Next, late.Why)
			continue
		}
		j.Put(late.Item, agenda.Complete)
		f.planStale = true
		f.maybeFinish(now, j)
	}
}
