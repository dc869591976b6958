package service

import "testing"

func TestWorkerEnvironment(t *testing.T) {
	got := workerEnvironment([]string{"PATH=/bin", "QB_TOKEN=secret", "QB_DATABASE_URL=x", "QB_WORKER_CPUS=3"})
	if len(got) != 2 || got[0] != "PATH=/bin" || got[1] != "QB_WORKER_CPUS=3" {
		t.Errorf("a worker is given %q", got)
	}
}
