package rules

import (
	"fmt"

	"qb/supervisor/job/facts"
)

// BreakageWrites are the rows of breakages in a batch. Of several of one sender the last wins.
type BreakageWrites struct {
	LastOf[facts.Sender, facts.BreakageFacts]
}

// Add takes in one of them; it is refused if it cannot be.
func (b *BreakageWrites) Add(w facts.PutBreakage) error {
	row := w.Breakage
	row.Kind = Clean(row.Kind)
	row.Host = facts.HostID(Clean(string(row.Host)))
	row.Owner = Clean(row.Owner)
	row.Cause = Clean(row.Cause)
	row.At = Exact(row.At)
	if row.Kind == "" || row.Times <= 0 || row.At.IsZero() {
		return fmt.Errorf("a breakage cannot be %+v", row)
	}
	b.Put(row.Sender, row)
	return nil
}
