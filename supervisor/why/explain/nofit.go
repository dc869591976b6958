package explain

import (
	"fmt"

	"qb/supervisor/job/facts"
)

// noneFits says why no host that takes work serves the job.
func (w one) noneFits() answer {
	refusals := w.g.refusals.MostFirst()
	var a answer
	if w.g.unknown != "" {
		return because(facts.ReasonNoHostFits, facts.Params{}, w.g.unknown).hint(w.advice())
	}
	if len(w.g.shut)+len(w.g.away) > 0 {
		a = because(facts.ReasonNoHostFits, facts.Params{},
			"no host that takes work fits").hint(shutText(w.g.shut)).hint(awayText(w.g.away))
	} else {
		a = because(facts.ReasonNoHostFits, facts.Params{}, "no host fits now; "+refusals[0].String())
		refusals = refusals[1:]
	}
	a = a.hint(w.advice())
	for _, r := range refusals {
		a = a.hint(r.String())
	}
	return a
}

// shutText says which hosts would serve the job if they took work, and why the first of them does not; "" if there is
// none.
func shutText(shut []*Host) string {
	if len(shut) == 0 {
		return ""
	}
	h := shut[0]
	why := "is locked by " + h.LockedBy
	if h.State == "up" {
		why = "takes no items: " + h.Refusing
	}
	if len(shut) == 1 {
		return fmt.Sprintf("%s would serve this job, but %s", h.ID, why)
	}
	return fmt.Sprintf("%d hosts would serve this job, but take no work now (%s %s, …)", len(shut), h.ID, why)
}

// awayText says which hosts fit and are not heard from, so that it is not known whether they come back; "" if there is
// none.
func awayText(away []*Host) string {
	switch len(away) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s fits, but is %s", away[0].ID, away[0].State)
	}
	return fmt.Sprintf("%d hosts fit and are not heard from (%s is %s, …)", len(away), away[0].ID, away[0].State)
}
