package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
)

// profileVerb shows and changes profiles: "profiles", "learned 1", "profile beauty user=ann memory=2 seconds=90", "profile beauty forget".
func (r *rig) profileVerb(verb string, args []string) bool {
	switch verb {
	case "profiles":
		for _, k := range r.knownProfiles() {
			fmt.Fprintln(&r.out, profileText(k))
		}
	case "sleep": // sleep 90d: the supervisor was away for so long
		r.crash()
		r.now = r.now.Add(time.Duration(number(strings.TrimSuffix(args[0], "d"))) * 24 * time.Hour)
		r.crash()
	case "learned": // by a job from its profile
		for _, j := range r.farm.View(r.now).Jobs {
			if fmt.Sprint(j.ID) == args[0] {
				fmt.Fprintf(&r.out, "job %d needs %s, its items take %.3g s; from its profile %s, %.3g s of %d items\n", j.ID, rounded(j.Memory.Need), j.EstimatedItemSeconds,
					rounded(j.Learned.Memory), j.Learned.Seconds, j.Learned.Items)
			}
		}
	case "profile":
		c := profiles.Change{Key: facts.ProfileKey{Owner: option(args, "user", "u1"), Name: args[0]}, Forget: slices.Contains(args, "forget")}
		if text := option(args, "memory", ""); text != "" {
			bytes := gigabytes(text)
			c.Memory = &bytes
		}
		if text := option(args, "seconds", ""); text != "" {
			c.Seconds = &parts(text)[0]
		}
		r.step(message.ProfileChanged{Ticket: r.newTicket(), Change: c, By: "op"})
	default:
		return false
	}
	return true
}

func (r *rig) knownProfiles() []profiles.Profile { return r.farm.Profiles(r.now, facts.ProfileKey{}) }

func profileText(k profiles.Profile) string {
	if !k.Known() {
		return fmt.Sprintf("profile %s of %s: nothing is known", k.Name, k.Owner)
	}
	set := func(set bool) string {
		if set {
			return " (set)"
		}
		return ""
	}
	return fmt.Sprintf("profile %s of %s: %s%s, %.3g s%s; %d items of %d jobs", k.Name, k.Owner, rounded(k.Memory), set(k.MemorySet), k.Seconds, set(k.SecondsSet), k.Items, k.Jobs)
}
