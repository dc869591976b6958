package farm

import (
	"fmt"
	"strconv"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
	"qb/units"
)

// instance is a slot of a job on a host. It always has a live attempt: it takes the next item in the step
// that ends the last one, or closes.
type instance struct {
	job                         *job
	host                        *host
	number                      int
	kind                        facts.Kind
	part                        part // as it was counted last
	slots                       int
	devices                     []int           // GPUs of the host that are its own
	draining                    bool            // SmartShare wants the slot at the item's end; taken back if the target rises
	slowRecorded                facts.AttemptID // of which it was told that it is slow
	drainRecorded, stayRecorded facts.AttemptID // of which it was told that it drains, and that it stays after all
	leaving                     bool            // a person wants it to go at the item's end
	condemned                   bool            // its item lies under a mark: if it comes back by itself, it is killed

	attempt   facts.AttemptFacts
	began     time.Time // of the instance
	leaseEnds time.Time
	listedTo  string // incarnation whose answer last listed the attempt, and that answer's sequence
	listedIn  uint64
	memory    int64
	stuck     bool // its processes outlive KILL
	stopped   bool // it was told to end
	inherited bool // its attempt was given in an earlier term
}

func (i *instance) stopping() bool { return i.attempt.State == facts.Stopping }

func (i *instance) killed() bool { return i.attempt.Reason == facts.ReasonKilled }

func (i *instance) name() string {
	return strconv.FormatInt(int64(i.job.ID), 10) + "." + strconv.Itoa(i.number)
}

// startInstance places an instance and gives it its first item; nothing happens if the job has none.
func (f *Farm) startInstance(now time.Time, j *job, h *host, kind facts.Kind, slots int) {
	i := &instance{job: j, host: h, number: j.freeNumber(), kind: kind, slots: slots, began: now}
	i.devices = h.freeDevices(int(j.needs.Takes["host.gpus"]))
	if !f.giveItem(now, i) {
		return
	}
	j.instances[i.number] = i
	h.instances[instanceKey{j.ID, i.number}] = i
	h.used += slots
	i.touch()
}

// freeDevices are the lowest GPUs of the host that no instance has.
func (h *host) freeDevices(n int) []int {
	if n == 0 {
		return nil
	}
	taken := map[int]bool{}
	for _, i := range h.instances {
		for _, d := range i.devices {
			taken[d] = true
		}
	}
	var free []int
	for d := 0; len(free) < n && d < int(h.Stock("host.gpus")); d++ {
		if !taken[d] {
			free = append(free, d)
		}
	}
	return free
}

// giveItem starts an attempt at the job's lowest pending item on the instance.
func (f *Farm) giveItem(now time.Time, i *instance) bool {
	j := i.job
	n, ok := j.Tally.NextPending()
	if !ok {
		return false
	}
	memory, ok := f.promise(now, i)
	if !ok {
		return false
	}
	item := facts.ItemNo(n)
	number := max(j.LastAttempt(item), f.attemptFloor) + 1
	j.Start(now, item, number)
	i.attempt = facts.AttemptFacts{
		AttemptID: facts.AttemptID{Job: j.ID, Item: item, Number: number},
		Host:      i.host.ID, Boot: i.host.Boot, StateID: i.host.StateID,
		Instance: i.number, Kind: i.kind, Owner: j.User, Slots: i.slots, Memory: memory, Holds: j.needs.Takes,
		Devices: i.devices, State: facts.Running, StartedAt: now,
	}
	i.leaseEnds = now.Add(f.policy.LeaseInFull())
	i.listedTo, i.listedIn, i.memory, i.condemned, i.inherited = "", 0, 0, false, false
	i.touch()
	f.out.Write(facts.StartAttempt{Attempt: i.attempt})
	f.answerSoon(i.host)
	return true
}

// stop orders an instance away. Its slot stays taken until the end is proven.
func (f *Farm) stop(now time.Time, i *instance, why facts.Why) {
	if i.stopping() && (i.killed() || why.Reason != facts.ReasonKilled) {
		return
	}
	i.attempt.State, i.attempt.Why = facts.Stopping, why
	i.touch()
	f.out.Write(facts.StopAttempt{ID: i.attempt.AttemptID, Why: why})
	f.out.Record(now, facts.EventFacts{Type: "stopped", Job: i.job.ID, Item: i.attempt.Item, Instance: i.number, Host: i.host.ID, Why: why})
	f.answerSoon(i.host)
	f.planStale = true
}

// relabel changes an instance's kind without touching what runs.
func (f *Farm) relabel(now time.Time, i *instance, kind facts.Kind, why facts.Why) {
	i.kind, i.attempt.Kind = kind, kind
	i.touch()
	f.out.Write(facts.RelabelAttempt{ID: i.attempt.AttemptID, Kind: kind})
	verb := "promoted"
	if kind == facts.Secondary {
		verb = "demoted"
	}
	f.out.Record(now, facts.EventFacts{Type: verb, Job: i.job.ID, Item: i.attempt.Item, Instance: i.number, Host: i.host.ID, Why: why})
}

// endAttempt writes the end of the instance's attempt and puts its item where the end says. The caller
// then lets the instance go on or closes it.
func (f *Farm) endAttempt(now time.Time, i *instance, end facts.EndAttempt) {
	j := i.job
	end.ID, end.From, end.EndedAt = i.attempt.AttemptID, i.attempt.State, now
	end.Instance, end.Host = i.number, i.host.ID
	if now.Before(i.attempt.StartedAt) {
		end.EndedAt = i.attempt.StartedAt // a clock that was set back
	}
	f.usage.chargeEnd(now, i, &end)
	f.out.Write(end)
	i.stopped = i.stopping()
	i.attempt.State = end.State
	i.touch()
	j.End(end, i.condemned)
	if end.State != facts.Done && end.Again == facts.ByItself {
		f.planStale = true
	}
	f.learn(now, i, end)
	f.learnMemory(now, i, end)
	f.chargeSlotTime(now, i, end)
	f.noteOveruse(now, i, end)
}

// close takes an instance whose attempt has ended off its host and its job.
func (f *Farm) close(i *instance) {
	if i.attempt.State.Live() {
		panic("farm: closing instance " + i.name() + " with a live attempt")
	}
	delete(i.job.instances, i.number)
	i.job.taken = min(i.job.taken, i.number)
	delete(i.host.instances, instanceKey{i.job.ID, i.number})
	i.host.used -= i.slots
	i.touch()
	f.answerSoon(i.host)
	f.planStale = true
}

// nextItemOrClose gives an instance whose attempt ended its next item, or closes it.
func (f *Farm) nextItemOrClose(now time.Time, i *instance) {
	why, known := f.reasonToClose(now, i)
	if why == (facts.Why{}) && (f.yieldSlot(now, i) || f.giveItem(now, i)) {
		f.noteDemand(i)
		return
	}
	if !known && i.job.Pending() > 0 {
		if why == (facts.Why{}) {
			why = facts.Why{Reason: facts.ReasonMemoryShort, Cause: fmt.Sprintf("the next item needs %s of memory, more than the host can promise", units.Size(i.job.memoryNeed))}
		}
		f.recordOf(now, i, facts.EventFacts{Type: "left", Why: why})
	}
	f.close(i)
}

// noteDemand asks for a plan where an instance went on and that changed what others may have: its job has no
// item left for instances that were to start, or there is more to know of how long a reserved host takes.
func (f *Farm) noteDemand(i *instance) {
	left := i.job.Pending()
	if left == 0 || left < f.unmet[i.job.ID] || (f.admission.reserved != nil && (f.admission.reserved.host == i.host || i.job.DoneCount == 1)) {
		f.planStale = true
	}
}

// finish takes in the worker's word that an attempt has ended.
func (f *Farm) finish(now time.Time, i *instance, r message.ReportedEnd) {
	r = i.believed(now, f.policy.WallSlack, r)
	end := facts.EndAttempt{ExitCode: r.ExitCode, Signal: r.Signal, Wall: r.Wall, CPU: r.CPU, Peak: r.Peak}
	closes := i.stopping()
	end.Why = facts.EndOf(r.Cause(), r.ExitCode, r.Signal, r.Reason)
	switch {
	case r.Outcome == "exit" && r.ExitCode != nil && *r.ExitCode == 0: // it was done before our order reached it
		end.State, end.Why = facts.Done, facts.Why{}
		if r.Reason != "" {
			end.Why = facts.Because(facts.ReasonLogIncomplete, facts.Params{}, r.Reason)
		}
	case i.stopping() && i.killed():
		end.State, end.Again, end.Why = facts.Killed, facts.Never, i.attempt.Why
	case i.stopping():
		end.State, end.Again, end.Why = facts.Preempted, facts.ByItself, i.attempt.Why
	default:
		closes = f.endUnstopped(now, i, r, &end)
	}
	f.endAttempt(now, i, end)
	if closes {
		f.close(i)
	} else {
		f.nextItemOrClose(now, i)
	}
	f.maybeFinish(now, i.job)
}

// believed is an end with what cannot be cut to what can. The host is marked.
func (i *instance) believed(now time.Time, slack time.Duration, r message.ReportedEnd) message.ReportedEnd {
	b := message.Bounds{Age: now.Sub(i.attempt.StartedAt), Inherited: i.inherited, Slack: slack, Cores: i.host.cores}
	if m := i.host.machine; m != nil {
		b.Memory = m.total
	}
	within, whole := r.Within(b)
	if !whole {
		i.host.doubt = fmt.Sprintf("its agent reports an end with a peak of %s, %v s of wall time and %v s of CPU", units.Size(r.Peak), r.Wall, r.CPU)
	}
	return within
}

// endUnstopped says how an attempt that nobody stopped has ended, and whether its instance closes.
func (f *Farm) endUnstopped(now time.Time, i *instance, r message.ReportedEnd, end *facts.EndAttempt) (closes bool) {
	switch end.Reason {
	case facts.ReasonExit, facts.ReasonSignal, facts.ReasonLaunchFailed: // the item's own doing, and charged as such
		end.State, end.Again = facts.Failed, i.again()
		return false
	case facts.ReasonTimeLimit:
		end.State, end.Again, end.Why = facts.Failed, i.again(), i.timedOut(r)
		return false
	case facts.ReasonWorkerStopped, facts.ReasonHostMemoryLow, facts.ReasonHostSwapping, facts.ReasonNotWanted:
		end.State, end.Again = facts.Preempted, facts.ByItself
		return true
	case facts.ReasonOutOfMemory:
		*end = f.outOfMemory(now, i, r)
		return true
	case facts.ReasonMemoryUnavailable:
		i.host.fullUntil = now.Add(fullWait)
	case facts.ReasonHostRefused, facts.ReasonUIDDiffers:
		i.host.Refuses[i.job.User] = fit.Refuses{Until: now.Add(fit.RefusedFor)}
	case facts.ReasonFolderMissing, facts.ReasonFolderDenied:
		f.lackFolder(now, i, r.Reason, end)
		return true
	case facts.ReasonUnknownOutcome: // it may be anybody's fault; the third such end of an item holds it
		end.Why = facts.Because(facts.ReasonUnknownOutcome, facts.Params{Outcome: r.Outcome}, r.Reason)
	}
	end.State, end.Again = facts.Lost, facts.ByItself // not the item's fault: no retry is charged
	return true
}

// again says whether a failed item has a retry left.
func (i *instance) again() facts.Again {
	failed := i.job.Failures[i.attempt.Item] + 1
	if failed <= i.job.RetryWork && i.attempt.Number < maxAttempts {
		return facts.ByItself
	}
	return facts.Never
}
