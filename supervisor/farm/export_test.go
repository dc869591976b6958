package farm

import (
	"fmt"
	"reflect"
	"slices"
	"syscall"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// Restless says what is not at rest although no plan is due, "" if all is: a plan made now would start
// something, or the first job in the dispatch order that lacks a primary does not start where there is room.
func (f *Farm) Restless(now time.Time) string {
	if f.planning.isDue() {
		return ""
	}
	defer f.planning.saved()()
	p := newSnapshot()
	f.planning.fill(now, p, newSnapshot())
	if kept := f.Snapshot(now); !reflect.DeepEqual(kept.Jobs, p.Jobs) || !reflect.DeepEqual(kept.Hosts, p.Hosts) || !slices.EqualFunc(kept.Running, p.Running, planner.SnapInstance.Equal) {
		return fmt.Sprintf("a snapshot that goes on from the last plan is\n%+v\nnot\n%+v", kept, p.Snapshot)
	}
	b := planner.Balance(p.Snapshot)
	meant := make([]int, len(p.hosts))
	for _, s := range b.Starts {
		if f.admission.takes(now, p.jobs[s.Job], p.hosts[s.Host], s.Kind) {
			return fmt.Sprintf("job %d would start on %s\n%s", p.jobs[s.Job].ID, p.hosts[s.Host].ID, f.state(p, b))
		}
		if s.Kind == facts.Primary {
			meant[s.Host] += p.Jobs[s.Job].Slots
		}
	}
	for _, n := range b.Order {
		j := p.jobs[n]
		if primary, _, _ := j.Counts(); primary >= b.Jobs[n].Floor {
			continue
		}
		for at, h := range p.hosts {
			if f.admission.takes(now, j, h, facts.Primary) && h.Free()-meant[at] >= j.Needs.Slots {
				return fmt.Sprintf("job %d lacks a primary, %s has room\n%s", j.ID, h.ID, f.state(p, b))
			}
		}
		return ""
	}
	return ""
}

// ClosesOtherwise compares, for all instances that are neither leaving nor suspended on their slots, the rule by which a
// plan says that they would close if their items ended now with the farm's, "" if they are the same.
func (f *Farm) ClosesOtherwise(now time.Time) (closing int, differs string) {
	defer f.planning.saved()()
	p := newSnapshot()
	f.planning.fill(now, p, newSnapshot())
	planned := map[int]planner.EndRule{}
	for _, c := range p.Closing(&planner.Plan{}) {
		planned[c.Instance] = c.Why
	}
	for n, i := range p.instances {
		limit := i.Job.Limit
		end := f.itemEnd(now, i)
		i.Job.Limit = limit
		if end[planner.InstanceLeaves] || i.Suspended() && !i.Released() {
			continue
		}
		job := &p.Jobs[p.Running[n].Job]
		if job.Narrowed { // a plan does not know of each host
			end[planner.HostRefusesJob] = false
		}
		if planned[n] == planner.HostRefusesJob && end.Rule() == planner.ResourceOverused && len(i.Job.Needs.Seats) > 0 {
			continue // the plan has no host for it as there are too few seats
		}
		if planned[n] != end.Rule() {
			return 0, fmt.Sprintf("%s would close by %q, the plan says %q", i.Name(), end.Rule(), planned[n])
		}
		if end.Rule() != planner.TakesNextItem {
			closing++
		}
	}
	return closing, ""
}

// state shows a plan and the farm that it was made for.
func (f *Farm) state(p *snapshot, b planner.Plan) string {
	text := ""
	if r := f.admission.reserved; r != nil {
		text = fmt.Sprintf("%s is kept for job %d\n", r.host.ID, r.job.ID)
	}
	for n, h := range p.hosts {
		text += fmt.Sprintf("%s: %d of %d slots free, %d of %d for the plan, runs", h.ID, h.Free(), h.Slots, p.Hosts[n].Slots-p.Hosts[n].Ending, p.Hosts[n].Slots)
		for _, i := range h.SortedInstances() {
			text += fmt.Sprintf(" %s (%s, %d slots, stopping %v, draining %v)", i.Name(), i.Kind, i.Slots, i.Stopping(), i.Draining)
		}
		text += "\n"
	}
	for _, n := range b.Order {
		text += fmt.Sprintf("job %d: eligible %v, %+v\n", p.jobs[n].ID, p.Jobs[n].Eligible, b.Jobs[n])
	}
	for _, s := range b.Starts {
		text += fmt.Sprintf("start of job %d on %s\n", p.jobs[s.Job].ID, p.hosts[s.Host].ID)
	}
	return text
}

// ForcePlan plans whether or not anything has changed.
func ForcePlan(f *Farm, now time.Time) {
	f.planStale, f.planNow = true, true
	f.Plan(now)
}

// Undone says what the farm has not made of the plan that it has just made, "" if it has made all of it: each stop,
// each instance that gives way, each label and the host that is kept.
func Undone(f *Farm, b planner.Plan) string {
	p := f.planning.last
	for _, s := range b.Stops {
		i := p.instances[s.Instance]
		stopped, drains := s.Drain == planner.Stopped && s.NotBefore == 0, s.Drain != planner.Stopped
		if i.Stopping() != stopped || drains && !i.Draining {
			return fmt.Sprintf("%+v is not made of %s: stopping %v, draining %v", s, i.Name(), i.Stopping(), i.Draining)
		}
	}
	for _, y := range b.Preempted {
		if i := p.instances[y.Instance]; i.Stopping() == y.Drain || y.Drain && !i.Draining {
			return fmt.Sprintf("%+v is not made of %s: stopping %v, draining %v", y, i.Name(), i.Stopping(), i.Draining)
		}
	}
	for _, n := range b.Promoted {
		if i := p.instances[n]; i.Kind != facts.Primary {
			return i.Name() + " is not promoted"
		}
	}
	for _, n := range b.Demoted {
		if i := p.instances[n]; i.Kind != facts.Secondary {
			return i.Name() + " is not demoted"
		}
	}
	r, want := f.admission.reserved, b.Reserved
	if (r == nil) != (want == nil) || r != nil && (r.job != p.jobs[want.Job] || r.host != p.hosts[want.Host]) {
		return fmt.Sprintf("the plan keeps %+v, the farm %+v", want, r)
	}
	return ""
}

// Stale says whether a plan is due.
func Stale(f *Farm) bool { return f.planning.isDue() && f.planning.broken.why == "" }

// CPUTime is what this process has had of the processors: on a machine that does other things too it says more
// than a clock.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// SpoilCPUs gives a job a width that validation excludes.
func SpoilCPUs(f *Farm, id facts.JobID, cpus int) {
	j := f.jobs.ByID[id]
	j.CPUs = cpus
	j.Changed()
}

// Attempts are the attempts of all instances.
func Attempts(f *Farm) (list []facts.RunFacts) {
	for _, h := range f.hosts.Sorted() {
		for _, i := range h.SortedInstances() {
			list = append(list, i.Attempt)
		}
	}
	return list
}
