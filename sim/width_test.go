package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// simInstance is an instance of a job.
type simInstance struct {
	job    facts.JobID
	number int
}

func (i simInstance) compare(o simInstance) int {
	return cmp.Or(cmp.Compare(i.job, o.job), cmp.Compare(i.number, o.number))
}

// width is how many instances a job may have by its row; limited says whether that is a limit of its own.
func (w *simWorld) width(f facts.JobFacts) (width int, limited bool) {
	most := w.policy.Share.MaxCPUsLimit
	switch {
	case f.MaxCPUs == nil || *f.MaxCPUs < 0:
		return max(f.CPUs, most), false
	case *f.MaxCPUs == 0:
		return f.CPUs, true
	}
	return max(f.CPUs, min(*f.MaxCPUs, most)), *f.MaxCPUs <= most
}

// counted are the job's attempts that are neither stopping nor the last of their instances.
func (r *simRows) counted(job facts.JobID) (n int) {
	for item := range r.jobs[job].items {
		a := r.jobs[job].latest(facts.ItemNo(item))
		if a != nil && a.State == facts.Running && r.before(a) == nil && a.Reason != facts.ReasonSentAway && a.Reason != facts.ReasonRetired && !r.draining[simInstance{job, a.Instance}] {
			n++
		}
	}
	return n
}

// widen notes an instance that a transaction adds to a job. What goes on to its next item is none.
func (r *simRows) widen(a facts.AttemptFacts) {
	i := simInstance{a.Job, a.Instance}
	if last, ended := r.vacated[i]; !ended || last != r.applied {
		r.widened = append(r.widened, i)
		delete(r.draining, i)
	}
}

// simPieces is how long it takes at most until a plan is carried out whose rows take several commits; a leader may be
// stopped meanwhile.
const simPieces = 8 * time.Second

// checkWidth: no new instance makes a job wider than it may be, except for the ones that are to leave (S25). The ones
// that leave for it may do so in one of the next commits of the same plan.
func (r *simRows) checkWidth() {
	if r.wideIn != r.epoch { // the new leader plans again
		clear(r.wide)
		r.wideIn = r.epoch
	}
	for _, i := range r.widened {
		j := r.jobs[i.job]
		if n, most := r.counted(i.job), r.widest(j); n == most && len(j.effects) > 0 {
			r.world.some("the last instance of a job that was ordered about")
		} else if _, known := r.wide[i]; n > most && !known {
			r.wide[i] = r.world.now
		}
	}
	r.widened = nil
	for _, i := range slices.SortedFunc(maps.Keys(r.wide), simInstance.compare) {
		j := r.jobs[i.job]
		if j == nil || r.counted(i.job) <= r.widest(j) {
			delete(r.wide, i)
			continue
		}
		if n, most := r.counted(i.job), r.widest(j); r.world.now-r.wide[i] > simPieces {
			r.world.fail("S25: instance %d is one of %d of job %d, which may have %d (cpus %d, max_cpus %d)", i.number, n, i.job, most, j.facts.CPUs, *j.facts.MaxCPUs)
		}
	}
}

// widest is the width of a job, or that before a change that has just been made.
func (r *simRows) widest(j *simJobRow) int {
	most, _ := r.world.width(j.facts)
	if was, _ := r.world.width(j.earlier); j.changed == r.applied {
		most = max(most, was)
	}
	return most
}

// checkRetired: who retires instances has the job so much narrower, by max_cpus and by cpus where that is more, and 1
// wide at least (S26). Retired items count as complete (S24), and nothing that runs is stopped.
func (r *simRows) checkRetired(x *simEffect) {
	if x.retired == 0 || x.is.Version != x.was.Version+1 {
		return
	}
	was, limited := r.world.width(x.was)
	is, _ := r.world.width(x.is)
	least := was
	if !limited {
		if len(x.busy) > 0 {
			return // the rows do not say how wide it was
		}
		was = min(was, max(x.was.CPUs, x.counted))
		least = min(was, max(x.was.CPUs, x.counted-x.draining)) // the rows do not say which of these leave for good
	}
	if is > was-x.retired || is < max(1, least-x.retired) || x.is.CPUs != min(x.was.CPUs, is) {
		r.world.fail("S26: %d instances of job %d are retired, which was %d wide with %d cpus, and is %d wide with %d", x.retired, x.job, was, x.was.CPUs, is, x.is.CPUs)
	}
	r.world.some("a job narrowed by a retired instance")
	if is == 1 {
		r.world.some("a job narrowed to its last instance")
	}
}
