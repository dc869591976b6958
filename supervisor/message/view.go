package message

import (
	"time"

	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/quota"
)

// View is the farm as listings show it: immutable, made now and then with what a commit makes durable, never ahead of
// the rows.
type View struct {
	At    time.Time
	Jobs  []facts.JobView // by ascending id; all that are not final and the most recent final ones
	Hosts []HostView      // by name

	Owners  map[string]quota.Use // of unfinished jobs
	Counts  Counts
	NoPlans string // why no plans are made now; "": they are
	Brake   string // why nothing is moved from silent hosts now; "": the mass-failure brake is not engaged
}

// Part is what has changed of a view; a job or host that is nil is no longer in it.
type Part struct {
	Jobs  map[facts.JobID]*facts.JobView
	Hosts map[facts.HostID]*HostView
}

// HostView is a host with what runs on it.
type HostView struct {
	facts.HostFacts
	Incarnation string // of the worker's process that the farm has taken in; empty: none in this term
	State       string // up, unreachable, lost, locked
	Used        int
	Available   int64 // bytes of what the host offers that nobody has now
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

// Counts are what the farm has told of since it was made, for the metrics.
type Counts struct {
	Slow        uint64 // items that ran several times as long as their job's longest
	Overused    uint64 // items that used more processor time than their slots give
	OutOfMemory uint64 // items killed for want of memory
	Plans       uint64 // divisions of the farm
	PlanPanics  uint64 // of those that were tried: they panicked, or took too many steps
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
