package worker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/settings"
)

// still says whether a process is stopped, by a signal or by its control group.
func still(p proc.Process) bool {
	if p.State == 'T' {
		return true
	}
	for _, kind := range cgroup.Kinds {
		for _, folder := range cgroup.FoldersOf(strconv.Itoa(p.PID), kind) {
			if (cgroup.Group{Kind: kind, Folder: folder}).Frozen() {
				return true
			}
		}
	}
	return false
}

// frozen says whether there are processes and all are stopped.
func frozen(list []proc.Process) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(p proc.Process) bool { return !still(p) })
}

// usableGroups are the ways in which this host lets a worker hold its items: without a group always.
func usableGroups() map[string][]string {
	ways := map[string][]string{"none": {}}
	for _, kind := range cgroup.Kinds {
		c := cgroup.New([]string{kind}, fmt.Sprintf("test-%d", os.Getpid()))
		if c.Kind != "" && c.Remove() == nil {
			ways[kind] = []string{kind}
		}
	}
	return ways
}

// grouped runs an agent that may use some kinds of groups only, until the test ends.
func (f *scriptedFarm) grouped(config settings.Config, kinds []string) {
	options := testOptions(slog.DiscardHandler)
	options.StopItems, options.groupKinds = func() bool { return true }, kinds
	runAgentOptions(f.t, config, options)
}

// ticker is a job whose item writes on and on, and so do a child that shows whose it is, and a hidden child:
// it has left its parents, its session and its environment. All write into the file.
func (f *scriptedFarm) ticker(id int64) (file string) {
	file = filepath.Join(f.t.TempDir(), "ticks")
	loop := `while :; do echo $0 >> "$1"; sleep 0.02; done`
	f.shellJob(id, fmt.Sprintf("(setsid sh -c '%[1]s' shown %[2]s &)\n(setsid env -i PATH=$PATH sh -c '%[1]s' hidden %[2]s &)\necho up\nsh -c '%[1]s' item %[2]s", loop, file))
	return file
}

func (f *scriptedFarm) awaitTicks(file string, more map[string]int) map[string]int {
	f.t.Helper()
	var n map[string]int
	f.await("all write", func() bool {
		n = ticks(file)
		return n["item"] > more["item"] && n["shown"] > more["shown"] && n["hidden"] > more["hidden"]
	})
	return n
}

func ticks(file string) map[string]int {
	n := map[string]int{}
	data, _ := os.ReadFile(file)
	for _, name := range strings.Fields(string(data)) {
		n[name]++
	}
	return n
}

// standsStill looks whether anything is written for a while, in which each would write some hundred times.
func standsStill(file string) bool {
	before := fmt.Sprint(ticks(file))
	time.Sleep(2 * time.Second)
	return fmt.Sprint(ticks(file)) == before
}

func TestWhatIsFrozenDoesNothingUntilItIsThawed(t *testing.T) {
	t.Parallel()
	for name, kinds := range usableGroups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			file := f.ticker(1)
			f.with(func() { f.lease = 2 })
			f.grouped(testConfig(t, f), kinds)
			f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
			f.awaitTicks(file, nil)
			f.with(func() { f.mute = true })
			f.await("frozen", func() bool { return standsStill(file) })
			if !standsStill(file) {
				t.Error("it writes though it is frozen")
			}
			f.with(func() { f.mute = false; f.lease = 600 })
			f.awaitTicks(file, ticks(file))
		})
	}
}

func TestNextItemRunsWhereAFrozenOneWasKilled(t *testing.T) {
	t.Parallel()
	for name, kinds := range usableGroups() {
		if name == "none" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cgroup.New(kinds, fmt.Sprintf("next-%d", os.Getpid()))
			defer c.Remove()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			run := func(line string) int {
				t.Helper()
				attr := &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin"}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
				leave, err := c.Enter(attr.Sys)
				if err != nil {
					t.Fatal(err)
				}
				defer leave()
				pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", line}, attr)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
			first := run("sleep 300")
			if !c.Inside()[first] {
				t.Fatal("it is not in the group")
			}
			for deadline := time.Now().Add(testPatience); !c.Freeze(); { // a busy machine takes longer than freeze waits
				if time.Now().After(deadline) {
					t.Fatal("it is not frozen in the group")
				}
			}
			c.Kill()
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(first, &status, 0, nil); err != nil || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the frozen one: %v, %v", err, status)
			}
			next := run("exit 7")
			if _, err := syscall.Wait4(next, &status, 0, nil); err != nil || status.ExitStatus() != 7 {
				t.Errorf("the next one: %v, %v", err, status)
			}
		})
	}
}

// A child that hides is found by its group when its shim was killed; without a group the worker can only
// find what shows whose it is.
func TestKilledShimLeavesNothingOfWhatHidesInAGroup(t *testing.T) {
	t.Parallel()
	for name, kinds := range usableGroups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			file := f.ticker(1)
			config := testConfig(t, f)
			f.grouped(config, kinds)
			f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
			f.awaitTicks(file, nil)
			now, err := readNow(filepath.Join(config.State, "i", "1.0"))
			if err != nil {
				t.Fatal(err)
			}
			syscall.Kill(now.Shim.PID, syscall.SIGKILL)
			if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "lost" {
				t.Errorf("end = %+v", end)
			}
			told := ticks(file)
			defer killWriters(file)
			if name != "none" {
				if !standsStill(file) {
					t.Errorf("lost was told, and it writes on: %v, then %v", told, ticks(file))
				}
				return
			}
			f.await("the hidden one writes on", func() bool { return ticks(file)["hidden"] > told["hidden"] })
			if n := ticks(file); n["item"] != told["item"] || n["shown"] != told["shown"] {
				t.Errorf("lost was told, and they write on: %v, then %v", told, n)
			}
		})
	}
}

// killWriters ends what has the file on its command line.
func killWriters(file string) {
	for _, p := range proc.All() {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); strings.Contains(string(line), file) {
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}
