package main

import "testing"

// A farm that was killed is ready again, ends items and hears its hosts, and its rows add up beside attempts that were
// put there.
func TestRestarts(t *testing.T) {
	var r restartResult
	benchInto(t, &r, "-restart", "-hosts", "4", "-slots", "4", "-jobs", "2", "-items", "20000", "-duration", "1s", "-ended", "1000")
	if r.Ready <= 0 || r.Works < r.Ready || r.Heard < r.Works || r.Ended != 1000 {
		t.Errorf("%+v", r)
	}
	if r.SupervisorCPUSeconds <= 0 || r.PostgresCPUSeconds <= 0 || r.SupervisorRSS < 1<<20 {
		t.Errorf("%+v", r)
	}
}
