package farm

import (
	"slices"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// A working folder that is missing on a host, or closed there, is the host's fault, and so is an environment that
// cannot be entered there: the item runs elsewhere, uncharged. If it is so on all hosts it is the job's fault, and the
// item fails; lackTries hosts are enough to say so of a job of which no item has run yet, or none was done.
const (
	lackTries   = 3
	lackedNoted = 300 // items of a job whose hosts may have to be reported
)

// lacks is what the farm knows of what hosts lack that jobs need.
type lacks struct {
	*shared
	any bool // some host may lack something
}

// note says how an attempt ends whose host lacks what it needs. Detail is what its worker reports.
func (la *lacks) note(now time.Time, i *model.Instance, detail string, end *facts.EndAttempt) {
	j, h := i.Job, i.Host
	lack := fit.LackOf(end.Reason, &j.JobFacts)
	if !h.Lacks.Note(now, lack) {
		h.Refuses[j.User] = fit.Refuses{Until: now.Add(fit.RefusedFor)}
	}
	la.any = true
	la.hosts.Alter(h)
	end.State, end.Again = facts.Lost, facts.ByItself
	end.Params = facts.Params{Folder: lack.Folder, Host: h.ID, User: lack.User, Job: lack.Job}
	elsewhere := j.FolderSeen
	if lack.Job != 0 {
		elsewhere = j.DoneCount > 0
	}
	switch lacked := (model.LackedBy{Item: i.Attempt.AttemptID, Host: h.ID, Lack: lack}); {
	case elsewhere:
		la.blame(now, lacked)
	case la.everywhere(now, j, &end.Params.Hosts):
		end.State, end.Again = facts.Failed, facts.Never
	case len(j.Lacked) < lackedNoted:
		j.Lacked = append(j.Lacked, lacked)
	}
	end.Why = facts.Because(end.Reason, end.Params, detail)
}

// everywhere says whether a job of which nothing has run finds what it needs on no host that it may use, or is missing
// it on so many that the others need not be tried: at least as many as may still prove the contrary. Tried is then how
// many.
func (la *lacks) everywhere(now time.Time, j *model.Job, tried *int) bool {
	others := len(j.Instances) - 1
	if j.State != facts.Active || others > len(la.hosts.ByID) {
		return false
	}
	lacking, left := 0, false
	for h := range la.hosts.Present(now, &la.policy) {
		if _, _, lacks := h.Lacks.Of(now, &j.JobFacts); lacks {
			lacking++
		} else if others == 0 && lacking < lackTries && !left {
			left = la.hosts.ByID[h.ID].Serves(now, j)
		}
	}
	if lacking < max(lackTries, others) && (others > 0 || left) {
		return false
	}
	*tried = max(1, lacking)
	return true
}

// maybeBlockForLack keeps the rest of a job from being tried whose item failed for want of what no host has.
func (fa *faults) maybeBlockForLack(now time.Time, j *model.Job, end facts.EndAttempt) {
	if end.State != facts.Failed || j.State != facts.Active || j.Pending() == 0 {
		return
	}
	why := facts.Because(end.Reason, end.Params, "")
	why.Cause = model.LockedByFarm + ": " + why.Cause + "; correct it, then retry the job and unblock it"
	fa.block(now, j, why)
}

// works notes that an item runs in its working folder: hosts that lack it are at fault.
func (la *lacks) works(now time.Time, i *model.Instance) {
	i.Job.FolderSeen = true
	la.found(now, i, i.Host.Lacks.FolderWorks(&i.Job.JobFacts), func(l model.LackedBy) bool { return l.Job == 0 })
}

// done notes that an item was done, so that it had all that its job needs: hosts that lack any of it are at fault.
func (la *lacks) done(now time.Time, i *model.Instance) {
	i.Job.FolderSeen = true
	la.found(now, i, i.Host.Lacks.AllWorks(&i.Job.JobFacts), func(model.LackedBy) bool { return true })
}

// found draws the conclusions where the host has what it was perhaps thought to lack, and other hosts lack that.
func (la *lacks) found(now time.Time, i *model.Instance, lacked bool, what func(model.LackedBy) bool) {
	if lacked {
		la.hosts.Alter(i.Host)
		la.planStale = true
	}
	i.Job.Lacked = slices.DeleteFunc(i.Job.Lacked, func(l model.LackedBy) bool {
		if !what(l) {
			return false
		}
		la.blame(now, l)
		return true
	})
}

func (la *lacks) blame(now time.Time, lacked model.LackedBy) {
	h := la.hosts.ByID[lacked.Host]
	if h != nil && h.Lacks.Blame(now, lacked.Lack, lacked.Item) {
		h.Noted()
		la.out.Record(now, facts.EventFacts{Type: "host-suspect", Host: h.ID, Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: lacked.LackedBy(h.ID)})
	}
}

// try lets what the job needs be tried at once on all hosts, as a person has just asked for the job to run.
func (la *lacks) try(j *model.Job) {
	j.FolderSeen, j.Lacked = false, nil
	la.change(func(l *fit.Lacks) bool { return l.Again(&j.JobFacts) })
}

// look lets be tried again what hosts lacked a while ago.
func (la *lacks) look(now time.Time) {
	la.change(func(l *fit.Lacks) bool { return l.Pass(now) })
}

func (la *lacks) change(change func(*fit.Lacks) bool) {
	if !la.any {
		return
	}
	la.any = false
	for _, h := range la.hosts.Sorted() {
		if change(&h.Lacks) {
			la.hosts.Alter(h)
			la.planStale = true
		}
		la.any = la.any || h.Lacks.Any()
	}
}
