package message

import (
	"time"

	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// View is the farm as listings show it: immutable, made now and then with what a commit makes durable, never ahead of
// the rows.
type View struct {
	At    time.Time
	Jobs  []*facts.JobView // by ascending id; all that are not final and the most recent final ones
	Hosts []*HostView      // by name

	Owners  map[string]quota.Use // of unfinished jobs
	Counts  Counts
	NoPlans string // why no plans are made now; "": they are
	Brake   string // why nothing is moved from silent hosts now; "": the mass-failure brake is not engaged
}

// ViewDelta is what has changed of a view; a job or host that is nil is no longer in it.
type ViewDelta struct {
	Jobs  map[facts.JobID]*facts.JobView
	Hosts map[facts.HostID]*HostView
}

// HostView is a host with what runs on it.
type HostView struct {
	facts.HostFacts
	Incarnation string // of the worker's process that the farm has taken in; empty: none in this term
	State       string // up, unreachable, lost, locked
	Used        int
	Available   int64 // bytes that the host offers and no instance has now
	Promised    int64
	PerIdle     int64 // what the ledger has for each idle slot
	Swap        Swap
	Away        int          // slots that are not offered
	Code        facts.Reason // of the remark
	Remark      string
	Avoided     []fit.Avoidance // users, folders and jobs that get nothing there for a while
	Claims      []agents.Claim  // of its name, by others
	RunAs       string
	AgentUser   string // the only owner served when RunAs is agent
	Instances   []InstanceView
}

// InstanceView is one instance.
type InstanceView struct {
	Job         facts.JobID
	Number      int
	Kind        facts.Kind
	State       string // active, draining, stopping
	Attempt     facts.AttemptID
	ItemName    string
	Next        string // name of the item that it holds ahead; empty: none
	Started     time.Time
	ItemStarted time.Time
	Progress    int       // of the item, per cent
	SuspendedAt time.Time // since when its processes stand still by order; zero: they run
	Suspended   float64   // seconds for which they did before

	// What it holds of its host, and of the farm.
	Slots   int
	Memory  int64
	Holds   map[string]int64
	Devices []int
}

// Counts are of events since the farm was made, for the metrics.
type Counts struct {
	Slow          uint64 // items that ran several times as long as their job's longest
	Overused      uint64 // items that used more processor time than their slots give
	OutOfMemory   uint64 // items killed for want of memory
	Plans         uint64 // divisions of the farm
	DroppedStarts uint64 // that a plan had for now, and that something which happened since has made impossible
	PlansPutOff   uint64 // as too many had followed one event
	PlanPanics    uint64 // of the ones that were tried: they panicked, or took too many steps
}

// Progress is how far the running attempts of a job are, in per cent, as far as they say so.
func (v *View) Progress(id facts.JobID) map[facts.AttemptID]int {
	all := map[facts.AttemptID]int{}
	for _, h := range v.Hosts {
		for _, i := range h.Instances {
			if i.Job == id && i.Progress > 0 {
				all[i.Attempt] = i.Progress
			}
		}
	}
	return all
}

// PlanBreak is how a plan broke: it panicked, or took too many steps.
type PlanBreak struct {
	Text, Stack string
	Job         facts.JobID // that is held for it; 0: none
	Stopped     bool        // no job is to blame: no plans are made for a while
}
