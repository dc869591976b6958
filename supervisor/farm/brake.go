package farm

import (
	"fmt"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
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
	*shared
	since    time.Time
	cause    string // while it is engaged
	released bool
	looked   time.Time
}

// look engages and releases the brake.
func (br *brake) look(now time.Time) {
	if len(br.hosts.ByID) > ticksAll && now.Sub(br.looked) < time.Second { // far less than the shortest lease
		return
	}
	br.looked = now
	silent, known := 0, 0
	for _, h := range br.hosts.ByID {
		if len(h.Instances) == 0 || h.Removing() {
			// nothing would be moved from it, and it may never have been more than a name
			continue
		}
		known++
		switch h.State(now, br.policy) {
		case "unreachable":
			if h.Silence(now) > br.policy.Liveness { // else the term is young, and the host will speak
				silent++
			}
		case "lost":
			silent++ // the brake still holds its items
		}
	}
	mass := silent >= brakeHosts && silent*100 > known*brakePart
	switch {
	case mass && br.since.IsZero() && !br.released:
		br.since = now
		br.cause = fmt.Sprintf("%d of %d hosts with items fell silent together: nothing is moved from them for one further execution lease", silent, known)
		br.out.Record(now, facts.EventFacts{Type: "brake-engaged", Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: facts.Why{Cause: br.cause}})
	case silent == 0 && (br.released || !br.since.IsZero()):
		*br = brake{shared: br.shared}
		br.out.Record(now, facts.EventFacts{Type: "brake-released", Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: facts.Because(facts.ReasonHostsHeard, facts.Params{}, "")})
	}
}

func (br *brake) onBrakeReleased(now time.Time, e message.BrakeReleased) {
	if br.since.IsZero() {
		br.out.Refuse(e.Ticket, "conflict", "the brake is not engaged")
		return
	}
	*br = brake{shared: br.shared, released: true}
	br.out.Record(now, facts.EventFacts{Type: "brake-released", Item: -1, Instance: -1, By: e.By,
		Why: facts.Why{Reason: facts.ReasonOrdered}})
	br.out.Answer(e.Ticket, message.HostReply{Affected: 1})
}
