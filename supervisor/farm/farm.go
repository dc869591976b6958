package farm

import (
	"cmp"
	"fmt"
	"time"

	"qb/supervisor/accounting"
	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/licences"
	"qb/supervisor/message"
	"qb/supervisor/model"
	"qb/supervisor/outbox"
	"qb/supervisor/profiles"
)

// Farm is the only truth while a term lasts.
type Farm struct {
	policy       message.Policy
	jobs         model.Jobs
	hosts        model.Hosts
	attemptFloor int // attempts have higher numbers
	admission    admission
	usage        usage
	profiles     *profiles.Profiles
	licences     *licences.Book
	overused     map[string]bool // resources of which the farm may hold more than it is allowed: a bound of those that it does
	brake        brake
	siteOrder    []fit.Preference // of hosts, for jobs that name none
	nextSlowLook time.Time
	counts       message.Counts

	underway
	retries
	syncs
	out outbox.Outbox
	planState
}

// underway is what the farm has begun and a commit had no room for.
type underway struct {
	orders    []*model.Job                   // with orders that take more than one commit, the one whose turn is next first
	carried   bool                           // the next Take has a piece of an order under way
	freeing   []ended                        // jobs that became final, whose children are not all told yet
	unsettled []*model.Job                   // from the rows, not looked at yet
	resumeDue []*model.Host                  // on which there may be room for what waits to go on
	endedOnes map[facts.JobID]facts.JobState // final jobs that those wait for
}

// syncs is what the farm knows of workers beside their hosts.
type syncs struct {
	registry      agents.Registry
	answer        []*model.Host  // hosts whose held sync the next Take answers
	registrations []registration // to be answered then
}

// New is a farm without jobs and hosts.
func New(p message.Policy) *Farm {
	f := &Farm{
		retries: retries{map[facts.JobID]*model.Job{}, map[facts.JobID]*model.Job{}, map[facts.JobID]*model.Job{}},
		jobs:    model.NewJobs(), hosts: model.Hosts{ByID: map[facts.HostID]*model.Host{}, Machines: map[string]*model.Machine{}},
		syncs: syncs{registry: agents.NewRegistry(2 * maxHosts)}, planState: planState{unmet: map[facts.JobID]int{}, due: map[facts.JobID]int{}, last: newSnapshot()},
	}
	f.profiles, f.licences = profiles.New(nil), licences.New(nil)
	f.admission = admission{policy: &f.policy, hosts: &f.hosts, jobs: &f.jobs, profiles: f.profiles, licences: f.licences}
	f.usage = usage{policy: &f.policy, jobs: &f.jobs, hosts: &f.hosts, accounts: accounting.New(p.Fairshare, facts.Facts{})}
	f.setPolicy(p)
	return f
}

func (f *Farm) setPolicy(p message.Policy) {
	f.policy, f.out.CommitRows = p, p.CommitRows
	f.policy.OrderRows = cmp.Or(p.OrderRows, defaultOrderRows)
	f.usage.accounts.SetPolicy(p.Fairshare)
	f.jobs.SetLimits(p.Instances)
	f.licences.Configure(p.Licences, p.Resources)
	f.takeResources()
	f.takeSiteOrder()
}

// Step takes in what happened. What follows from it lies in the next Take.
func (f *Farm) Step(now time.Time, e message.Event) {
	defer f.follow()
	switch e := e.(type) {
	case message.JobSubmitted:
		f.onJobSubmitted(now, e)
	case message.JobModified:
		f.onJobModified(now, e)
	case message.JobOrdered:
		f.onJobOrdered(now, e)
	case message.JobsAged:
		f.onJobsAged(e)
	case message.HostLocked:
		f.onHostLocked(now, e)
	case message.HostConfirmedDead:
		f.onHostConfirmedDead(now, e)
	case message.HostRemoved:
		f.onHostRemoved(now, e)
	case message.WorkerSynced:
		f.onWorkerSynced(now, e)
	case message.PolicyChanged:
		f.onPolicyChanged(now, e)
	case message.BrakeReleased:
		f.onBrakeReleased(now, e)
	case message.AccountsChanged:
		f.onAccountsChanged(now, e)
	case message.ProfileChanged:
		f.onProfileChanged(now, e)
	case message.ResourceReported:
		f.onResourceReported(now, e)
	case message.Ticked:
		f.onTicked(now)
	default:
		panic(fmt.Sprintf("farm: unknown event %T", e))
	}
}

// Take returns all that must be made durable since the last Take, and what may be said after it.
func (f *Farm) Take(now time.Time) outbox.Batch {
	for _, h := range f.answer {
		if h.HeldSync != nil && h.Due {
			f.replySync(now, h)
		}
	}
	f.answer = f.answer[:0]
	f.carried = false
	f.answerGreetings(now)
	f.usage.accounts.Charged(f.out.Write)
	f.profiles.Changed(f.out.Write)
	f.licences.Changed(f.out.Write)
	return f.out.Take()
}

// Pending says whether there is anything that a Take would return, or that is left for the next commit.
func (f *Farm) Pending() bool {
	return len(f.unsettled) > 0 || len(f.freeing) > 0 || len(f.resumeDue) > 0 || !f.out.Empty() || len(f.answer) > 0 || len(f.registrations) > 0
}

// Full reports whether no further event is to be stepped before the next Take.
func (f *Farm) Full() bool { return f.out.Full() }

func (f *Farm) onPolicyChanged(now time.Time, e message.PolicyChanged) {
	f.setPolicy(e.Policy)
	f.teachAll()
	for _, h := range f.hosts.ByID {
		h.NoneLapses = time.Time{} // leases given from now on may end sooner
	}
	f.planStale, f.planNow = true, true
	f.out.Record(now, facts.EventFacts{Type: "policy", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: "configuration read again"}})
	f.out.Answer(e.Ticket, message.PolicyReply{Remarks: []string{}})
}

func (f *Farm) onTicked(now time.Time) {
	defer f.out.OwnWork()()
	f.hosts.Listen(now)
	f.watchSilence(now)
	f.watchLong(now)
	f.lookForFolders(now)
	f.unpause(now)
	f.startDelayed(now)
	f.lookForAvoided(now)
	if f.licences.Raise(now) {
		f.takeResources()
	}
	for _, h := range f.hosts.Sorted() {
		if h.HeldSync != nil && !now.Before(h.HeldSync.Deadline) {
			f.answerSoon(h)
		}
		f.maybeLose(now, h)
		f.maybeUnlock(now, h)
		if !h.FullUntil.IsZero() && !now.Before(h.FullUntil) {
			h.FullUntil, f.planStale = time.Time{}, true // nobody else may ever ask for it again
		}
		if h.Heard && h.Usable(now, f.policy) != h.WasUsable {
			h.WasUsable = !h.WasUsable
			f.planStale = true
		}
		f.maybeForget(now, h)
	}
	f.planStale = f.planStale || f.usage.judged && now.Sub(f.lastPlan) >= budgetsLooked
	if !f.replanAt.IsZero() && !now.Before(f.replanAt) {
		f.replanAt, f.planStale = time.Time{}, true
	}
}
