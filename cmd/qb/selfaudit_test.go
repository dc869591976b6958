package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"qb/api"
)

// TestFarmAuditsItself: a minute after a term begins the leader compares what the workers recorded with the rows by itself. Of an
// item that ran twice at once it tells by an event of each kind, in its metrics, its log and to qbping; before, of nothing.
func TestFarmAuditsItself(t *testing.T) {
	t.Setenv("QB_SUPERVISOR_AUDIT_EVERY", "1m")
	f := startFarm(t, "-hosts", "2", "-slots", "2")
	job := f.run(0, "qbsub", "-range", "1-4", "-waiton", "true")
	f.until("a clean audit", func() bool {
		f.last = f.metrics()
		return strings.Contains(f.last, `qb_audit_problems{kind="overlap"} 0`) && !strings.Contains(f.last, "qb_audit_last_run_timestamp_seconds 0\n")
	})
	if said := f.run(0, "qbping"); strings.Contains(said, "problems") {
		t.Errorf("qbping: %s", said)
	}
	f.forgeEnds(job)
	_ = f.cmd.Process.Kill() // a new term
	_ = f.cmd.Wait()
	f.start()
	var events atomic.Pointer[string]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go f.follow(ctx, &events)
	f.until("the audit of the next term finds the runs", func() bool {
		f.last = f.metrics()
		return strings.Contains(f.last, `qb_audit_problems{kind="overlap"} 1`) && strings.Contains(f.last, `qb_audit_problems{kind="no-row"} 1`) && events.Load() != nil
	})
	if said := f.run(0, "qbping"); !strings.Contains(said, "2 problems: the workers' records differ from the database") {
		t.Errorf("qbping: %s", said)
	}
	if said := f.run(0, "qbping", "-json"); !strings.Contains(said, `"problems":2`) {
		t.Errorf("qbping -json: %s", said)
	}
	want := fmt.Sprintf("job %s, item number 0: attempt 1 on h-", job)
	if line := *events.Load(); !strings.Contains(line, `"code":"overlap"`) || !strings.Contains(line, want) {
		t.Errorf("the event is %s", line)
	}
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	_ = f.cmd.Wait()
}

// forgeEnds writes the run of the job's item 0 once more into the records of its host, as its second attempt.
func (f *testFarm) forgeEnds(job string) {
	f.t.Helper()
	var names []string
	_ = filepath.WalkDir(f.state, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Base(filepath.Dir(path)) == "ends" {
			names = append(names, path)
		}
		return nil
	})
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, fmt.Appendf(nil, `"job":%s,"item":0,`, job)) {
				forged := bytes.Replace(line, []byte(`"number":1`), []byte(`"number":2`), 1)
				if err := os.WriteFile(name, append(text, forged...), 0o600); err != nil {
					f.t.Fatal(err)
				}
				return
			}
		}
	}
	f.t.Fatalf("no record of job %s in %v", job, names)
}

func (f *testFarm) admin() *api.Client {
	token, err := os.ReadFile(filepath.Join(f.state, "admin.token"))
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := api.NewClient(f.url, strings.TrimSpace(string(token)))
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *testFarm) metrics() string {
	time.Sleep(500 * time.Millisecond) // it is asked again and again
	resp, err := f.admin().Open(f.t.Context(), api.Metrics, nil, nil, nil)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	var text strings.Builder
	_, _ = bufio.NewReader(resp.Body).WriteTo(&text)
	return text.String()
}

// follow keeps the first event of an overlap.
func (f *testFarm) follow(ctx context.Context, found *atomic.Pointer[string]) {
	resp, err := f.admin().Open(ctx, api.Events, nil, nil, http.Header{})
	if err != nil {
		f.t.Error(err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line, "audit-problem") && strings.Contains(line, "overlap") {
			found.CompareAndSwap(nil, &line)
		}
	}
}
