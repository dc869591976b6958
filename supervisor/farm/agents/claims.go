package agents

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// A host is a machine, its boot and the agent's state folder. Anyone who reports its name and differs in one of them
// claims the name. Two living agents must never both be obeyed: their items would run at once. So a claim from the
// same machine, as after a reboot, is granted when the host has been silent for a while after the claimant first
// spoke; one from another machine, when the host has been silent for its execution lease and nothing is left on it.
// Until then the claimant is refused, and by the refusal's code it freezes what it runs.
//
// A key is one host's: anyone who has it claims that host, whatever name he reports, and renames it if the claim is
// granted. So a worker's token makes no second host.

// Why a claim is refused, as HostClaim.Code.
const (
	OtherMachine = "other-machine"
	OtherBoot    = "other-boot"
	OtherFolder  = "other-state-folder"
	OtherKey     = "other-key"
)

// CodeNameTaken is the code of a refusal upon which a worker freezes all its items: another agent has its name, or its
// key under another name.
const CodeNameTaken = "name-taken"

// The limits of claims.
const (
	maxClaims       = 4                // agents that claim a host's name, remembered
	claimSilence    = 10 * time.Second // of a host, after which one on its machine may have its name …
	claimSilenceNew = 30 * time.Second // … where the host was not heard in this term
	claimKept       = 60 * time.Second // a claimant that is silent for so long is gone
	claimEvery      = time.Minute      // between two events on one claimant
)

// claim is an agent that reported a host's name and is not the host, as far as the farm knows.
type claim struct {
	facts       facts.HostFacts
	words       int
	first, last time.Time
}

// claimCode says in what the claimant is not the host.
func claimCode(h, row facts.HostFacts) string {
	switch {
	case h.MachineID != row.MachineID:
		return OtherMachine
	case h.Key != "" && h.Key != row.Key:
		return OtherKey
	case h.Boot != row.Boot:
		return OtherBoot
	}
	return OtherFolder
}

// Known says whether an agent was ever taken for the host.
func Known(h facts.HostFacts) bool { return h.MachineID != "" || h.Boot != "" || h.StateID != "" }

// Situation is what decides beside the words of the agents.
type Situation struct {
	Busy  bool          // items may run on the host
	Same  func() bool   // the claimant is the host by its key or its machine, boot and state folder
	Lease time.Duration // execution lease
}

// Verdict is what becomes of a claim.
type Verdict struct {
	Refusal *outbox.Refusal // nil: it is granted
	First   bool            // the claimant was not known: the host should speak at once, if it lives
	Event   facts.Why       // to be recorded, unless it is empty
}

// Claim judges the word of an agent that claims the host, or its name for a host that it is already. It is a word that
// was not read before.
func (a *Agent) Claim(now time.Time, h, row facts.HostFacts, s Situation) (v Verdict) {
	c, first := a.claimOf(now, row)
	v.First = first
	c.last = now
	c.words++
	code := claimCode(h, row)
	if a.grants(now, h, row, s) && (!s.Busy || s.Same()) {
		return v
	}
	text := c.text(h, code)
	if c.words > 1 && (code == OtherMachine || a.LastSync.After(c.first)) &&
		(a.warned.IsZero() || now.Sub(a.warned) >= claimEvery) {
		a.warned, v.Event = now, facts.Why{Reason: facts.Reason(code), Params: facts.Params{Host: h.ID}, Cause: text}
	}
	v.Refusal = &outbox.Refusal{Kind: "conflict", Code: CodeNameTaken, Text: text}
	return v
}

// claimOf finds or notes a claimant.
func (a *Agent) claimOf(now time.Time, row facts.HostFacts) (c *claim, first bool) {
	for n := range a.claims {
		if a.claims[n].facts.Same(row) {
			a.claims[n].facts.ID = row.ID
			return &a.claims[n], false
		}
	}
	if len(a.claims) == 0 {
		a.unheard = 0
	}
	if len(a.claims) >= maxClaims {
		a.claims = slices.Delete(a.claims, 0, 1)
	}
	a.claims = append(a.claims, claim{facts: row, first: now})
	return &a.claims[len(a.claims)-1], true
}

// grants says whether a claim may be followed. Time in which the farm did not listen, as its process was stopped,
// does not count; nor does a host that was not heard in this term prove by 10 s of silence that it is dead, for it
// may be on its way to this supervisor.
func (a *Agent) grants(now time.Time, h, row facts.HostFacts, s Situation) bool {
	code := claimCode(h, row)
	switch {
	case h.Key != "" && row.Key == "": // a token that is not bound to a host says nothing for a bound one
		return false
	case code == OtherKey && s.Busy: // it may be anybody with a token to enrol
		return false
	case code == OtherMachine:
		return !s.Busy && a.quiet(now) > s.Lease
	case a.Heard:
		return a.unheard >= claimSilence
	}
	return a.unheard >= claimSilenceNew
}

// Claimed says whether anybody claims the host.
func (a *Agent) Claimed() bool { return len(a.claims) > 0 }

// Listen counts time that the farm has listened in vain for a host whose name is claimed, and forgets claimants that
// are gone.
func (a *Agent) Listen(now time.Time, passed time.Duration) {
	if len(a.claims) > 0 {
		a.unheard += passed
		a.claims = slices.DeleteFunc(a.claims, func(c claim) bool { return now.Sub(c.last) > claimKept })
	}
}

// Spoke notes that the host itself was heard, whatever others claim.
func (a *Agent) Spoke() { a.unheard = 0 }

// Succeed makes another agent the host: its claim, if it had one, is granted. The host was known if it ever had one.
func (a *Agent) Succeed(row facts.HostFacts, said Word, known bool) {
	if known {
		a.doubtHearing(said)
	}
	a.unheard = 0 // another claimant waits for the silence of this one
	a.claims = slices.DeleteFunc(a.claims, func(c claim) bool { return c.facts.Same(row) })
}

// DropClaims forgets all claims, as the host has another name.
func (a *Agent) DropClaims() { a.claims = nil }

// text tells a person who has the name and who claims it.
func (c *claim) text(h facts.HostFacts, code string) string {
	if c.facts.ID != h.ID {
		return c.keyText(h, code)
	}
	text := fmt.Sprintf("host name %q is taken by %s; %s reports it too: ", h.ID, h.Whereabouts(), c.facts.Whereabouts())
	switch code {
	case OtherMachine:
		return text + fmt.Sprintf("give each worker a name of its own (worker_name), or, if the new machine replaces the old one, run qbadmin worker -remove %s", h.ID)
	case OtherKey:
		return text + fmt.Sprintf("its state folder has another key, as a new or wiped one has; it is taken up when nothing is left on the host and it was silent for %.0f s, or after qbadmin worker -remove %s", claimSilence.Seconds(), h.ID)
	case OtherBoot:
		return text + fmt.Sprintf("a rebooted host is taken up when its former boot was silent for %.0f s; if both machines live, give each a machine id and a worker_name of its own", claimSilence.Seconds())
	}
	return text + fmt.Sprintf("a new state folder is taken up when the former worker was silent for %.0f s; if both run, give each a worker_name of its own", claimSilence.Seconds())
}

// keyText tells a person who has the host's key under another name.
func (c *claim) keyText(h facts.HostFacts, code string) string {
	text := fmt.Sprintf("host %q is %s; %s has the same key and reports the name %q, but a key is one host's: ", h.ID,
		h.Whereabouts(), c.facts.Whereabouts(), c.facts.ID)
	if code == OtherMachine {
		return text + fmt.Sprintf("empty the state folder of the copy, and its worker enrols with a key of its own, or, if the new machine replaces the old one, run qbadmin worker -remove %s", h.ID)
	}
	return text + fmt.Sprintf("a renamed host is taken up when its former worker was silent for %.0f s, or after qbadmin worker -remove %s; if both live, empty the state folder of the copy, and its worker enrols with a key of its own", claimSilence.Seconds(), h.ID)
}

// Claim is an agent that reports the name of a host, or has its key, and is refused, as listings show it.
type Claim struct {
	Name                     facts.HostID // that it reports
	MachineID, Boot, StateID string       // shortened
	Code                     string       // OtherMachine, OtherBoot, OtherFolder
	Text                     string
	First                    time.Time
}

// Claims are those on the host, as listings show them.
func (a *Agent) Claims(h facts.HostFacts) (views []Claim) {
	for _, c := range a.claims {
		code := claimCode(h, c.facts)
		views = append(views, Claim{Name: c.facts.ID, MachineID: facts.Short(c.facts.MachineID),
			Boot: facts.Short(c.facts.Boot), StateID: facts.Short(c.facts.StateID),
			Code: code, Text: c.text(h, code), First: c.first})
	}
	return views
}
