package serve

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/limits"
)

// TestAttackTakenWorker: an attacker who controls a host reaches its own items only. Items of other hosts continue and
// end normally, their jobs see no event, nothing is listed, and requests that are too large are refused.
func TestAttackTakenWorker(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	mine, other := r.enrolled("mine"), r.enrolled("other")
	mine.beat(0)
	other.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render", "hunter2"}, Env: map[string]string{"PASSWORD": "hunter2"},
			Hosts: []string{"other"}}).Job
	other.until("it runs", func() bool { return len(other.running) == 1 })
	for _, e := range api.Endpoints {
		if e.Role != api.Worker && e.Role != api.Anyone {
			refused(t, api.KindForbidden, mine.client, e,
				params("job", id, "item", "1", "action", "kill", "host", "other", "token", "0000000000000000", "user", "u1"), nil)
		}
	}
	for key, i := range other.running { // it claims to run the other's item, then to have ended it
		mine.running[key] = i
		if reply := mine.beat(0); strings.Contains(encoded(reply), "hunter2") || len(reply.Instances) > 0 {
			t.Errorf("the taken host is told %+v", reply)
		}
		for _, outcome := range []string{"exit", "stopped", "lost", "launch", "refused"} {
			mine.finished = append(mine.finished, api.Finished{Attempt: key, Instance: i.Instance, Outcome: outcome,
				ExitCode: ptr(0)})
		}
		mine.beat(0)
		for _, session := range []bool{false, true} {
			refused(t, api.KindForbidden, mine.client, api.AppendLog, nil,
				api.LogChunk{Attempt: key, Session: session, Data: chunkOf(1, "forged")})
		}
	}
	refused(t, api.KindForbidden, mine.client, api.ShipEnds, nil, api.EndsPage{Host: "other", Audit: "x"})
	replayed := mine.sync
	for _, sequence := range []uint64{mine.sync.Sequence, 1, math.MaxUint64, 0} { // what it sent before, or never
		replayed.Sequence = sequence
		_ = mine.client.Call(t.Context(), api.SyncWorker, nil, replayed, nil)
	}
	other.beat(0)
	if len(other.running) != 1 {
		t.Error("the other host's item does not run on")
	}
	other.finish(0)
	other.beat(0)
	if a := must[[]api.Attempt](t, u1, api.Attempts, params("job", id), nil); len(a) != 1 || a[0].State != "done" ||
		a[0].Host != "other" {
		t.Errorf("the other host's item has the attempts %+v", a)
	}
	r.largeBodies(t)
}

// largeBodies are refused before they cost anything.
func (r *rig) largeBodies(t *testing.T) {
	t.Helper()
	token := r.token("agent", api.Worker)
	for what, body := range map[string]string{
		"long": `{"host":"` + strings.Repeat("x", 17<<20) + `"}`, "deep": strings.Repeat(`[`, 1<<20),
		"deep members": strings.Repeat(`{"a":`, 1<<18),
		"numbers":      `{"host":1e999,"attempt":1e999}`, "chunk": `{"data":"` + strings.Repeat("A", 7<<20) + `"}`,
	} {
		for _, e := range []api.Endpoint{api.SyncWorker, api.AppendLog, api.ShipEnds, api.Enrol} {
			resp := r.raw(e.Method, e.Path, token, body, nil)
			if resp.StatusCode/100 != 4 {
				t.Errorf("%s for %s is answered %s", what, e.ID, resp.Status)
			}
			resp.Body.Close()
		}
	}
}

// TestAttackWorkerFlood: a taken host that sends requests as fast as it can gets its allowance and no more, and others
// are answered meanwhile. QB_FLOOD says how many it sends.
func TestAttackWorkerFlood(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, mine := r.client("u1", api.User), r.enrolled("mine")
	mine.beat(0)
	many := countOf("QB_FLOOD", 8000)
	body := encoded(mine.sync) // the same again and again
	flood := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer flood.CloseIdleConnections()
	token, began := mine.token, time.Now()
	var sent, beyond atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for sent.Add(1) <= int64(many) {
				req, err := http.NewRequestWithContext(t.Context(), api.SyncWorker.Method, r.url+api.SyncWorker.Path,
					strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", "application/json")
				resp, err := flood.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				if resp.StatusCode == http.StatusTooManyRequests {
					beyond.Add(1)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	var longest time.Duration
	answered := 0
	for going := true; going; answered++ {
		select {
		case <-over:
			going = false
		default:
		}
		asked := time.Now()
		must[[]api.Job](t, u1, api.ListJobs, nil, nil)
		must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"})
		longest = max(longest, time.Since(asked))
		time.Sleep(100 * time.Millisecond)
	}
	took := time.Since(began)
	t.Logf("%d requests in %s, %d beyond the allowance; meanwhile another user's %d pairs took at most %s", many, took,
		beyond.Load(), answered, longest)
	if taken := int64(many) - beyond.Load(); float64(taken) > limits.HostBurst+limits.HostRate*(took.Seconds()+1) {
		t.Errorf("%d requests were taken in %s", taken, took)
	}
}

// countOf is how often a test does something: by default what the whole suite has time for.
func countOf(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// TestAttackTraversal: no path or name, however written, reads a file but the logs. QB_TRAVERSAL says how many are
// tried.
func TestAttackTraversal(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	const secret = "canary-outside-of-the-logs"
	if err := os.WriteFile(filepath.Join(r.state, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	u1, worker, token := r.client("u1", api.User), r.agent("h1", 8), r.token("u1", api.User)
	names := []string{"../../../secret", "...", "%2e%2e%2f", "secret", r.state + "/secret", `..\..\secret`,
		"a\u2215..\u2215b"}
	worker.beat(0)
	job := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: strings.Join(names, ","), CPUs: ptr(8)}).Job
	worker.until("the items run", func() bool { return len(worker.running) == len(names) })
	for _, folder := range []string{".", ".."} { // an address would mean the folder
		refused(t, api.KindInvalid, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "a," + folder})
	}
	for id := range worker.running {
		must[api.LogReply](t, worker.client, api.AppendLog, nil,
			api.LogChunk{Attempt: id, Data: chunkOf(1, "its output"), Final: true})
	}
	for _, name := range names { // an item of any name has its own output
		if got := text(t, r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/%s/log", job, url.PathEscape(name)),
			token, "", nil)); got != "its output" {
			t.Errorf("item %q: %q", name, got)
		}
	}
	parts := []string{"..", ".", "", "secret", "%2e%2e", "%2e%2e%2f", "..%2f", "%252e%252e%252f", "..%5c", `..;`, "%00",
		"~", "0", "1", "1.1.log", "log", "items", "jobs", "logs", "etc", "passwd", "proc", "self", "environ", "%c0%ae%c0%ae",
		"..%c0%af",
		url.PathEscape(r.state), "file:", "farm.key", "tls", "ca.pem", "admin.token", "%ff", "..%0a", "9223372036854775807",
		"-1", "1e9"}
	prefixes := []string{"/", "/v1/jobs/", "/v1/jobs/1/items/", "/v1/jobs/1/items/1/log/", "/docs/",
		"/v1/openapi.yaml/", "/v1/"}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	many := int64(countOf("QB_TRAVERSAL", 10_000))
	for range 4 {
		all.Go(func() {
			for n := next.Add(1); n <= many; n = next.Add(1) {
				path, rest := prefixes[n%int64(len(prefixes))], n/int64(len(prefixes))
				for range 5 {
					path += parts[rest%int64(len(parts))] + "/"
					rest = rest/int64(len(parts)) + n%7
				}
				if path = strings.TrimSuffix(path, "/"); n%3 == 0 {
					path += "/log"
				}
				status, body := readPath(t, client, r.url, path, token)
				if bytes.Contains(body, []byte(secret)) || status == http.StatusOK && !strings.HasSuffix(path, "log") ||
					status >= 500 {
					t.Errorf("%s: %d %.100q", path, status, body)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d paths", many)
}

// readPath sends a path as it is written.
func readPath(t *testing.T, client *http.Client, base, path, token string) (int, []byte) {
	u, err := url.Parse(base)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	u.Opaque = "//" + u.Host + path
	req := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host,
		Header: http.Header{"Authorization": {"Bearer " + token}}}
	resp, err := client.Do(req.WithContext(t.Context()))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, body
}
