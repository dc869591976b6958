package serve

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/term"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

func ping(t testing.TB, c *api.Client) api.Ping {
	t.Helper()
	return must[api.Ping](t, c, api.PingFarm, nil, nil)
}

// readOnly drives a farm into a full disk and out of it. The job has two items; one is ordered to end first.
func (r *rig) readOnly(t *testing.T, fill func(full bool)) {
	u1, worker, events := r.client("u1", api.User), r.agent("h1", 2), r.follow()
	worker.beat(0)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2", CPUs: ptr(2)}).Job
	other := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"y"}, Status: "blocked"}).Job
	worker.until("both run", func() bool { return len(worker.running) == 2 })
	fill(true)
	eventually(t, "a submission finds no room", func() bool {
		err := u1.Call(t.Context(), api.Submit, nil, api.SubmitRequest{Command: []string{"x", strings.Repeat("x", 8000)}}, nil)
		return err != nil && strings.Contains(err.Error(), "disk of the database is full")
	})
	taken := len(must[[]api.Job](t, u1, api.ListJobs, nil, nil))
	eventually(t, "ping says so", func() bool {
		p := ping(t, u1)
		return p.Leader && strings.HasPrefix(p.Trouble, "the farm is read-only since ")
	})
	if text := refused(t, api.KindUnavailable, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"z"}}); !strings.Contains(text, "free some space") {
		t.Errorf("a submission hears %q", text)
	}
	refused(t, api.KindUnavailable, u1, api.OrderJob, params("job", job, "action", "kill"), nil)
	if resp := r.raw("GET", "/healthz", "", "", nil); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text(t, resp), "disk") {
		t.Errorf("health %d", resp.StatusCode)
	}
	if m := r.metrics(); !strings.Contains(m, "\nqb_read_only 1\n") || !strings.Contains(m, "\nqb_database_trouble 1\n") {
		t.Errorf("metrics: %s", m)
	}
	ran := worker.running
	for range 2 {
		if reply := worker.beat(0); len(reply.Instances) != 2 || reply.LeaseSeconds <= 0 {
			t.Errorf("the worker hears %+v", reply)
		}
	}
	if show := must[api.HostSettings](t, r.client("root", api.Admin), api.HostConfiguration, params("host", "h1"), nil); len(show.Settings) == 0 || show.Incarnation != "" {
		t.Errorf("settings are shown, and no process is taken in: %+v", show)
	}
	eventually(t, "the host is up", func() bool {
		hosts := must[[]api.Host](t, u1, api.ListHosts, nil, nil)
		return len(hosts) == 1 && hosts[0].State == "up"
	})
	must[api.Explanation](t, u1, api.Explain, params("job", other), nil)
	worker.finish(0)
	ended := worker.finished
	if reply := worker.beat(0); len(reply.Instances) != 2 {
		t.Errorf("items that ended meanwhile are no longer listed, so their records would be lost: %+v", reply)
	}
	if left := len(must[[]api.Job](t, u1, api.ListJobs, nil, nil)); left != taken {
		t.Errorf("%d jobs after %d", left, taken)
	}
	fill(false)
	eventually(t, "the farm takes changes again", func() bool { return healthy(r) && ping(t, u1).Trouble == "" })
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"z"}, Status: "blocked"})
	wantEvent(t, events, "read-only")
	wantEvent(t, events, "writable")
	if m := r.metrics(); !strings.Contains(m, "\nqb_read_only 0\n") {
		t.Error("the metrics still say read-only")
	}
	for id := range ran {
		delete(worker.running, id)
	}
	worker.finished = ended
	worker.beat(0)
	eventually(t, "the job is complete", func() bool {
		return must[api.Job](t, u1, api.GetJob, params("job", job), nil).Status == "complete"
	})
	if attempts := must[[]api.Attempt](t, u1, api.Attempts, params("job", job), nil); len(attempts) != 2 {
		t.Errorf("%d attempts of 2 items", len(attempts))
	}
}

// TestStandingKeepsRecords: of an end that no row is waiting for the record stays too.
func TestStandingKeepsRecords(t *testing.T) {
	l, heard := answering(t)
	l.Proven(term.SinceBoot())
	s := newWorkerService(&backend{metrics: metrics.New(metrics.Sources{})})
	ended := api.AttemptID{Job: 1, Item: 2, Number: 3}
	e := message.WorkerSynced{Finished: []message.ReportedEnd{{}}, Hold: time.Millisecond}
	reply, err := s.syncReadOnly(t.Context(), l, e, &api.Sync{Finished: []api.Finished{{Attempt: ended, Instance: 4}}})
	if err != nil || len(reply.Instances) != 1 || reply.Instances[0].Attempt != ended || reply.Instances[0].Instance != 4 {
		t.Errorf("%v %+v", err, reply)
	}
	if e := <-heard; !e.Registers || !e.ReadOnly || len(e.Finished) > 0 {
		t.Errorf("the farm hears %+v", e)
	}
}

// TestDiskFull: while the database's disk is full all changes are refused with that reason, running items continue, and
// ends that happen meanwhile are recorded once there is space. As root the test fills a small disk; otherwise Postgres
// is made to refuse each row with the error of a full disk.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	small := unix.Mount("qb-test", dir, "tmpfs", 0, "size=160m,mode=755") == nil
	if small {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // the folder's removal tells if it stays
	}
	cluster := runCluster(t, pgcluster.Config{State: filepath.Join(dir, "db"), Fast: true})
	db, err := postgres.Open(t.Context(), cluster.URL(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r := startRig(t, func(_ *settings.Config, o *Options) { o.Store, o.Trouble = db, cluster.Trouble })
	r.store.Backing = db
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(full bool) {
		t.Helper()
		ballast := filepath.Join(dir, "ballast")
		switch {
		case small && full:
			if err := fillDisk(ballast); err != nil {
				t.Fatal(err)
			}
		case small:
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		case full:
			exec(refuseRows)
		default:
			exec(
				`DROP EVENT TRIGGER no_room; DROP TRIGGER no_room ON job; DROP TRIGGER no_room ON attempt; DROP TRIGGER no_room ON event`)
		}
	}
	r.readOnly(t, fill)
	var told int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM event WHERE type IN ('read-only', 'writable')`).Scan(&told); err != nil || told != 2 {
		t.Errorf("%v: %d events tell of it, want 2", err, told)
	}
	report, err := postgres.Audit(t.Context(), cluster.URL())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %v %+v", err, report.Problems)
	}
}

// refuseRows makes Postgres answer as it does when a table finds no room to grow.
const refuseRows = `
	CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'could not extend file'; END $$;
	CREATE OR REPLACE FUNCTION no_room_at_all() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'could not extend file'; END $$;
	CREATE TRIGGER no_room BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION no_room();
	CREATE TRIGGER no_room BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION no_room();
	CREATE TRIGGER no_room BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION no_room();
	CREATE EVENT TRIGGER no_room ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION no_room_at_all()`

// fillDisk writes until there is no room left for a page.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 20; size >= 1<<10; size /= 4 {
		chunk := make([]byte, size)
		for {
			if _, err := f.Write(chunk); err != nil {
				break
			}
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return fmt.Errorf("nothing could be written to %s: %v", path, err)
	}
	return nil
}
