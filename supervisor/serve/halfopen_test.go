package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
)

// startSwallower is a silent cutter that is reached by TCP, in front of a database of its own.
func startSwallower(t testing.TB, database, name string) (c *cutter, direct string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err == nil {
		_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name)
		conn.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	direct = u.String()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	query := u.Query()
	server := fmt.Sprintf("%s/.s.PGSQL.%s", query.Get("host"), query.Get("port"))
	query.Set("host", "127.0.0.1")
	query.Set("port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	u.RawQuery = query.Encode()
	c = &cutter{t: t, silent: true, url: u.String(), server: server}
	go c.accept(listener)
	return c, direct
}

// swallowed is a farm whose leader hears no answer to the commit that act brings about. Its session stays open at both
// ends, so that Postgres frees the lock only when it has been idle for too long.
func (r *rig) swallowed(c *cutter, act func()) {
	r.t.Helper()
	before := c.cuts.Load()
	c.armed.Store(true)
	act()
	if got := c.cuts.Load() - before; got != 1 {
		r.t.Fatalf("%d answers were swallowed", got)
	}
	client := r.client("root", api.Admin)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var ping api.Ping
		if err := client.Call(r.t.Context(), api.PingFarm, nil, nil, &ping); err == nil && ping.Epoch == 2 && healthy(r) {
			return
		}
		if time.Since(began) > patience {
			r.t.Fatal("no next term")
		}
	}
}

// TestAnswerToCommitSwallowed: the answer to a commit never arrives, while the connection stays open. The commit times
// out and ends the term, waiting callers get an error that says that the outcome is unknown, and the next term has the
// durable changes once.
func TestAnswerToCommitSwallowed(t *testing.T) {
	cluster := startCluster(t)
	for name, change := range map[string]func(r *rig, c *cutter, user string, worker *agent){
		"submit": swallowedSubmit, "dispatch": swallowedDispatch, "end": swallowedEnd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, direct := startSwallower(t, cluster.URL(), "of_"+name)
			r := startOn(t, c.url)
			worker := r.agent("h1", 1)
			worker.beat(0)
			change(r, c, r.token("u1", api.User), worker)
			u1 := r.client("u1", api.User)
			worker.until("the job is complete", func() bool {
				worker.finish(0)
				return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Status == "complete"
			})
			if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 1 {
				t.Errorf("jobs %+v", jobs)
			}
			if attempts := must[[]api.Attempt](t, u1, api.Attempts, params("job", 1), nil); len(attempts) != 3 {
				t.Errorf("%d attempts of 3 items: %+v", len(attempts), attempts)
			}
			if epoch := must[api.Ping](t, u1, api.PingFarm, nil, nil).Epoch; epoch != 2 {
				t.Errorf("epoch %d after one answer that was swallowed", epoch)
			}
			r.audited(direct)
		})
	}
}

const threeItems = `{"command":["x"],"range":"1-3","cpus":1}`

func swallowedSubmit(r *rig, c *cutter, user string, _ *agent) {
	r.swallowed(c, func() {
		if status, answer := r.keyed("POST", "/v1/jobs", user, "k", threeItems); status != http.StatusServiceUnavailable {
			r.t.Errorf("claimed: %d %s", status, answer)
		}
	})
	for range 2 {
		if status, answer := r.keyed("POST", "/v1/jobs", user, "k", threeItems); status >= 300 {
			r.t.Errorf("repeated: %d %s", status, answer)
		}
	}
}

// swallowedDispatch checks that the host gets its item from the next term only, and that this starts no second attempt.
func swallowedDispatch(r *rig, c *cutter, user string, _ *agent) {
	admin := r.client("root", api.Admin)
	must[api.HostReply](r.t, admin, api.LockHost, params("host", "h1"), nil)
	if status, answer := r.keyed("POST", "/v1/jobs", user, "k", threeItems); status >= 300 {
		r.t.Fatalf("%d %s", status, answer)
	}
	r.swallowed(c, func() {
		refused(r.t, api.KindUnavailable, admin, api.UnlockHost, params("host", "h1"), nil)
	})
}

// swallowedEnd: the worker keeps the result until it is acknowledged, and tells it again.
func swallowedEnd(r *rig, c *cutter, user string, worker *agent) {
	if status, answer := r.keyed("POST", "/v1/jobs", user, "k", threeItems); status >= 300 {
		r.t.Fatalf("%d %s", status, answer)
	}
	worker.until("an item runs", func() bool { return len(worker.running) == 1 })
	worker.finish(0)
	told := worker.finished
	r.swallowed(c, func() {
		worker.sync.Sequence++
		worker.sync.HoldSeconds, worker.sync.Instances, worker.sync.Finished = 0, nil, told
		refused(r.t, api.KindUnavailable, worker.client, api.SyncWorker, nil, worker.sync)
	})
	worker.finished = told
}
