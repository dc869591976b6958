package farm

import (
	"fmt"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/model"
)

// The mass-failure brake: when many hosts fall silent together, the network is broken rather than the
// hosts, and moving their items would only double the work. (Kubernetes stops evicting a zone of which
// 55 % are silent; ours is earlier.)
const (
	brakeHosts = 5  // at least so many …
	brakePart  = 30 // … and more than so many percent of all hosts with items
)

// brake is engaged while since is set; released by a person it stays off until the silence is over.
type brake struct {
	since    time.Time
	cause    string // while it is engaged
	released bool
}

// watchSilence engages and releases the brake.
func (f *Farm) watchSilence(now time.Time) {
	silent, known := 0, 0
	for _, h := range f.hosts.ByID {
		if len(h.Instances) == 0 || h.Removing() { // nothing would be moved from it, and it may never have been more than a name
			continue
		}
		known++
		switch h.State(now, f.policy) {
		case "unreachable":
			if h.Silence(now) > f.policy.Liveness { // else the term is young, and the host will speak
				silent++
			}
		case "lost":
			silent++ // the brake still holds its items
		}
	}
	mass := silent >= brakeHosts && silent*100 > known*brakePart
	switch {
	case mass && f.brake.since.IsZero() && !f.brake.released:
		f.brake.since = now
		f.brake.cause = fmt.Sprintf("%d of %d hosts with items fell silent together: nothing is moved from them for one further execution lease", silent, known)
		f.out.Record(now, facts.EventFacts{Type: "brake-engaged", Item: -1, Instance: -1, By: model.LockedByFarm, Why: facts.Why{Cause: f.brake.cause}})
	case silent == 0 && (f.brake.released || !f.brake.since.IsZero()):
		f.brake = brake{}
		f.out.Record(now, facts.EventFacts{Type: "brake-released", Item: -1, Instance: -1, By: model.LockedByFarm, Why: facts.Because(facts.ReasonHostsHeard, facts.Params{}, "")})
	}
}

func (f *Farm) onBrakeReleased(now time.Time, e message.BrakeReleased) {
	if f.brake.since.IsZero() {
		f.out.Refuse(e.Ticket, "conflict", "the brake is not engaged")
		return
	}
	f.brake = brake{released: true}
	f.out.Record(now, facts.EventFacts{Type: "brake-released", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Reason: facts.ReasonOrdered}})
	f.out.Answer(e.Ticket, message.HostReply{Affected: 1})
}
