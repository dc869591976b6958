package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"qb/api"
)

// A command that is refused, tries again and runs out of time says why it was refused, and that the last try is open.
func TestLastTryIsCutOff(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	keys := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client is gone
		keys <- r.Header.Get("Idempotency-Key")
		if tries.Add(1) > 2 {
			<-r.Context().Done() // a supervisor that is stopped
			return
		}
		w.Header().Set(api.StandbyHeader, "http://heron:50001")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"type":"urn:qb:error:unavailable","detail":"http://heron:50001 leads"}`))
	}))
	defer server.Close()

	cmd := exec.Command("qbsub", "-retryfor", "4.5s", "-env", "A=it's", "true", "a b")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+t.TempDir(), "QB_SUPERVISOR="+server.URL, "QB_TOKEN=secret")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || tries.Load() != 3 {
		t.Errorf("%v, exit code %d after %d tries, want 3 after 3\n%s", err, code, tries.Load(), out)
	}
	key := <-keys
	want := "qbsub: http://heron:50001 leads; a last try was not answered in time\n" +
		"to repeat it, use its key within a day; it then happens once, whatever became of this call:\n" +
		"  qbsub -key " + key + ` -retryfor 4.5s -env 'A=it'\''s' true 'a b'`
	if got := strings.TrimSpace(string(out)); got != want {
		t.Errorf("the command says\n%s\nwant\n%s", got, want)
	}
	server.Close()
	close(keys)
	for again := range keys {
		if key == "" || again != key {
			t.Errorf("a try under key %q, the first under %q", again, key)
		}
	}
}

// A list that comes in pages goes on behind the last row of each, whatever its visitor does to them, and ends at a
// short page or when there are as many rows as wanted.
func TestPages(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		before, limit := 8, 0
		_, _ = fmt.Sscan(r.URL.Query().Get("before"), &before)
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		rows := []api.AuditEntry{}
		for id := before - 1; id > 0 && len(rows) < limit; id-- {
			rows = append(rows, api.AuditEntry{ID: int64(id)})
		}
		_ = json.NewEncoder(w).Encode(rows)
	}))
	defer server.Close()
	one, err := api.NewClient(server.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{
		0: "[limit=3 before=5&limit=3 before=2&limit=3] 7", 4: "[limit=3 before=5&limit=1] 4", 2: "[limit=2] 2",
	} {
		asked = nil
		rows := 0
		p := pages[api.AuditEntry]{endpoint: api.AuditLog, params: api.Params{}, size: 3, most: most, next: func(last api.AuditEntry) (name, at string) {
			return "before", fmt.Sprint(last.ID)
		}}
		err := p.each(t.Context(), &client{Client: one}, func(page ...api.AuditEntry) error {
			rows += len(page)
			clear(page)
			return nil
		})
		if got := fmt.Sprint(asked, rows); err != nil || got != want {
			t.Errorf("%d rows: asked %s, %v; want %s", most, got, err, want)
		}
	}
}

// A client that is asked to come again later does so by itself: the change keeps its key, and nothing is said of an
// unknown outcome.
func TestTooManyRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		if tries.Add(1) < 3 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"type":"urn:qb:error:limit","detail":"600 submissions a minute"}`))
			return
		}
		_, _ = w.Write([]byte(`{"job":7}`))
	}))
	defer server.Close()
	for _, test := range []struct{ retryFor, want string }{{"10s", "7"}, {"0s", "qbsub: 600 submissions a minute"}} {
		tries.Store(0)
		cmd := exec.Command("qbsub", "-retryfor", test.retryFor, "true")
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+t.TempDir(), "QB_SUPERVISOR="+server.URL, "QB_TOKEN=secret")
		if out, _ := cmd.CombinedOutput(); strings.TrimSpace(string(out)) != test.want {
			t.Errorf("-retryfor %s: %s after %d tries, want %s", test.retryFor, out, tries.Load(), test.want)
		}
	}
}

// A command that waits for a large order does not take a supervisor's silence about it for its end while no one leads:
// that one lists jobs from the rows, without orders under way.
func TestWaitsForALargeOrderWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	var looks, listed atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leads := looks.Load() >= 6
		switch {
		case r.Method == http.MethodPost:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"affected":200000,"order":7}`))
		case r.URL.Path == api.Health.Path:
			if looks.Add(1) < 6 {
				w.Header().Set(api.StandbyHeader, "unknown")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			if !leads {
				_, _ = w.Write([]byte(`{"id":3,"orders":[]}`))
				return
			}
			state := "active"
			if listed.Add(1) > 2 {
				state = "done"
			}
			_, _ = w.Write([]byte(`{"id":3,"orders":[{"number":7,"action":"retry","state":"` + state + `","affected":200000,"done":1}]}`))
		}
	}))
	defer server.Close()
	cmd := exec.Command("qbretry", "3")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+t.TempDir(), "QB_SUPERVISOR="+server.URL, "QB_TOKEN=secret")
	out, err := cmd.CombinedOutput()
	if err != nil || listed.Load() != 3 || !strings.Contains(string(out), "3: retry, 200000 affected") {
		t.Errorf("%v after %d looks that showed the order, want 3\n%s", err, listed.Load(), out)
	}
}

// A list of jobs from a supervisor that does not lead has no reasons and no orders, and says so.
func TestJobsOfAStandby(t *testing.T) {
	t.Parallel()
	for leads, want := range map[bool]string{
		true:  "",
		false: "qbjobs: a supervisor on standby answers: why jobs wait and which orders are under way is known to a leader only",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := any([]api.Job{})
			if strings.HasSuffix(r.URL.Path, api.PingFarm.Path) {
				answer = api.Ping{Leader: leads, User: "ada"}
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}))
		defer server.Close()
		cmd := exec.Command("qbjobs", "-json")
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+t.TempDir(), "QB_SUPERVISOR="+server.URL, "QB_TOKEN=secret")
		var remarks strings.Builder
		cmd.Stderr = &remarks
		if out, err := cmd.Output(); err != nil || string(out) != "[]\n" || strings.TrimSpace(remarks.String()) != want {
			t.Errorf("leader %v: %v, %q, %q; want %q", leads, err, out, remarks.String(), want)
		}
	}
}
