package endsaudit

import (
	"time"

	"qb/supervisor/job/facts"
)

// Kinds of problems.
const (
	ProblemOverlap  = "overlap"        // two runs of one item at once
	ProblemDoubled  = "doubled"        // one attempt that ran twice
	ProblemLostEnd  = "lost-end"       // an end that a worker has recorded, of an attempt that lives by its row
	ProblemToldElse = "told-otherwise" // an end of which worker and row differ, or of another host
	ProblemNoRecord = "no-record"      // an attempt that is done, of which its worker knows nothing
	ProblemNoRow    = "no-row"         // a run that no row knows
)

// Kinds are the kinds of problems, in a fixed order.
var Kinds = []string{ProblemOverlap, ProblemDoubled, ProblemLostEnd, ProblemToldElse, ProblemNoRecord, ProblemNoRow}

// Problem names an item whose records cannot be as they are.
type Problem struct {
	Kind string
	Job  facts.JobID
	Item facts.ItemNo
	Host string // of the run that shows it
	Text string
}

// EndRow is what a row says of an attempt's end.
type EndRow struct {
	ID       facts.AttemptID
	Host     string
	StateID  string // of the worker's folder when it was given
	State    facts.AttemptState
	EndedAt  *time.Time // nil: it lives
	ExitCode *int64
}
