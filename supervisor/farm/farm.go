package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/smartshare/fairshare"
	"qb/supervisor/accounting"
	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/outbox"
	"qb/supervisor/quota"
)

// Farm is the only truth while a term lasts.
type Farm struct {
	policy       Policy
	jobs         map[facts.JobID]*job
	byID         []*job // all of them; nobody may change it
	hosts        map[facts.HostID]*host
	byName       []*host // all of them; nobody may change it
	machines     map[string]*machine
	nextJob      facts.JobID
	attemptFloor int // attempts have higher numbers
	bySubmission map[string]facts.JobID
	children     map[facts.JobID][]facts.JobID // jobs that wait for the key
	accounts     *accounting.Accounts
	brake        brake
	siteOrder    []fit.Preference // of hosts, for jobs that name none
	nextSlowLook time.Time
	counts       Counts

	openWork
	endings
	syncs
	out outbox.Outbox
	planState
}

// openWork is what owners have in the farm.
type openWork struct {
	quota    *quota.Quota // of unfinished jobs
	underWay []*job       // jobs with orders that take more than one commit, the one whose turn is next first
	carried  bool         // the next Take has a piece of an order under way
}

// endings are the jobs that are final, and what follows from that.
type endings struct {
	final      []facts.JobID                  // those in memory, oldest first
	endedBytes int64                          // that those take
	recalled   map[facts.JobID]int64          // versions of jobs that came back for an order and were forgotten again
	freeing    []ended                        // whose children are not all told yet
	unsettled  []*job                         // from the rows, not looked at yet
	endedOnes  map[facts.JobID]facts.JobState // final jobs that those wait for
}

// syncs is what the farm knows of workers beside their hosts.
type syncs struct {
	properties []agenda.Property    // of hosts, that requirements may use; nil: to be read from the hosts again
	capacity   *fairshare.Resources // of all known hosts; nil: to be counted
	registry   agents.Registry
	listened   time.Time  // of the last tick
	answer     []*host    // hosts whose held sync the next Take answers
	greetings  []greeting // to be answered then
}

// New is a farm without jobs and hosts.
func New(p Policy) *Farm {
	f := &Farm{
		nextJob: 1,
		jobs:    map[facts.JobID]*job{}, hosts: map[facts.HostID]*host{}, machines: map[string]*machine{},
		bySubmission: map[string]facts.JobID{}, children: map[facts.JobID][]facts.JobID{}, accounts: accounting.New(p.Fairshare, facts.Facts{}),
		openWork: openWork{quota: quota.New()},
		syncs:    syncs{registry: agents.NewRegistry(2 * maxHosts)}, planState: planState{unmet: map[facts.JobID]int{}, due: map[facts.JobID]int{}},
	}
	f.setPolicy(p)
	return f
}

func (f *Farm) setPolicy(p Policy) {
	f.policy, f.out.CommitRows = p, p.CommitRows
	f.accounts.SetPolicy(p.Fairshare)
	f.takeSiteOrder()
}

// Step takes in what happened. What follows from it lies in the next Take.
func (f *Farm) Step(now time.Time, e Event) {
	switch e := e.(type) {
	case JobSubmitted:
		f.onJobSubmitted(now, e)
	case JobModified:
		f.onJobModified(now, e)
	case JobOrdered:
		f.onJobOrdered(now, e)
	case JobsAged:
		f.onJobsAged(e)
	case HostLocked:
		f.onHostLocked(now, e)
	case HostConfirmedDead:
		f.onHostConfirmedDead(now, e)
	case HostRemoved:
		f.onHostRemoved(now, e)
	case WorkerSynced:
		f.onWorkerSynced(now, e)
	case PolicyChanged:
		f.onPolicyChanged(now, e)
	case BrakeReleased:
		f.onBrakeReleased(now, e)
	case ShareSet:
		f.onShareSet(now, e)
	case CreditAdded:
		f.onCreditAdded(now, e)
	case Ticked:
		f.onTicked(now)
	default:
		panic(fmt.Sprintf("farm: unknown event %T", e))
	}
}

// Take returns all that must be made durable since the last Take, and what may be said after it.
func (f *Farm) Take(now time.Time) outbox.Batch {
	for _, h := range f.answer {
		if h.parked != nil && h.due {
			f.replySync(now, h)
		}
	}
	f.answer = f.answer[:0]
	f.carried = false
	f.answerGreetings(now)
	f.accounts.Charged(f.out.Write)
	return f.out.Take()
}

// Pending says whether there is anything that a Take would return, or that is left for the next commit.
func (f *Farm) Pending() bool {
	return len(f.unsettled) > 0 || len(f.freeing) > 0 || !f.out.Empty() || len(f.answer) > 0 || len(f.greetings) > 0
}

// Full reports whether no further event is to be stepped before the next Take.
func (f *Farm) Full() bool { return f.out.Full() }

func (f *Farm) onPolicyChanged(now time.Time, e PolicyChanged) {
	f.setPolicy(e.Policy)
	for _, h := range f.hosts {
		h.noneLapses = time.Time{} // leases given from now on may end sooner
	}
	f.dirty, f.urgent = true, true
	f.out.Record(now, facts.EventFacts{Type: "policy", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: "configuration read again"}})
	f.out.Answer(e.Ticket, PolicyReply{Remarks: []string{}})
}

func (f *Farm) onTicked(now time.Time) {
	defer f.out.OwnWork()()
	f.listen(now)
	f.watchSilence(now)
	f.watchSlow(now)
	for _, h := range f.sortedHosts() {
		if h.parked != nil && !now.Before(h.parked.deadline) {
			f.answerSoon(h)
		}
		f.maybeLose(now, h)
		f.maybeUnlock(now, h)
		if !h.fullUntil.IsZero() && !now.Before(h.fullUntil) {
			h.fullUntil, f.dirty = time.Time{}, true // nobody else may ever ask for it again
		}
		if h.Heard && h.usable(now, f.policy) != h.wasUsable {
			h.wasUsable = !h.wasUsable
			f.dirty = true
		}
	}
	if !f.replanAt.IsZero() && !now.Before(f.replanAt) {
		f.replanAt, f.dirty = time.Time{}, true
	}
}

// sortedJobs are all jobs by id, sortedHosts all hosts by name: no decision may depend on map order.
func (f *Farm) sortedJobs() []*job {
	if len(f.byID) != len(f.jobs) { // some were forgotten, and may have come back
		held := make([]*job, 0, len(f.jobs))
		for _, j := range f.byID {
			if f.jobs[j.ID] == j {
				held = append(held, j)
			}
		}
		f.byID = held
	}
	return f.byID
}

// enter takes a job in.
func (f *Farm) enter(j *job) {
	byID := f.sortedJobs()
	f.jobs[j.ID] = j
	if at, _ := slices.BinarySearchFunc(byID, j.ID, func(o *job, id facts.JobID) int { return cmp.Compare(o.ID, id) }); at < len(byID) {
		f.byID = slices.Insert(slices.Clone(byID), at, j)
	} else {
		f.byID = append(byID, j)
	}
}

func (f *Farm) sortedHosts() []*host {
	if len(f.byName) != len(f.hosts) { // hostsChanged, where one goes
		f.byName = sortedBy(f.hosts, func(a, b *host) int { return cmp.Compare(a.ID, b.ID) })
	}
	return f.byName
}

func sortedBy[K comparable, V any](m map[K]V, less func(a, b V) int) []V {
	all := make([]V, 0, len(m))
	for _, v := range m {
		all = append(all, v)
	}
	slices.SortFunc(all, less)
	return all
}
