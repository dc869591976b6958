package farm

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/why/explain"
)

func (f *Farm) onJobSubmitted(now time.Time, e message.JobSubmitted) {
	if id, ok := f.jobs.BySubmission[e.Facts.Submission]; ok {
		f.out.Answer(e.Ticket, message.JobReply{Job: f.jobs.ByID[id].View(now, &f.policy),
			Remarks: []string{"this submission was received before"}})
		return
	}
	if e.Known != 0 {
		f.out.Answer(e.Ticket, message.JobReply{Job: facts.JobView{JobFacts: facts.JobFacts{ID: e.Known}},
			Remarks: []string{"this submission was received before"}})
		return
	}
	f.recall(now, e.Parents)
	j, remarks, refusal := f.examine(now, e)
	if refusal != nil {
		f.jobs.ForgetOldest()
		f.out.Reject(e.Ticket, refusal)
		return
	}
	f.jobs.Next++
	f.jobs.Enter(j)
	f.jobs.Watch(j)
	f.dependencies.appear(now, j)
	j.Learned = f.profiles.Estimate(now, j.ProfileKey())
	f.retries.delay(now, j)
	f.putJob(j)
	f.lacks.try(j)
	if j.State == facts.Active {
		f.planStale = true
	}
	f.out.Answer(e.Ticket, message.JobReply{Job: j.View(now, &f.policy), Remarks: remarks})
}

// examine is the job that a submission would be as the next one, with the remarks on it, or why it is refused. Nothing
// of the farm changes.
func (f *Farm) examine(now time.Time, e message.JobSubmitted) (*model.Job, []string, *outbox.Refusal) {
	row, remarks := f.policy.WithDefaults(e.Facts)
	if err := row.FixStart(now); err != nil {
		return nil, nil, &outbox.Refusal{Kind: "invalid", Text: err.Error(), Member: "start"}
	}
	account, refused := f.usage.accounts.Choose(row.User, e.Groups, row.Account)
	if refused != nil {
		refused.Member = "account"
		return nil, nil, refused
	}
	row.Account = account
	if row.PGrp == 0 {
		row.PGrp = f.jobs.Next
	}
	taken := cmp.Or(f.jobs.LabelTaken(row.PGrp, 0, row.Label, e.LabelHas),
		f.jobs.Crowded(row.PGrp, row.Label, 1+len(row.Before())))
	if taken != "" {
		return nil, nil, &outbox.Refusal{Kind: "conflict", Text: taken, Member: "label"}
	}
	groups, wrong := f.jobs.Conditions(e, row.PGrp)
	wrong = cmp.Or(wrong, f.jobs.Circle(row.PGrp, row.Label, slices.Concat(groups...)))
	if wrong != "" {
		return nil, nil, &outbox.Refusal{Kind: "invalid", Text: wrong, Member: "dependency"}
	}
	j, err := f.readJob(row, e.Agenda)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	if r := f.jobs.Quota.RefusesJob(f.policy.Limits, j.User,
		quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.Needs)); r != nil {
		return nil, nil, r
	}
	j.ID = f.jobs.Next
	links := f.jobs.Whole(j, groups)
	if much := f.jobs.TooMuch(j, links); much != "" {
		return nil, nil, &outbox.Refusal{Kind: "invalid", Text: much, Member: "dependency"}
	}
	j.WaitFor = links
	j.State = facts.Active
	j.SubmittedAt = now
	j.FinishedAt = time.Time{}
	j.Version = 0
	if slices.ContainsFunc(links, func(l facts.Link) bool { return !l.Each() }) {
		j.State = facts.Blocked
	}
	if e.Blocked {
		j.State, j.BlockedBy = facts.Blocked, e.By
	}
	j.Delayed = now.Before(j.StartsAt())
	remarks = append(append(remarks, j.StartRemarks(now)...), append(j.FlagRemarks(), f.mailRemarks(j)...)...)
	remarks = append(remarks, j.ItemRemarks(j.Entries)...)
	remarks = append(remarks, j.LabelRemarks()...)
	remarks = append(remarks, j.WideRemarks(f.hosts.Each())...)
	remarks = append(remarks, j.Asks().PathRemarks(f.hosts.Each())...)
	return j, append(append(remarks, f.fitRemarks(now, j, e.Account)...), fit.CaseRemarks(f.hosts.Each(), &j.JobFacts)...),
		nil
}

// CheckSubmission is what the farm would say to a submission.
func (f *Farm) CheckSubmission(now time.Time, e message.JobSubmitted) (remarks []string, refusal *outbox.Refusal) {
	_, remarks, refusal = f.examine(now, e)
	return remarks, refusal
}

// suppose looks at the jobs of a submission under the limits and conditions that would act on them. They are none of
// the farm's. Remarks are those on all.
func (f *Farm) suppose(now time.Time, list []message.JobSubmitted,
	look func([]*model.Job)) (remarks []string, refusal *outbox.Refusal) {
	jobs := make([]*model.Job, len(list))
	for n, e := range list {
		j, said, refusal := f.examine(now, e)
		if refusal != nil {
			return nil, refusal
		}
		j.ID += facts.JobID(n)
		defer f.jobs.Suppose(j)()
		jobs[n] = j
		remarks = append(remarks, said...)
	}
	look(jobs)
	return remarks, nil
}

// ExplainSubmission says why items of a submission would wait.
func (f *Farm) ExplainSubmission(now time.Time, e message.JobSubmitted) (why facts.Why) {
	_, _ = f.suppose(now, []message.JobSubmitted{e}, func(jobs []*model.Job) {
		// a submission that is refused now waits for nothing
		j := jobs[0]
		f.usage.limit(now, j)
		f.admission.refreshNeed(now, j)
		explained := f.explained(now)
		explained.Jobs = append(explained.Jobs, f.explainedJob(now, j))
		explained.NeedIfAsked = func(_ facts.JobID, bytes int64) int64 { return f.admission.needIfAsked(now, j, bytes) }
		why, _ = explain.New(explained).Why(&explained.Jobs[len(explained.Jobs)-1])
	})
	return why
}

// unreadable is the refusal of a job or of a change whose texts cannot be read.
func unreadable(err error) *outbox.Refusal {
	refusal := outbox.Refused("invalid", "%v", err)
	if fault := (*fit.Fault)(nil); errors.As(err, &fault) {
		refusal.Member = fault.Member
	}
	return refusal
}

func (f *Farm) onJobModified(now time.Time, e message.JobModified) {
	j, given, to := f.jobs.ByID[e.Job], &e.Change, &e.Change.Values
	switch {
	case j == nil || j.State.Final():
		f.out.Refuse(e.Ticket, "conflict", "job %d has ended; only unfinished jobs can be changed", e.Job)
		return
	case e.IfVersion != 0 && e.IfVersion != j.Version:
		f.out.Refuse(e.Ticket, "stale", "job %d was changed meanwhile (version %d, yours %d); read it again", e.Job,
			j.Version, e.IfVersion)
		return
	case given.Has("priority") && to.Priority < 1:
		f.out.Refuse(e.Ticket, "invalid", "priority %d: the best is 1", to.Priority)
		return
	case given.Has("cpus") && (to.CPUs < 1 || to.CPUs > maxCPUs):
		f.out.Refuse(e.Ticket, "invalid", "cpus %d: give 1 to %d", to.CPUs, maxCPUs)
		return
	case given.Has("postflights") && len(to.Postflights) > 0 && j.HasAgenda():
		f.out.Refuse(e.Ticket, "invalid",
			"postflights: job %d has a range; give agenda_postflights, which run after each item", e.Job)
		return
	case given.Has("account") && to.Account != j.Account && !j.FirstStart.IsZero():
		f.out.Refuse(e.Ticket, "conflict",
			"account: cannot change, as job %d has started and its usage is charged to account %q; submit the remaining items as a new job with -account %q",
			j.ID, j.Account, to.Account)
		return
	}
	refused := refusesStart(now, j, given) // it makes a time of +SPAN
	remarks := append([]string{}, f.policy.TakeWidth(&to.MaxCPUs)...)
	changed := given.On(j.JobFacts)
	changed.PGrp = cmp.Or(changed.PGrp, j.ID)
	if refused = cmp.Or(refused, f.jobs.RefusesGroup(j, changed.PGrp, e.LabelHas)); refused != nil {
		f.out.Reject(e.Ticket, refused)
		return
	}
	if changed.Account != j.Account {
		account, refused := f.usage.accounts.Choose(j.User, e.Groups, changed.Account)
		if refused != nil {
			f.out.Reject(e.Ticket, refused)
			return
		}
		changed.Account = account
	}
	remarks = append(remarks, f.policy.Prioritize(&changed, &j.JobFacts, given.Has("priority"), e.Operator)...)
	n, err := f.readNeeds(changed, !given.Has("requirements", "reservations", "restrictions", "hostorder"))
	if err != nil {
		f.out.Reject(e.Ticket, unreadable(err))
		return
	}
	size := quota.SizeOf(&changed, j.Entries.Len(), &n)
	if r := f.jobs.Quota.RefusesChange(f.policy.Limits, j.User, j.Size, size); r != nil {
		f.out.Reject(e.Ticket, r)
		return
	}
	group, former := j.PGrp, j.JobFacts
	j.JobFacts, j.Needs = changed, n
	f.retries.delay(now, j)
	f.jobs.Rebind(j)
	f.jobs.Resize(j, size)
	j.TouchAll()
	f.admission.refreshNeed(now, j)
	remarks = append(remarks, f.changeRemarks(now, j, &former, given)...)
	f.dependencies.regroup(now, j, group)
	f.putJob(j)
	f.out.Record(now, facts.EventFacts{Type: "modified", Job: j.ID, Item: -1, Instance: -1, By: e.By,
		Why: facts.Why{Cause: given.String()}})
	f.planStale, f.planNow = true, true
	f.out.Answer(e.Ticket, message.JobReply{Job: j.View(now, &f.policy), Remarks: remarks,
		Changed: given.Changed(&former, &j.JobFacts)})
}

// changeRemarks say what a change has made of the job.
func (f *Farm) changeRemarks(now time.Time, j *model.Job, former *facts.JobFacts,
	given *facts.JobChange) (remarks []string) {
	if given.Has("reservations") {
		remarks = append(remarks, j.FlagRemarks()...)
	}
	if given.Has("mailaddress") {
		remarks = append(remarks, f.mailRemarks(j)...)
	}
	if given.Has("start") {
		remarks = append(remarks, j.StartRemarks(now)...)
	}
	if given.Has("system", "pathmap") {
		remarks = append(remarks, j.Asks().PathRemarks(f.hosts.Each())...)
	}
	if given.OfHosts() || given.Has("pathmap") {
		if unfit := f.fitRemarks(now, j, nil); unfit != nil {
			remarks = append(append(remarks, unfit...), "to take the change back: "+given.TakeBack(former))
		}
		remarks = append(remarks, fit.CaseRemarks(f.hosts.Each(), &j.JobFacts)...)
	}
	return remarks
}

// fitRemarks warns of a job that no host known now can run: hosts come and go, so it is accepted.
func (f *Farm) fitRemarks(now time.Time, j *model.Job, owner *fit.Account) []string {
	if remark := fit.Unserved(now, f.hosts.Present(now, &f.policy), j.User, owner); remark != "" {
		return []string{remark}
	}
	lists := len(j.Hosts) + len(j.OmitHosts) + len(j.Groups) + len(j.OmitGroups)
	if len(f.hosts.ByID) == 0 || (j.Requirements == "" && j.Reservations == "" && j.Restrictions == "" && lists == 0 &&
		facts.FamilyOf(j.System) == "") {
		return nil
	}
	if remarks := j.LicenceRemarks(f.licences.Has()); remarks != nil {
		return remarks
	}
	var refusals fit.Refusals
	for _, h := range f.hosts.Sorted() {
		why := h.Refusal(now, j, nil)
		if why.Serves() {
			return nil
		}
		refusals.Add(h.ID, why)
	}
	why := cmp.Or(fit.Unknown(&j.JobFacts, f.hosts.Each()), refusals.Text())
	return []string{"no host can run this job now, so the job waits until one can; " + why}
}
