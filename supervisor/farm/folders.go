package farm

import (
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// A working folder that is missing on a host, or closed there, is the host's fault: the item runs elsewhere, uncharged.
// If it is so on all hosts it is the job's fault, and the item fails; folderTries hosts are enough to say so of a job
// of which no item has run yet.
const (
	folderTries = 3
	lackedNoted = 300 // items of a job whose hosts may have to be reported
)

// folders is what the farm knows of working folders that hosts lack.
type folders struct {
	*shared
	lacking bool // some host may lack one
}

// lack says how an attempt ends that could not start in its working folder. Detail is what its worker reports.
func (fo *folders) lack(now time.Time, i *model.Instance, detail string, end *facts.EndAttempt) {
	j, h := i.Job, i.Host
	folder := fit.FolderOf(end.Reason, &j.JobFacts)
	if !h.Folders.Lack(now, folder) {
		h.Refuses[j.User] = fit.Refuses{Until: now.Add(fit.RefusedFor)}
	}
	fo.lacking = true
	fo.hosts.Alter(h)
	end.State, end.Again = facts.Lost, facts.ByItself
	end.Params = facts.Params{Folder: folder.Path, Host: h.ID, User: folder.User}
	switch lacked := (model.LackedBy{Item: i.Attempt.AttemptID, Host: h.ID, Folder: folder}); {
	case j.FolderSeen:
		fo.blame(now, lacked)
	case fo.lackedEverywhere(now, j, &end.Params.Hosts):
		end.State, end.Again = facts.Failed, facts.Never
	case len(j.Lacked) < lackedNoted:
		j.Lacked = append(j.Lacked, lacked)
	}
	end.Why = facts.Because(end.Reason, end.Params, detail)
}

// lackedEverywhere says whether a job of which nothing has run lacks its folder on every host that it may use, or on so
// many that the others need not be tried: at least as many as may still prove the contrary. Tried is then how many.
func (fo *folders) lackedEverywhere(now time.Time, j *model.Job, tried *int) bool {
	others := len(j.Instances) - 1
	if j.State != facts.Active || others > len(fo.hosts.ByID) {
		return false
	}
	lacking, left := 0, false
	for h := range fo.hosts.Present(now, &fo.policy) {
		if _, _, lacks := h.Folders.Of(now, &j.JobFacts); lacks {
			lacking++
		} else if others == 0 && lacking < folderTries && !left {
			left = fo.hosts.ByID[h.ID].Serves(now, j)
		}
	}
	if lacking < max(folderTries, others) && (others > 0 || left) {
		return false
	}
	*tried = max(1, lacking)
	return true
}

// maybeBlockForFolder keeps the rest of a job from being tried whose item failed for want of a folder.
func (fa *faults) maybeBlockForFolder(now time.Time, j *model.Job, end facts.EndAttempt) {
	if end.State != facts.Failed || j.State != facts.Active || j.Pending() == 0 {
		return
	}
	why := facts.Because(end.Reason, end.Params, "")
	why.Cause = model.LockedByFarm + ": " + why.Cause + "; correct it, then retry the job and unblock it"
	fa.block(now, j, why)
}

// works notes that an item runs in its working folder: hosts that lack it are at fault.
func (fo *folders) works(now time.Time, i *model.Instance) {
	j := i.Job
	if i.Host.Folders.Works(&j.JobFacts) {
		fo.hosts.Alter(i.Host)
		fo.planStale = true
	}
	for _, lacked := range j.Lacked {
		fo.blame(now, lacked)
	}
	j.FolderSeen, j.Lacked = true, nil
}

func (fo *folders) blame(now time.Time, lacked model.LackedBy) {
	h := fo.hosts.ByID[lacked.Host]
	if h != nil && h.Folders.Blame(now, lacked.Folder, lacked.Item) {
		h.Noted()
		fo.out.Record(now, facts.EventFacts{Type: "host-suspect", Host: h.ID, Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: lacked.Folder.LackedBy(h.ID)})
	}
}

// try lets the job's working folder be tried at once on all hosts, as a person has just asked for the job to run.
func (fo *folders) try(j *model.Job) {
	j.FolderSeen, j.Lacked = false, nil
	fo.change(func(l *fit.Folders) bool { return l.Again(&j.JobFacts) })
}

// look lets folders be tried again that hosts lacked a while ago.
func (fo *folders) look(now time.Time) {
	fo.change(func(l *fit.Folders) bool { return l.Pass(now) })
}

func (fo *folders) change(change func(*fit.Folders) bool) {
	if !fo.lacking {
		return
	}
	fo.lacking = false
	for _, h := range fo.hosts.Sorted() {
		if change(&h.Folders) {
			fo.hosts.Alter(h)
			fo.planStale = true
		}
		fo.lacking = fo.lacking || h.Folders.Any()
	}
}
