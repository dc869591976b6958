package rules

import (
	"fmt"
	"math"

	"qb/supervisor/job/facts"
)

// ResourceWrites are the rows of resources in a batch. Of several on one the last wins.
type ResourceWrites struct {
	LastOf[string, facts.ResourceFacts]
}

// Add takes in one of them; it is refused if it cannot be.
func (r *ResourceWrites) Add(w facts.PutResource) error {
	row := w.Resource
	row.Name = Clean(row.Name)
	row.By = Clean(row.By)
	row.ReportedAt = Exact(row.ReportedAt)
	row.LoweredUntil = Exact(row.LoweredUntil)
	if row.Name == "" || row.Outside < 0 || !(row.Wait >= 0) || math.IsInf(row.Wait, 0) ||
		row.Lowered >= 0 && row.LoweredUntil.IsZero() {
		return fmt.Errorf("resource %q cannot be %+v", row.Name, row)
	}
	r.Put(row.Name, row)
	return nil
}
