package sim

import (
	"testing"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Worlds whose supervisors have other leases and graces than each other, and read them again within a term: what one
// has promised is kept by the next, and by itself.

// Seeds of such worlds, of so many each one.
const (
	simSettingsEvery = 29
	simSettingsAt    = 7
)

// settingsDiffer is by the seed alone, so that all other worlds are as they would be without. In scripts settings stay,
// as they say to the second what is to happen.
func (w *simWorld) settingsDiffer() bool {
	return !w.scripted && w.seed%simSettingsEvery == simSettingsAt
}

// policy is what the supervisor's configuration says now. The world's own has the longest lease and grace.
func (s *simSupervisor) policy() message.Policy {
	p := s.world.policy
	if s.lease > 0 {
		p.ExecutionLease = s.lease
		if s.lease < s.world.policy.ExecutionLease {
			p.KillGrace = s.world.leastGrace()
		}
	}
	return p
}

// leastGrace is the shortest of any configuration.
func (w *simWorld) leastGrace() time.Duration {
	if w.settingsDiffer() {
		return w.policy.KillGrace / 2
	}
	return w.policy.KillGrace
}

// drawLease writes another lease into the configuration, of which the process has taken no notice yet.
func (s *simSupervisor) drawLease() {
	s.lease = simPick(s.world, []time.Duration{6 * time.Second, 9 * time.Second, s.world.policy.ExecutionLease})
	s.world.note("%s: the lease is set to %s", s.name, s.lease)
}

// scheduleSettings has people edit configurations, and have them read again, until calm returns.
func (w *simWorld) scheduleSettings() {
	if !w.settingsDiffer() {
		return
	}
	for _, s := range w.supervisors {
		s.drawLease()
	}
	w.editSettings()
}

func (w *simWorld) editSettings() {
	w.after(w.between(5*time.Second, 20*time.Second), func() {
		if w.calm {
			for _, s := range w.supervisors {
				s.lease = w.policy.ExecutionLease
				s.reread()
			}
			return
		}
		w.some("fault: settings changed")
		s := simPick(w, w.supervisors)
		s.drawLease()
		s.reread()
		w.editSettings()
	})
}

// reread is a hangup: the present term goes by the configuration, unless it can write nothing.
func (s *simSupervisor) reread() {
	s.do(0, func() {
		if t := s.term; t != nil && !t.over && t.farm != nil && !t.readOnly {
			t.inbox = append(t.inbox, message.PolicyChanged{Policy: s.policy(), By: "SIGHUP"})
			t.turnSoon()
		}
	})
}

// TestBarLoweredLease (S2): the next leader has a short lease, by its configuration or as it reads that again at once.
// What runs on a host that is cut off at that moment is given up when the lease that it was granted has run out, and
// not before.
func TestBarLoweredLease(t *testing.T) {
	waited := 0
	script(t, func(w *simWorld, h *simHost) {
		ids := w.liveOn(h)
		for _, s := range w.supervisors {
			w.network.cut(s.name, h.name, simScriptEnds)
			w.network.cut(h.name, s.name, simScriptEnds)
			s.lease = 6 * time.Second
			if w.seed%3 == 0 {
				s.reread()
			} else if s.term != nil {
				s.kill()
			}
		}
		granted := simScriptAt + w.policy.ExecutionLease - w.policy.Liveness // the last answer is as old as that
		for at := simScriptAt; at < granted; at += time.Second {
			w.at(at, func() {
				for _, id := range ids {
					if a := w.rows.attempt(id); a.State == facts.Lost && a.Reason == facts.ReasonHostSilent {
						w.fail("S2: %v is given up %s after its host was cut off, whose lease was %s", id, w.now-simScriptAt, w.policy.ExecutionLease)
					}
				}
			})
		}
		w.at(granted, func() { waited++ })
	})
	if waited == 0 {
		t.Error("no world was looked at until a lease had run out")
	}
}
