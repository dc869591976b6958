package explain

import (
	"fmt"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// avoided is a host that gets nothing of a job for a while.
type avoided struct {
	host *Host
	why  fit.Refusal
}

// avoid counts a host that would serve the job if nothing had happened there.
func (s *hostSummary) avoid(now time.Time, j *Job, h *Host) {
	if !j.Unfit(h.Host, h.Load).Serves() {
		return
	}
	s.avoided = append(s.avoided, avoided{h, j.Avoided(now, h.Host)})
	s.avoidedSlots += h.Slots
	s.avoidedRoom = s.avoidedRoom || j.Grant(h.Free, h.Used) > 0
}

// avoidedText says which hosts are not used for the job for a while, and why the first of them is not; "" if there is
// none.
func (w one) avoidedText() string {
	if len(w.g.avoided) == 0 {
		return ""
	}
	first, all := w.g.avoided[0], w.g.slots+w.g.avoidedSlots
	hosts := string(first.host.ID) + " is avoided"
	if others := len(w.g.avoided) - 1; others > 0 {
		hosts = fmt.Sprintf("%s and %s are avoided", first.host.ID, facts.Several(others, "more host"))
	}
	return fmt.Sprintf("%d of %s: %s until %s, %s", w.g.avoidedSlots, facts.Several(all, "slot"), hosts,
		facts.Clock(w.Now, first.why.Until), first.why.Trouble())
}

// avoided says that slots are free only on hosts that get nothing of the job for a while.
func (w one) avoided() answer {
	first := w.g.avoided[0].why
	p := facts.Params{Host: w.g.avoided[0].host.ID, Hosts: len(w.g.avoided), Failed: int(first.Have.Amount),
		Limit: int64(w.g.avoidedSlots), Until: facts.Moment(first.Until)}
	return because(facts.ReasonHostsAvoided, p, w.avoidedText()).and(w.taken().Cause)
}

// avoidedFacts tell of these hosts.
func (w one) avoidedFacts() []Fact {
	if len(w.g.avoided) == 0 {
		return nil
	}
	f := Fact{Kind: "avoided", Code: w.g.avoided[0].why.Kind, Text: w.avoidedText(), Slots: w.g.avoidedSlots}
	for _, a := range w.g.avoided[:min(len(w.g.avoided), hostsTold)] {
		f.Hosts = append(f.Hosts, a.host.ID)
	}
	return []Fact{f}
}
