package farm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/supervisor/planner"
)

// jobRow is what a plan knows of a job beside its row in the snapshot. The next plan goes on from it.
type jobRow struct {
	changes      uint64 // of the job, when the row was made
	first, after int    // its instances
	key          string // see fit.Keys
	step         int
	passing      bool // see LooksAtLoad
}

func newPlanned() *planned { return &planned{allowed: map[string][]int{}} }

// precedes says whether the snapshot p, which has its hosts, can go on from the last one: no host has come or gone.
func (last *planned) precedes(p *planned) bool {
	return len(last.hosts) == len(p.hosts) && (len(p.hosts) == 0 || &last.hosts[0] == &p.hosts[0])
}

// planJob adds the job's row and its instances. Those of the last plan stand if nothing of the job has changed.
func (f *Farm) planJob(now time.Time, p, last *planned, j *job) {
	at, row := len(p.jobs), jobRow{}
	if before := j.row; before < len(last.jobs) && last.jobs[before] == j && last.rows[before].changes == j.changes {
		row = last.rows[before]
		first := len(p.Running)
		p.Jobs = append(p.Jobs, last.Jobs[before])
		p.instances = append(p.instances, last.instances[row.first:row.after]...)
		p.Running = append(p.Running, last.Running[row.first:row.after]...)
		row.first, row.after = first, len(p.Running)
	} else {
		p.Jobs = append(p.Jobs, planner.SnapJob{
			ID: strconv.FormatInt(int64(j.ID), 10), Num: int64(j.ID), User: j.User, Priority: j.Priority, Submit: int64(j.ID), Cluster: j.Cluster,
			CPUs: j.CPUs, MaxCPUs: j.MaxCPUs, Agenda: j.hasAgenda(), Slots: j.needs.Slots,
		})
		if len(j.needs.Takes) > 0 {
			p.Jobs[at].Takes = j.needs.Takes
		}
		row.changes, row.passing, row.first = j.changes, j.Requirements != "" && j.needs.LooksAtLoad(), len(p.Running)
		p.instances, p.Running = j.planInstances(p.instances, p.Running)
		row.after = len(p.Running)
	}
	for n := row.first; n < row.after && p.Running[n].Job != at; n++ {
		p.Running[n].Job = at
	}
	p.jobs, j.row = append(p.jobs, j), at
	job := &p.Jobs[at]
	job.Eligible = p.eligible(now, &f.admission, last, j, &row)
	job.Remaining, job.Memory, job.Weight, job.Fairshare = j.remaining(), j.memoryForPlan(), 1, 1
	f.usage.rankJob(now, p, job, j)
	j.limitJob(job, &f.policy.Share)
	job.VTime = 0 // under the lottery chance decides
	if f.policy.CPUShare.Mode == "stride" {
		job.VTime = j.share.With(j.Advance(now, f.policy.CPUShare.Quantile))
	}
	p.rows = append(p.rows, row)
}

// planInstances adds those of the job's instances that a plan sees, by number: neither stopping nor sent away by a
// person.
func (j *job) planInstances(held []*instance, rows []planner.SnapInstance) ([]*instance, []planner.SnapInstance) {
	for _, i := range j.sortedInstances() {
		if i.stopping() || i.leaving {
			continue
		}
		held = append(held, i)
		rows = append(rows, planner.SnapInstance{ID: i.name(), Job: -1, Host: i.host.place, Kind: i.kind, Started: seconds(i.began),
			ItemStarted: seconds(i.attempt.StartedAt), HasItem: true, Protected: i.protected(), Memory: i.memoryForPlan()})
	}
	return held, rows
}

// checkRows compares the rows of the last plan that the next one would go on from with what is.
func (f *Farm) checkRows() error {
	p := newPlanned()
	p.hosts = f.hosts.sorted()
	if f.last == nil || !f.last.precedes(p) {
		return nil
	}
	for n, row := range f.last.rows {
		j := f.last.jobs[n]
		if f.jobs.byID[j.ID] != j || j.changes != row.changes {
			continue
		}
		held, rows := j.planInstances(nil, nil)
		for k := range rows {
			rows[k].Job = n
		}
		if was := f.last.Running[row.first:row.after]; !slices.Equal(held, f.last.instances[row.first:row.after]) || !slices.Equal(rows, was) {
			return fmt.Errorf("job %d: a plan would see %+v, its instances are %+v", j.ID, was, rows)
		}
		if s := f.last.Jobs[n]; s.Priority != j.Priority || s.CPUs != j.CPUs && j.limit == nil || s.Slots != j.needs.Slots || s.User != j.User || s.Cluster != j.Cluster {
			return fmt.Errorf("job %d: a plan would see %+v, it is %+v", j.ID, s, j.JobFacts)
		}
	}
	return nil
}

// planResources tells a plan what there is of the resources that its jobs take. Like slots, what instances on
// their way out hold counts as there; what they are to have who hold other amounts than their job now takes
// counts as that.
func (p *planned) addResources(all map[string]int64) {
	var names []string
	for n := range p.Jobs {
		for name := range p.Jobs[n].Takes {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return
	}
	p.Resources = map[string]int64{}
	for _, name := range names {
		if !strings.HasPrefix(name, "host.") {
			p.Resources[name] = all[name]
		}
	}
	for n, h := range p.hosts {
		p.Hosts[n].Resources = map[string]int64{}
		for _, name := range names {
			unseen := h.unseenOf(name)
			switch {
			case !strings.HasPrefix(name, "host."):
				p.Resources[name] -= unseen
			case h.Stock(name) > 0:
				p.Hosts[n].Resources[name] = max(0, h.Stock(name)-unseen)
			}
		}
	}
	for name, left := range p.Resources {
		p.Resources[name] = max(0, left)
	}
}

// unseenOf is what instances on the host hold of a resource beyond what a plan sees there.
func (h *host) unseenOf(name string) (sum int64) {
	for _, i := range h.instances {
		if !i.stopping() && !i.leaving {
			sum += i.attempt.Holds[name] - i.job.needs.Takes[name]
		}
	}
	return sum
}

// comingFree is what is left of a resource once those on their way out have gone: on one host, or of the whole
// farm with host nil.
func (ad *admission) comingFree(name string, h *host) int64 {
	if h == nil {
		left := ad.policy.Resources[name]
		for _, other := range ad.hosts.byID {
			left -= other.staying(name)
		}
		return left
	}
	return h.Stock(name) - h.staying(name)
}

func (h *host) staying(name string) (sum int64) {
	for _, i := range h.instances {
		if !i.stopping() && !i.leaving {
			sum += i.attempt.Holds[name]
		}
	}
	return sum
}
