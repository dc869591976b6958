package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
)

// host is a worker's machine and what the farm believes runs on it.
type host struct {
	fit.Host
	agents.Agent
	available  int64
	reserve    int64
	machine    *machine // whose memory it shares
	machineKey string
	swap       message.Swap
	away       int       // slots that others than the farm take
	doubt      string    // nonsense in its last report
	noneLapses time.Time // before this no lease of its instances ends
	unplanned  int64     // memory that the last plan gave to nobody, what comes free included
	fullUntil  time.Time // its agent refused a start for want of memory
	cores      int       // of the machine; 0: not said
	refusing   string
	holds      map[facts.JobID]int64      // versions of job specifications on the worker
	reported   map[facts.AttemptID]string // state of each instance in the last sync

	lock farmLock

	failing map[facts.JobID]*failing // runs of failed items, since the last done one

	instances map[instanceKey]*instance
	used      int       // slots
	sums      *hostSums // nil: to be made anew
	place     int       // in the last plan
	heldSync  *heldSync
	due       bool // the held sync is to be answered at the next Take
	wasUsable bool
}

type instanceKey struct {
	job    facts.JobID
	number int
}

type heldSync struct {
	ticket   outbox.Ticket
	sequence uint64
	deadline time.Time
}

func newHost(row facts.HostFacts) *host {
	return &host{Host: fit.Host{HostFacts: row, Refuses: map[string]fit.Refuses{}}, instances: map[instanceKey]*instance{}, holds: map[facts.JobID]int64{}}
}

// state is what listings show.
func (h *host) state(now time.Time, p message.Policy) string {
	switch silent := h.Silence(now); {
	case silent > p.ExecutionLease+p.KillGrace+p.LeaseMargin:
		return "lost"
	case !h.Heard || silent > p.Liveness:
		return "unreachable"
	case h.LockedBy != "":
		return "locked"
	}
	return "up"
}

// usable says whether new items may be placed.
func (h *host) usable(now time.Time, p message.Policy) bool {
	return h.state(now, p) == "up" && h.refusing == ""
}

// offered are the slots that others leave to the farm.
func (h *host) offered() int { return h.Slots - h.away }

func (h *host) free() int { return h.offered() - h.used }

func (h *host) sortedInstances() []*instance {
	return slices.SortedFunc(maps.Values(h.instances), compareInstances)
}

// compareInstances orders by job and number.
func compareInstances(a, b *instance) int {
	if c := cmp.Compare(a.job.ID, b.job.ID); c != 0 {
		return c
	}
	return cmp.Compare(a.number, b.number)
}

// putHost writes the host's row.
func (f *Farm) putHost(h *host) {
	f.hosts.changes++
	f.out.Write(facts.PutHost{Host: h.HostFacts})
}

// answerSoon marks the held sync for the next Take.
func (f *Farm) answerSoon(h *host) {
	if h.heldSync != nil && !h.due {
		h.due = true
		f.answer = append(f.answer, h)
	}
}

func (f *Farm) onHostLocked(now time.Time, e message.HostLocked) {
	h := f.hosts.byID[e.Host]
	if h == nil {
		f.out.Refuse(e.Ticket, "not-found", "there is no host %q; qbhosts lists them", e.Host)
		return
	}
	if h.removing() {
		f.out.Refuse(e.Ticket, "conflict", "host %q was removed and is forgotten when its items have been given up, in at most %s; join it again then", e.Host, h.leaseLeft(now).Round(time.Second))
		return
	}
	if (h.LockedBy != "") == e.Lock {
		f.out.Answer(e.Ticket, message.HostReply{Host: e.Host})
		return
	}
	kind := "unlocked"
	h.LockedBy, h.LockReason = "", ""
	if e.Lock {
		kind, h.LockedBy, h.LockReason = "locked", e.By, e.Reason
	}
	f.putHost(h)
	f.out.Record(now, facts.EventFacts{Type: "host-" + kind, Host: h.ID, Item: -1, Instance: -1, By: e.By, Why: facts.Why{Reason: facts.ReasonOrdered, Cause: e.Reason}})
	f.planStale, f.planNow = true, true
	f.out.Answer(e.Ticket, message.HostReply{Host: e.Host, Affected: 1})
}

func (f *Farm) onHostConfirmedDead(now time.Time, e message.HostConfirmedDead) {
	h := f.hosts.byID[e.Host]
	if h == nil {
		f.out.Refuse(e.Ticket, "not-found", "there is no host %q; qbhosts lists them", e.Host)
		return
	}
	if h.speaks(now, f.policy.Liveness) {
		f.out.Refuse(e.Ticket, "conflict", "host %q was heard %.0f s ago; stop its worker before you confirm that nothing runs there", e.Host, now.Sub(h.LastSync).Seconds())
		return
	}
	n := f.loseAll(now, h, facts.Because(facts.ReasonConfirmedDead, facts.Params{By: e.By, Host: h.ID}, ""))
	f.out.Record(now, facts.EventFacts{Type: "host-confirmed-dead", Host: h.ID, Item: -1, Instance: -1, By: e.By})
	f.out.Answer(e.Ticket, message.HostReply{Host: e.Host, Affected: n})
}

// onlyStuck says whether all that is left on the host outlives KILL, so that a person's word may end it
// though the host is heard.
func (h *host) onlyStuck() bool {
	for _, i := range h.instances {
		if !i.stuck {
			return false
		}
	}
	return len(h.instances) > 0
}

// maybeLose ends the attempts whose execution lease, with grace and margin, has lapsed unheard: at its end
// the shims have frozen them.
func (f *Farm) maybeLose(now time.Time, h *host) {
	if len(h.instances) == 0 || now.Before(h.noneLapses) {
		return
	}
	var lapsed []*instance
	first := time.Time{}
	for _, i := range h.instances {
		if first.IsZero() || i.leaseEnds.Before(first) {
			first = i.leaseEnds
		}
		if i.leaseLapsed(now, &f.policy, !f.brake.since.IsZero()) {
			lapsed = append(lapsed, i)
		}
	}
	h.noneLapses = first // leases only become longer, and new ones end later
	slices.SortFunc(lapsed, compareInstances)
	for _, i := range lapsed {
		if f.out.Spent() {
			return // the next tick finds the others
		}
		f.lose(now, i, h.outOfTouch(now, f.policy))
		f.maybeFinish(now, i.job)
	}
}

// lose ends an attempt without the worker's word, by proof or by its lease.
func (f *Farm) lose(now time.Time, i *instance, why facts.Why) {
	end := facts.EndAttempt{State: facts.Lost, Again: facts.ByItself, Why: why}
	if i.stopping() && i.killed() {
		end.State, end.Again, end.Why = facts.Killed, facts.Never, i.attempt.Why
	} else if i.stopping() {
		end.State, end.Why = facts.Preempted, i.attempt.Why
	}
	f.endAttempt(now, i, end)
	f.close(i)
}

// remark is what listings say of a host that does not hear, that the farm itself has locked, or that talks nonsense.
func (h *host) remark(now time.Time, p message.Policy) (facts.Reason, string) {
	if h.removing() {
		return facts.ReasonBeingRemoved, fmt.Sprintf("removed by %s; forgotten when %d items are given up, in at most %s", h.LockedBy, len(h.instances), h.leaseLeft(now).Round(time.Second))
	}
	if h.OneWay(now, p.Liveness) {
		return facts.ReasonHostDeaf, fmt.Sprintf("the host reports, but has not acknowledged a reply for %.0f s; check the network from the supervisor to the host",
			h.Unacknowledged(now).Seconds())
	}
	if h.LockedBy == lockedByFarm {
		return facts.ReasonLockedByQb, h.lockText()
	}
	if folder, lacks := h.Folders.Reported(now); lacks {
		why := folder.LackedBy(h.ID)
		return why.Reason, why.Cause
	}
	switch {
	case h.doubt != "":
		return facts.ReasonImpossible, h.doubt
	case h.refusing != "":
		return facts.ReasonTakesNoItems, "takes no new items: " + h.refusing
	case h.away > 0:
		return facts.ReasonForeignCPU, h.awayText()
	}
	return "", ""
}

func (h *host) awayText() string {
	return fmt.Sprintf("programs outside the farm use its processors; it offers %d of %s (worker_foreign_cpu)", h.offered(), facts.Several(h.Slots, "slot"))
}

// outOfTouch is why a lease ran out.
func (h *host) outOfTouch(now time.Time, p message.Policy) facts.Why {
	if h.OneWay(now, p.Liveness) {
		return facts.Because(facts.ReasonHostDeaf, facts.Params{Host: h.ID}, "")
	}
	return facts.Because(facts.ReasonHostSilent, facts.Params{Host: h.ID}, "")
}
