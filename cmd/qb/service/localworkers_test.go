package service

import (
	"context"
	"testing"
	"time"
)

func TestWorkerEnvironment(t *testing.T) {
	got := workerEnvironment([]string{"PATH=/bin", "QB_TOKEN=secret", "QB_DATABASE_URL=x", "QB_WORKER_CPUS=3"})
	if len(got) != 2 || got[0] != "PATH=/bin" || got[1] != "QB_WORKER_CPUS=3" {
		t.Errorf("a worker is given %q", got)
	}
}

// A worker that does not end when it is ordered to is killed after the limit.
func TestWorkerThatDoesNotEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	time.AfterFunc(300*time.Millisecond, end)
	one := &localWorker{name: "deaf", args: []string{"sh", "-c", "trap '' TERM; exec sleep 60"}}
	began := time.Now()
	if err := one.run(ctx, "/bin/sh", 200*time.Millisecond); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("it ended after %s: %v", time.Since(began), err)
	}
}
