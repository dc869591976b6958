package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/shim"
)

func TestItemRunsAndItsEndIsTold(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(7, "echo item $QB_FRAME_NUMBER; echo oops >&2; exit 3")
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 7, Instance: 0}, attempt(7, 4))
	end := f.awaitEnd(attempt(7, 4))
	if end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != 3 {
		t.Fatalf("end = %+v, want exit 3", end)
	}
	if out := f.output(attempt(7, 4), shim.StreamOut); out != "item 5\n" {
		t.Errorf("stdout = %q", out)
	}
	if out := f.output(attempt(7, 4), shim.StreamErr); out != "oops\n" {
		t.Errorf("stderr = %q", out)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.final[logID{AttemptID: attempt(7, 4)}] {
		t.Error("the log was not declared complete before the end was told")
	}
}

// chain gives an instance item after item.
func (f *scriptedFarm) chain(key core.Key, items int) {
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			if next := end.Attempt.Item + 1; next < items {
				f.wantLocked(core.Key{Job: end.Attempt.Job, Instance: end.Instance}, attempt(end.Attempt.Job, next))
			}
		}
		f.wantLocked(key, attempt(key.Job, 0))
	})
}

func TestItemsAreHandedToOneShim(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, "echo $PPID $QB_FRAME_NUMBER")
	runAgent(t, testConfig(t, f))
	const items = 50
	f.chain(core.Key{Job: 1, Instance: 0}, items)
	f.awaitEnd(attempt(1, items-1))
	parents := map[string]bool{}
	for i := range items {
		fields := strings.Fields(f.output(attempt(1, i), shim.StreamOut))
		if len(fields) != 2 || fields[1] != strconv.Itoa(i+1) {
			t.Fatalf("item %d said %q", i, fields)
		}
		parents[fields[0]] = true
	}
	if len(parents) != 1 {
		t.Errorf("%d shims ran the items of one instance", len(parents))
	}
}

// processesWith finds living processes by a mark in their environment.
func processesWith(mark string) (found []proc.Process) {
	for _, p := range proc.All() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err == nil && p.State != 'Z' && bytes.Contains(data, []byte(mark)) {
			found = append(found, p)
		}
	}
	return found
}

// treeLine starts a tree that does all it can to get away, and then waits.
const treeLine = `trap '' TERM
setsid sh -c 'trap "" TERM; sleep 300; sleep 300' &
(setsid sh -c 'sleep 300' & ) &
sh -c '(sleep 300 &) ; exit 0' &
echo grown
sleep 300; sleep 300; sleep 300`

// treeJob runs that tree; its processes are found by the mark.
func (f *scriptedFarm) treeJob(id int64) (mark string) {
	mark = fmt.Sprintf("TREE_OF=%s-%d-%d", strings.ReplaceAll(f.t.Name(), "/", "-"), os.Getpid(), id)
	f.shellJob(id, treeLine)
	f.with(func() {
		spec := f.specs[id]
		name, value, _ := strings.Cut(mark, "=")
		spec.Env = map[string]string{name: value}
		f.specs[id] = spec
	})
	return mark
}

func (f *scriptedFarm) awaitProcesses(mark string, what string, right func([]proc.Process) bool) {
	f.t.Helper()
	f.await(what+" "+mark, func() bool { return right(processesWith(mark)) })
}

func none(list []proc.Process) bool { return len(list) == 0 }

func TestStopEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	f.with(func() { f.grace = 0.2 })
	runAgent(t, testConfig(t, f))
	key, id := core.Key{Job: 1, Instance: 0}, attempt(1, 0)
	f.want(key, id)
	f.awaitOutput(id, "grown")
	f.awaitProcesses(mark, "tree", func(l []proc.Process) bool { return len(l) >= 5 })
	f.with(func() { delete(f.wanted, key) })
	end := f.awaitEnd(id)
	if left := processesWith(mark); len(left) > 0 {
		t.Errorf("the end was told while %d processes lived", len(left))
	}
	if end.Outcome != "stopped" {
		t.Errorf("end = %+v, want stopped", end)
	}
	f.await("an empty list", func() bool { return len(f.last.Instances) == 0 && len(f.last.Finished) == 0 })
}

func TestStopLetsTheItemTidyUp(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `trap 'echo tidy; exit 5' TERM; echo up; while :; do sleep 0.02; done`)
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "up")
	f.with(func() { clear(f.wanted) })
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "stopped" || end.ExitCode != nil {
		t.Errorf("end = %+v, want stopped", end)
	}
	if out := f.output(attempt(1, 0), shim.StreamOut); out != "up\ntidy\n" {
		t.Errorf("output = %q", out)
	}
}

func TestWhatAnItemLeavesBehindIsKilled(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	f.with(func() {
		spec := f.specs[1]
		spec.Command = []string{`setsid sleep 300 >/dev/null 2>&1 & echo done`}
		f.specs[1] = spec
	})
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	end := f.awaitEnd(attempt(1, 0))
	if end.Outcome != "exit" || *end.ExitCode != 0 {
		t.Errorf("end = %+v, want exit 0", end)
	}
	if left := processesWith(mark); len(left) > 0 {
		t.Errorf("%d processes outlive the item", len(left))
	}
}

func TestAnotherAttemptReplacesTheRunningOne(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, "echo QB_FRAME_NUMBER; [ QB_FRAME_NUMBER = 2 ] || sleep 300")
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "1")
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 1))
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "stopped" {
		t.Errorf("the first ended with %+v", end)
	}
	if end := f.awaitEnd(attempt(1, 1)); end.Outcome != "exit" {
		t.Errorf("the second ended with %+v", end)
	}
}

func TestKilledAgentIsFollowedByOneThatAdopts(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `echo begin $$; while [ ! -e "$GO" ]; do sleep 0.02; done; echo end $$`)
	gate := filepath.Join(t.TempDir(), "gate")
	f.with(func() {
		spec := f.specs[1]
		spec.Env = map[string]string{"GO": gate}
		f.specs[1] = spec
	})
	config := testConfig(t, f)
	first := startAgent(t, config)
	running, ends := attempt(1, 0), attempt(1, 1)
	f.want(core.Key{Job: 1, Instance: 0}, running)
	f.awaitOutput(running, "begin")
	state := f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateRunning)
	kill9(t, first)

	before := f.heard()
	second := startAgent(t, config)
	f.await("the second agent", func() bool { return f.last.Incarnation != before.Incarnation })
	again := f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateRunning)
	if now := f.heard(); again.Attempt != state.Attempt || now.StateID != before.StateID {
		t.Errorf("adopted %+v under state %s, had %+v under %s", again, now.StateID, state, before.StateID)
	}

	// An end while no agent lives is found by the third.
	kill9(t, second)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(config.State, "spool", shim.AttemptName(running))
	f.await("the record", func() bool { _, err := os.Stat(record); return err == nil })
	runAgent(t, config)
	end := f.awaitEnd(running)
	if end.Outcome != "exit" || *end.ExitCode != 0 {
		t.Errorf("end = %+v", end)
	}
	f.awaitOutput(running, "end")
	fields := strings.Fields(f.output(running, shim.StreamOut))
	if len(fields) != 4 || fields[1] != fields[3] {
		t.Errorf("output %q, want one process to have said both", fields)
	}
	f.want(core.Key{Job: 1, Instance: 0}, ends)
	f.awaitEnd(ends)
}

func TestAgentThatLeavesItemsRunning(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, "echo up; sleep 300")
	config := testConfig(t, f)
	stop := runAgentWith(t, config, false)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "up")
	stop()
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil || !now.Process.Alive() {
		t.Fatalf("the item does not run on: %+v, %v", now, err)
	}
	incarnation := f.heard().Incarnation
	runAgent(t, config)
	f.await("the next agent", func() bool { return f.last.Incarnation != incarnation })
	f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateRunning)
}

func TestStoppedAgentStopsItems(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	f.with(func() { f.grace = 0.1 })
	config := testConfig(t, f)
	stop := runAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "grown")
	stop()
	end := f.awaitEnd(attempt(1, 0))
	if end.Outcome != "stopped" || end.Reason != closeReason || !end.InLease {
		t.Errorf("end = %+v", end)
	}
	if left := processesWith(mark); len(left) > 0 {
		t.Errorf("%d processes live on", len(left))
	}
	if entries, _ := os.ReadDir(filepath.Join(config.State, "i")); len(entries) > 0 {
		t.Errorf("instances are left: %v", entries)
	}
}

func TestTreeFreezesWhenTheLeaseEndsUnheardAndThawsLater(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	f.with(func() { f.lease = 2 })
	config := testConfig(t, f)
	agent := startAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "grown")
	f.awaitProcesses(mark, "tree", func(l []proc.Process) bool { return len(l) >= 5 })
	kill9(t, agent)
	f.awaitProcesses(mark, "frozen without an agent", frozen)

	f.with(func() { f.mute = true })
	runAgent(t, config)
	f.await("frozen is told", func() bool { return len(f.last.Instances) == 1 && f.last.Instances[0].State == core.StateFrozen })
	f.with(func() { f.mute = false; f.lease = 600 })
	f.awaitProcesses(mark, "thawed", func(l []proc.Process) bool { return !slices.ContainsFunc(l, still) && len(l) >= 5 })
	f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateRunning)
}

func TestFrozenTreeThatIsNotWantedIsKilledWithoutWaking(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `trap 'echo woken' TERM CONT; echo up; while :; do sleep 0.02; done`)
	f.with(func() { f.grace = 300 })
	config := testConfig(t, f)
	agent := startAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "up")
	f.with(func() { f.parting = 3 }) // no answer comes after it that could wake what it freezes
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	f.await("frozen", func() bool { p, ok := proc.Read(now.Process.PID); return ok && still(p) })
	kill9(t, agent)
	f.with(func() { clear(f.wanted); f.mute = false })
	runAgent(t, config)
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "stopped" || end.InLease {
		t.Errorf("end = %+v", end)
	}
	if out := f.output(attempt(1, 0), shim.StreamOut); out != "up\n" {
		t.Errorf("output = %q: it was woken", out)
	}
}

func TestKilledShimIsALossAndNothingOfItsTreeLives(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	config := testConfig(t, f)
	runAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "grown")
	f.awaitProcesses(mark, "tree", func(l []proc.Process) bool { return len(l) >= 5 })
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(now.Shim.PID, syscall.SIGKILL)
	end := f.awaitEnd(attempt(1, 0))
	if left := processesWith(mark); len(left) > 0 {
		t.Errorf("lost was told while %d processes lived", len(left))
	}
	if end.Outcome != "lost" {
		t.Errorf("end = %+v", end)
	}
}

func TestShimThatDoesNotAnswerIsUnknownAndIsKilledWhenNotWanted(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	config := testConfig(t, f)
	agent := startAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "grown")
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	kill9(t, agent)
	os.Remove(filepath.Join(config.State, "i", "1.0", "s"))
	runAgent(t, config)
	f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateUnknown)
	f.with(func() { clear(f.wanted) })
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "stopped" {
		t.Errorf("end = %+v", end)
	}
	if left := processesWith(mark); len(left) > 0 || now.Shim.Alive() {
		t.Errorf("%d processes live on; the shim too: %v", len(left), now.Shim.Alive())
	}
}

func TestWipedStateFolderIsAnotherState(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	mark := f.treeJob(1)
	config := testConfig(t, f)
	agent := startAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "grown")
	kill9(t, agent)
	before := f.heard()
	if err := os.RemoveAll(config.State); err != nil {
		t.Fatal(err)
	}
	f.with(func() { clear(f.wanted) })
	runAgent(t, config)
	f.await("the next agent", func() bool { return f.last.Incarnation != before.Incarnation })
	if f.heard().StateID == before.StateID {
		t.Error("the state id survived its folder")
	}
	if now := f.heard(); len(now.Instances) > 0 || len(now.Finished) > 0 {
		t.Errorf("the agent claims to know %+v", now)
	}
	f.awaitProcesses(mark, "the old shim sees that nobody can ask it", none)
}

func TestRecordIsKeptUntilAnAnswerLetsItGo(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.job(1, "true")
	f.with(func() { f.keep = true })
	config := testConfig(t, f)
	agent := startAgent(t, config)
	id := attempt(1, 0)
	f.want(core.Key{Job: 1, Instance: 0}, id)
	f.await("told thrice", func() bool { return f.told[id] >= 3 })
	kill9(t, agent)
	told := f.told[id]
	runAgent(t, config)
	f.await("told by the next agent", func() bool { return f.told[id] > told+1 })
	record := filepath.Join(config.State, "spool", shim.AttemptName(id))
	if _, err := os.Stat(record); err != nil {
		t.Errorf("the record: %v", err)
	}
	f.with(func() { f.keep = false; clear(f.wanted) })
	f.await("forgotten", func() bool {
		_, err := os.Stat(record)
		return os.IsNotExist(err)
	})
}

func TestSilentSupervisorLosesNothing(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, "echo up; sleep 0.3")
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "up")
	f.server.CloseClientConnections()
	f.with(func() { f.mute = true })
	time.Sleep(400 * time.Millisecond) // it ends while no one answers; nothing is judged by this wait
	f.with(func() { f.mute = false })
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "exit" {
		t.Errorf("end = %+v", end)
	}
}

func TestSecondAgentOnOneStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	runAgent(t, config)
	f.await("the first sync", func() bool { return f.syncs > 0 })
	err := Run(t.Context(), config, testOptions(discard))
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a second agent: %v", err)
	}
}
