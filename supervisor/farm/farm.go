package farm

import (
	"cmp"
	"fmt"
	"time"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
)

// Farm is the only truth while a term lasts. What it does itself is to start, end and move instances; all else lies
// with its parts.
type Farm struct {
	*shared
	attemptFloor int              // attempts have higher numbers
	siteOrder    []fit.Preference // of hosts, for jobs that name none
	admission    admission
	resources    resources
	usage        usage
	cpuShare     cpuShare
	planning     planning
	retries      retries
	lacks        lacks
	faults       faults
	syncs        syncs
	suspensions  suspensions
	programs     programs
	ahead        ahead
	dependencies dependencies
	watch        watch
	brake        brake
	shown        shown // the last view
	ticked       round // through the hosts that ticks look at
	underWay
}

// underWay are the orders that take more than one commit.
type underWay struct {
	orders  []*model.Job // with such orders, the one whose turn is next first
	carried bool         // the next Take has a piece of one
}

// New is a farm without jobs and hosts.
func New(p message.Policy) *Farm {
	sh := &shared{
		jobs: model.NewJobs(), hosts: model.Hosts{ByID: map[facts.HostID]*model.Host{},
			Machines: map[string]*model.Machine{}, Stale: &model.Stale{}},
		profiles: profiles.New(nil), licences: licences.New(nil),
	}
	f := &Farm{
		shared: sh, admission: admission{shared: sh}, usage: usage{shared: sh,
			accounts: accounting.New(p.Fairshare, facts.Facts{})},
		retries: retries{sh, map[facts.JobID]*model.Job{}, map[facts.JobID]*model.Job{}, map[facts.JobID]*model.Job{}},
		lacks:   lacks{shared: sh}, syncs: syncs{shared: sh, registry: agents.NewRegistry(2 * maxHosts)},
		dependencies: dependencies{shared: sh}, watch: watch{shared: sh}, brake: brake{shared: sh},
	}
	f.resources = resources{shared: sh, admission: &f.admission}
	f.cpuShare = cpuShare{shared: sh, admission: &f.admission}
	f.planning = planning{
		shared: sh, admission: &f.admission, resources: &f.resources, usage: &f.usage, cpuShare: &f.cpuShare,
		unmet: map[facts.JobID]int{}, due: map[facts.JobID]int{}, last: newSnapshot(),
	}
	f.faults = faults{sh, &f.retries, &f.lacks}
	f.ahead = ahead{shared: sh, syncs: &f.syncs}
	f.suspensions = suspensions{shared: sh, syncs: &f.syncs, ahead: &f.ahead}
	f.programs = programs{shared: sh, syncs: &f.syncs}
	f.setPolicy(p)
	f.policy.Promised = p.Promise()
	return f
}

func (f *Farm) setPolicy(p message.Policy) {
	p.Promised = f.policy.Promised
	f.policy, f.out.CommitRows = p, p.CommitRows
	f.policy.OrderRows = cmp.Or(p.OrderRows, defaultOrderRows)
	f.usage.accounts.SetPolicy(p.Fairshare)
	f.jobs.SetLimits(p.Instances)
	f.licences.Configure(p.Licences, p.Resources)
	f.resources.take()
	f.takeSiteOrder()
}

// Step takes in what happened. What follows from it lies in the next Take.
func (f *Farm) Step(now time.Time, e message.Event) {
	defer f.dependencies.follow()
	defer f.shown.note(f, e)
	switch e := e.(type) {
	case message.JobSubmitted:
		f.onJobSubmitted(now, e)
	case message.JobModified:
		f.onJobModified(now, e)
	case message.JobAction:
		f.onJobAction(now, e)
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
		f.brake.onBrakeReleased(now, e)
	case message.AccountsChanged:
		f.usage.onAccountsChanged(now, e)
	case message.ProfileChanged:
		f.onProfileChanged(now, e)
	case message.ResourceReported:
		f.resources.onResourceReported(now, e)
	case message.SenderBlocked:
		f.faults.onSenderBlocked(now, e)
	case message.SyncLeft:
		f.syncs.onSyncLeft(e)
	case message.Ticked:
		f.onTicked(now, e.Unread)
	default:
		panic(fmt.Sprintf("farm: unknown event %T", e))
	}
}

// Take returns all that must be made durable since the last Take, and what may be said after it.
func (f *Farm) Take(now time.Time) outbox.Batch {
	for _, h := range f.syncs.answer {
		f.doing.host = h.ID
		if h.WaitingSync != nil && h.Due {
			f.syncs.replySync(now, h)
		}
	}
	f.syncs.answer, f.doing.host = f.syncs.answer[:0], ""
	f.carried = false
	f.syncs.answerGreetings(now)
	f.usage.accounts.Charged(f.out.Write)
	f.profiles.Changed(f.out.Write)
	f.licences.Changed(f.out.Write)
	return f.out.Take()
}

// Doing is the job and the host that a plan, or a Take, was about when it ended.
func (f *Farm) Doing() (facts.JobID, facts.HostID) { return f.doing.job, f.doing.host }

// Pending says whether there is anything that a Take would return, or that is left for the next commit.
func (f *Farm) Pending() bool {
	return len(f.dependencies.unsettled) > 0 || len(f.dependencies.freeing) > 0 || len(f.suspensions.resumeDue) > 0 ||
		!f.out.Empty() || f.licences.Unwritten() || len(f.syncs.answer) > 0 || len(f.syncs.registrations) > 0
}

// Full reports whether no further event is to be stepped before the next Take.
func (f *Farm) Full() bool { return f.out.Full() }

func (f *Farm) onPolicyChanged(now time.Time, e message.PolicyChanged) {
	before := f.policy
	f.setPolicy(e.Policy)
	if !before.Promise().Same(f.policy.Promise()) {
		f.promise(now, before.Promised)
	}
	for _, h := range f.hosts.ByID {
		h.ForgetAnswer()
	}
	f.teachAll()
	f.countAnew(now, before.Liveness)
	f.planStale, f.planNow = true, true
	f.out.Record(now, facts.EventFacts{Type: "policy", Item: -1, Instance: -1, By: e.By,
		Why: facts.Why{Cause: "configuration read again"}})
	f.out.Answer(e.Ticket, message.PolicyReply{Remarks: []string{}})
}

func (f *Farm) onTicked(now time.Time, unread time.Duration) {
	defer f.out.OwnWork()()
	f.hosts.Listen(now, unread, f.policy.Liveness)
	f.endPromise(now)
	f.brake.look(now)
	f.watch.look(now)
	f.lacks.look(now)
	f.ahead.look(now)
	f.retries.unpause(now)
	f.retries.startDelayed(now)
	f.retries.lookForAvoided(now)
	if f.licences.Raise(now) {
		f.resources.take()
	}
	hosts := f.hosts.Sorted()
	some, _ := f.ticked.next(hosts, max(ticksAll, len(hosts)/ticksRound))
	for _, h := range some {
		if h.WaitingSync != nil && !now.Before(h.WaitingSync.Deadline) {
			f.syncs.answerSoon(h)
		}
		f.maybeLose(now, h)
		f.faults.maybeUnlock(now, h)
		if !h.FullUntil.IsZero() && !now.Before(h.FullUntil) {
			h.FullUntil, f.planStale = time.Time{}, true // no host may ever ask for it again
			h.Noted()
		}
		if h.Heard && h.Usable(now, f.policy) != h.WasUsable {
			h.WasUsable = !h.WasUsable
			f.planStale = true
		}
		f.syncs.maybeForget(now, h)
	}
	f.planStale = f.planStale || f.usage.judged && now.Sub(f.planning.lastPlan) >= budgetsLooked
	if !f.replanAt.IsZero() && !now.Before(f.replanAt) {
		f.replanAt, f.planStale = time.Time{}, true
	}
}
