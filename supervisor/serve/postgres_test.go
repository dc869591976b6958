package serve

import (
	"context"
	"os"
	"testing"

	"qb/api"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// TestOnPostgres: the whole way on the real database, and across a lost database server.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := startOn(t, cluster.URL())
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	worker.beat(0)
	job := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-4", CPUs: ptr(2)})
	worker.until("two run", func() bool { return len(worker.running) == 2 })
	server, err := os.FindProcess(cluster.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the term ends with its session", func() bool { return !healthy(r) })
	eventually(t, "the next term", func() bool { return healthy(r) })
	for range 2 {
		worker.finish(0)
		worker.until("the ends are taken", func() bool { return len(worker.finished) == 0 })
	}
	worker.until("the job is complete", func() bool {
		worker.finish(0)
		return must[api.Job](t, u1, api.GetJob, params("job", job.Job), nil).Status == "complete"
	})
	attempts := must[[]api.Attempt](t, u1, api.Attempts, params("job", job.Job), nil)
	if len(attempts) != 4 {
		t.Errorf("%d attempts: %+v", len(attempts), attempts)
	}
}

// startCluster is a database server of the test's own.
func startCluster(t testing.TB) *pgcluster.Cluster {
	t.Helper()
	return runCluster(t, pgcluster.Config{State: openDir(t), Fast: true})
}

// openDir is a folder for one: the server may run as another user, who cannot enter t.TempDir.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func runCluster(t testing.TB, config pgcluster.Config) *pgcluster.Cluster {
	t.Helper()
	cluster, err := pgcluster.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil { // the test's own context is over by now
			t.Error(err)
		}
	})
	return cluster
}

// startOn is a rig whose supervisor works on that database.
func startOn(t testing.TB, url string, opts ...rigOption) *rig {
	t.Helper()
	db, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return startRig(t, append(opts, func(_ *settings.Config, o *Options) { o.Store.(*faultyStore).Backing = db })...)
}
