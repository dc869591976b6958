package message

import (
	"time"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
	"qb/supervisor/share/slottime"
)

// Policy is what the site has configured for the farm.
type Policy struct {
	Fairshare       accounting.Policy
	Share           planner.SharePolicy
	Divide          planner.Divide // divides the farm; nil: planner.Decide
	Multifactor     accounting.Multifactor
	PrimaryPreempt  string // passive, aggressive, disabled: supervisor_preempt_policy
	DefaultPriority int
	MaxPriority     int
	JobFlags        []string // that jobs get besides their own
	Mail            MailPolicy
	DefaultCluster  string
	HostOrder       string // of jobs that name none, as +host.memory.avail; "": none
	MaxItems        int    // of one job
	// of the whole farm, as license.nuke: what the site has; the farm's own copy has what it may hold
	Resources      map[string]int64
	Licences       licences.Policy
	Liveness       time.Duration
	ExecutionLease time.Duration
	KillGrace      time.Duration
	LoadOnceWait   time.Duration // of a load-once program for its next item
	ShortItem      time.Duration // an instance holds the next item ahead if those of its job took less; 0: never
	LeaseMargin    time.Duration
	Promised       facts.PromiseFacts // the longest of these that answers may have named; the farm's own copy has it
	WallSlack      time.Duration      // by which an end may claim to have run longer than since it was given; 0: any time
	MinRun         time.Duration
	Settle         time.Duration
	ReleaseSlots   bool          // what is suspended gives back its slots: supervisor_suspend_slots
	MaxLost        time.Duration // an item that would lose more is drained, not stopped; 0: no bound
	PlanDelay      time.Duration // least time between two plans
	CommitRows     int           // most rows of a commit, except for those of its last event; 0: commitRows
	Memory         items.MemoryPolicy
	CPUShare       slottime.Policy
	Limits         quota.Policy
	Instances      InstanceLimits
	OrderRows      int // rows that one commit changes for large orders; 0: 2,000
	// attempts of a job that failed on a host one after the other, after which the job avoids it; 0: never
	AvoidAfter int
	AvoidFor   time.Duration
	TimeFactor float64 // an item that runs so many times its estimate is recorded as slow; 0: none
}

// MailPolicy says whether the farm can tell of ends by mail.
type MailPolicy struct {
	On     bool // there is a mail server
	Domain bool // and owners have addresses, unless their jobs name others
}

// LeaseInFull is the time after an answer by this policy at which an unheard attempt is surely frozen.
func (p *Policy) LeaseInFull() time.Duration { return p.Promise().InFull() }

// Promise is what answers by this policy promise.
func (p *Policy) Promise() facts.PromiseFacts {
	return facts.PromiseFacts{Lease: p.ExecutionLease, Grace: p.KillGrace, Margin: p.LeaseMargin}
}

// Within is the policy without what is longer than a promise.
func (p Policy) Within(o facts.PromiseFacts) Policy {
	least := p.Promise().Within(o)
	p.ExecutionLease = least.Lease
	p.KillGrace = least.Grace
	p.LeaseMargin = least.Margin
	return p
}

// LimitOrders is the limit of orders on one job, as a refusal names it.
const LimitOrders = "open-orders"

// MaxOrders is how many orders on one job may be under way or wait.
const MaxOrders = 16
