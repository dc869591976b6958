package facts

import "qb/agenda"

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
)

// Actions lists all actions.
var Actions = []Action{Kill, Retry, Requeue, Redo, Block, Unblock, Interrupt, Preempt}

// Reopens says whether the order lets ended items run again.
func (a Action) Reopens() bool { return a == Retry || a == Requeue || a == Redo }

// Covers says whether an order lets an item in this state run again.
func (a Action) Covers(s agenda.State) bool {
	return s == agenda.Failed || s == agenda.Killed || s == agenda.Complete && a == Redo
}
