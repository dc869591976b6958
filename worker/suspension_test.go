package worker

import (
	"fmt"
	"testing"

	"qb/worker/core"
)

// stand has the worker suspend what the instance runs, under that number; 0 lets it go on.
func (f *scriptedFarm) stand(key core.Key, number int64) {
	f.with(func() {
		d := f.wanted[key]
		d.Suspended, d.SuspensionID = number != 0, number
		f.wanted[key] = d
	})
}

// awaitStandstill waits until the worker reports that all of the instance is frozen under that number.
func (f *scriptedFarm) awaitStandstill(key core.Key, number int64) {
	f.t.Helper()
	f.await(fmt.Sprintf("%s stands still under %d", key, number), func() bool {
		for _, i := range f.last.Instances {
			if i.Job == key.Job && i.Instance == key.Instance {
				return i.SuspensionID == number
			}
		}
		return false
	})
}

// A standstill is proven with the number of its suspension: of an item that has not started, of a running item, and by
// a shim that the next agent takes over. A later suspension that finds the tree still is answered with its own number.
func TestAStandstillIsReportedWithItsNumber(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	c := testConfig(t, f)
	agent := startAgent(t, c)
	f.shellJob(1, "echo began; (while :; do sleep 0.1; done) & while [ ! -e "+t.TempDir()+"/go ]; do sleep 0.1; done")
	key, id := core.Key{Job: 1}, attempt(1, 0)
	f.with(func() {
		f.wantLocked(key, id)
		d := f.wanted[key]
		d.Suspended, d.SuspensionID = true, 7
		f.wanted[key] = d
	})
	f.awaitStandstill(key, 7)
	if state := f.awaitState(key, core.StateStarting); len(f.output(id, 0)) > 0 {
		t.Errorf("it was suspended before its start, and ran: %+v", state)
	}
	f.stand(key, 0)
	f.awaitOutput(id, "began")
	f.awaitStandstill(key, 0)
	f.stand(key, 8)
	f.awaitStandstill(key, 8)
	kill9(t, agent)
	startAgent(t, c)
	f.awaitStandstill(key, 8)
	f.stand(key, 9)
	f.awaitStandstill(key, 9)
	f.stand(key, 0)
	f.awaitStandstill(key, 0)
	f.awaitState(key, core.StateRunning)
	f.with(func() { delete(f.wanted, key) })
	if end := f.awaitEnd(id); end.Suspended <= 0 {
		t.Errorf("it was suspended for %v s", end.Suspended)
	}
}
