package farm

import (
	"time"

	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// syncs is who speaks for which host, and what is to be answered to them.
type syncs struct {
	*shared
	registry      agents.Registry
	answer        []*model.Host  // hosts whose held sync the next Take answers
	registrations []registration // to be answered then
}

// onWorkerSynced takes in a worker's word: ends first, then what is absent, then what is there.
func (f *Farm) onWorkerSynced(now time.Time, e message.WorkerSynced) {
	if f.syncs.registry.Removed(e.Word()) {
		f.out.Refuse(e.Ticket, "conflict", "sync %d of host %q was sent before the host was removed", e.Sequence, e.Host.ID)
		return
	}
	if e.Registers {
		f.onGreeting(now, e)
		return
	}
	h := f.hosts.Of(e.Host)
	if h == nil {
		if e.Since != 0 {
			f.out.Refuse(e.Ticket, "conflict", "%s", e.ListWanted())
			return
		}
		if len(f.hosts.ByID) >= maxHosts {
			f.out.Refuse(e.Ticket, "limit", "the farm has %d hosts, its limit", len(f.hosts.ByID))
			return
		}
		h = model.NewHost(facts.HostFacts{ID: e.Host.ID})
		f.hosts.Add(h)
	}
	if f.syncs.turnsAway(now, h, e) {
		return
	}
	if e.Since != 0 && !h.ReadLast(e.Word(), e.Since) || !h.TakeList(&e) {
		f.out.Refuse(e.Ticket, "conflict", "%s", e.ListWanted())
		return
	}
	if h.ID != e.Host.ID {
		f.syncs.rename(now, h, e.Host.ID)
	}
	if !h.Same(e.Host) {
		h.Succeed(e.Host, e.Word(), agents.Known(h.HostFacts))
		f.syncs.registry.Forget(h.ID, e.Incarnation)
	}
	f.syncs.registry.Note(h.ID, e.Word())
	wasUnacked := h.Unacked(now, f.policy.Liveness)
	h.Acknowledge(e.Word(), e.Heard)
	former := f.syncs.takeWaitingSync(h, &e)
	f.syncs.register(now, h, e)
	f.hosts.Seat(h)
	if before := h.Away; h.Measure(&e) != before {
		f.planStale = true
	}
	h.TakeMemory(e.Instances)
	f.endOldBoot(now, h)
	f.endReported(now, h, e.Finished, func(i *model.Instance) bool { return i.GivenUnder(h.HostFacts) })
	f.countLate(now, h.HostFacts, e.Finished)
	f.reconcile(now, h, e)
	f.suspensions.noteResuming(h)
	f.resources.takeUsage(now, h, e)
	f.planning.planIfMemoryFits(now, h)
	if e.Left {
		return
	}
	h.WaitingSync = &model.WaitingSync{Ticket: e.Ticket, Former: former, Sequence: e.Sequence,
		Deadline: now.Add(h.Hold(&f.policy, e.Hold))}
	if e.Differences {
		h.WaitingSync.Heard = e.Heard
	}
	if former != 0 && (wasUnacked || lacksWord(h)) {
		f.syncs.dropFormer(h)
	}
	if len(e.Finished) > 0 || h.Differs() || h.LeaseBefore(h.WaitingSync.Deadline) || wasUnacked {
		f.syncs.answerSoon(h)
	}
}

// stale refuses a sync that must not be looked at. Of two agents with one state folder that both heard this term,
// the older is the agent that spoke first in it: it was dead, or its folder was copied, when the other spoke.
func (sy *syncs) stale(h *model.Host, e message.WorkerSynced) bool {
	switch {
	case sy.registry.Before(h.ID, e.Incarnation, h.Incarnation):
		sy.out.RefuseAs(e.Ticket, agents.CodeNameTaken,
			"a later agent with the same state folder has the name %q; give each worker a name (worker_name) and a state folder of its own", h.ID)
	case e.Incarnation == h.Incarnation && e.Sequence <= h.Sequence, sy.registry.LateClaim(h.ID, e.Word()):
		sy.out.Refuse(e.Ticket, "conflict", "sync %d of host %q came after sync %d", e.Sequence, h.ID, h.Sequence)
	default:
		return false
	}
	return true
}

// takeWaitingSync ends the wait of the held sync, because its agent sent a later one or is dead and followed by
// another. If the later one brings results of the same agent, which still waits for the former, the former is to carry
// the first answer to the later one, and its ticket is returned. Otherwise it is refused: it was given no answer, so
// none was in vain.
func (sy *syncs) takeWaitingSync(h *model.Host, e *message.WorkerSynced) (former outbox.Ticket) {
	if h.WaitingSync == nil {
		return 0
	}
	if e.Incarnation == h.Incarnation && len(e.Finished) > 0 && !e.Left {
		former, h.WaitingSync.Ticket = h.WaitingSync.Ticket, 0
	}
	sy.silence(h, "sync %d of host %q was given up for a later one", h.WaitingSync.Sequence, h.ID)
	return former
}

// lacksWord says whether what is to end on the host is not listed by the worker: its next sync after an answer may
// prove the end, so it is not to wait.
func lacksWord(h *model.Host) bool {
	for _, i := range h.Instances {
		if _, listed := h.Reported[i.Attempt.AttemptID]; i.Stopping() && !listed && i.GivenUnder(h.HostFacts) {
			return true
		}
	}
	return false
}

// dropFormer lets the newest sync be answered by the response to itself.
func (sy *syncs) dropFormer(h *model.Host) {
	sy.out.Refuse(h.WaitingSync.Former, "conflict", "a sync of host %q was given up for sync %d", h.ID,
		h.WaitingSync.Sequence)
	h.WaitingSync.Former = 0
}

// onSyncLeft drops the held sync for whose answer no one waits any more.
func (sy *syncs) onSyncLeft(e message.SyncLeft) {
	h := sy.hosts.Of(e.Host)
	switch {
	case h == nil || h.WaitingSync == nil:
	case h.WaitingSync.Former == e.Ticket:
		h.WaitingSync.Former = 0
	case h.WaitingSync.Ticket == e.Ticket:
		h.WaitingSync.Ticket = 0
		sy.silence(h, "sync %d of host %q was given up", h.WaitingSync.Sequence, h.ID)
	}
}

// register takes in who the worker says it is.
func (sy *syncs) register(now time.Time, h *model.Host, e message.WorkerSynced) {
	if h.Incarnation != "" && h.Incarnation != e.Incarnation {
		h.Refuses = map[string]fit.Refuses{}
		h.Lacks = fit.Lacks{}
		h.Answered = 0
		h.ForgetAnswer()
	}
	first := !h.Heard
	h.Heard = true
	h.Incarnation = e.Incarnation
	h.Sequence = e.Sequence
	h.Hear(now)
	usual := first || h.RunAs != e.RunAs || h.AgentUser != e.AgentUser || h.Refusing != e.Refusing
	h.Cores = e.Cores
	h.Available = e.Available
	h.RunAs = e.RunAs
	h.AgentUser = e.AgentUser
	h.Owners = e.Owners
	h.Refusing = e.Refusing
	h.Holds = e.Jobs
	row := e.Host
	if e.Total < 0 { // nonsense; measure marks it
		row.Memory = h.Memory
	}
	row.LockedBy = h.LockedBy
	row.LockReason = h.LockReason
	row.Locked = h.Locked
	row.SeenAt = h.SeenAt
	if !h.SameRow(row) {
		row.SeenAt = now
		sy.hosts.Take(h, row)
		sy.hosts.Capacity = nil
		sy.hosts.Properties = nil
		sy.putHost(h)
		usual = true
	}
	if usual || !h.WasUsable {
		h.WasUsable = h.Usable(now, sy.policy)
		sy.planStale = true
	}
}

// endOldBoot ends what ran under another boot: a reboot ends every process.
func (f *Farm) endOldBoot(now time.Time, h *model.Host) {
	for _, i := range h.SortedInstances() {
		if i.Attempt.Boot != h.Boot {
			f.lose(now, i, facts.Because(facts.ReasonHostRestarted, facts.Params{Host: h.ID}, ""))
		}
	}
	f.programs.goneOf(h, func(i *model.Instance) bool { return i.Attempt.Boot != h.Boot })
}

// endReported ends what the worker says has ended, still runs here by what the farm knows, and counts.
func (f *Farm) endReported(now time.Time, h *model.Host, ends []message.ReportedEnd,
	counts func(*model.Instance) bool) {
	for len(ends) > 0 {
		on := h.ByAttempt()
		var others []message.ReportedEnd
		for _, end := range ends {
			i := on[end.Attempt]
			if i == nil {
				others = append(others, end) // of an item that was held ahead, perhaps: after the end of the one before it
			} else if i.Attempt.AttemptID == end.Attempt && i.Attached() && counts(i) {
				f.finish(now, i, end)
			}
		}
		if len(others) == len(ends) {
			return
		}
		ends = others
	}
}

// reconcile holds the worker's list against what the farm believes. Absence proves an end only where the
// worker's state reaches back, and only of what the worker is no longer asked to run: anything else it may
// be about to start.
func (f *Farm) reconcile(now time.Time, h *model.Host, e message.WorkerSynced) {
	for _, i := range h.SortedInstances() {
		if said, there := h.Reported[i.Attempt.AttemptID]; there {
			i.Resides(said.Memory)
			i.Progresses(said.Progress)
			f.suspensions.maybeRelease(now, i, said.SuspensionID)
			f.faults.watchStuck(now, i, said.State)
			if said.State == "running" {
				f.lacks.works(now, i)
			}
		} else if i.Stopping() && h.ProvesEnd(i, e) {
			_, loaded := h.Has(i)
			f.lose(now, i, facts.Why{})
			if loaded && i.Job.LoadOnce() { // the item never began, and the program is there that was to have it
				f.programs.keep(now, i, planner.InstanceLeaves)
			}
		}
		if model.ProvesNotBegun(h, i, e) {
			f.takeBack(now, i.Next)
		}
	}
	f.programs.reconcile(h)
}

// replySync answers the held sync, by the response to itself or to the one before it; then it is held on.
func (sy *syncs) replySync(now time.Time, h *model.Host) {
	w := h.WaitingSync
	ticket, number := w.Ticket, agents.LastAnswer(w.Sequence)
	if w.Former != 0 {
		ticket, number = w.Former, agents.FirstAnswer(w.Sequence)
	}
	reply := newReply(&sy.policy, h.ID, w.Sequence, number)
	reply.Differences = true
	h.FillReply(now, &sy.policy, h.HostFacts, h.Holds, w.Heard, &reply)
	for _, i := range h.Instances {
		if !i.Stopping() && i.GivenUnder(h.HostFacts) {
			i.ListedTo, i.ListedIn = h.Incarnation, number
			if next := i.HandedAhead(); next != nil {
				next.ListedTo, next.ListedIn = h.Incarnation, number
			}
		}
	}
	if h.Answered == 0 {
		h.Answered = number
	}
	h.Expect(now, h.Incarnation, number)
	sy.out.Answer(ticket, reply)
	h.Due = false
	if w.Former == 0 {
		h.WaitingSync = nil
	}
	w.Former = 0
}

func newReply(p *message.Policy, id facts.HostID, sequence, number uint64) message.SyncReply {
	return message.SyncReply{
		Host: id, Sequence: sequence, Number: number, Lease: p.ExecutionLease, Grace: p.KillGrace,
		Instances: []message.DesiredInstance{},
	}
}

// answerSoon marks the held sync for the next Take.
func (sy *syncs) answerSoon(h *model.Host) {
	if h.WaitingSync != nil && !h.Due {
		h.Due = true
		sy.answer = append(sy.answer, h)
	}
}
