package worker

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"qb/api"
	"qb/worker/core"
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
