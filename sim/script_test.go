package sim

import (
	"testing"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// The bars of liveness, each in worlds where one thing alone goes wrong, at a known moment: then the time that
// the farm takes can be held against what is promised, to the second.

const (
	simScriptAt   = 40 * time.Second // when it goes wrong
	simScriptEnds = 110 * time.Second
	simScripts    = 12
)

// script lives worlds in which nothing fails, and no loop is slow, but what the plan does at simScriptAt to a host that
// runs something.
func script(t *testing.T, plan func(*simWorld, *simHost)) {
	struck := 0
	for seed := uint64(1); seed <= simScripts; seed++ {
		w := newWorldOf(seed)
		w.faults = simFaults{lasts: simScriptEnds}
		w.scripted, w.busy.on = true, false
		w.at(simScriptAt, func() {
			for _, h := range w.hosts {
				if w.rows.held[facts.HostID(h.worker)] > 0 && h.on && len(h.machine.hosts) == 1 {
					struck++
					w.note("SCRIPT strikes %s", h.name)
					plan(w, h)
					return
				}
			}
		})
		if w.live(); w.failure != "" {
			t.Errorf("%s\nseed %d: %s", w.story(), seed, w.failure)
			return
		}
	}
	if struck < simScripts/3 {
		t.Errorf("only %d of %d worlds had a host to strike", struck, simScripts)
	}
}

// by demands something at a moment.
func (w *simWorld) by(at time.Duration, rule, what string, holds func() bool) {
	w.at(at, func() {
		if !holds() {
			w.fail("%s: %s after what happened at %s, not so: %s", rule, at-simScriptAt, simScriptAt, what)
		}
	})
}

// noneOf says that none of the attempts is live any more.
func (w *simWorld) noneOf(ids []facts.AttemptID) func() bool {
	return func() bool {
		for _, id := range ids {
			if w.rows.attempt(id).State.Live() {
				return false
			}
		}
		return true
	}
}

// liveOn lists what is live on a host.
func (w *simWorld) liveOn(h *simHost) (ids []facts.AttemptID) {
	for a := range w.rows.everyLive() {
		if a.Host == facts.HostID(h.worker) {
			ids = append(ids, a.AttemptID)
		}
	}
	return ids
}

func (w *simWorld) stateOf(h *simHost) string {
	t := w.leader()
	for _, v := range t.farm.View(t.now()).Hosts {
		if v.ID == facts.HostID(h.worker) {
			return v.State
		}
	}
	return "unknown"
}

// TestBarVanished (L2, F28): the items of a host that is gone for good are elsewhere after the lease and 20 s.
func TestBarVanished(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		h.powerOff()
		w.by(simScriptAt+w.policy.ExecutionLease+20*time.Second, "L2", "its attempts are given up", w.noneOf(w.liveOn(h)))
	})
}

// TestBarRebooted (L2, F27): those of a rebooted host 15 s after it is heard, of which for 10 s no one speaks from the
// former boot; and then it is up.
func TestBarRebooted(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		h.powerOff()
		w.at(simScriptAt+2*time.Second, h.powerOn)
		w.by(simScriptAt+3*time.Second+15*time.Second, "L2", "its attempts are given up", w.noneOf(w.liveOn(h)))
		w.by(simScriptAt+3*time.Second+15*time.Second, "L2", "it is up", func() bool { return w.isThere(h) })
	})
}

// TestBarKilled (L3): a killed job has no process when 5 s and the grace have passed since its owner was answered.
func TestBarKilled(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		killed := w.liveOn(h)[0].Job
		call := w.clients.order(message.JobAction{Job: killed, Action: facts.Kill, By: "op"}, w.rows.jobs[killed].items)
		call.done = func(outbox.Reply) {
			answered := w.now // who has it run again later gets it
			w.by(w.now+w.policy.KillGrace+simKilled, "L3", "the killed job has no process", func() bool {
				for item, run := range w.truth.running {
					if item.job == killed && !run.ended && run.began < answered {
						return false
					}
				}
				return true
			})
		}
		w.by(simScriptAt+simFound, "L3", "the order is answered", func() bool { return call.over })
	})
}

// TestBarHearsNothing (F31): a host whose words arrive, and to which no answer comes through, is shown as
// unreachable when an answer could have been back for as long as the liveness; its items freeze by their own
// clock, and are elsewhere after the lease and 20 s more; and when it hears again it is as before.
func TestBarHearsNothing(t *testing.T) {
	script(t, func(w *simWorld, h *simHost) {
		p, ids := w.policy, w.liveOn(h)
		for _, s := range w.supervisors {
			w.network.cut(s.name, h.name, simScriptEnds-10*time.Second-simScriptAt)
		}
		unheard := simScriptAt + p.Liveness/2 + p.Liveness // an answer is held for half of it
		w.by(unheard+time.Second, "F31", "it is unreachable", func() bool { return w.stateOf(h) == "unreachable" })
		w.by(unheard+p.ExecutionLease, "F31", "nothing computes there", func() bool {
			for _, run := range w.truth.running {
				if run.on == h {
					return false
				}
			}
			return true
		})
		w.by(unheard+p.ExecutionLease+20*time.Second, "F31", "its items have been given up", func() bool {
			for _, id := range ids {
				a := w.rows.attempt(id)
				if a.State.Live() || (a.State == facts.Lost && a.Reason != facts.ReasonHostSilent && a.Reason != facts.ReasonHostDeaf && a.Reason != facts.ReasonMemoryUnavailable) {
					return false
				}
			}
			return true
		})
		w.by(simScriptEnds, "F31", "it is up again", func() bool { return w.stateOf(h) != "unreachable" && w.stateOf(h) != "lost" })
	})
}
