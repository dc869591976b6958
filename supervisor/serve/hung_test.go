package serve

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// TestHungSession: the Postgres backend of the leader's session is stopped, so that neither commits nor checks are
// answered. /healthz reports this before the term ends, the term ends TrustFor after the statement that hangs, and the
// farm goes on when the backend does.
func TestHungSession(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := startOn(t, cluster.URL())
	eventually(t, "a term", func() bool { return healthy(r) })
	var pid int
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(),
		`SELECT pid FROM pg_stat_activity WHERE application_name = 'qb leader'`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	backend, err := os.FindProcess(pid)
	if err == nil {
		err = backend.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	goOn := func() { _ = backend.Signal(syscall.SIGCONT) }
	t.Cleanup(goOn)
	began := time.Now()
	leads := func() bool { return must[api.Ping](t, r.client("root", api.Admin), api.PingFarm, nil, nil).Leader }
	said, last, gap := false, began, time.Duration(0)
	eventually(t, "the term's end", func() bool {
		now := time.Now()
		last, gap = now, max(gap, now.Sub(last))
		said = said || !healthy(r) && leads()
		return !leads()
	})
	if !said && gap < (store.TrustFor-problem.StalledAfter)/2 { // else this machine has no time to look in between
		t.Error("/healthz said nothing before the term's end")
	}
	if took := time.Since(began); took > 2*store.TrustFor+4*gap {
		t.Errorf("the term ended after %v; looked every %v", took, gap)
	}
	goOn()
	eventually(t, "the next term", func() bool { return healthy(r) })
}

// TestSlowRebuild: a farm so large that its rebuilding takes longer than Postgres waits for a silent leader is led by
// the first term.
func TestSlowRebuild(t *testing.T) {
	t.Parallel()
	r := startOn(t, startCluster(t).URL(), func(_ *settings.Config, o *Options) {
		o.rebuild = func(p message.Policy, rows facts.Facts, now time.Time) (term.Machine, error) {
			time.Sleep(store.TrustFor + time.Second)
			return farm.Rebuild(p, rows, now)
		}
	})
	if epoch := must[api.Ping](t, r.client("root", api.Admin), api.PingFarm, nil, nil).Epoch; epoch != 1 {
		t.Errorf("epoch %d", epoch)
	}
}
