package farm

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/quota"
)

func (f *Farm) onJobSubmitted(now time.Time, e JobSubmitted) {
	if id, ok := f.bySubmission[e.Facts.Submission]; ok && e.Facts.Submission != "" {
		f.out.Answer(e.Ticket, JobReply{Job: f.jobFacts(now, f.jobs[id]), Remarks: []string{"this submission was received before"}})
		return
	}
	if e.Known != 0 {
		f.out.Answer(e.Ticket, JobReply{Job: facts.JobView{JobFacts: facts.JobFacts{ID: e.Known}}, Remarks: []string{"this submission was received before"}})
		return
	}
	row, remarks := f.withDefaults(e.Facts)
	links, refusal := f.openLinks(e)
	if refusal != "" {
		f.out.Refuse(e.Ticket, "invalid", "%s", refusal)
		return
	}
	j, err := f.readJob(row, e.Agenda)
	if err != nil {
		f.out.Refuse(e.Ticket, "invalid", "%v", err)
		return
	}
	if r := f.quota.RefusesJob(f.policy.Limits, j.User, quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.needs)); r != nil {
		f.out.Reject(e.Ticket, r)
		return
	}
	j.ID = f.nextJob
	f.nextJob++
	j.WaitFor, j.State, j.SubmittedAt, j.FinishedAt, j.Version = links, facts.Active, now, time.Time{}, 0
	if j.PGrp == 0 {
		j.PGrp = j.ID
	}
	if len(links) > 0 {
		j.State = facts.Blocked
	}
	if e.Blocked {
		j.State, j.BlockedBy = facts.Blocked, e.By
	}
	remarks = append(append(remarks, j.flagRemarks()...), f.fitRemarks(now, j, e.Account)...)
	f.enter(j)
	if j.Submission != "" {
		f.bySubmission[j.Submission] = j.ID
	}
	f.waitOn(j)
	f.putJob(j)
	if j.State == facts.Active {
		f.dirty = true
	}
	f.out.Answer(e.Ticket, JobReply{Job: f.jobFacts(now, j), Remarks: remarks})
}

func (f *Farm) withDefaults(row facts.JobFacts) (facts.JobFacts, []string) {
	remarks := []string{}
	if row.Priority == 0 {
		row.Priority = f.policy.DefaultPriority
	}
	remarks = append(remarks, f.capPriority(&row.Priority)...)
	if row.Cluster == "" {
		row.Cluster = f.policy.DefaultCluster
	}
	if row.CPUs == 0 {
		row.CPUs = 1
	}
	if row.Agenda.Range == "" {
		row.Agenda.Runs = row.CPUs
	}
	return row, append(remarks, f.capRemarks(row.MaxCPUs)...)
}

// capPriority keeps a priority within the site's limit, with a remark if it was beyond.
func (f *Farm) capPriority(priority *int) []string {
	given, limit := *priority, f.policy.MaxPriority
	if given <= limit {
		return nil
	}
	*priority = limit
	return []string{fmt.Sprintf("priority %d is taken as supervisor_max_priority = %d", given, limit)}
}

func (f *Farm) capRemarks(max *int) []string {
	limit := f.policy.Share.MaxCPUsLimit
	if max != nil && *max > limit {
		return []string{fmt.Sprintf("max_cpus %d is capped at supervisor_max_cpus_limit = %d", *max, limit)}
	}
	return nil
}

// openLinks are the conditions that are not yet true; a condition that can no longer come true by itself
// is kept, as its job may be retried.
func (f *Farm) openLinks(e JobSubmitted) ([]facts.Link, string) {
	if e.Facts.Dependency == "" {
		return nil, ""
	}
	links, err := ParseDependency(e.Facts.Dependency)
	if err != nil {
		return nil, err.Error()
	}
	var open []facts.Link
	for _, l := range links {
		state, known := e.Links[l.Job]
		if parent := f.jobs[l.Job]; parent != nil {
			state, known = parent.State, true
		}
		if l.Job == f.nextJob || !known {
			return nil, fmt.Sprintf("dependency on job %d: there is no such job", l.Job)
		}
		if !l.Satisfied(state) && !slices.Contains(open, l) {
			open = append(open, l)
		}
	}
	return open, ""
}

func (f *Farm) onJobModified(now time.Time, e JobModified) {
	j, given, to := f.jobs[e.Job], &e.Change, &e.Change.Values
	switch {
	case j == nil || j.State.Final():
		f.out.Refuse(e.Ticket, "conflict", "job %d has ended; only unfinished jobs can be changed", e.Job)
		return
	case e.IfVersion != 0 && e.IfVersion != j.Version:
		f.out.Refuse(e.Ticket, "stale", "job %d was changed meanwhile (version %d, yours %d); read it again", e.Job, j.Version, e.IfVersion)
		return
	case given.Has("priority") && to.Priority < 1:
		f.out.Refuse(e.Ticket, "invalid", "priority %d: the best is 1", to.Priority)
		return
	case given.Has("cpus") && (to.CPUs < 1 || to.CPUs > maxCPUs):
		f.out.Refuse(e.Ticket, "invalid", "cpus %d: give 1 to %d", to.CPUs, maxCPUs)
		return
	case given.Has("account") && to.Account != j.Account && !j.FirstStart.IsZero():
		f.out.Refuse(e.Ticket, "conflict", "account: cannot change, as job %d has started and its usage is charged to account %q; submit the remaining items as a new job with -account %q",
			j.ID, j.Account, to.Account)
		return
	}
	changed := given.On(j.JobFacts)
	remarks := append([]string{}, f.capRemarks(to.MaxCPUs)...)
	if given.Has("priority") {
		remarks = append(remarks, f.capPriority(&changed.Priority)...)
	}
	n, err := f.readNeeds(changed, !given.Has("requirements", "reservations", "restrictions", "hostorder"))
	if err != nil {
		f.out.Refuse(e.Ticket, "invalid", "%v", err)
		return
	}
	size := quota.SizeOf(&changed, j.Entries.Len(), &n)
	if r := f.quota.RefusesChange(f.policy.Limits, j.User, j.size, size); r != nil {
		f.out.Reject(e.Ticket, r)
		return
	}
	j.JobFacts, j.needs = changed, n
	f.quota.Remove(j.User, j.size)
	f.quota.Add(j.User, size)
	j.size = size
	j.touchAll()
	f.refreshNeed(now, j)
	if given.Has("reservations") {
		remarks = append(remarks, j.flagRemarks()...)
	}
	if given.OfHosts() {
		remarks = append(remarks, f.fitRemarks(now, j, nil)...)
	}
	f.putJob(j)
	f.out.Record(now, facts.EventFacts{Type: "modified", Job: j.ID, Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: given.String()}})
	f.dirty, f.urgent = true, true
	f.out.Answer(e.Ticket, JobReply{Job: f.jobFacts(now, j), Remarks: remarks})
}

// fitRemarks warns of a job that no host known now can run: hosts come and go, so it is accepted.
func (f *Farm) fitRemarks(now time.Time, j *job, owner *fit.Account) []string {
	if remark := fit.Unserved(now, f.present(now), j.User, owner); remark != "" {
		return []string{remark}
	}
	lists := len(j.Hosts) + len(j.OmitHosts) + len(j.Groups) + len(j.OmitGroups)
	if len(f.hosts) == 0 || (j.Requirements == "" && j.Reservations == "" && j.Restrictions == "" && lists == 0) {
		return nil
	}
	if remarks := f.licenceRemarks(j); remarks != nil {
		return remarks
	}
	hosts := f.sortedHosts()
	if slices.ContainsFunc(hosts, func(h *host) bool { return h.serves(now, j) }) {
		return nil
	}
	var refusals fit.Refusals
	for _, h := range hosts {
		refusals.Add(h.ID, h.refuses(now, j, nil))
	}
	return []string{"no host of the farm can run this job as it asks, so it waits until one can; " + refusals.Text()}
}

// present are the hosts that report, locked ones included: a lock ends by itself or is a person's word.
func (f *Farm) present(now time.Time) iter.Seq[*fit.Host] {
	return func(yield func(*fit.Host) bool) {
		for _, h := range f.hosts {
			if state := h.state(now, f.policy); (state == "up" || state == "locked") && !yield(&h.Host) {
				return
			}
		}
	}
}

// licenceRemarks warns of a job whose instance takes more of a licence than the farm has in all.
func (f *Farm) licenceRemarks(j *job) (remarks []string) {
	for _, name := range slices.Sorted(maps.Keys(j.needs.Takes)) {
		if has, takes := f.policy.Resources[name], j.needs.Takes[name]; !strings.HasPrefix(name, "host.") && takes > has {
			remarks = append(remarks, fmt.Sprintf("an instance takes %d %s and the farm has %d in all (supervisor_global_resources), so the job waits until it has more", takes, name, has))
		}
	}
	return remarks
}
