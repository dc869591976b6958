package planner

import (
	"reflect"
	"slices"
	"testing"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// TestDecide: on farms of all styles, taken at their word, a plan is the division with hosts: each host takes what
// starts there at once beside all that runs, and only worse jobs give way.
func TestDecide(t *testing.T) {
	moved, preempted, reserved := 0, 0, 0
	for _, st := range styles {
		eachFarm(t, st, func(f *checked) {
			placements := []string{"", "best_fit", "spread", "pack"}
			f.s.Policy.Placement = placements[f.d.roll(0, 3)]
			f.s.Policy.PrimaryPreempt = []string{"", "aggressive", "passive", "disabled"}[f.d.roll(0, 3)]
			f.s.Policy.Reserve = f.d.chance(70)
			for j := range f.s.Jobs {
				job := &f.s.Jobs[j]
				job.Unmeasured, job.Unknown, job.ItemSeconds = f.d.chance(10), f.d.chance(30), float64(f.d.roll(1, 900))
			}
			if len(f.s.Jobs) > 0 && f.d.chance(30) {
				f.s.Reserved = &Reserved{Host: f.d.roll(0, len(f.s.Hosts)-1), Job: f.d.roll(-1, len(f.s.Jobs)-1)}
			}
			division := f.p
			f.p = Decide(&smartshare.Scratch{}, f.s)
			if !reflect.DeepEqual(f.p, Decide(&smartshare.Scratch{}, f.s)) {
				f.fail("another plan of the same farm")
			}
			if !reflect.DeepEqual(f.p.Jobs, division.Jobs) || !slices.Equal(f.p.Stop, division.Stop) {
				f.fail("the plan divides otherwise: %+v, %v", division.Jobs, division.Stop)
			}
			for n, start := range f.p.Starts {
				if was := division.Starts[n]; was.Job != start.Job || was.Kind != start.Kind {
					f.fail("start %d was of job %d", n, was.Job)
				} else if was.Host != start.Host {
					moved++
				}
			}
			f.startsFit()
			preempted += f.worseGiveWay()
			reserved += f.keepsForWide()
			f.comesToRest()
		})
	}
	if moved == 0 || preempted == 0 || reserved == 0 {
		t.Errorf("%d starts on other hosts than divided, %d preempted, %d hosts kept", moved, preempted, reserved)
	}
}

// comesToRest wants no plan to follow a plan that starts nothing, ends nothing for good and leaves the reservation.
func (f *checked) comesToRest() {
	starts := slices.ContainsFunc(f.p.Starts, func(s PlannedStart) bool { return s.When == Now })
	ends := slices.ContainsFunc(f.p.Stops, func(s PlannedStop) bool { return s.ForGood })
	is, old := f.p.Reserved, f.s.Reserved
	moves := (is == nil) != (old == nil) || is != nil && (is.Job != old.Job || is.Host != old.Host || is.Sure > old.Sure)
	if f.p.Follows && !starts && !ends && !moves && len(f.p.Promoted) == 0 {
		f.fail("a plan that changes nothing asks for another")
	}
}

// keepsForWide wants a host to be kept only where the policy says so, for a job of wide instances that lacks a primary,
// on a host that serves it, and the former holder to keep its host while it waits.
func (f *checked) keepsForWide() int {
	r, old := f.p.Reserved, f.s.Reserved
	if r == nil {
		return 0
	}
	job := &f.s.Jobs[r.Job]
	_, yielded := f.p.Yielded[r.Job]
	switch holds := old != nil && old.Job == r.Job; {
	case !f.s.Policy.Reserve || !f.s.Hosts[r.Host].Up || !f.s.Serves(r.Job, r.Host):
		f.fail("%s is kept for job %s", f.s.Hosts[r.Host].Name, job.ID)
	case !holds && (job.Slots < 2 || f.p.Jobs[r.Job].Unplaced == 0):
		f.fail("a host is kept for job %s, which does not wait for one", job.ID)
	case holds && old.Host != r.Host && !yielded && f.s.Hosts[old.Host].Up && f.s.Serves(r.Job, old.Host) && f.p.MeantBeside(&f.s, r.Job)[old.Host] == 0:
		f.fail("job %s has another host kept than before", job.ID)
	case r.Slots != job.Slots || r.Sure < f.s.Now || r.At < r.Sure:
		f.fail("%+v of job %s at %v", r, job.ID, f.s.Now)
	}
	return 1
}

// startsFit wants room, beside all that runs, for what starts at once.
func (f *checked) startsFit() {
	slots, memory := make([]int, len(f.s.Hosts)), make([]int64, len(f.s.Hosts))
	for h := range f.s.Hosts {
		slots[h] = f.s.Hosts[h].Slots - f.s.Hosts[h].Ending
		memory[h] = f.s.Hosts[h].Memory - f.s.Hosts[h].EndingMemory
	}
	left := newStock(&f.s)
	for h := range left.hosts {
		if left.hosts[h] == nil {
			left.hosts[h] = map[string]int64{}
		}
	}
	for _, r := range f.s.Running {
		slots[r.Host] -= f.s.Jobs[r.Job].Slots
		memory[r.Host] -= f.promised(r)
		left.take(&f.s.Jobs[r.Job], r.Host)
	}
	for _, start := range f.p.Starts {
		job, host := &f.s.Jobs[start.Job], &f.s.Hosts[start.Host]
		if start.When != Now {
			continue
		}
		if !host.Up || !f.s.Serves(start.Job, start.Host) {
			f.fail("job %s starts on %s, which does not serve it", job.ID, host.Name)
		}
		slots[start.Host] -= start.Slots
		if !job.Unmeasured {
			memory[start.Host] -= job.Memory
		}
		if start.Slots < job.Slots || slots[start.Host] < 0 || host.Memory >= 0 && job.Memory > 0 && memory[start.Host] < 0 || !left.suffices(job, start.Host) {
			f.fail("job %s starts on %s, where it has no room", job.ID, host.Name)
		}
		left.take(job, start.Host)
	}
}

// worseGiveWay wants what gives way to be of a worse job than the waiting one, each once and by the policy.
func (f *checked) worseGiveWay() int {
	seen := map[int]bool{}
	for _, y := range f.p.Preempted {
		in := f.s.Running[y.Instance]
		switch {
		case f.p.Jobs[y.For].Unplaced == 0 || !f.s.Displaces(y.For, in.Job):
			f.fail("%s gives way to job %s", in.ID, f.s.Jobs[y.For].ID)
		case seen[y.Instance]:
			f.fail("%s gives way twice", in.ID)
		case !y.Drain && (in.Protected || f.s.preempts(y.For) != "aggressive"):
			f.fail("%s is stopped", in.ID)
		case in.Kind == facts.Secondary && f.s.Policy.Preempt != "disabled" && !slices.Contains(f.p.Promoted, y.Instance):
			f.fail("%s is a secondary, which the division takes", in.ID)
		}
		seen[y.Instance] = true
	}
	return len(f.p.Preempted)
}

// TestDecideOfOddFarms: what a file may leave out is no panic.
func TestDecideOfOddFarms(t *testing.T) {
	job := SnapJob{ID: "a", CPUs: 2, Remaining: 9, Agenda: true, Slots: 1, Weight: 1, Fairshare: 1}
	for _, takes := range []map[string]int64{nil, {"host.gpus": 1}, {"host.gpus": 0}, {"license.x": 1}, {"license.x": 0}} {
		for _, order := range [][]string{nil, {"priority"}, {"cluster", "priority"}} {
			for _, running := range [][]SnapInstance{nil, {{ID: "x"}}} {
				j := job
				j.Takes = takes
				worse := job
				worse.ID, worse.Priority = "b", 9
				s := Snapshot{
					Policy:  SharePolicy{Mode: "jobs", MaxCPUsLimit: 9, PrimaryPreempt: "aggressive", Preempt: "aggressive", Order: order},
					Hosts:   []SnapHost{{Name: "h", Slots: 2, Memory: -1, Up: true}},
					Jobs:    []SnapJob{j, worse},
					Running: running,
				}
				if p := Decide(&smartshare.Scratch{}, s); len(p.Order) != 2 {
					t.Errorf("%v %v: %+v", takes, order, p)
				}
			}
		}
	}
}
