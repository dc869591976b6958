package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/logstore"
	"qb/supervisor/wire/settings"
)

// writeLog leaves what an attempt wrote, as the workers' chunks would have.
func (r *rig) writeLog(id facts.AttemptID, text string) string {
	r.t.Helper()
	return r.writeFile(filepath.Join(r.state, "logs", logstore.Name(id)), text)
}

func (r *rig) writeFile(file, text string) string {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, chunkOf(1, text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestLogsAge: logs are deleted when they are old and, when the disk is short, in the order in which their attempts
// ended. Logs of running attempts are never deleted, and a request for a deleted log is answered with the reason.
func TestLogsAge(t *testing.T) {
	b := newStore(t)
	now := time.Now()
	livePast(t, b, now.Add(-100*settings.Day), pastJob("ada", "", "1-3"))
	livePast(t, b, now.Add(-30*settings.Day), pastJob("ada", "", "1-3"))
	livePast(t, b, now.Add(-2*settings.Day), pastJob("ada", "", "1-2"))
	livePast(t, b, now.Add(-3*time.Minute), pastJob("ada", "", "1-2"))
	var free atomic.Int64
	free.Store(100 << 30)
	r, d := agingRig(t, b, func(o *Options) {
		o.room = func(string) (int64, int64, error) { return free.Load(), 1000 << 30, nil }
	})
	c, token, events := r.client("boss", api.Admin), r.token("boss", api.Admin), r.follow()
	reread := func(change func(*settings.Config)) {
		t.Helper()
		d.put(change, nil)
		must[api.RereadReply](t, c, api.Reread, nil, nil)
	}
	read := func(path string, status int, words string) {
		t.Helper()
		resp := r.raw("GET", "/v1/jobs/"+path, token, "", nil)
		if body := text(t, resp); resp.StatusCode != status || !strings.Contains(body, words) {
			t.Errorf("%s: %d %s, want %d %q", path, resp.StatusCode, body, status, words)
		}
	}
	files := map[facts.JobID]string{}
	for id := facts.JobID(1); id <= 4; id++ {
		files[id] = r.writeLog(facts.AttemptID{Job: id, Item: 1, Number: 1}, "output of old")
	}

	session := r.writeFile(filepath.Join(filepath.Dir(files[2]), "sessions", "1.1.0.log"), "between")
	reread(func(c *settings.Config) { c.HistoryDays = 90 })
	eventually(t, "job 1 is sums", func() bool { return strings.Contains(r.metrics(), "\nqb_history_compacted_attempts_total 3\n") })
	read("1/items/2/log", http.StatusOK, "output of old")
	read("1/items/3/log", http.StatusNotFound, "no output of attempt 1 of item \\\"3\\\" of job 1 is kept")
	reread(func(c *settings.Config) { c.LogRetention = settings.Duration(20 * settings.Day) })
	eventually(t, "two jobs' logs are gone", func() bool { return !there(files[1]) && !there(files[2]) && !there(session) })
	for _, path := range []string{"1/items/2/log", "2/items/2/log", "2/items/2/log?attempt=1"} {
		eventually(t, "the reader is told", func() bool { // it is noted when the logs of both are gone
			return strings.Contains(text(t, r.raw("GET", "/v1/jobs/"+path, token, "", nil)), "was removed on")
		})
		read(path, http.StatusNotFound, "was removed on "+now.UTC().Format("2006-01-02"))
	}
	wantEvent(t, events, "logs-removed")
	if history := must[[]api.Event](t, c, api.History, params("job", 1), nil); history[len(history)-1].Type != "logs-removed" || history[len(history)-2].Type != "compacted" {
		t.Errorf("history %+v", history)
	}
	if there(filepath.Dir(files[1])) || !there(files[3]) || !there(files[4]) {
		t.Error("a folder stayed, or a log went that is younger")
	}

	worker := r.agent("h1", 1)
	must[api.ActionReply](t, c, api.OrderJob, params("job", 2, "action", "redo"), nil)
	worker.until("an item runs again", func() bool { return len(worker.running) == 1 })
	live := r.writeLog(facts.AttemptID{Job: 2, Item: 0, Number: 2}, "output of now")
	free.Store(1 << 30)
	reread(func(c *settings.Config) { c.LogMinFree = 2 << 30 })
	eventually(t, "the logs of job 3 go early", func() bool { return strings.Contains(r.metrics(), "\nqb_logs_removed_early_jobs_total 1\n") })
	if there(files[3]) || !there(files[4]) || !there(live) {
		t.Errorf("of an old job, one that just ended, one that runs: %v %v %v", there(files[3]), there(files[4]), there(live))
	}
	read("2/items/1/log", http.StatusOK, "output of now")
	read("2/items/2/log", http.StatusNotFound, "was removed on")
	eventually(t, "it is told", func() bool {
		return strings.Contains(r.log.String(), "logs deleted early") && strings.Contains(r.log.String(), "no logs of finished jobs are left")
	})
	if m := r.metrics(); !strings.Contains(m, "\nqb_logs_removed_total 3\n") || !strings.Contains(m, "\nqb_log_disk_free_bytes 1.073741824e+09\n") {
		t.Errorf("metrics: %s", m)
	}
}

// TestRoomAfterTheLastRemoval: space freed by the last removal is counted, so that no warning of a full disk follows
// it.
func TestRoomAfterTheLastRemoval(t *testing.T) {
	b := newStore(t)
	livePast(t, b, time.Now().Add(-2*settings.Day), pastJob("ada", "", "1-2"))
	var file atomic.Value
	r, d := agingRig(t, b, func(o *Options) {
		o.room = func(string) (int64, int64, error) {
			if name, _ := file.Load().(string); name != "" && there(name) {
				return 1 << 30, 100 << 30, nil
			}
			return 10 << 30, 100 << 30, nil
		}
	})
	file.Store(r.writeLog(facts.AttemptID{Job: 1, Item: 1, Number: 1}, "output of old"))
	d.put(func(c *settings.Config) { c.LogMinFree = 2 << 30 }, nil)
	must[api.RereadReply](t, r.client("boss", api.Admin), api.Reread, nil, nil)
	eventually(t, "it is told", func() bool { return strings.Contains(r.log.String(), "logs deleted early") })
	eventually(t, "the metric follows", func() bool {
		return strings.Contains(r.metrics(), "\nqb_log_disk_free_bytes 1.073741824e+10\n")
	})
	if log := r.log.String(); !strings.Contains(log, "had 1 GiB free") || !strings.Contains(log, "now 10 GiB are free") ||
		strings.Contains(log, "no logs of finished jobs are left") {
		t.Errorf("told is\n%s", log)
	}
}
