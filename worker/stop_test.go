package worker

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"qb/worker/core"
)

// TestStopThatMeetsAnExitLosesNoWork: the item has called exit and is giving back its memory when the stop arrives.
// TERM has no effect on it any more; its work is done.
func TestStopThatMeetsAnExitLosesNoWork(t *testing.T) {
	f := newScriptedFarm(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.with(func() { f.keep = true })
	config := testConfig(t, f)
	runAgent(t, config)
	for n := range 5 {
		id := attempt(int64(n+1), 0)
		f.job(id.Job, self, "exit", "400", filepath.Join(dir, fmt.Sprint(n)))
		f.want(core.Key{Job: id.Job, Instance: 0}, id)
		f.await("it exits", func() bool {
			for range 100 {
				now, err := readNow(filepath.Join(config.State, "i", core.Key{Job: id.Job, Instance: 0}.String()))
				if err == nil && now.Process.PID != 0 && exits(now.Process.PID) {
					return true
				}
				time.Sleep(100 * time.Microsecond)
			}
			return false
		})
		f.with(func() { delete(f.wanted, core.Key{Job: id.Job, Instance: 0}) })
		if end := f.awaitEnd(id); end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != 0 || end.Reason != "" {
			t.Errorf("try %d: it had exited before its stop, and is told as %+v", n, end)
		}
	}
}

// exits says whether a process has begun its exit (PF_EXITING), or is over it.
func exits(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&4 != 0 || fields[0] == "Z"
}

// TestExitAfterItsTermIsStopped: an item that heeds TERM and then exits 0 was stopped, as it is not known what of its
// work it has done.
func TestExitAfterItsTermIsStopped(t *testing.T) {
	f := newScriptedFarm(t)
	f.shellJob(1, `trap 'echo leaving; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
	runAgent(t, testConfig(t, f))
	id := attempt(1, 0)
	f.want(core.Key{Job: 1, Instance: 0}, id)
	f.awaitOutput(id, "up")
	f.with(func() { delete(f.wanted, core.Key{Job: 1, Instance: 0}) })
	if end := f.awaitEnd(id); end.Outcome != core.OutcomeStopped || end.ExitCode != nil {
		t.Errorf("it was stopped, and is told as %+v", end)
	}
	f.awaitOutput(id, "leaving")
}

// TestStopWhileItIsBeingForked: orders replace an item by the next about when its process is born, a thousand orders.
// None may be left behind half born, and none hold its slot.
func TestStopWhileItIsBeingForked(t *testing.T) {
	f := newScriptedFarm(t)
	f.job(1, "sleep", "60")
	runAgent(t, testConfig(t, f))
	const slots, times = 4, 250
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range times {
		for slot := range slots {
			f.want(core.Key{Job: 1, Instance: slot}, attempt(1, n*slots+slot))
			time.Sleep(time.Duration(rng.IntN(8000)) * time.Microsecond)
		}
	}
	f.with(func() { clear(f.wanted) })
	f.await("nothing runs", func() bool { return len(f.last.Instances) == 0 && len(f.last.Finished) == 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	outcomes := map[string]int{}
	for _, end := range f.ends {
		outcomes[end.Outcome]++
	}
	t.Logf("ends: %v", outcomes)
	if outcomes[core.OutcomeStopped] < slots*times/50 { // a busy worker sees only some of the orders
		t.Errorf("only %d of %d were stopped: %v", outcomes[core.OutcomeStopped], slots*times, outcomes)
	}
}
