package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
)

// A host is a machine, its boot and the agent's state folder. Whoever reports its name and differs in one of them
// claims the name. Two living agents must never both be obeyed: their items would run at once. So a claim from the
// same machine, as after a reboot, is granted when the host has been silent for a while after the claimant first
// spoke; one from another machine, when the host has been silent for its execution lease and nothing is left on it.
// Until then the claimant is refused, and by the refusal's code it freezes what it runs.
//
// A key is one host's: whoever has it claims that host, whatever name he reports, and renames it if the claim is granted.
// So a worker's token makes no second host.

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

// claim is an agent that reported a host's name and is not the host, as far as the farm knows.
type claim struct {
	facts       facts.HostFacts
	word        word // its last
	words       int
	first, last time.Time
}

// word is one sync of an incarnation.
type word struct {
	incarnation string
	sequence    uint64
}

// claimCode says in what the claimant is not the host.
func (h *host) claimCode(row facts.HostFacts) string {
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

// known says whether an agent was ever taken for the host.
func (h *host) known() bool { return h.MachineID != "" || h.Boot != "" || h.StateID != "" }

// hostOf finds the host that the agent is, whatever name it reports: the one that has its key, or that is of its machine,
// boot and state folder; else the one of that name.
func (f *Farm) hostOf(row facts.HostFacts) *host {
	named := f.hosts[row.ID]
	if named != nil && named.Key == row.Key && named.Same(row) {
		return named
	}
	var same *host
	for _, o := range f.hosts {
		switch {
		case row.Key != "" && o.Key == row.Key:
			return o
		case o.StateID != "" && o.Same(row) && (same == nil || same.ID > o.ID):
			same = o
		}
	}
	return cmp.Or(same, named)
}

// turnsAway refuses a word that must not be looked at: a stale one, and one of an agent that is not the host, or reports
// the name of another one, unless its claim is granted.
func (f *Farm) turnsAway(now time.Time, h *host, e WorkerSynced) bool {
	own := !h.known() || h.Same(e.Host)
	if own && f.stale(h, e) || !own && f.refusesClaim(now, h, e) {
		return true
	}
	if other := f.hosts[e.Host.ID]; other != nil && other != h && f.refusesClaim(now, other, e) {
		return true
	}
	if own {
		h.unheard = 0
	}
	return false
}

// refusesClaim refuses an agent that claims the host, or its name for a host that it is already, until the claim is granted.
func (f *Farm) refusesClaim(now time.Time, h *host, e WorkerSynced) bool {
	said := word{e.Incarnation, e.Sequence}
	if slices.ContainsFunc(h.past, func(w word) bool { return w.incarnation == said.incarnation && w.sequence >= said.sequence }) {
		f.out.Refuse(e.Ticket, "conflict", "sync %d of host %q came after a later agent's", e.Sequence, h.ID)
		return true
	}
	c := f.claimOf(now, h, e.Host)
	if c.word.incarnation == said.incarnation && c.word.sequence >= said.sequence {
		f.out.Refuse(e.Ticket, "conflict", "sync %d of host %q came after sync %d", e.Sequence, h.ID, c.word.sequence)
		return true
	}
	c.word, c.last = said, now
	c.words++
	code := h.claimCode(e.Host)
	if f.grants(now, h, e.Host) && (len(h.instances) == 0 || f.hostOf(e.Host) == h) {
		return false
	}
	if c.words > 1 && (code == OtherMachine || h.lastSync.After(c.first)) && (h.claimTold.IsZero() || now.Sub(h.claimTold) >= claimTold) {
		h.claimTold = now
		f.out.Record(now, facts.EventFacts{Type: "host-name-claimed", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: f.claimText(h, c, code)}})
	}
	f.out.RefuseAs(e.Ticket, CodeNameTaken, "%s", f.claimText(h, c, code))
	return true
}

// claimOf notes the first word of a claimant, and has the host speak again at once, if it lives.
func (f *Farm) claimOf(now time.Time, h *host, row facts.HostFacts) *claim {
	for n := range h.claims {
		if h.claims[n].facts.Same(row) {
			h.claims[n].facts.ID = row.ID
			return &h.claims[n]
		}
	}
	if len(h.claims) == 0 {
		h.unheard = 0
	}
	if len(h.claims) >= maxClaims {
		h.claims = slices.Delete(h.claims, 0, 1)
	}
	h.claims = append(h.claims, claim{facts: row, first: now})
	f.answerSoon(h)
	return &h.claims[len(h.claims)-1]
}

// grants says whether a claim may be followed. Time in which the farm did not listen, as its process stood still,
// does not count; nor does a host that was not heard in this term prove by 10 s of silence that it is dead, for it
// may be on its way to this supervisor.
func (f *Farm) grants(now time.Time, h *host, row facts.HostFacts) bool {
	code := h.claimCode(row)
	switch {
	case h.Key != "" && row.Key == "": // a token that is not bound to a host says nothing for one that is
		return false
	case code == OtherKey && len(h.instances) > 0: // it may be anybody with a token to enrol
		return false
	case code == OtherMachine:
		return len(h.instances) == 0 && now.Sub(h.lastSync) > f.policy.ExecutionLease
	case h.heard:
		return h.unheard >= claimSilence
	}
	return h.unheard >= claimSilenceNew
}

// listen counts the time that the farm has listened in vain for hosts whose names are claimed, and forgets claimants
// that are gone.
func (f *Farm) listen(now time.Time) {
	passed := min(max(0, now.Sub(f.listened)), listenStep)
	f.listened = now
	for _, h := range f.sortedHosts() {
		if len(h.claims) > 0 {
			h.unheard += passed
			h.claims = slices.DeleteFunc(h.claims, func(c claim) bool { return now.Sub(c.last) > claimKept })
		}
	}
}

// become makes the agent the host: its claim, if it had one, is granted.
func (f *Farm) become(h *host, e WorkerSynced) {
	if h.Same(e.Host) {
		return
	}
	if h.known() {
		h.doubtHearing(e)
	}
	h.past = append(h.past, word{h.incarnation, h.sequence})
	h.past = h.past[max(0, len(h.past)-maxClaims):]
	h.unheard = 0 // another claimant waits for the silence of this one
	h.claims = slices.DeleteFunc(h.claims, func(c claim) bool { return c.facts.Same(e.Host) })
	f.met[h.ID] = slices.DeleteFunc(f.met[h.ID], func(incarnation string) bool { return incarnation == e.Incarnation })
}

// claimText tells a person who has the name and who claims it.
func (f *Farm) claimText(h *host, c *claim, code string) string {
	if c.facts.ID != h.ID {
		return f.keyClaimText(h, c, code)
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

// keyClaimText tells a person who has the host's key under another name.
func (f *Farm) keyClaimText(h *host, c *claim, code string) string {
	text := fmt.Sprintf("host %q is %s; %s has the same key and reports the name %q, but a key is one host's: ", h.ID, h.Whereabouts(), c.facts.Whereabouts(), c.facts.ID)
	if code == OtherMachine {
		return text + fmt.Sprintf("empty the state folder of the copy, and its worker enrols with a key of its own, or, if the new machine replaces the old one, run qbadmin worker -remove %s", h.ID)
	}
	return text + fmt.Sprintf("a renamed host is taken up when its former worker was silent for %.0f s, or after qbadmin worker -remove %s; if both live, empty the state folder of the copy, and its worker enrols with a key of its own", claimSilence.Seconds(), h.ID)
}

// HostClaim is an agent that reports the name of a host, or has its key, and is refused, as listings show it.
type HostClaim struct {
	Name                     facts.HostID // that it reports
	MachineID, Boot, StateID string       // shortened
	Code                     string       // OtherMachine, OtherBoot, OtherFolder
	Text                     string
	First                    time.Time
}

func (f *Farm) claimViews(h *host) (views []HostClaim) {
	for _, c := range h.claims {
		code := h.claimCode(c.facts)
		views = append(views, HostClaim{Name: c.facts.ID, MachineID: facts.Short(c.facts.MachineID), Boot: facts.Short(c.facts.Boot), StateID: facts.Short(c.facts.StateID),
			Code: code, Text: f.claimText(h, &c, code), First: c.first})
	}
	return views
}
