package farm

import (
	"fmt"
	"time"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// startInstance places an instance and gives it its first item; false if it cannot have one.
func (f *Farm) startInstance(now time.Time, j *model.Job, h *model.Host, kind facts.Kind, slots int) bool {
	if h.OnTrial && h.Used > 0 || !f.admission.seated(j, h) {
		return false // the plan saw it empty, as its first instance is the trial; or with a seat that another job has taken
	}
	i := &model.Instance{Job: j, Host: h, Number: j.FreeNumber(), Kind: kind, Slots: slots, Began: now}
	i.Devices = h.FreeDevices(int(j.Needs.Takes["host.gpus"]))
	if !f.giveItem(now, i) {
		return false
	}
	i.Attach()
	return true
}

// giveItem starts an attempt at the job's lowest pending item on the instance. A suspended job, of which items were
// resumed by themselves, has others that wait.
func (f *Farm) giveItem(now time.Time, i *model.Instance) bool {
	j := i.Job
	n, ok := j.Tally.NextPending()
	if !ok || j.State != facts.Active {
		return false
	}
	memory, ok := f.planning.promise(now, i)
	if !ok {
		return false
	}
	i.Begins(newAttempt(now, i, facts.ItemNo(n), memory, f.attemptFloor))
	i.Floor = f.attemptFloor
	i.LeaseEnds, i.Granted = time.Time{}, time.Time{}
	i.Lengthen(now, &f.policy)
	if i.LeaseEnds.Before(i.Host.NoneLapses) {
		i.Host.NoneLapses = i.LeaseEnds // later than those of attempts under a former, longer promise
	}
	i.ListedTo = ""
	i.ListedIn = 0
	i.Under = agenda.Pending
	i.Inherited = false
	i.Touch()
	f.out.Write(facts.StartAttempt{Attempt: facts.AttemptFacts{RunFacts: i.Attempt}})
	f.syncs.answerSoon(i.Host)
	return true
}

// newAttempt is the next attempt at an item, on the instance.
func newAttempt(now time.Time, i *model.Instance, item facts.ItemNo, memory int64, floor int) facts.RunFacts {
	j := i.Job
	number := max(j.LastAttempt(item), floor) + 1
	j.Start(now, item, number)
	return facts.RunFacts{
		AttemptID: facts.AttemptID{Job: j.ID, Item: item, Number: number},
		Host:      i.Host.ID, Boot: i.Host.Boot, StateID: i.Host.StateID,
		Instance: i.Number, Kind: i.Kind, Owner: j.User, Slots: i.Slots, Memory: memory, Holds: j.Needs.Holds,
		Devices: i.Devices, State: facts.Running, StartedAt: now,
	}
}

// stop orders an instance away. Its slot stays taken until the end is proven.
func (f *Farm) stop(now time.Time, i *model.Instance, why facts.Why) {
	if i.Stopping() && (i.Killed() || why.Reason != facts.ReasonKilled && why.Reason != facts.ReasonMigrated) {
		return
	}
	i.Attempt.State, i.Order = facts.Stopping, &why
	i.Touch()
	f.ahead.handBack(i)
	f.out.Write(facts.StopAttempt{ID: i.Attempt.AttemptID, Why: why})
	f.out.Record(now, facts.EventFacts{Type: "stopped", Job: i.Job.ID, Item: i.Attempt.Item, Instance: i.Number,
		Host: i.Host.ID, Why: why})
	f.syncs.answerSoon(i.Host)
	f.suspensions.noteResuming(i.Host)
	f.planStale = true
}

// relabel changes an instance's kind without touching what runs.
func (f *Farm) relabel(now time.Time, i *model.Instance, kind facts.Kind, why facts.Why) {
	if i.Next != nil {
		f.relabel(now, i.Next, kind, why)
	}
	i.Kind, i.Attempt.Kind = kind, kind
	i.Touch()
	f.out.Write(facts.RelabelAttempt{ID: i.Attempt.AttemptID, Kind: kind})
	verb := "promoted"
	if kind == facts.Secondary {
		verb = "demoted"
	}
	f.out.Record(now, facts.EventFacts{Type: verb, Job: i.Job.ID, Item: i.Attempt.Item, Instance: i.Number,
		Host: i.Host.ID, Why: why})
}

// endAttempt writes the end of the instance's attempt and puts its item where the end says. The caller
// then lets the instance go on or closes it.
func (f *Farm) endAttempt(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j := i.Job
	end.ID = i.Attempt.AttemptID
	end.From = i.Attempt.State
	end.EndedAt = now
	end.Instance, end.Host = i.Number, i.Host.ID
	if i.Attempt.Ahead() {
		end.StartedAt = i.Attempt.StartedAt
	}
	if now.Before(i.Attempt.StartedAt) {
		end.EndedAt = i.Attempt.StartedAt // a clock that was set back
	}
	if i.Under == agenda.Complete && end.State != facts.Done {
		end.Again = facts.ByItself // so that the mark decides, and not how the attempt ended
	}
	if end.Again == facts.ByItself {
		end.Params.Wait = int64(j.WaitAfter(&end).Seconds())
	}
	f.usage.chargeEnd(now, i, &end)
	f.out.Write(end)
	i.Stopped = i.Stopping()
	i.Attempt.State, i.Attempt.EndedAt = end.State, end.EndedAt
	i.Touch()
	j.End(end, i.Under, j.Pauses(end.State, end.Again, end.Why))
	f.retries.notePaused(now, j)
	if i.Under == agenda.Blocked && j.Tally.State(int(end.ID.Item)) != agenda.Blocked {
		// it ended by itself before it was stopped
		f.setMarks(j, items.MarksWithout(j.Marks, items.SpansOf([]facts.AttemptID{end.ID})))
	}
	if end.State != facts.Done && end.Again == facts.ByItself {
		f.planStale = true
	}
	f.faults.learn(now, i, end)
	f.planning.learnMemory(now, i, end)
	f.cpuShare.charge(now, i, end)
	f.planning.teachEnd(now, j)
	f.watch.noteOveruse(now, i, end)
}

// close takes an instance whose attempt has ended off its host and its job.
func (f *Farm) close(i *model.Instance) {
	if i.Attempt.State.Live() || i.Next != nil {
		panic("farm: closing instance " + i.Name() + " with a live attempt")
	}
	i.Detach()
	f.syncs.answerSoon(i.Host)
	f.suspensions.noteResuming(i.Host)
	f.planStale = true
}

// nextItemOrClose gives an instance whose attempt ended its next item, or closes it. Loaded says that its program is
// still there, of a load-once job.
func (f *Farm) nextItemOrClose(now time.Time, i *model.Instance, loaded bool) {
	end := f.itemEnd(now, i)
	rule := end.Rule()
	if rule == planner.TakesNextItem && (f.yieldSlot(now, i, loaded) || f.giveItem(now, i)) {
		f.planning.noteDemand(i)
		f.maybeGiveNext(now, i)
		return
	}
	why := f.resources.whyClosed(now, i, rule)
	if rule == planner.TakesNextItem {
		why = facts.Why{Reason: facts.ReasonMemoryShort,
			Cause: fmt.Sprintf("the next item needs %s of memory, more than the host can promise", units.Size(i.Job.MemoryNeed))}
	}
	if why.Reason != "" && i.Job.Pending() > 0 {
		f.recordOf(now, i, facts.EventFacts{Type: "left", Why: why})
	}
	f.close(i)
	if loaded {
		f.programs.keep(now, i, rule)
	}
}

// noteDemand asks for a plan where an instance went on and that changed what others may have: its job has no
// item left for instances that were to start, or there is more to know of how long a reserved host takes.
func (pl *planning) noteDemand(i *model.Instance) {
	left := i.Job.Pending()
	if left == 0 || left < pl.unmet[i.Job.ID] || (pl.admission.reserved != nil &&
		(pl.admission.reserved.host == i.Host || i.Job.DoneCount == 1)) {
		pl.planStale = true
	}
}

// finish processes a worker's report that an attempt has ended.
func (f *Farm) finish(now time.Time, i *model.Instance, r message.ReportedEnd) {
	r = i.Believed(now, f.policy.WallSlack, r)
	if r.Code.ForLicence() && i.Attempt.Holds[r.Resource] == 0 {
		r.Code = "" // a retry is charged
	}
	end := facts.EndAttempt{ExitCode: r.ExitCode, Signal: r.Signal, Wall: r.Wall, Suspended: r.Suspended, CPU: r.CPU,
		Peak: r.Peak}
	closes := i.Stopping()
	end.Why = facts.EndOf(r.Cause(), r.ExitCode, r.Signal, r.Reason)
	switch {
	case r.Outcome == "exit" && r.ExitCode != nil && *r.ExitCode == 0: // it was done before our order reached it
		end.State, end.Why = facts.Done, r.Remark()
		if model.OrderOn(i).Reason == facts.ReasonMigrated { // the next term is to know that the job avoids the host
			end.Why = model.OrderOn(i)
		}
	case i.Stopping() && i.Killed():
		end.State = facts.Killed
		end.Again = facts.Never
		end.Why = model.OrderOn(i)
	case i.Stopping():
		end.State = facts.Preempted
		end.Again = facts.ByItself
		end.Why = model.OrderOn(i)
	default:
		closes = f.endUnstopped(now, i, r, &end)
	}
	end.Found = r.Found
	f.endAttempt(now, i, end)
	if end.State == facts.Done {
		for name := range i.Attempt.Holds {
			f.licences.Found(name)
		}
	}
	loaded := r.Loaded && i.Job.LoadOnce()
	if i.Next != nil && f.takeNext(now, i, &end, closes) {
		f.maybeFinish(now, i.Job)
		return
	}
	if closes {
		f.close(i)
		f.resources.lower(now, i, end)
		if loaded {
			f.programs.keep(now, i, planner.InstanceLeaves)
		}
	} else {
		f.nextItemOrClose(now, i, loaded)
	}
	f.maybeFinish(now, i.Job)
}

// endUnstopped says how an attempt that no one stopped has ended, and whether its instance closes.
func (f *Farm) endUnstopped(now time.Time, i *model.Instance, r message.ReportedEnd,
	end *facts.EndAttempt) (closes bool) {
	switch end.Reason {
	case facts.ReasonPreflight: // an instance on another host may pass it
		end.State, end.Again = facts.Failed, i.Again(true)
		return true
	case facts.ReasonExit, facts.ReasonSignal, facts.ReasonLaunchFailed, facts.ReasonAgendaPreflight,
		facts.ReasonPostflight, facts.ReasonOutputMissing, facts.ReasonLogError, facts.ReasonNoReport:
		// the item itself caused this end, so it costs a retry
		end.State, end.Again = facts.Failed, i.Again(false)
		return false
	case facts.ReasonTimeLimit:
		end.Why = i.TimedOut(r)
		end.State, end.Again = facts.Failed, i.Again(end.Params.Option == "timelimit")
		return false
	case facts.ReasonWorkerStopped, facts.ReasonHostMemoryLow, facts.ReasonHostSwapping, facts.ReasonHostInUse,
		facts.ReasonNotWanted:
		end.State, end.Again = facts.Preempted, facts.ByItself
		return true
	case facts.ReasonNoLicence:
		f.noLicence(i, r, end)
		return true
	case facts.ReasonOutOfMemory:
		f.admission.outOfMemory(now, i, r, end)
		return true
	case facts.ReasonMemoryUnavailable:
		i.Host.FullUntil = now.Add(fullWait)
		i.Host.Noted()
	case facts.ReasonHostRefused, facts.ReasonUIDDiffers:
		i.Host.Refuses[i.Job.User] = fit.Refuses{Until: now.Add(fit.RefusedFor)}
		i.Host.Noted()
	case facts.ReasonFolderMissing, facts.ReasonFolderDenied, facts.ReasonEnvironment:
		f.lacks.note(now, i, r.Reason, end)
		return true
	case facts.ReasonUnknownOutcome: // it may be anybody's fault; the third such end of an item holds it
		end.Why = facts.Because(facts.ReasonUnknownOutcome, facts.Params{Outcome: r.Outcome}, r.Reason)
	}
	end.State, end.Again = facts.Lost, facts.ByItself // not the item's fault: no retry is charged
	return true
}
