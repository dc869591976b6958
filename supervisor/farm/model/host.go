package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// UsageRun is a run of a worker's command that says how many licences are used outside of the farm.
type UsageRun struct {
	Incarnation string
	Number      int64
}

// Host is a worker's machine and what the farm believes runs on it.
type Host struct {
	Usage UsageRun // of which the word was taken in last
	fit.Host
	agents.Agent
	Available  int64
	reserve    int64
	Machine    *Machine // whose memory it shares
	machineKey string
	swap       message.Swap
	Away       int       // slots that others than the farm take
	KeptFor    string    // why, if not for their programs: as in api.Sync
	doubt      string    // nonsense in its last report
	NoneLapses time.Time // before this no lease of its instances ends
	Unplanned  int64     // memory that the last plan gave to no job, what comes free included
	FullUntil  time.Time // its agent refused a start for want of memory
	Cores      int       // of the machine; 0: not said
	Refusing   string
	Holds      map[facts.JobID]int64 // versions of job specifications on the worker
	Lists

	Lock    FarmLock
	OnTrial bool // its lock for failing items has ended: it gets one item at a time until one is done

	Failing map[facts.JobID]*Failing // runs of failed items, since the last done one

	hosted
	Used        int       // slots
	Wanted      int       // slots of what waits to go on
	ResumeDue   bool      // the farm is to look at what waits to go on
	Sums        *hostSums // nil: to be rebuilt
	Place       int       // in the last plan
	WaitingSync *WaitingSync
	Due         bool // the held sync is to be answered at the next Take
	WasUsable   bool
}

// hosted is what runs on a host.
type hosted struct {
	Instances map[instanceKey]*Instance
	sorted    []*Instance               // by job and number; empty: to be sorted
	programs  map[instanceKey]*Instance // that outlive their instances
	changed   []*Instance               // since the host was shown, as far as regrouped does not say it of all
	regrouped bool                      // instances have come or gone since then
	Shown
}

type instanceKey struct {
	job    facts.JobID
	number int
}

// WaitingSync is a sync that is answered when there is news, or at the deadline. Former is the agent's sync before it,
// which was held when this one came with results: it carries the first answer to this one, which is held then. Heard is
// the number of the answer that its agent had taken.
type WaitingSync struct {
	Ticket   outbox.Ticket
	Former   outbox.Ticket // 0: none
	Sequence uint64
	Heard    uint64 // 0: the agent takes complete answers alone
	Deadline time.Time
}

func NewHost(row facts.HostFacts) *Host {
	h := &Host{Host: fit.Host{Refuses: map[string]fit.Refuses{}}, hosted: hosted{Instances: map[instanceKey]*Instance{}},
		Holds: map[facts.JobID]int64{}}
	h.Take(row)
	return h
}

// State is what listings show.
func (h *Host) State(now time.Time, p message.Policy) string {
	switch silent := h.Silence(now); {
	case silent > max(p.LeaseInFull(), p.Promised.InFull()):
		return "lost"
	case !h.Heard || silent > p.Liveness:
		return "unreachable"
	case h.LockedBy != "":
		return "locked"
	}
	return "up"
}

// Usable says whether new items may be placed.
func (h *Host) Usable(now time.Time, p message.Policy) bool {
	return h.State(now, p) == "up" && h.Refusing == ""
}

// Withheld are the slots that are not offered: others take them, or a person has locked them, which may be the same
// slots.
func (h *Host) Withheld() int { return min(h.Slots, max(h.Away, h.Locked)) }

// Offered are the slots that are left to the farm; of a host on trial with an instance that has slots, no more than
// that has.
func (h *Host) Offered() int {
	if h.OnTrial && h.Used > 0 {
		return min(h.Slots-h.Withheld(), h.Used)
	}
	return h.Slots - h.Withheld()
}

// Free are the slots for new starts. What waits to go on comes before them.
func (h *Host) Free() int { return h.Offered() - h.Used - h.Wanted }

// Resuming are the instances that wait to go on, the longest waiting first.
func (h *Host) Resuming() (list []*Instance) {
	if h.Wanted == 0 {
		return nil
	}
	for _, i := range h.Instances {
		if i.Resuming() {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *Instance) int {
		return cmp.Or(a.Attempt.ResumingAt.Compare(b.Attempt.ResumingAt), CompareInstances(a, b))
	})
	return list
}

// RoomToResume says whether there is room for the first of the ones that wait to go on. An instance that takes more
// slots than its host now has goes on alone there.
func (h *Host) RoomToResume(i *Instance) bool {
	return i.Slots <= h.Offered()-h.Used || h.Used == 0 && i.Slots > h.Slots && h.Withheld() == 0
}

// ForPlan are the slots that a plan sees, and how many of them are on their way to be free: neither the ones that are
// kept for what waits to go on, nor, of what is taken, those beyond the least that a job asks for. What has given back
// its slots is in the plan as well, and so are slots for it.
func (h *Host) ForPlan() (slots, ending int) {
	sums := h.Summed()
	slots = min(h.Slots, max(h.Offered(), h.Used)) - sums.Extra
	stay := min(slots, h.Used-sums.Extra-sums.EndingSlots)
	slots = max(slots-h.Wanted, stay)
	return slots + sums.Released, min(sums.EndingSlots, slots-stay)
}

// count is the number of instances on the host for which so returns true.
func (h *Host) count(so func(*Instance) bool) (n int) {
	for _, i := range h.Instances {
		if so(i) {
			n++
		}
	}
	return n
}

// RunOn counts the instances that are not to stop.
func (h *Host) RunOn() int { return len(h.Instances) - h.count((*Instance).Stopping) }

// CompareInstances orders by job and number.
func CompareInstances(a, b *Instance) int {
	return cmp.Or(cmp.Compare(a.Job.ID, b.Job.ID), cmp.Compare(a.Number, b.Number))
}

// onlyStuck reports whether all instances that are left on the host survive SIGKILL. Then a person may confirm their
// end although the host still reports.
func (h *Host) onlyStuck() bool { return len(h.Instances) > 0 && h.stuck() == len(h.Instances) }

// remark is what listings say of a host that does not hear, that the farm itself has locked, or that talks nonsense.
func (h *Host) remark(now time.Time, p message.Policy) (facts.Reason, string) {
	if h.Removing() {
		return facts.ReasonBeingRemoved, fmt.Sprintf("removed by %s; forgotten when %d items are given up, in at most %s",
			h.LockedBy, len(h.Instances), h.LeaseLeft(now).Round(time.Second))
	}
	if h.OneWay(now, p.Liveness) {
		return facts.ReasonHostDeaf,
			fmt.Sprintf("the host reports, but has not acknowledged a reply for %.0f s; check the network from the supervisor to the host",
				h.Unacknowledged(now).Seconds())
	}
	if h.LockedBy == LockedByFarm {
		return facts.ReasonLockedByQb, h.LockText()
	}
	if folder, lacks := h.Lacks.Reported(now); lacks {
		why := folder.LackedBy(h.ID)
		return why.Reason, why.Cause
	}
	switch {
	case h.doubt != "":
		return facts.ReasonImpossible, h.doubt
	case h.Refusing != "":
		return facts.ReasonTakesNoItems, "takes no new items: " + h.Refusing
	case h.OnTrial:
		return facts.ReasonOnTrial, "items failed on it before its lock ended; it gets one at a time until one is done"
	case h.Withheld() > 0:
		why := h.WhyAway()
		return why.Reason, why.Cause
	}
	return "", ""
}

// WhyAway says why the host offers fewer slots than it has.
func (h *Host) WhyAway() facts.Why {
	why := facts.Why{Reason: facts.ReasonForeignCPU,
		Cause: "programs outside the farm use its processors; it offers %d of %s (worker_foreign_cpu)"}
	switch kept := h.KeptFor; {
	case h.Locked > h.Away:
		why = facts.Why{Reason: facts.ReasonSlotsLocked,
			Cause: "slots are locked; the host offers %d of %s (qblock -slots, qbunlock)"}
	case kept == "calendar":
		why = facts.Why{Reason: facts.ReasonKeptByCalendar,
			Cause: "the host is kept for people at these hours; it offers %d of %s (worker_calendar)"}
	case kept == "people":
		why = facts.Why{Reason: facts.ReasonPeoplePresent, Cause: "somebody uses it; it offers %d of %s (worker_nimby)"}
	}
	why.Cause = fmt.Sprintf(why.Cause, h.Offered(), facts.Several(h.Slots, "slot"))
	return why
}

// OutOfTouch is why a lease ran out.
func (h *Host) OutOfTouch(now time.Time, p message.Policy) facts.Why {
	if h.OneWay(now, p.Liveness) {
		return facts.Because(facts.ReasonHostDeaf, facts.Params{Host: h.ID}, "")
	}
	return facts.Because(facts.ReasonHostSilent, facts.Params{Host: h.ID}, "")
}

// Removing says whether a person has removed the host, whose items are still to be given up.
func (h *Host) Removing() bool { return h.LockReason == string(facts.ReasonBeingRemoved) }

// Speaks reports whether the host's own reports contradict a person who confirms that it is dead.
func (h *Host) Speaks(now time.Time, liveness time.Duration) bool {
	return h.Agent.Speaks(now, liveness) && !h.onlyStuck()
}

// LeaseLeft is how long the longest lease on the host lasts.
func (h *Host) LeaseLeft(now time.Time) (left time.Duration) {
	for _, i := range h.Instances {
		left = max(left, i.LeaseEnds.Sub(now))
	}
	return left
}

// FarmLock is the farm's own lock of a host. It ends by itself, unlike a person's. A term that finds one begins its
// wait again.
type FarmLock struct {
	Ends  time.Time
	Trial bool          // the host is tried with one item when it ends
	Wait  time.Duration // that it began with; doubled by the next lock, until an item is done on the host
}

// LockText says why the farm keeps new items from the host, and what ends that.
func (h *Host) LockText() string {
	text := fmt.Sprintf("%s; unlocked by itself %.0f minutes later", h.LockReason, h.Lock.Wait.Minutes())
	if h.AnyStuck() {
		text += ", if none does any more"
	}
	return text
}

func (h *Host) AnyStuck() bool { return h.stuck() > 0 }

func (h *Host) stuck() int { return h.count(func(i *Instance) bool { return i.Stuck }) }

// LockedByFarm is whose name the farm's own locks bear.
const LockedByFarm = "qb"

// Failing is a host's run of failures without a success between.
type Failing struct {
	Since    time.Time
	Attempts []facts.AttemptID
}

// Evidence is the items that failed on the host, of jobs that others complete meanwhile, and whose they are;
// owners to whom the host is closed for such items count too.
func (h *Host) Evidence(now time.Time, js *Jobs) (evidence []facts.AttemptID, owners []string) {
	for _, run := range slices.SortedFunc(maps.Values(h.Failing),
		func(a, b *Failing) int { return a.Since.Compare(b.Since) }) {
		j := js.ByID[run.Attempts[0].Job]
		if j == nil {
			continue
		}
		for host, at := range j.Trouble.DoneOn {
			if host != h.ID && !at.Before(run.Since) {
				evidence = append(evidence, run.Attempts...)
				if !slices.Contains(owners, j.User) {
					owners = append(owners, j.User)
				}
				break
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(h.Refuses)) {
		if no := h.Refuses[owner]; no.Failed > 0 && now.Before(no.Until) && len(evidence) > 0 &&
			!slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return evidence, owners
}

// OnLocked is what runs on locked slots of the host and is not being stopped: all of a host that is locked whole, else
// as many as are locked too much, secondaries first, the newest first.
func (h *Host) OnLocked() (list []*Instance) {
	over, whole := h.Used-(h.Slots-h.Locked), h.LockedBy != ""
	running := slices.Clone(h.SortedInstances())
	slices.SortStableFunc(running, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), b.Attempt.StartedAt.Compare(a.Attempt.StartedAt))
	})
	for i := range h.Programs() { // they end for it
		over -= i.Taken()
	}
	for _, i := range running {
		if i.Stopping() {
			over -= i.Taken()
		}
	}
	for _, i := range running {
		if !i.Stopping() && (whole || over > 0 && !i.Released()) {
			list, over = append(list, i), over-i.Taken()
		}
	}
	return list
}
