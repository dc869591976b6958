package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Real items are counted, and what they cost is found at each part of the farm.
func TestRealItems(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(built(t), "qb"), "bench", "-real", "-hosts", "1", "-slots", "2", "-seconds", "2")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var r launchesResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.Items < 10 || r.ItemsPerSecond <= 0 || r.BarePerSecond <= r.ItemsPerSecond || r.BareCPU <= 0 {
		t.Errorf("%d items ended, %.1f a second beside %.1f bare launches, which take %.2f ms of a processor each", r.Items,
			r.ItemsPerSecond, r.BarePerSecond, r.BareCPU)
	}
	if c := r.CPU; c.Shims <= 0 || c.Items <= 0 || c.Agents <= 0 || c.Supervisor <= 0 || c.Postgres <= 0 || c.All > 1000 {
		t.Errorf("milliseconds of a processor per item: %+v", c)
	}
}
