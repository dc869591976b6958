package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// A host may keep instances of a job that it would take no more of: the job asks for others now, or has all of
// a resource there. A balance knows one list of hosts for each job and would plan starts there which are refused,
// so that the job waits for ever and nobody else gets the slots. Such instances get a berth: a closed host of
// their own, in the snapshot only.

// seat is a job on a host of the plan.
type seat struct {
	job  *job
	host int
}

// maxBerthings bounds how often one plan is made anew. Each time more jobs are kept off hosts that take none of them.
const maxBerthings = 4

// balanced is the farm as the balance sees it, and the balance.
func (f *Farm) balanced(now time.Time) (*planned, planner.Plan) {
	p := f.plan(now)
	b := planner.Balance(p.Snapshot)
	for range maxBerthings {
		if !p.berthAll(b) {
			break
		}
		b = planner.Balance(p.Snapshot)
	}
	return p, b
}

// berthAll gives berths where the plan has starts that the host would refuse; it says whether there were any.
func (p *planned) berthAll(b planner.Plan) (any bool) {
	done := map[seat]bool{}
	for _, s := range b.Starts {
		if k := (seat{p.jobs[s.Job], s.Host}); !done[k] && p.kept[k] {
			done[k], any = true, true
			p.berth(s.Job, s.Host)
		}
	}
	return any
}

// berth moves the job's instances on the host to a closed host of their own, with just the room they take.
func (p *planned) berth(job, at int) {
	delete(p.kept, seat{p.jobs[job], at})
	from, j := &p.Hosts[at], &p.Jobs[job]
	own := planner.SnapHost{Name: fmt.Sprintf("%s (job %s)", from.Name, j.ID), Tags: from.Tags, Cluster: from.Cluster, Memory: -1}
	if from.Memory >= 0 {
		own.Memory = 0
	}
	place := len(p.Hosts)
	for n := range p.Running {
		if r := &p.Running[n]; r.Job == job && r.Host == at {
			r.Host = place
			from.Slots, own.Slots = from.Slots-j.Slots, own.Slots+j.Slots
			if from.Memory >= 0 {
				from.Memory, own.Memory = max(0, from.Memory-r.Memory), own.Memory+r.Memory
			}
		}
	}
	list := j.Eligible
	if list == nil {
		list = make([]int, place)
		for n := range list {
			list[n] = n
		}
	}
	j.Eligible = append(slices.DeleteFunc(slices.Clone(list), func(n int) bool { return n == at }), place)
	p.Hosts = append(p.Hosts, own)
	// It is never usable, and never has room.
	closed := newHost(facts.HostFacts{ID: facts.HostID(own.Name), Cluster: own.Cluster})
	closed.place = place
	p.hosts = append(p.hosts, closed)
}
