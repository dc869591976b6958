package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// loadOnce makes a job whose program stays loaded and does mode with its item 2.
func (f *scriptedFarm) loadOnce(id int64, mode string) {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	spec := f.job(id, self, "program", mode)
	spec.LoadOnce = true
	f.with(func() { f.specs[id] = spec })
}

var loadedBy = regexp.MustCompile(`by (\d+)`)

// programs are the processes that had items of an instance, in their order.
func (f *scriptedFarm) programs(job int64, items int) (pids []string) {
	f.t.Helper()
	for n := range items {
		out := f.output(attempt(job, n), shim.StreamOut)
		for _, found := range loadedBy.FindAllStringSubmatch(out, -1) {
			if len(pids) == 0 || pids[len(pids)-1] != found[1] {
				pids = append(pids, found[1])
			}
		}
	}
	return pids
}

func done(end api.Finished) bool { return end.Outcome == "exit" && *end.ExitCode == 0 }

func TestProgramStaysLoaded(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(7, "plain")
	runAgent(t, testConfig(t, f))
	const items = 20
	f.chain(core.Key{Job: 7, Instance: 0}, items)
	for n := range items {
		end := f.awaitEnd(attempt(7, n))
		if !done(end) || string(end.Result) != fmt.Sprintf(`{"square":%d}`, n*n) || len(end.OutputPaths) != 1 {
			t.Errorf("item %d: %+v", n, end)
		}
		want := fmt.Sprintf("item %d of 7", n)
		if out := f.output(attempt(7, n), shim.StreamOut); !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("item %d wrote %q", n, out)
		}
	}
	if pids := f.programs(7, items); len(pids) != 1 {
		t.Errorf("the items were of processes %v", pids)
	}
}

// sessionLog is what the program of an instance wrote between its items.
func sessionLog(t *testing.T, config settings.Config, key core.Key) string {
	data, err := os.ReadFile(filepath.Join(config.State, "i", key.String(), "log"))
	if err != nil {
		t.Error(err)
	}
	return string(plainLog(t, data, 0))
}

// TestProgramsThatMisbehave: whatever a program does with one item, at most that item fails, and each other one is done.
func TestProgramsThatMisbehave(t *testing.T) {
	t.Parallel()
	user := statedir.OwnName()
	cases := []struct {
		mode     string
		end      string // of item 2
		within   string // its log
		between  string // the session's log
		programs int
	}{
		{"fail", "exit 7 no camera", "", "failed: pending\n", 2},
		{"other", "exit 0", "said not_yours not_yours\n", "", 1},
		{"twice", "exit 0", "", "said ok reported", 1},
		{"flood", "exit 0", "said too_long true\n", "then ok", 1},
		{"half", "exit 0", "", "then ok", 1},
		{"garbage", "exit 0", "said not_json not_json unknown unknown unknown unknown\n", "then ok", 1},
		{"result", "exit 0", "said result_too_long too_long\n", "then ok", 1},
		{"fork", "exit 0", "", "reader said ok\nsaid reported\n", 3},
		{"connections", "exit 0", "said 25 refused\n", "then ok", 1},
		{"exit", "launch no_report the program ended with exit status 0 and did not report its item; a program of a load-once job reports each item with reportwork", "", "", 2},
		{"exit3", "exit 3", "", "", 2},
		{"crash", "signal 9", "", "", 2},
		{"leave", "exit 0", "", "said ok", 2},
		{"job", "exit 0", "said 14 " + user + " 0 ok\n", "then ok", 1},
		{"between", "exit 0", "within\n", "between\n", 1},
	}
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	runAgent(t, config)
	const items = 5
	for n, c := range cases {
		f.loadOnce(int64(n+1), c.mode)
	}
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			key := core.Key{Job: end.Attempt.Job, Instance: 0}
			next := end.Attempt.Item + 1
			if next == items {
				next = lastItem // the session is there to look at
			}
			f.wantLocked(key, attempt(key.Job, next))
		}
		for n := range cases {
			f.wantLocked(core.Key{Job: int64(n + 1)}, attempt(int64(n+1), 0))
		}
	})
	for n, c := range cases {
		job := int64(n + 1)
		for item := range items {
			end := f.awaitEnd(attempt(job, item))
			if text := shortEnd(end); item == 2 && text != c.end || item != 2 && text != "exit 0" {
				t.Errorf("%s: item %d ended with %s", c.mode, item, text)
			}
		}
		if out := f.output(attempt(job, 2), 0); !strings.Contains(out, c.within) {
			t.Errorf("%s: item 2 wrote %q", c.mode, out)
		}
		if out := f.output(attempt(job, 3), 0); !strings.Contains(out, "item 3 of") || strings.Contains(out, "between") {
			t.Errorf("%s: item 3 wrote %q", c.mode, out)
		}
		if pids := f.programs(job, items); len(pids) != c.programs {
			t.Errorf("%s: the items were of processes %v, want %d", c.mode, pids, c.programs)
		}
		if log := sessionLog(t, config, core.Key{Job: job}); !strings.Contains(log, c.between) {
			t.Errorf("%s: the session's log is %q", c.mode, log)
		}
	}
}

// shortEnd is an end in a few words.
func shortEnd(end api.Finished) string {
	words := []string{end.Outcome}
	if end.ExitCode != nil {
		words = append(words, fmt.Sprint(*end.ExitCode))
	}
	if end.Signal != nil {
		words = append(words, fmt.Sprint(*end.Signal))
	}
	if end.Code != "" {
		words = append(words, end.Code)
	}
	if end.Reason != "" {
		words = append(words, end.Reason)
	}
	return strings.Join(words, " ")
}
