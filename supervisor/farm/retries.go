package farm

import (
	"maps"
	"slices"
	"time"

	"qb/supervisor/farm/items"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// retries is what the farm looks after of items that failed and are to run again, and of jobs whose time has not come.
type retries struct {
	*shared
	pausing  map[facts.JobID]*model.Job // have items that wait before they are tried again
	avoiding map[facts.JobID]*model.Job // avoid hosts on which their items failed
	delayed  map[facts.JobID]*model.Job // their start has not come
}

// delay keeps a job that has not started from starting anything before its start, also after a change of leader whose
// clock is behind.
func (rt *retries) delay(now time.Time, j *model.Job) {
	if j.Delayed = j.FirstStart.IsZero() && now.Before(j.StartsAt()); j.Delayed {
		rt.delayed[j.ID] = j
	} else {
		delete(rt.delayed, j.ID)
	}
}

// startDelayed lets jobs start whose start has come.
func (rt *retries) startDelayed(now time.Time) {
	for id, j := range rt.delayed { // in any order: a plan has the jobs in its own
		switch {
		case rt.jobs.ByID[id] != j:
			delete(rt.delayed, id)
		case !now.Before(j.StartsAt()):
			rt.delay(now, j)
			j.Changed()
			rt.planStale, rt.planNow = true, true
		}
	}
}

// notePaused remembers a job that has paused items.
func (rt *retries) notePaused(now time.Time, j *model.Job) {
	if j.Paused() > 0 {
		j.NotLater(now)
		rt.pausing[j.ID] = j
	}
}

// unpause lets items be tried again that have waited long enough.
func (rt *retries) unpause(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(rt.pausing)) {
		j := rt.pausing[id]
		if rt.jobs.ByID[id] == j && j.Unpause(now, j.PauseAfter(facts.Why{})) > 0 {
			j.Changed()
			rt.planStale = true
		}
		if rt.jobs.ByID[id] != j || j.Paused() == 0 {
			delete(rt.pausing, id)
		}
	}
}

// maybeAvoid keeps a job off a host on which several attempts of its failed one after the other, as long as another
// host serves it.
func (rt *retries) maybeAvoid(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j, h, most := i.Job, i.Host, i.Job.AvoidsAfter(rt.policy.AvoidAfter)
	j.Strikes.Failed(h.ID, end.ID.Item, now)
	if j.Migrates() && end.Again == facts.ByItself {
		most = 1
	}
	failed := j.Strikes.Against(h.ID, now.Add(-rt.policy.AvoidFor))
	if most == 0 || failed < most || now.Before(j.Avoids[h.ID].Until) || !rt.servedElsewhere(now, j, h) {
		return
	}
	j.Strikes.Clear(h.ID)
	rt.leaveFailing(now, i, failed)
}

// leaveFailing keeps a job off the host of an instance, where so many of its attempts have failed.
func (rt *retries) leaveFailing(now time.Time, i *model.Instance, failed int) {
	rt.avoidOne(i.Job, i.Host.ID, fit.Refuses{Until: now.Add(rt.policy.AvoidFor), Failed: failed})
	rt.recordOf(now, i, facts.EventFacts{Type: "host-avoided", By: model.LockedByFarm,
		Why: facts.Because(facts.ReasonFailedThere, facts.Params{Failed: failed, Host: i.Host.ID,
			Limit: int64(rt.policy.AvoidFor.Seconds())}, "")})
}

// leaveHost keeps a job off the host of an instance that a person has migrated, as long as another host serves the job.
func (rt *retries) leaveHost(now time.Time, i *model.Instance, by string) {
	if !rt.servedElsewhere(now, i.Job, i.Host) {
		return
	}
	rt.avoidOne(i.Job, i.Host.ID, fit.Refuses{Until: now.Add(rt.policy.AvoidFor)})
	rt.recordOf(now, i, facts.EventFacts{Type: "host-avoided", By: by,
		Why: facts.Because(facts.ReasonMigrated, facts.Params{By: by}, "")})
}

// avoidLeft keeps a job that is taken up off the hosts that it was migrated from: their attempts' rows say so.
func (rt *retries) avoidLeft(now time.Time, j *model.Job) {
	left := map[facts.HostID]time.Time{}
	maps.Copy(left, j.Trouble.Left)
	for _, i := range j.Instances {
		if model.OrderOn(i).Reason == facts.ReasonMigrated {
			left[i.Host.ID] = now
		}
	}
	for host, at := range left {
		if until := at.Add(rt.policy.AvoidFor); !j.State.Final() && now.Before(until) {
			rt.avoidOne(j, host, fit.Refuses{Until: until})
		}
	}
}

func (rt *retries) avoidOne(j *model.Job, host facts.HostID, no fit.Refuses) {
	avoids := map[facts.HostID]fit.Refuses{} // explanations may hold the old one
	maps.Copy(avoids, j.Avoids)
	avoids[host] = no
	rt.avoid(j, avoids)
}

func (rt *retries) avoid(j *model.Job, hosts map[facts.HostID]fit.Refuses) {
	for _, list := range []map[facts.HostID]fit.Refuses{j.Avoids, hosts} {
		for host := range list {
			if h := rt.hosts.ByID[host]; h != nil {
				rt.hosts.Alter(h)
			}
		}
	}
	if j.Avoids = hosts; len(hosts) > 0 {
		rt.avoiding[j.ID] = j
	} else {
		j.Avoids = nil
		delete(rt.avoiding, j.ID)
	}
	j.Changed()
	rt.planStale = true
}

// servedElsewhere says whether a host other than that one serves the job and takes work, or may: this term has not
// heard it yet, and it is not lost.
func (rt *retries) servedElsewhere(now time.Time, j *model.Job, than *model.Host) bool {
	return slices.ContainsFunc(rt.hosts.Sorted(), func(h *model.Host) bool {
		unheard := !h.Heard && h.State(now, rt.policy) != "lost" && h.LockedBy == ""
		return h != than && (unheard || h.Usable(now, rt.policy)) && h.Serves(now, j)
	})
}

// lookForAvoided lets jobs return to hosts that they avoided for long enough, or if nothing else is left to them.
func (rt *retries) lookForAvoided(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(rt.avoiding)) {
		j := rt.avoiding[id]
		if rt.jobs.ByID[id] != j || j.State.Final() {
			delete(rt.avoiding, id)
			continue
		}
		left := maps.Clone(j.Avoids)
		maps.DeleteFunc(left, func(_ facts.HostID, no fit.Refuses) bool { return !now.Before(no.Until) })
		if len(j.Instances) == 0 && j.WantsInstances() && !rt.servedElsewhere(now, j, nil) {
			left = nil
		}
		if len(left) < len(j.Avoids) {
			rt.avoid(j, left)
		}
	}
}

// tryHosts lets a job return at once to all hosts that it avoided, as a person has just asked for it to run.
func (rt *retries) tryHosts(j *model.Job) {
	j.Strikes = items.Strikes{}
	if len(j.Avoids) > 0 {
		rt.avoid(j, nil)
	}
}

// refusesStart makes the start absolute that a change gives a job, or refuses it.
func refusesStart(now time.Time, j *model.Job, c *facts.JobChange) *outbox.Refusal {
	if !c.Has("start") {
		return nil
	}
	if !j.FirstStart.IsZero() {
		return outbox.Refused("conflict", "start: cannot change, as job %d has started; hold it with qbblock or qbsuspend",
			j.ID)
	}
	if err := c.Values.FixStart(now); err != nil {
		return &outbox.Refusal{Kind: "invalid", Text: err.Error(), Member: "start"}
	}
	return nil
}
