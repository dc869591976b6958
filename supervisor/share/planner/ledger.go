package planner

import (
	"cmp"
	"strings"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// ledger is what the hosts and the farm can take, as starts and stops of a plan change it.
type ledger struct {
	scratch *smartshare.Scratch
	policy  *SharePolicy
	kept    *Reserved
	up      []SnapHost
	present []Present        // by host
	granted []int            // by host: slots that starts have taken
	stock   map[string]int64 // of resources and limits of the farm
	coming  map[string]int64 // of them: what instances that end hold
	items   []int            // by job
	idle    []idleSlots      // by machine
}

func newLedger(scratch *smartshare.Scratch, s *Snapshot) *ledger {
	r := &ledger{
		scratch: scratch, policy: &s.Policy, kept: s.Reserved, up: s.Hosts, present: s.presentHosts(scratch),
		granted: smartshare.Lend[int](scratch, len(s.Hosts)), stock: s.presentStock(),
		coming: map[string]int64{}, items: s.presentItems(scratch),
	}
	for name, amount := range s.Coming {
		r.coming[name] = amount
	}
	r.countIdle()
	return r
}

// when says whether an instance of the job can start on the host now, or the first thing that it waits for.
func (r *ledger) when(job *SnapJob, j, h int, kind facts.Kind, slots int) When {
	switch {
	case slots == 0 || !r.up[h].Up:
		return AfterSlots
	case r.kept != nil && r.kept.Host == h && r.kept.Job != j && !job.Beside[kind]:
		return AfterReserved
	case !r.stocked(job, h):
		return AfterStock
	case !r.fits(job, h, slots):
		return AfterMemory
	case job.Barred || r.items[j] == 0:
		return AfterItems
	}
	return Now
}

// stocked says whether there is enough for one more instance of the job of what the farm and the host have.
func (r *ledger) stocked(job *SnapJob, h int) bool {
	for name, each := range job.Takes {
		left := r.stock[name]
		if strings.HasPrefix(name, "host.") {
			left = r.present[h].Left[name]
		}
		if each > 0 && left < each {
			return false
		}
	}
	return true
}

// needs is what an instance of the job is promised on a host where it takes so many slots: its need, and before
// anything is known of that a slot's part of the host, at most the site's default.
func (r *ledger) needs(job *SnapJob, h, slots int) int64 {
	if !job.Unmeasured || !r.present[h].Limited {
		return job.Memory
	}
	return min(r.policy.DefaultMemory, r.announced(h)*int64(max(1, slots)))
}

func (r *ledger) fits(job *SnapJob, h, slots int) bool {
	switch host := &r.present[h]; {
	case !host.Limited:
		return true
	case host.Full:
		return false
	default:
		need := r.needs(job, h, slots)
		return need <= host.Promisable() && (need > 0 || !job.Unmeasured || r.policy.DefaultMemory == 0)
	}
}

// start takes what a start takes.
func (r *ledger) start(s *Snapshot, start *PlannedStart) {
	job, h := &s.Jobs[start.Job], start.Host
	host := &r.present[h]
	bytes := r.needs(job, h, start.Slots)
	idle := r.idleOn(h)
	host.Free -= start.Slots
	host.Used += start.Slots
	r.granted[h] += start.Slots
	if host.Trial {
		host.Free = min(host.Free, 0)
	}
	host.Own -= bytes
	for name, each := range job.Takes {
		if strings.HasPrefix(name, "host.") {
			add(&host.Left, name, -each)
		} else {
			r.stock[name] -= each
		}
	}
	if r.items[start.Job] > 0 {
		r.items[start.Job]--
	}
	if !host.Limited {
		return
	}
	m := &r.idle[host.Machine]
	m.free += r.idleOn(h) - idle
	for _, o := range m.hosts {
		r.present[o].Shared -= bytes
	}
}

// idleSlots are the idle slots of a machine.
type idleSlots struct {
	hosts []int
	free  int
}

func (r *ledger) countIdle() {
	for h := range r.present {
		m := r.present[h].Machine
		if !r.present[h].Limited {
			continue // its idle slots share nothing
		}
		for m >= len(r.idle) {
			r.idle = append(r.idle, idleSlots{})
		}
		r.idle[m].hosts = append(r.idle[m].hosts, h)
		r.idle[m].free += r.idleOn(h)
	}
}

func (r *ledger) idleOn(h int) int {
	if !r.present[h].Heard {
		return 0
	}
	return max(0, r.present[h].Free)
}

// announced is what the host may promise for each idle slot, of all hosts of its machine: the memory of an idle worker.
func (r *ledger) announced(h int) int64 {
	host := &r.present[h]
	if !host.Limited || host.Free <= 0 {
		return 0
	}
	idle := r.idle[host.Machine].free
	if idle == 0 {
		return 0
	}
	return max(0, min(host.Shared/int64(idle), host.Own/int64(host.Free)))
}

// exceeded says that more instances of the job run than one of its limits allows, ending instances not counted.
func (r *ledger) exceeded(s *Snapshot, job *SnapJob) bool {
	for name := range job.Takes {
		if _, limit := s.Limits[name]; limit && r.stock[name]+r.coming[name] < 0 {
			return true
		}
	}
	return false
}

// ends notes that an instance which runs is on its way out.
func (r *ledger) ends(s *Snapshot, i int) {
	in := &s.Running[i]
	host := &r.present[in.Host]
	host.EndingSlots += s.taken(i)
	host.EndingMemory += s.bytes(i)
	for name, amount := range s.holds(i) {
		if !strings.HasPrefix(name, "host.") {
			r.coming[name] += amount
			continue
		}
		add(&host.Coming, name, amount)
	}
}

// taken is how many slots of its host an instance takes.
func (s *Snapshot) taken(i int) int {
	return cmp.Or(int(s.Running[i].Slots), s.Jobs[s.Running[i].Job].Slots)
}

// bytes is what goes free with an instance.
func (s *Snapshot) bytes(i int) int64 {
	return cmp.Or(s.Running[i].Memory, s.Jobs[s.Running[i].Job].Memory)
}

// holds is what an instance has of resources and limits.
func (s *Snapshot) holds(i int) map[string]int64 {
	if s.Running[i].Holds != nil {
		return s.Running[i].Holds
	}
	return s.Jobs[s.Running[i].Job].Takes
}
