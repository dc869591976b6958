package facts

import (
	"fmt"

	"qb/agenda"
)

// Action is an order on a job or on some of its items.
type Action string

// The actions.
const (
	Kill      Action = "kill"
	Retry     Action = "retry"   // failed and killed items again
	Requeue   Action = "requeue" // the same, but the job is blocked
	Redo      Action = "redo"    // complete items too
	Block     Action = "block"   // stop and hold
	Unblock   Action = "unblock"
	Interrupt Action = "interrupt" // stop, back to pending
	Preempt   Action = "preempt"   // leave at the item's end
	Shove     Action = "shove"     // plan again, and try the working folder again
	Suspend   Action = "suspend"   // what runs is frozen, nothing starts
	Resume    Action = "resume"    // it goes on
	Migrate   Action = "migrate"   // stop, back to pending, and to another host
	Retire    Action = "retire"    // leave at the item's end, and the job is narrower; of items and jobs: run no more

	Top    Action = "top" // before the others of its cluster and priority
	Bottom Action = "bottom"

	ToComplete Action = "complete" // items count as complete without being run
	ToFailed   Action = "fail"     // unfinished items count as failed
)

// Actions lists all actions.
var Actions = []Action{Kill, Retry, Requeue, Redo, Block, Unblock, Interrupt, Preempt, Shove, Suspend, Resume, Migrate,
	Retire, Top, Bottom, ToComplete, ToFailed}

// Reopens says whether the order lets ended items run again.
func (a Action) Reopens() bool { return a == Retry || a == Requeue || a == Redo }

// Marks is the mark that the order lays over its items, if it ends them.
func (a Action) Marks() MarkKind {
	return map[Action]MarkKind{Kill: MarkKilled, ToComplete: MarkComplete, Retire: MarkComplete, ToFailed: MarkFailed}[a]
}

var stops = map[Action]Reason{
	Kill: ReasonKilled, Block: ReasonBlocked, Interrupt: ReasonInterrupted, Migrate: ReasonMigrated,
	ToComplete: ReasonMarkedComplete,
	ToFailed:   ReasonMarkedFailed, Preempt: ReasonSentAway, Retire: ReasonRetired,
}

// Stops is why what runs is stopped by the order, or is the last of its instance.
func (a Action) Stops() Reason { return stops[a] }

// Covers says whether an order takes an ended item in this state out of it: to run again, or to be complete.
func (a Action) Covers(s agenda.State) bool {
	return s == agenda.Failed || s == agenda.Killed || s == agenda.Complete && a == Redo
}

// needs is what a job, or its items, must be for an order to change something.
var needs = map[Action]string{
	Kill:      "an unfinished job",
	Retry:     "failed or killed items (qbredo runs complete ones again)",
	Requeue:   "failed or killed items",
	Redo:      "ended items",
	Block:     "an unfinished job that is not blocked",
	Unblock:   "a blocked job or blocked items",
	Interrupt: "running items",
	Preempt:   "running items",
	Shove:     "pending items in a job that is not blocked",
	Suspend:   "running items",
	Resume:    "a suspended job or suspended items",
	Migrate:   "running items",
	Retire:    "items that have not begun, or running instances",

	Top:    "an unfinished job",
	Bottom: "an unfinished job",

	ToComplete: "items that are pending, blocked, running, failed or killed",
	ToFailed:   "items that are pending, blocked or running",

	"modify": "an unfinished job",
	"remove": "an ended job",
}

// Needs is what a job, or its items, must be for the order, or for modify and remove, to change something.
func (a Action) Needs() string { return needs[a] }

// ChangedNothing says why an order changed nothing of a job with this status; the instances are the ones that count,
// and the ones that are ending.
func (a Action) ChangedNothing(id JobID, status string, counting, ending int) string {
	if ending > 0 && counting == 0 {
		return fmt.Sprintf("job %d is being stopped already; %s changes nothing more", id, a)
	}
	// Of a running job the items decide: "job 7 is running; preempt needs running items" would contradict itself.
	if takes := a.TakesItems(); status == ItemRunning && takes != nil {
		return fmt.Sprintf("job %d has no item that is %s; %s changes nothing", id, Either(takes), a)
	}
	return fmt.Sprintf("job %d is %s; %s needs %s", id, status, a, a.Needs())
}
