package farm

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/share/planner"
)

// jobRow is what a plan knows of a job beside its row in the snapshot. The next plan goes on from it.
type jobRow struct {
	changes      uint64 // of the job, when the row was made
	first, after int    // its instances
	key          string // see fit.Keys
	step         int
	passing      bool // see LooksAtLoad
	draining     bool // some of its instances drained
}

func newSnapshot() *snapshot { return &snapshot{allowed: map[string][]int{}} }

// precedes says whether the snapshot p, which has its hosts, can go on from the last one: no host has come or gone.
func (last *snapshot) precedes(p *snapshot) bool {
	return len(last.hosts) == len(p.hosts) && (len(p.hosts) == 0 || &last.hosts[0] == &p.hosts[0])
}

// has says whether the job has a row.
func (p *snapshot) has(j *model.Job) bool { return j.Row < len(p.jobs) && p.jobs[j.Row] == j }

// planJob adds the job's row and its instances. Those of the last plan stand if nothing of the job has changed.
func (pl *planning) planJob(now time.Time, p, last *snapshot, j *model.Job) {
	at, row := len(p.jobs), jobRow{}
	if before := j.Row; before < len(last.jobs) && last.jobs[before] == j && last.rows[before].changes == j.Changes {
		row = last.rows[before]
		first := len(p.Running)
		p.Jobs = append(p.Jobs, last.Jobs[before])
		p.instances = append(p.instances, last.instances[row.first:row.after]...)
		p.Running = append(p.Running, last.Running[row.first:row.after]...)
		row.first, row.after = first, len(p.Running)
	} else {
		p.Jobs = append(p.Jobs, planner.SnapJob{
			ID: strconv.FormatInt(int64(j.ID), 10), Num: int64(j.ID), User: j.User, Priority: j.Standing(), Submit: j.Turn(),
			Cluster: j.Cluster,
			CPUs:    j.CPUs, MaxCPUs: j.MaxCPUs, Agenda: j.HasAgenda(), Slots: j.Needs.Slots,
			Global: j.GlobalOrder, Moved: j.LocalOrder != 0, Operator: j.OperatorPriority,
		})
		if takes := j.Claims(); len(takes) > 0 {
			p.Jobs[at].Takes = takes
		}
		row.changes = j.Changes
		row.passing = j.Requirements != "" && j.Needs.LooksAtLoad()
		row.first = len(p.Running)
		p.instances, p.Running = j.PlanInstances(p.instances, p.Running)
		row.after = len(p.Running)
	}
	for n := row.first; n < row.after && p.Running[n].Job != at; n++ {
		p.Running[n].Job = at
	}
	if draining := j.Parts[model.RoleDraining] > 0; draining || row.draining {
		// each plan decides which instances drain, so that is no change of the job
		for n := row.first; n < row.after; n++ {
			p.Running[n].Draining = p.instances[n].Draining
		}
		row.draining = draining
	}
	p.jobs, j.Row = append(p.jobs, j), at
	j.AddLimits(&p.Snapshot)
	job := &p.Jobs[at]
	job.Eligible = p.eligible(now, pl.admission, last, j, &row)
	job.Narrowed = row.passing || len(j.Needs.Seats) > 0
	job.Remaining = j.Remaining()
	job.Memory = j.MemoryForPlan()
	job.Weight = 1
	job.Fairshare = 1
	pl.usage.rankJob(now, p, job, j)
	j.LimitJob(job, &pl.policy.Share)
	job.VTime = 0 // under the lottery chance decides
	if pl.policy.CPUShare.Mode == "stride" {
		job.VTime = j.SlotShare.With(j.Advance(now, pl.policy.CPUShare.Quantile))
	}
	p.rows = append(p.rows, row)
	pl.admission.present(now, p, job, j)
}

// checkRows compares the rows of the last plan that the next one would go on from with what is.
func (pl *planning) checkRows() error {
	p := newSnapshot()
	p.hosts = pl.hosts.Sorted()
	if !pl.last.precedes(p) {
		return nil
	}
	for n, row := range pl.last.rows {
		j := pl.last.jobs[n]
		if pl.jobs.ByID[j.ID] != j || j.Changes != row.changes {
			continue
		}
		held, rows := j.PlanInstances(nil, nil)
		was := pl.last.Running[row.first:row.after]
		for k := range rows {
			rows[k].Job = n
			rows[k].Draining = k < len(was) && was[k].Draining
		}
		if !slices.Equal(held, pl.last.instances[row.first:row.after]) ||
			!slices.EqualFunc(rows, was, planner.SnapInstance.Equal) {
			return fmt.Errorf("job %d: a plan would see %+v, its instances are %+v", j.ID, was, rows)
		}
		if s := pl.last.Jobs[n]; s.Priority != j.Standing() || s.Slots != j.Needs.Slots || s.User != j.User ||
			s.Cluster != j.Cluster || s.Global != j.GlobalOrder || s.Submit != j.Turn() || s.Operator != j.OperatorPriority {
			return fmt.Errorf("job %d: a plan would see %+v, it is %+v", j.ID, s, j.JobFacts)
		}
	}
	return nil
}

// eligible lists the hosts that serve the job, by place, nil if all do. Jobs that ask for the same share a list.
func (p *snapshot) eligible(now time.Time, ad *admission, last *snapshot, j *model.Job, row *jobRow) []int {
	step := p.keys.Step(max(j.Needs.Memory, j.MemoryNeed))
	if row.key == "" || !p.likeHosts(last) || row.step != step {
		row.key, row.step = p.keys.Of(j.Asks()), step
	}
	list := p.serving(now, last, j, row)
	if r := ad.reserved; r != nil && !ad.mayUse(now, j, r.host, j.NextKind()) {
		list = p.but(row.key, list, r.host.Place)
	}
	return list
}

// likeHosts says whether all hosts are to jobs what they were to the last plan.
func (p *snapshot) likeHosts(last *snapshot) bool {
	return p.changes == last.changes && !p.keys.Choosy && !last.keys.Choosy
}

// serving lists the hosts that serve jobs with the row's key. As long as no host changes, the last plan's list is
// right.
func (p *snapshot) serving(now time.Time, last *snapshot, j *model.Job, row *jobRow) []int {
	list, known := p.allowed[row.key]
	if known {
		return list
	}
	if p.likeHosts(last) && !row.passing {
		list, known = last.allowed[row.key]
	}
	if !known {
		list = []int{}
		for n, h := range p.hosts {
			if h.Serves(now, j) {
				list = append(list, n)
			}
		}
		if len(list) == len(p.hosts) {
			list = nil
		}
	}
	p.allowed[row.key] = list
	return list
}

// but is a list without the host that is kept for another job.
func (p *snapshot) but(key string, list []int, kept int) []int {
	key += "\x00but the host that is kept"
	rest, known := p.allowed[key]
	if !known {
		rest = []int{}
		for n := range p.hosts {
			if _, serves := slices.BinarySearch(list, n); n != kept && (serves || list == nil) {
				rest = append(rest, n)
			}
		}
		p.allowed[key] = rest
	}
	return rest
}
