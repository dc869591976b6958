package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
)

// Farm is all that explanations look at.
type Farm struct {
	Now      time.Time
	Policy   Policy
	Hosts    []Host // by name
	Jobs     []Job  // by id
	Reserved *Reservation
	Planning bool      // the next plan is due
	PutOff   bool      // the next plan, as too many followed one event
	ReplanAt time.Time // deferred stops fall due then; zero: none
	// NeedIfAsked is the memory that the job's next instance would need if so many bytes were asked for.
	NeedIfAsked func(job facts.JobID, bytes int64) int64
}

// Policy is what the site has configured.
type Policy struct {
	Share     planner.SharePolicy
	Fairshare bool             // fairshare factors weight the surplus
	Resources map[string]int64 // of the whole farm
	Licences  *licences.Book   // why it may hold no more of them
	Memory    int64            // bytes that an instance is promised of which nothing is known; 0: nothing
	Turn      string           // what the next slots go by
}

// Host is a host as it is now.
type Host struct {
	*fit.Host
	Load      fit.Load
	State     string // up, unreachable, lost, locked
	Refusing  string // why its worker takes no work
	Free      int    // slots
	Used      int    // slots
	Away      int    // slots that are not offered
	Kept      int    // idle slots that are kept for what was resumed there
	Limited   bool   // its memory is known, and promised piece by piece
	Full      bool   // its agent has just refused a start for want of memory
	Ledger    int64  // bytes that may still be promised
	PerIdle   int64  // the same for each idle slot
	Instances []Instance
	MeantFor  facts.JobID // the first job for which the plan has an instance wait for an end here; 0: none
}

// Usable says whether the host takes work.
func (h *Host) Usable() bool { return h.State == "up" && h.Refusing == "" }

// held is what the instances on the host hold of a resource.
func (h *Host) held(name string) (sum int64) {
	for n := range h.Instances {
		sum += h.Instances[n].Holds[name]
	}
	return sum
}

// left is what they leave of it.
func (h *Host) left(name string) int64 { return h.Stock(name) - h.held(name) }

// memory is what the host may still promise; without limit if its memory is not known.
func (h *Host) memory() int64 {
	if !h.Limited {
		return math.MaxInt64
	}
	return h.Ledger
}

// Instance is an instance on a host.
type Instance struct {
	Job   facts.JobID
	Hold  Hold
	Slots int
	Holds map[string]int64 // other resources
}

// Job is a job as it is now.
type Job struct {
	fit.Job
	Items                        int       // all of them
	Pending, Running, Done       int       // items
	Blocked, Waiting, Failed     int       // items: held, waiting for those of other jobs, failed
	Paused                       int       // items that failed and wait before they are tried again
	NextTry                      time.Time // of the first of them
	Unlucky                      bool      // it has ended again and again by itself, uncharged
	Failure                      facts.Failure
	StaysOpen                    bool          // a person ends it
	StartsIn                     time.Duration // 0: it may start
	OverBudget                   facts.Why     // of its payer; zero: none is used up
	Resuming                     int           // instances that wait for slots to go on
	WaitsToGoOn                  facts.Why     // if nothing of it runs: for what the first of those waits
	Limited                      facts.Why     // by the instances of its user, process group or account; zero: it is not
	Primary, Secondary, Draining int           // instances
	Held                         int           // instances that a plan counts on
	Width                        int           // the most instances that it may have
	Due                          int           // secondaries that the last plan gives it, if it has fewer
	MayUseReserved               bool
	Orders                       []facts.ActionFacts
	MemoryUse                    facts.JobMemory
	FromProfile                  facts.Estimate // that the job goes by
	Ranked                       *Ranked        // where fairshare ranks owners; else nil
}

// Ranked is where a job is by what goes before its owner's priorities.
type Ranked struct {
	Operator int // below 0 an operator put it before all others, above 0 behind
	Factor   int // of its owner, in hundredths, by the last plan
}

// Like says whether the job is to the reasons of other jobs what it was. Its row is looked at by the caller.
func (j *Job) Like(was *Job) bool {
	return j.Secondary == was.Secondary &&
		(j.Ranked == nil) == (was.Ranked == nil) && (j.Ranked == nil || *j.Ranked == *was.Ranked)
}

// Like says whether the host is to the reasons of jobs what it was. What of its row decides which jobs it serves is
// looked at by the caller, and so are its instances.
func (h *Host) Like(was *Host) bool {
	return h.State == was.State && h.Refusing == was.Refusing && h.Free == was.Free && h.Used == was.Used &&
		h.Away == was.Away && h.Kept == was.Kept && h.Limited == was.Limited && h.Full == was.Full &&
		h.Ledger == was.Ledger && h.PerIdle == was.PerIdle && h.MeantFor == was.MeantFor
}

// Like says the same of an instance.
func (i Instance) Like(was Instance) bool {
	return i.Job == was.Job && i.Hold == was.Hold && i.Slots == was.Slots && maps.Equal(i.Holds, was.Holds)
}

// remaining are the items that run or are ready.
func (j *Job) remaining() int { return j.Pending + j.Held }

// Reservation keeps a host free for a job whose instances take several slots.
type Reservation struct {
	Job   facts.JobID
	Slots int // that an instance takes
	Host  facts.HostID
	At    time.Time // when enough slots will be free
}

// job finds a job, nil if there is none.
func (f *Farm) job(id facts.JobID) *Job {
	at, found := slices.BinarySearchFunc(f.Jobs, id, func(j Job, id facts.JobID) int { return cmp.Compare(j.ID, id) })
	if !found {
		return nil
	}
	return &f.Jobs[at]
}

// reservedFor says whether a host is kept for the job.
func (f *Farm) reservedFor(j *Job) bool { return f.Reserved != nil && f.Reserved.Job == j.ID }

// mayUse says whether an instance of the job may start on the host beside a reservation there.
func (f *Farm) mayUse(j *Job, h *Host) bool {
	return f.Reserved == nil || f.Reserved.Host != h.ID || j.MayUseReserved
}
