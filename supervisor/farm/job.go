package farm

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// readJob reads the texts of a new job, whose agenda may have been read before.
func (f *Farm) readJob(row facts.JobFacts, a *agenda.Agenda) (_ *model.Job, err error) {
	if a == nil {
		if a, err = agenda.Parse(row.Agenda, f.policy.MaxItems); err != nil {
			return nil, err
		}
	}
	n, err := f.readNeeds(row, false)
	if err != nil {
		return nil, err
	}
	return model.NewJob(row, items.New(a), n), nil
}

// maybeFinish ends the job when nothing of it waits or runs any more.
func (f *Farm) maybeFinish(now time.Time, j *model.Job) {
	if j.State.Final() || !j.Finished() {
		return
	}
	j.State = j.EndState()
	j.FinishedAt = now
	j.BlockedBy = ""
	f.putJob(j)
	f.recordCountedSlow(now, j)
	e := facts.EventFacts{Type: "job-" + string(j.State), Job: j.ID, Item: -1, Instance: -1}
	if j.State == facts.FailedJob {
		j.FailedBy = j.Failure()
		e.Why = facts.FailedItems(&j.JobFacts, j.Tally.Count(agenda.Failed), j.Tally.Len(), j.FailedBy)
	}
	f.out.Record(now, e)
	f.mailEnd(now, j, e.Cause)
	f.jobs.Final = append(f.jobs.Final, j.ID)
	f.dependencies.freeing = append(f.dependencies.freeing, ended{j.ID, j.State})
	f.jobs.Unwatch(j)
	f.jobs.ForgetOldest()
}

// mailEnd adds the mails that tell of the job's end, to the commit of the end.
func (f *Farm) mailEnd(now time.Time, j *model.Job, cause string) {
	if !f.policy.Mail.On || !j.WantsMail() {
		return
	}
	m := facts.MailFacts{
		Job: j.ID, Owner: j.User, Name: j.Name, State: j.State, Cause: cause, SubmittedAt: j.SubmittedAt, EndedAt: now,
		Due:      now,
		Complete: j.Tally.Count(agenda.Complete), Failed: j.Tally.Count(agenda.Failed), Killed: j.Tally.Count(agenda.Killed),
		Items: j.Tally.Len(),
	}
	to := j.MailAddress
	if len(to) == 0 {
		to = []string{""}
	}
	for _, m.To = range to {
		f.out.Write(facts.AddMail{Mail: m})
	}
}

// mailRemarks warn of a job whose end the farm cannot tell by mail.
func (f *Farm) mailRemarks(j *model.Job) (remarks []string) {
	switch {
	case !j.WantsMail():
	case !f.policy.Mail.On:
		remarks = append(remarks, "no mail will be sent: this farm has no mail server (mail_host)")
	case len(j.MailAddress) == 0 && !f.policy.Mail.Domain:
		remarks = append(remarks, "no mail will be sent: this farm knows no addresses of users (mail_domain); add -address ADDRESS")
	}
	return remarks
}

// onJobsAged answers which of the jobs the farm does not hold any more; a job that runs again, or whose items others
// wait for, it keeps.
func (f *Farm) onJobsAged(e message.JobsAged) {
	reply := message.AgedReply{Jobs: make([]facts.JobID, 0, len(e.Jobs))}
	for _, id := range e.Jobs {
		j := f.jobs.ByID[id]
		if j != nil && (!j.State.Final() || j.Watched()) {
			continue
		}
		if j != nil {
			f.jobs.Forget(j)
		}
		reply.Jobs = append(reply.Jobs, id)
	}
	f.jobs.Final = slices.DeleteFunc(f.jobs.Final, func(id facts.JobID) bool { return f.jobs.ByID[id] == nil })
	f.out.Answer(e.Ticket, reply)
}

// ended is a job that became final, and what as, for it may be forgotten before all its children are notified; or one
// that goes on, of which items ended that others wait for.
type ended struct {
	id    facts.JobID
	state facts.JobState
}

// release takes the links that the job's end fulfils out of the jobs that wait for it; false if it left some for later.
// Of a job that a person has run again meanwhile no child is freed any more: no commit shows a child that goes on
// beside a parent that has not ended, and the next term, which knows the rows alone, would do the same.
func (de *dependencies) release(now time.Time, parent ended) (all bool) {
	if j := de.jobs.ByID[parent.id]; j != nil && parent.state.Final() && j.State != parent.state {
		return true
	}
	waiting := de.jobs.Children[parent.id]
	var still []facts.JobID
	for n, id := range waiting {
		if de.out.Spent() {
			de.jobs.Children[parent.id] = append(still, waiting[n:]...)
			return false
		}
		child := de.jobs.ByID[id]
		if child == nil || child.State.Final() {
			continue
		}
		before := child.WaitFor
		child.WaitFor = de.jobs.After(child, parent.id, parent.state)
		if slices.Equal(child.WaitFor, before) {
			still = append(still, id)
			continue
		}
		de.jobs.Unwatch(child)
		if !child.Holds() && child.State == facts.Blocked && child.BlockedBy == "" {
			child.State = facts.Active
			de.planStale = true
			why := facts.Because(facts.ReasonDependencyEnded, facts.Params{Job: parent.id, State: string(parent.state)}, "")
			if !parent.state.Final() {
				why = facts.Because(facts.ReasonItemsEnded, facts.Params{Job: parent.id}, "")
			}
			de.out.Record(now, facts.EventFacts{Type: "unblocked", Job: child.ID, Item: -1, Instance: -1, Why: why})
		}
		de.putJob(child)
		if slices.ContainsFunc(child.WaitFor, func(l facts.Link) bool { return l.Job == parent.id }) {
			still = append(still, id)
		}
	}
	if len(still) == 0 {
		delete(de.jobs.Children, parent.id)
	} else {
		de.jobs.Children[parent.id] = still
	}
	return true
}
