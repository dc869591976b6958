package planner

import (
	"reflect"
	"testing"

	"qb/smartshare"
)

// TestScratchChangesNoPlan: a balance in memory that others have used gives the same plan, and the plan stays what it
// is when the next one uses that memory.
func TestScratchChangesNoPlan(t *testing.T) {
	var scratch smartshare.Scratch
	var before, copied Plan
	for _, st := range styles {
		eachFarm(t, st, func(f *checked) {
			p := BalanceIn(&scratch, f.s)
			if !reflect.DeepEqual(before, copied) {
				f.fail("the plan before became %+v, was %+v", before, copied)
			}
			if !reflect.DeepEqual(p, f.p) {
				f.fail("in used memory the plan is %+v, in new %+v", p, f.p)
			}
			before, copied = p, f.p
		})
	}
}
