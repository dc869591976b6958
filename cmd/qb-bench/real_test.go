package main

import "testing"

// Real items are counted, and what they cost is found at each part of the farm.
func TestRealItems(t *testing.T) {
	var r launchesResult
	benchInto(t, &r, "-real", "-hosts", "1", "-slots", "2", "-seconds", "2")
	if r.Items < 10 || r.ItemsPerSecond <= 0 || r.BarePerSecond <= r.ItemsPerSecond || r.BareCPU <= 0 {
		t.Errorf("%d items ended, %.1f a second beside %.1f bare launches, which take %.2f ms of a processor each", r.Items,
			r.ItemsPerSecond, r.BarePerSecond, r.BareCPU)
	}
	if c := r.CPU; c.Shims <= 0 || c.Items <= 0 || c.Agents <= 0 || c.Supervisor <= 0 || c.Postgres <= 0 || c.All > 1000 {
		t.Errorf("milliseconds of a processor per item: %+v", c)
	}
}
