package planner

import (
	"slices"
	"strings"
	"testing"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// TestNoStartWaitsBesideVacantRoom: slots of instances on their way out count as there, but a start does not wait for
// one of them, nor for a stop, while the settled plan leaves a host free that a job would take now. Which of equal
// hosts is chosen for it changes no counts: balancing again does nothing. Of many mixed shapes, of devices, and of
// users on many ranked hosts this is only nearly so, and not asserted.
func TestNoStartWaitsBesideVacantRoom(t *testing.T) {
	for _, st := range []style{onePool, unitFarm, bigUnits, ranked, ownUnits, wideFarm, ownWide} {
		eachFarm(t, st, noneWaits)
	}
}

func noneWaits(f *checked) {
	s := f.s
	s.Hosts = slices.Clone(s.Hosts)
	slots, _ := f.free()
	for h := range s.Hosts {
		s.Hosts[h].Ending = f.d.roll(0, slots[h])
	}
	g := checked{T: f.T, s: s, p: Balance(s), d: f.d}
	g.noneWaitsBesideVacantRoom()
	if again := Balance(applied(s, g.p)); len(again.Stop)+len(again.Starts)+len(again.Promoted)+len(again.Demoted)+len(again.Leaving) > 0 {
		g.fail("a second balance does %+v", again)
	}
}

// free is what nothing runs in.
func (f *checked) free() (slots []int, memory []int64) {
	none := checked{T: f.T, s: f.s, d: f.d}
	return none.room()
}

func (f *checked) noneWaitsBesideVacantRoom() {
	vacant, memory := f.free()
	for h := range vacant {
		vacant[h] -= f.s.Hosts[h].Ending
	}
	stock := newStock(&f.s)
	for i, r := range f.s.Running {
		if job := &f.s.Jobs[r.Job]; r.HasItem || !slices.Contains(f.p.Leaving, i) {
			stock.take(job, r.Host)
		} else {
			vacant[r.Host] += job.Slots
			memory[r.Host] += f.promised(r)
		}
	}
	fits := func(j, h int) bool {
		job := &f.s.Jobs[j]
		return vacant[h] >= job.Slots && (memory[h] >= job.Memory || job.Memory == 0) && stock.suffices(job, h)
	}
	var waiting []PlannedStart
	for _, start := range f.p.Starts {
		job := &f.s.Jobs[start.Job]
		if !fits(start.Job, start.Host) {
			waiting = append(waiting, start)
			continue
		}
		vacant[start.Host] -= job.Slots
		memory[start.Host] -= job.Memory
		stock.take(job, start.Host)
	}
	settled, settledMemory := f.room()
	left := f.left()
	for _, start := range waiting {
		job := &f.s.Jobs[start.Job]
		for h := range vacant {
			worse := start.Kind == facts.Primary && f.s.Policy.Order[0] == "cluster" && f.clusterRank(start.Job, h) > f.clusterRank(start.Job, start.Host)
			if h == start.Host || worse || !f.mayStart(start.Job, h) || !fits(start.Job, h) {
				continue
			}
			if settled[h] >= job.Slots && (settledMemory[h] >= job.Memory || job.Memory == 0) && left.host(job, h) {
				f.fail("job %d (%v) waits on host %d, host %d would take it now", start.Job, start.Kind, start.Host, h)
			}
		}
	}
}

func (f *checked) clusterRank(job, host int) int {
	return smartshare.ClusterRank(f.s.Jobs[job].Cluster, f.s.Hosts[host].Cluster)
}

// host says that what is left of a host's own resources suffices for one more instance of the job.
func (s stock) host(job *SnapJob, host int) bool {
	for name, each := range job.Takes {
		if strings.HasPrefix(name, "host.") && s.hosts[host][name] < each {
			return false
		}
	}
	return true
}
