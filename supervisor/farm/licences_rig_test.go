package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// licenceVerb reports and shows resources of the whole farm: "outside license.nuke total=60 used=12", "outside license.nuke forget",
// "resources".
func (r *rig) licenceVerb(verb string, args []string) bool {
	switch verb {
	case "outside":
		e := message.ResourceReported{Ticket: r.newTicket(), By: "op", Report: licences.Report{Name: args[0], Forget: slices.Contains(args, "forget")}}
		for name, to := range map[string]**int64{"total": &e.Report.Total, "used": &e.Report.Outside} {
			if text := option(args, name, ""); text != "" {
				n := int64(number(text))
				*to = &n
			}
		}
		r.step(e)
	case "polls": // polls a license.nuke 12 4: a command on the host says so
		w, total, used := r.workers[facts.HostID(args[0])], int64(number(args[2])), int64(number(args[3]))
		w.usage, w.usageRun, w.owes = []licences.Report{{Name: args[1], Total: &total, Outside: &used}}, w.usageRun+1, true
	case "resources":
		for _, s := range r.farm.Resources(r.now) {
			fmt.Fprintln(&r.out, r.resourceText(s))
		}
	default:
		return false
	}
	return true
}

func (r *rig) resourceText(s licences.Status) string {
	text := fmt.Sprintf("%s per %s: %d held, %d outside, %d free", s.Name, s.Counted, s.Held, s.Outside, s.Free())
	if limits := s.Limits(); limits != "" {
		text += "; " + limits
	}
	if s.Lowered >= 0 {
		text += fmt.Sprintf(" for %v", s.LoweredUntil.Sub(r.now))
	}
	return text
}

// licencePolicy is that of "policy per_user=license_host.maya".
func licencePolicy(p *message.Policy, args []string) {
	if text := option(args, "per_user", ""); text != "" {
		p.Licences.PerUser = strings.Split(text, ",")
	}
	if text := option(args, "resource_hosts", ""); text != "" {
		p.Licences.Hosts = strings.Split(text, ",")
	}
}

var testLicences = licences.Policy{Fresh: 10 * time.Minute, Wait: 30 * time.Second}
