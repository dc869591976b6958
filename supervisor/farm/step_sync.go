package farm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
)

// onWorkerSynced takes in a worker's complete word: ends first, then what is absent, then what is there.
func (f *Farm) onWorkerSynced(now time.Time, e message.WorkerSynced) {
	if e.Registers {
		f.onGreeting(now, e)
		return
	}
	h := f.hosts.of(e.Host)
	if h == nil {
		if f.registry.Removed(e.Word()) {
			f.out.Refuse(e.Ticket, "conflict", "sync %d of host %q was sent before the host was removed", e.Sequence, e.Host.ID)
			return
		}
		if len(f.hosts.byID) >= maxHosts {
			f.out.Refuse(e.Ticket, "limit", "the farm has %d hosts, its limit", len(f.hosts.byID))
			return
		}
		h = newHost(facts.HostFacts{ID: e.Host.ID})
		f.hosts.byID[h.ID] = h
	}
	if f.turnsAway(now, h, e) {
		return
	}
	if h.ID != e.Host.ID {
		f.rename(now, h, e.Host.ID)
	}
	if !h.Same(e.Host) {
		h.Succeed(e.Host, e.Word(), agents.Known(h.HostFacts))
		f.registry.Forget(h.ID, e.Incarnation)
	}
	f.registry.Note(h.ID, e.Incarnation)
	wasDeaf := h.Deaf(now, f.policy.Liveness)
	h.Acknowledge(e.Word(), e.Heard)
	f.dropHeldSync(now, h, e.Incarnation)
	f.register(now, h, e)
	f.hosts.seat(h)
	if before := h.away; h.measure(&e) != before {
		f.planStale = true
	}
	f.endOldBoot(now, h)
	f.endReported(now, h, e.Finished, func(i *instance) bool { return sameState(i, h) })
	f.reconcile(now, h, e)
	f.planIfMemoryFits(now, h)
	h.heldSync = &heldSync{ticket: e.Ticket, sequence: e.Sequence, deadline: now.Add(h.hold(&f.policy, e.Hold))}
	if len(e.Finished) > 0 || h.differs() || h.leaseBefore(h.heldSync.deadline) || wasDeaf {
		f.answerSoon(h)
	}
}

// hold is how long an answer may be held: never so long that it endangers a lease or looks like silence.
func (h *host) hold(p *message.Policy, asked time.Duration) time.Duration {
	if h.Claimed() {
		asked = min(asked, claimHold)
	}
	return min(asked, maxHold, p.ExecutionLease/3, p.Liveness/2)
}

// leaseBefore says whether a lease would lapse while the answer is held, so that it must not be.
func (h *host) leaseBefore(t time.Time) bool {
	for _, i := range h.instances {
		if sameState(i, h) && !i.leaseEnds.After(t) {
			return true
		}
	}
	return false
}

// stale refuses a sync that must not be looked at. Of two agents with one state folder that both heard this term,
// the older is the one that spoke first in it: it was dead, or its folder was copied, when the other spoke.
func (f *Farm) stale(h *host, e message.WorkerSynced) bool {
	switch {
	case f.registry.Before(h.ID, e.Incarnation, h.Incarnation):
		f.out.RefuseAs(e.Ticket, agents.CodeNameTaken, "a later agent with the same state folder has the name %q; give each worker a name (worker_name) and a state folder of its own", h.ID)
	case e.Incarnation == h.Incarnation && e.Sequence <= h.Sequence:
		f.out.Refuse(e.Ticket, "conflict", "sync %d of host %q came after sync %d", e.Sequence, h.ID, h.Sequence)
	default:
		return false
	}
	return true
}

// dropHeldSync refuses the held sync: its sender has given it up, or is dead and followed by the one who speaks,
// of whom an answer to the former says nothing.
func (f *Farm) dropHeldSync(now time.Time, h *host, by string) {
	if h.heldSync != nil {
		if by == h.Incarnation {
			h.Expect(now, h.Incarnation, h.heldSync.sequence)
		}
		f.out.Refuse(h.heldSync.ticket, "conflict", "sync %d of host %q was given up for a later one", h.heldSync.sequence, h.ID)
	}
	h.heldSync, h.due = nil, false
	f.answer = slices.DeleteFunc(f.answer, func(o *host) bool { return o == h })
}

// register takes in who the worker says it is.
func (f *Farm) register(now time.Time, h *host, e message.WorkerSynced) {
	if h.Incarnation != "" && h.Incarnation != e.Incarnation {
		h.Refuses, h.Folders, h.Answered = map[string]fit.Refuses{}, fit.Folders{}, 0
	}
	first := !h.Heard
	h.Heard, h.Incarnation, h.Sequence, h.LastSync = true, e.Incarnation, e.Sequence, now
	usual := first || h.RunAs != e.RunAs || h.AgentUser != e.AgentUser || h.refusing != e.Refusing
	h.cores = e.Cores
	h.available, h.RunAs, h.AgentUser, h.Owners, h.refusing, h.holds = e.Available, e.RunAs, e.AgentUser, e.Owners, e.Refusing, e.Jobs
	row := e.Host
	if e.Total < 0 { // nonsense; measure marks it
		row.Memory = h.Memory
	}
	row.LockedBy, row.LockReason, row.SeenAt = h.LockedBy, h.LockReason, h.SeenAt
	if !h.SameRow(row) {
		row.SeenAt = now
		h.HostFacts, f.hosts.capacity, f.hosts.properties = row, nil, nil
		f.putHost(h)
		usual = true
	}
	if usual || !h.wasUsable {
		h.wasUsable = h.usable(now, f.policy)
		f.planStale = true
	}
}

// sameState says whether the worker's word reaches back to when the attempt was given: the same boot
// and the same state folder.
func sameState(i *instance, h *host) bool { return i.givenUnder(h.HostFacts) }

func (i *instance) givenUnder(row facts.HostFacts) bool {
	return i.attempt.Boot == row.Boot && i.attempt.StateID == row.StateID
}

// endOldBoot ends what ran under another boot: a reboot ends every process.
func (f *Farm) endOldBoot(now time.Time, h *host) {
	for _, i := range h.sortedInstances() {
		if i.attempt.Boot != h.Boot {
			f.lose(now, i, facts.Because(facts.ReasonHostRestarted, facts.Params{Host: h.ID}, ""))
			f.maybeFinish(now, i.job)
		}
	}
}

// endReported ends what the worker says has ended, still runs here by what the farm knows, and counts.
func (f *Farm) endReported(now time.Time, h *host, ends []message.ReportedEnd, counts func(*instance) bool) {
	if len(ends) == 0 {
		return
	}
	on := h.byAttempt()
	for _, end := range ends {
		i := on[end.Attempt]
		if i != nil && i.attempt.AttemptID == end.Attempt && h.instances[instanceKey{i.job.ID, i.number}] == i && counts(i) {
			f.finish(now, i, end)
		}
	}
}

// byAttempt are the host's instances by what they run.
func (h *host) byAttempt() map[facts.AttemptID]*instance {
	on := make(map[facts.AttemptID]*instance, len(h.instances))
	for _, i := range h.instances {
		on[i.attempt.AttemptID] = i
	}
	return on
}

// reconcile holds the worker's list against what the farm believes. Absence proves an end only where the
// worker's state reaches back, and only of what the worker is no longer asked to run: anything else it may
// be about to start.
func (f *Farm) reconcile(now time.Time, h *host, e message.WorkerSynced) {
	h.reported = make(map[facts.AttemptID]string, len(e.Instances))
	memory := make(map[facts.AttemptID]int64, len(e.Instances))
	for _, r := range e.Instances {
		h.reported[r.Attempt], memory[r.Attempt] = r.State, r.Memory
	}
	for _, i := range h.sortedInstances() {
		if _, there := h.reported[i.attempt.AttemptID]; there {
			i.resides(memory[i.attempt.AttemptID])
			f.watchStuck(now, i, h.reported[i.attempt.AttemptID])
			if h.reported[i.attempt.AttemptID] == "running" {
				f.folderWorks(now, i)
			}
			continue
		}
		if i.stopping() && h.provesEnd(i, e) {
			f.lose(now, i, facts.Why{})
			f.maybeFinish(now, i.job)
		}
	}
}

// provesEnd says whether the attempt, absent from the list, can start no more: the last answer that the
// worker took did not list it. The answer to a registration counts for nothing, as an older agent's registration may
// have come between.
func (h *host) provesEnd(i *instance, e message.WorkerSynced) bool {
	return sameState(i, h) && h.Answered > 0 && e.Heard >= h.Answered && !(i.listedTo == e.Incarnation && e.Heard <= i.listedIn)
}

// differs says whether the worker should hear something: what it lists is not what it should run, or lacks
// what is to end and needs its word after the next answer. What it is stopping already, or cannot tell, is
// no news.
func (h *host) differs() bool {
	for _, i := range h.instances {
		if !sameState(i, h) {
			continue
		}
		if _, ok := h.reported[i.attempt.AttemptID]; !ok {
			return true
		}
	}
	on := h.byAttempt()
	for id, state := range h.reported {
		switch state {
		case "stopping", "unkillable", "unknown":
			continue
		case "frozen":
			return true // it waits for a lease
		}
		if i := on[id]; i == nil || i.stopping() {
			return true
		}
	}
	return false
}

// replySync answers the held sync.
func (f *Farm) replySync(now time.Time, h *host) {
	reply := newReply(&f.policy, h.ID, h.heldSync.sequence)
	h.fillReply(now, &f.policy, h.HostFacts, h.holds, &reply)
	for _, i := range h.instances {
		if !i.stopping() && sameState(i, h) {
			i.listedTo, i.listedIn = h.Incarnation, h.heldSync.sequence
		}
	}
	if h.Answered == 0 {
		h.Answered = h.heldSync.sequence
	}
	h.Expect(now, h.Incarnation, h.heldSync.sequence)
	f.out.Answer(h.heldSync.ticket, reply)
	h.heldSync, h.due = nil, false
}

func newReply(p *message.Policy, id facts.HostID, sequence uint64) message.SyncReply {
	return message.SyncReply{
		Host: id, Sequence: sequence, Lease: p.ExecutionLease, Grace: p.KillGrace, Instances: []message.DesiredInstance{},
	}
}

// fillReply says what should run on the host for the worker on that boot and with that state, complete,
// and lengthens the leases of what it names; but not those of a deaf host.
func (h *host) fillReply(now time.Time, p *message.Policy, row facts.HostFacts, holds map[facts.JobID]int64, reply *message.SyncReply) {
	reply.Instances = make([]message.DesiredInstance, 0, len(h.instances))
	specs := map[facts.JobID]bool{}
	deaf := h.Deaf(now, p.Liveness)
	if deaf {
		reply.Lease = 0
	}
	for _, i := range h.sortedInstances() {
		if !i.givenUnder(row) {
			continue
		}
		if !deaf {
			i.leaseEnds = now.Add(p.LeaseInFull())
		}
		if i.stopping() {
			continue
		}
		reply.Instances = append(reply.Instances, i.desired())
		if holds[i.job.ID] != i.job.Version && !specs[i.job.ID] {
			specs[i.job.ID] = true
			reply.Specs = append(reply.Specs, i.job.JobFacts)
		}
	}
}

func (i *instance) desired() message.DesiredInstance {
	item := i.job.Entries.Item(int(i.attempt.Item))
	limit, _ := i.timeLimit()
	return message.DesiredInstance{
		Job: i.job.ID, Version: i.job.Version, Instance: i.number, Kind: i.kind, Attempt: i.attempt.AttemptID,
		Slots: i.slots, Name: item.Name, Start: item.Start, End: item.End, Step: item.Step, Env: i.env(),
		Memory: i.attempt.Memory, HardLimit: i.job.hardLimit() && i.attempt.Memory > 0, TimeLimit: limit,
	}
}

// env tells the item which GPUs are its own; without a reservation nothing is said.
func (i *instance) env() map[string]string {
	if len(i.devices) == 0 {
		return nil
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(i.devices), " ", ","), "[]")
	return map[string]string{"CUDA_VISIBLE_DEVICES": list, "QB_GPUS": list}
}
