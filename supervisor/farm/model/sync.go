package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// Hold is how long an answer may be held: never so long that it endangers a lease or looks like silence.
func (h *Host) Hold(p *message.Policy, asked time.Duration) time.Duration {
	if h.Claimed() {
		asked = min(asked, claimHold)
	}
	return min(asked, maxHold, p.ExecutionLease/3, p.Liveness/2)
}

// LeaseBefore says whether a lease would lapse while the answer is held, so that it must not be.
func (h *Host) LeaseBefore(t time.Time) bool {
	for i := range h.Holding() {
		if i.GivenUnder(h.HostFacts) && !i.LeaseEnds.After(t) {
			return true
		}
	}
	return false
}

// GivenUnder says whether the word of a worker with that row reaches back to when the attempt was given: the same boot
// and the same state folder.
func (i *Instance) GivenUnder(row facts.HostFacts) bool {
	return i.Attempt.Boot == row.Boot && i.Attempt.StateID == row.StateID
}

// ByAttempt are the host's instances by what they run.
func (h *Host) ByAttempt() map[facts.AttemptID]*Instance {
	on := make(map[facts.AttemptID]*Instance, len(h.Instances))
	for _, i := range h.Instances {
		on[i.Attempt.AttemptID] = i
	}
	return on
}

// ProvesEnd says whether the attempt, absent from the list, can start no more: the last answer that the
// worker took did not list it. The answer to a registration counts for nothing, as an older agent's registration may
// have come between.
func (h *Host) ProvesEnd(i *Instance, e message.WorkerSynced) bool {
	return i.GivenUnder(h.HostFacts) && h.Answered > 0 && e.Heard >= h.Answered &&
		!(i.ListedTo == e.Incarnation && e.Heard <= i.ListedIn)
}

// Differs says whether the worker should hear something: what it lists is not what it should run, or lacks
// what is to end and needs its word after the next answer. What it is stopping already, or cannot tell, is
// no news.
func (h *Host) Differs() bool {
	known := 0
	for i := range h.Holding() {
		r, listed := h.Reported[i.Attempt.AttemptID]
		if !listed && i.GivenUnder(h.HostFacts) || listed && r.isNews(i) {
			return true
		}
		if AsksBack(i) && i.GivenUnder(h.HostFacts) {
			return true
		}
		if listed {
			known++
		}
	}
	if known == len(h.Reported) {
		return false
	}
	on := h.ByAttempt()
	for i := range h.Programs() {
		on[i.Attempt.AttemptID] = i
	}
	for id, r := range h.Reported {
		if on[id] == nil && r.isNews(nil) {
			return true
		}
	}
	return false
}

// isNews says whether the worker should hear of what it lists, which is that instance or none.
func (r *ReportedInstance) isNews(i *Instance) bool {
	switch r.State {
	case "stopping", "unloading", "unkillable", "unknown":
		return false
	case "frozen":
		return true // it waits for a lease
	}
	return i == nil || i.Stopping() || i.Loaded() && !i.AwaitsItem()
}

// FillReply says what should run on the host for the worker on that boot and with that state: what differs from the
// answer with the number heard, if that was the last one, else everything, as for a worker that has heard 0. It
// lengthens the leases of what should run; but not those of a host that acknowledges nothing. Specifications that have
// no room come with the next answers: a worker starts nothing without one, and its next sync shows which it has.
func (h *Host) FillReply(now time.Time, p *message.Policy, row facts.HostFacts, holds map[facts.JobID]int64,
	heard uint64, reply *message.SyncReply) {
	named := make([]*Instance, 0, len(h.Instances))
	specs, room := map[facts.JobID]bool{}, int64(mostSpecs)
	unacked := h.Unacked(now, p.Liveness)
	if unacked {
		reply.Lease = 0
	}
	for _, i := range h.SortedInstances() {
		if !i.GivenUnder(row) {
			continue
		}
		if !unacked {
			i.Lengthen(now, p)
			if i.Next != nil {
				i.Next.Lengthen(now, p)
			}
		}
		if i.Stopping() {
			continue
		}
		named = append(named, i)
		if holds[i.Job.ID] == i.Job.Version || specs[i.Job.ID] {
			continue
		}
		if size := i.Job.Bytes(); size <= room || len(specs) == 0 {
			room -= size
			specs[i.Job.ID] = true
			reply.Specs = append(reply.Specs, i.Job.JobFacts)
		}
	}
	for _, i := range h.SortedPrograms() {
		if i.GivenUnder(row) {
			if !unacked { // also of a program that is ending: its host is there, and it holds its slots
				i.Lengthen(now, p)
			}
			named = append(named, i)
		}
	}
	slices.SortFunc(named, CompareInstances)
	if heard == 0 {
		h.ForgetAnswer()
	} else {
		named = h.answered.differ(named, heard, reply)
	}
	reply.Instances = make([]message.DesiredInstance, 0, len(named))
	for _, i := range named {
		reply.Instances = append(reply.Instances, i.desired(p))
	}
}

// mostSpecs bounds the specifications in one answer, in bytes as JobFacts counts them: no worker reads an answer of any
// length.
const mostSpecs = 16 << 20

// Lengthen says that an answer names the instance. A former answer may have named a longer lease; this one may be lost.
func (i *Instance) Lengthen(now time.Time, p *message.Policy) {
	i.LeaseEnds, i.Granted = later(i.LeaseEnds, now.Add(p.LeaseInFull())), later(i.Granted, now.Add(p.ExecutionLease))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// signs are the signs of the resources that the instance holds.
func (i *Instance) signs(all []licences.Sign) (own []licences.Sign) {
	for _, s := range all {
		if i.Attempt.Holds[s.Resource] > 0 {
			own = append(own, s)
		}
	}
	return own
}

func (i *Instance) desired(p *message.Policy) message.DesiredInstance {
	if i.Loaded() {
		return message.DesiredInstance{Job: i.Job.ID, Version: i.Job.Version, Instance: i.Number, Kind: i.Kind,
			Attempt: i.Attempt.AttemptID, Slots: i.Slots, Memory: i.Attempt.Memory, Program: string(i.Status)}
	}
	item := i.Job.Entries.Item(int(i.Attempt.Item))
	limit, _ := i.timeLimit()
	d := message.DesiredInstance{
		Job: i.Job.ID, Version: i.Job.Version, Instance: i.Number, Kind: i.Kind, Attempt: i.Attempt.AttemptID,
		Slots: i.Slots, Name: item.Name, Start: item.Start, End: item.End, Step: item.Step, Env: i.env(),
		Memory: i.Attempt.Memory, HardLimit: i.Job.HardLimit() &&
			i.Attempt.Memory > 0, TimeLimit: limit, Suspended: i.Suspended(), SuspensionID: i.SuspensionID(),
		NoLicence: i.signs(p.Licences.Signs),
	}
	if next := i.HandedAhead(); next != nil {
		item := i.Job.Entries.Item(int(next.Attempt.Item))
		d.Next = &message.NextItem{Attempt: next.Attempt.AttemptID, Name: item.Name, Start: item.Start, End: item.End,
			Step: item.Step}
	}
	return d
}

// env tells the item which GPUs are its own; without a reservation nothing is said.
func (i *Instance) env() map[string]string {
	if len(i.Devices) == 0 {
		return nil
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(i.Devices), " ", ","), "[]")
	return map[string]string{"CUDA_VISIBLE_DEVICES": list, "QB_GPUS": list}
}
