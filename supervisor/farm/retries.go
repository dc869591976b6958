package farm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/model"
	"qb/supervisor/outbox"
)

// retries is what the farm looks after of items that failed and are to run again, and of jobs whose time has not come.
type retries struct {
	pausing  map[facts.JobID]*model.Job // have items that wait before they are tried again
	avoiding map[facts.JobID]*model.Job // avoid hosts on which their items failed
	delayed  map[facts.JobID]*model.Job // their start has not come
}

// delay keeps a job that has not started from starting anything before its start, also after a change of leader whose clock is behind.
func (r *retries) delay(now time.Time, j *model.Job) {
	if j.Delayed = j.FirstStart.IsZero() && now.Before(j.StartsAt()); j.Delayed {
		r.delayed[j.ID] = j
	} else {
		delete(r.delayed, j.ID)
	}
}

// startDelayed lets jobs start whose start has come.
func (f *Farm) startDelayed(now time.Time) {
	for id, j := range f.delayed { // in any order: a plan has the jobs in its own
		switch {
		case f.jobs.ByID[id] != j:
			delete(f.delayed, id)
		case !now.Before(j.StartsAt()):
			f.delay(now, j)
			j.Changes++
			f.planStale, f.planNow = true, true
		}
	}
}

// notePaused remembers a job that has paused items.
func (r *retries) notePaused(now time.Time, j *model.Job) {
	if j.Paused() > 0 {
		j.NotLater(now)
		r.pausing[j.ID] = j
	}
}

// unpause lets items be tried again that have waited long enough.
func (f *Farm) unpause(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(f.pausing)) {
		j := f.pausing[id]
		if f.jobs.ByID[id] == j && j.Unpause(now.Add(-time.Duration(j.RetryDelay)*time.Second)) > 0 {
			j.Changes++
			f.planStale = true
		}
		if f.jobs.ByID[id] != j || j.Paused() == 0 {
			delete(f.pausing, id)
		}
	}
}

// maybeAvoid keeps a job off a host on which several attempts of its failed one after the other, as long as another host
// serves it.
func (f *Farm) maybeAvoid(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j, h, most := i.Job, i.Host, i.Job.AvoidsAfter(f.policy.AvoidAfter)
	j.Strikes.Failed(h.ID, end.ID.Item, now)
	if j.Migrates() && end.Again == facts.ByItself {
		most = 1
	}
	failed := j.Strikes.Against(h.ID, now.Add(-f.policy.AvoidFor))
	if most == 0 || failed < most || now.Before(j.Avoids[h.ID]) || !f.servedElsewhere(now, j, h) {
		return
	}
	j.Strikes.Clear(h.ID)
	f.avoidUntil(j, h.ID, now.Add(f.policy.AvoidFor))
	f.recordOf(now, i, facts.EventFacts{Type: "host-avoided", By: model.LockedByFarm,
		Why: facts.Because(facts.ReasonFailedThere, facts.Params{Failed: failed, Host: h.ID, Limit: int64(f.policy.AvoidFor.Seconds())}, "")})
}

// leaveHost keeps a job off the host of an instance that a person has migrated, as long as another host serves the job.
func (f *Farm) leaveHost(now time.Time, i *model.Instance, by string) {
	if !f.servedElsewhere(now, i.Job, i.Host) {
		return
	}
	f.avoidUntil(i.Job, i.Host.ID, now.Add(f.policy.AvoidFor))
	f.recordOf(now, i, facts.EventFacts{Type: "host-avoided", By: by,
		Why: facts.Because(facts.ReasonMigrated, facts.Params{By: by}, "")})
}

// avoidLeft keeps a job that is taken up off the hosts that it was migrated from: their attempts' rows say so.
func (f *Farm) avoidLeft(now time.Time, j *model.Job) {
	left := map[facts.HostID]time.Time{}
	maps.Copy(left, j.Trouble.Left)
	for _, i := range j.Instances {
		if i.Attempt.Reason == facts.ReasonMigrated {
			left[i.Host.ID] = now
		}
	}
	for host, at := range left {
		if until := at.Add(f.policy.AvoidFor); !j.State.Final() && now.Before(until) {
			f.avoidUntil(j, host, until)
		}
	}
}

func (f *Farm) avoidUntil(j *model.Job, host facts.HostID, until time.Time) {
	avoids := map[facts.HostID]time.Time{} // explanations may hold the old one
	maps.Copy(avoids, j.Avoids)
	avoids[host] = until
	f.avoid(j, avoids)
}

func (f *Farm) avoid(j *model.Job, hosts map[facts.HostID]time.Time) {
	if j.Avoids = hosts; len(hosts) > 0 {
		f.avoiding[j.ID] = j
	} else {
		j.Avoids = nil
		delete(f.avoiding, j.ID)
	}
	j.Changes++
	f.hosts.Changes++
	f.planStale = true
}

// servedElsewhere says whether a host other than that one takes work and serves the job.
func (f *Farm) servedElsewhere(now time.Time, j *model.Job, than *model.Host) bool {
	return slices.ContainsFunc(f.hosts.Sorted(), func(h *model.Host) bool {
		return h != than && h.Usable(now, f.policy) && h.Serves(now, j)
	})
}

// mayHear says whether a host that serves the job has not been heard by this term yet, and is not lost.
func (f *Farm) mayHear(now time.Time, j *model.Job) bool {
	return slices.ContainsFunc(f.hosts.Sorted(), func(h *model.Host) bool {
		return !h.Heard && h.State(now, f.policy) != "lost" && h.LockedBy == "" && h.Serves(now, j)
	})
}

// lookForAvoided lets jobs return to hosts that they avoided for long enough, or if nothing else is left to them.
func (f *Farm) lookForAvoided(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(f.avoiding)) {
		j := f.avoiding[id]
		if f.jobs.ByID[id] != j || j.State.Final() {
			delete(f.avoiding, id)
			continue
		}
		left := maps.Clone(j.Avoids)
		maps.DeleteFunc(left, func(_ facts.HostID, until time.Time) bool { return !now.Before(until) })
		if len(j.Instances) == 0 && j.WantsInstances() && !f.servedElsewhere(now, j, nil) && !f.mayHear(now, j) {
			left = nil
		}
		if len(left) < len(j.Avoids) {
			f.avoid(j, left)
		}
	}
}

// tryHosts lets a job return at once to all hosts that it avoided, as a person has just asked for it to run.
func (f *Farm) tryHosts(j *model.Job) {
	j.Strikes = items.Strikes{}
	if len(j.Avoids) > 0 {
		f.avoid(j, nil)
	}
}

// startRemarks say when a job starts, as the farm has understood it.
func startRemarks(now, start time.Time) []string {
	switch {
	case start.IsZero():
		return nil
	case !now.Before(start):
		return []string{fmt.Sprintf("start %s has passed; the job may start at once", facts.Moment(start))}
	}
	return []string{fmt.Sprintf("starts at %s (UTC) at the earliest", facts.Moment(start))}
}

// refusesStart makes the start absolute that a change gives a job, or refuses it.
func refusesStart(now time.Time, j *model.Job, c *facts.JobChange) *outbox.Refusal {
	if !c.Has("start") {
		return nil
	}
	if !j.FirstStart.IsZero() {
		return outbox.Refused("conflict", "start: cannot change, as job %d has started; hold it with qbblock or qbsuspend", j.ID)
	}
	if err := c.Values.FixStart(now); err != nil {
		return &outbox.Refusal{Kind: "invalid", Text: err.Error(), Member: "start"}
	}
	return nil
}
