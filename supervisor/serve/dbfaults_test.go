package serve

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/store/postgres"
)

// cutter is a proxy between a supervisor and its database. Once armed, it withholds the answer to the next COMMIT: it
// closes the session when the database has answered or, if silent is set, leaves both sides open and forwards nothing
// more, not even the end of a connection.
type cutter struct {
	t      testing.TB
	silent bool
	armed  atomic.Bool
	cuts   atomic.Int64
	url    string
	server string // a socket
}

// startCutter listens where libpq looks for a server in a folder.
func startCutter(t testing.TB, database string) *cutter {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	name := ".s.PGSQL." + query.Get("port")
	server := filepath.Join(query.Get("host"), name)
	dir, err := os.MkdirTemp("", "qb") // short: a unix socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	c := &cutter{t: t, url: u.String(), server: server}
	go c.accept(listener)
	return c
}

func (c *cutter) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go c.carry(client)
	}
}

func (c *cutter) carry(client net.Conn) {
	database, err := net.Dial("unix", c.server)
	if err != nil {
		client.Close()
		return
	}
	end := func() {
		client.Close()
		database.Close()
	}
	var swallow atomic.Bool
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := database.Read(buffer)
			switch {
			case swallow.Load() && c.silent:
				c.t.Cleanup(end) // the client gets neither the answer nor the end of the connection
				return
			case err != nil || swallow.Load():
				end()
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				end()
				return
			}
		}
	}()
	_, _ = io.Copy(listening{database, func(b []byte) {
		if bytes.Contains(b, []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
			swallow.Store(true)
			c.cuts.Add(1)
		}
	}}, client) // the connection's end is the test's doing
	if !swallow.Load() || !c.silent {
		end()
	}
}

// listening hears what is written before it goes on.
type listening struct {
	io.Writer
	hear func([]byte)
}

func (l listening) Write(b []byte) (int, error) {
	l.hear(b)
	return l.Writer.Write(b)
}

// TestAnswerToCommitLost: the connection is cut after the commit and before its answer arrives. Waiting callers get an
// error that says that the outcome is unknown, the next term has the durable changes once, and repeated calls change
// nothing.
func TestAnswerToCommitLost(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	proxy := startCutter(t, cluster.URL())
	r := startOn(t, proxy.url)
	admin, u1, worker := r.token("root", api.Admin), r.client("u1", api.User), r.agent("h1", 1)
	user := r.token("u1", api.User)
	worker.beat(0)
	const submission = `{"command":["x"],"range":"1-3","cpus":1}`
	for n, path := range []string{"/v1/credits", "/v1/jobs"} {
		body, token := tenPoints, admin
		if path == "/v1/jobs" {
			body, token = submission, user
		}
		proxy.armed.Store(true)
		if status, answer := r.keyed("POST", path, token, "k", body); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if got := proxy.cuts.Load(); got != int64(n+1) {
			t.Fatalf("%d cuts", got)
		}
		eventually(t, "the next term", func() bool { return healthy(r) })
		for range 2 {
			if status, answer := r.keyed("POST", path, token, "k", body); status >= 300 {
				t.Errorf("%s, repeated: %d %s", path, status, answer)
			}
		}
	}
	if got := r.credits(admin); len(got) != 1 {
		t.Errorf("credit %+v", got)
	}
	if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 1 {
		t.Fatalf("jobs %+v", jobs)
	}
	worker.until("an item runs", func() bool { return len(worker.running) == 1 })
	worker.finish(0)
	told := worker.finished
	proxy.armed.Store(true) // the end of the item and the start of the next
	worker.sync.Sequence++
	worker.sync.HoldSeconds, worker.sync.Instances, worker.sync.Finished = 0, nil, told
	refused(t, api.KindUnavailable, worker.client, api.SyncWorker, nil, worker.sync)
	eventually(t, "the next term", func() bool { return healthy(r) })
	worker.finished = told // the spool keeps it until it is acknowledged
	worker.until("the job is complete", func() bool {
		worker.finish(0)
		return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Status == "complete"
	})
	if attempts := must[[]api.Attempt](t, u1, api.Attempts, params("job", 1), nil); len(attempts) != 3 {
		t.Errorf("%d attempts of 3 items: %+v", len(attempts), attempts)
	}
	if epoch := must[api.Ping](t, u1, api.PingFarm, nil, nil).Epoch; epoch != 4 {
		t.Errorf("epoch %d after 3 lost answers", epoch)
	}
	r.audited(cluster.URL())
}

func (r *rig) audited(url string) {
	r.t.Helper()
	report, err := postgres.Audit(r.t.Context(), url)
	if err != nil || len(report.Problems) > 0 {
		r.t.Errorf("the audit: %+v, %v", report.Problems, err)
	}
}

// TestTableUnreadable: another session holds an exclusive lock on a table. Reads of its rows fail with an error in
// time, the term goes on, and the rows can be read when the lock is released.
func TestTableUnreadable(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := startOn(t, cluster.URL())
	client := r.client("mara", api.User)
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}})
	before := must[api.Ping](t, client, api.PingFarm, nil, nil).Epoch
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	hold, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), "LOCK TABLE event IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if text := refused(t, api.KindUnavailable, client, api.History, params("job", 1), nil); !strings.Contains(text,
		"try again") {
		t.Errorf("a table that cannot be read: %s", text)
	}
	if took := time.Since(began); took > 2*readFor+patience/4 {
		t.Errorf("it is told after %s", took)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	must[[]api.Event](t, client, api.History, params("job", 1), nil)
	if after := must[api.Ping](t, client, api.PingFarm, nil, nil).Epoch; after != before {
		t.Errorf("the term %d has become %d", before, after)
	}
}

// TestTableLocked: somebody holds a lock on a table that lets others read, but not write. The leader says that the
// outcome is not known, does not wait for ever, calls itself unable meanwhile, and goes on when the lock is gone; what
// was refused can be repeated.
func TestTableLocked(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := startOn(t, cluster.URL())
	admin := r.token("root", api.Admin)
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	hold, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), "LOCK TABLE credit IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	if status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints); status != http.StatusServiceUnavailable ||
		!strings.Contains(answer, "repeat the request") {
		t.Errorf("%d %s", status, answer)
	}
	eventually(t, "the term ends", func() bool { return !healthy(r) })
	if status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints); status != http.StatusServiceUnavailable {
		t.Errorf("without a term: %d %s", status, answer)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next term", func() bool { return healthy(r) })
	for range 2 {
		if status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints); status >= 300 {
			t.Errorf("repeated: %d %s", status, answer)
		}
	}
	if got := r.credits(admin); len(got) != 1 {
		t.Errorf("credit %+v", got)
	}
	r.audited(cluster.URL())
}
