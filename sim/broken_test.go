package sim

import (
	"context"
	"strconv"
	"testing"
	"time"

	"qb/smartshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// What breaks the supervisor is set aside within this time, and all else goes on (R3).
const simSetAside = 10 * time.Second

// takesIn steps an event as a term does that knows whose events broke the farm's state; false if it is not stepped.
func (t *simTerm) takesIn(e message.Event) bool {
	w, now := t.supervisor.world, t.now()
	from, ticket := message.From(e)
	if refusal := t.senders.Refusal(now, from); refusal != nil {
		if answer := t.desk[ticket]; answer != nil {
			delete(t.desk, ticket)
			delete(t.syncs, ticket)
			answer(outbox.Reply{Ticket: ticket, Err: refusal}, nil)
		}
		return false
	}
	if s, is := e.(message.WorkerSynced); is && string(s.Host.ID) == w.breaking {
		w.broken++
		w.note("%s: a report of %s breaks the step", t.supervisor.name, s.Host.ID)
		row := t.senders.Broke(now, from, "a report breaks the step")
		if err := t.session.term.Commit(context.Background(), []facts.Write{facts.PutBreakage{Breakage: row}}); err != nil {
			w.note("it is not noted: %v", err)
		}
		t.end(errSimBroken)
		return false
	}
	if s, is := e.(message.HostLocked); is && !s.Lock {
		if lifted := t.senders.Lift(now, s.Host); lifted != nil {
			w.lifts++
			t.lifted = append(t.lifted, lifted...)
		}
	}
	return true
}

// divideBy has the leader, and later leaders, plan otherwise.
func (w *simWorld) divideBy(divide planner.Divide) {
	w.policy.Divide = divide
	if term := w.leader(); term != nil {
		term.ask(time.Minute, func(ticket outbox.Ticket) message.Event {
			return message.PolicyChanged{Ticket: ticket, Policy: w.policy, By: "op"}
		}, func(outbox.Reply, error) {})
	}
}

// TestBarPlannerPanics (R3): the planner panics on one job. That one is held, and can be killed; the term goes on.
func TestBarPlannerPanics(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		culprit := w.liveOn(h)[0].Job
		panics := func(scratch *smartshare.Scratch, s planner.Snapshot) planner.Plan {
			for n := range s.Jobs {
				if s.Jobs[n].ID == strconv.FormatInt(int64(culprit), 10) {
					panic("the planner panics on job " + s.Jobs[n].ID)
				}
			}
			return planner.Decide(scratch, s)
		}
		term := w.leader()
		w.divideBy(panics)
		// the supervisor is updated, and people unblock what waits
		w.at(simScriptEnds-20*time.Second, func() { w.divideBy(planner.Decide) })
		w.by(simScriptAt+simSetAside, "R3", "the job is held, and plans are made", func() bool {
			v := term.farm.View(term.now())
			for _, j := range v.Jobs {
				if j.ID == culprit && j.State == facts.Active && j.Items.Pending > 0 {
					return false
				}
			}
			return v.NoPlans == "" && w.leader() == term
		})
		w.at(simScriptAt+simSetAside, func() {
			for _, j := range w.rows.jobs {
				for _, l := range j.facts.WaitFor {
					if l.Job == culprit { // it would never end
						return
					}
				}
			}
			call := w.clients.order(message.JobAction{Job: culprit, Action: facts.Kill, By: "op"}, w.rows.jobs[culprit].items)
			w.by(simScriptAt+simSetAside+simFound, "R3", "the order to kill it is answered", func() bool { return call.over })
		})
	})
}

// TestBarStepBreaks (R3): the reports of one host break the step. After three terms they are refused, and the next term
// goes on.
func TestBarStepBreaks(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		w.breaking = h.worker
		until := simScriptEnds - 20*time.Second
		for at := simScriptAt + simSetAside; at < until; at += time.Second {
			w.by(at, "R3", "no more than three terms have ended, and two more each time that a person unlocked the host", func() bool { return w.broken <= 3+2*w.lifts })
		}
		w.by(until-time.Second, "R3", "the host is locked, if three terms have ended", func() bool {
			if w.broken < 3 || w.lifts > 0 || w.leader() == nil {
				return true
			}
			for _, v := range w.leader().farm.View(w.leader().now()).Hosts {
				if string(v.ID) == h.worker {
					return v.LockedBy != "" || v.Locked > 0 // a person who locks some slots of it lets the others go
				}
			}
			return false
		})
		w.at(until, func() {
			w.breaking = ""
			w.clients.lock(h, false)
		})
	})
}
