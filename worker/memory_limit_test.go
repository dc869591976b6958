package worker

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/shim"
)

// eater wants an item that eats so many megabytes, for so many milliseconds.
func (f *scriptedFarm) eater(id api.AttemptID, megabytes, milliseconds int, limit int64) {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	f.job(id.Job, self, "eat", fmt.Sprint(megabytes), fmt.Sprint(milliseconds))
	f.with(func() {
		f.wantLocked(core.Key{Job: id.Job, Instance: 0}, id)
		d := f.wanted[core.Key{Job: id.Job, Instance: 0}]
		d.Memory, d.HardLimit = limit, limit > 0
		f.wanted[core.Key{Job: id.Job, Instance: 0}] = d
	})
}

func TestPeakIsLearnedAndLimitIsKept(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	free, tight := attempt(1, 0), attempt(2, 0)
	f.eater(free, 300, 500, 0)
	f.eater(tight, 300, 20_000, 150<<20)
	// The eater is this very program: with the race detector each byte it eats has up to four more beside it.
	if end := f.awaitEnd(free); end.Outcome != "exit" || end.PeakMemory < 300<<20 || end.PeakMemory > 1600<<20 {
		t.Errorf("an item that ate 300 MB: %+v", end)
	}
	end := f.awaitEnd(tight)
	if end.Outcome != core.OutcomeMemory || !end.Limit || end.PeakMemory == 0 {
		t.Errorf("an item over its limit of 150 MB: %+v", end)
	}
	keeper := keeperHere("keeper", cgroup.Kinds)
	if byKernel := strings.HasPrefix(end.Reason, "the kernel killed the item at its limit of 150 MiB"); byKernel != (keeper == "kernel") {
		t.Errorf("limits are kept by the %s, and it says %q", keeper, end.Reason)
	}
	t.Log(end.Reason)
	again := tight // on the same instance, in the same group
	again.Number = 2
	f.eater(again, 160, 100, 1<<30)
	if end := f.awaitEnd(again); end.Outcome != "exit" || end.PeakMemory < 160<<20 {
		t.Errorf("the same item with more: %+v", end)
	}
}

// TestKillsOfChildrenCount: whatever the command makes of children that the kernel killed at its limit, the attempt
// ends as memory, with the command's exit status; kills elsewhere on the host say nothing of it.
func TestKillsOfChildrenCount(t *testing.T) {
	t.Parallel()
	if keeperHere("children", cgroup.Kinds) != "kernel" {
		return // the agent stops the whole item
	}
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	ends := []int{0, 1, 3, 137}
	for n, code := range ends {
		id := attempt(int64(n+1), 0)
		f.eater(id, 300, 1, 150<<20)
		f.with(func() {
			spec := f.specs[id.Job]
			spec.Command = append([]string{"sh", "-c", fmt.Sprintf(`"$@" & "$@"; wait; exit %d`, code), "sh"}, spec.Command...)
			f.specs[id.Job] = spec
		})
	}
	beside := attempt(int64(len(ends)+1), 0)
	f.eater(beside, 10, 1000, 150<<20)
	for n, code := range ends {
		end := f.awaitEnd(attempt(int64(n+1), 0))
		if end.Outcome != core.OutcomeMemory || !end.Limit || end.ExitCode == nil || *end.ExitCode != code {
			t.Errorf("with exit status %d: %+v", code, end)
		}
	}
	if end := f.awaitEnd(beside); end.Outcome != "exit" {
		t.Errorf("an item beside them: %+v", end)
	}
}

// keeperHere is who holds items to their limits on this host.
func keeperHere(name string, kinds []string) string {
	name = fmt.Sprintf("%s-%d", name, os.Getpid())
	c := cgroup.New(kinds, name)
	k := cgroup.NewCounters(c, name)
	defer func() { c.Remove(); k.Remove() }()
	return cgroup.MemoryEnforcer(k)
}

// TestLimitHoldsFromTheFirstInstruction: where the kernel holds items to their limits, it holds what they fork
// at once too. Where it does not, none is in a group of its own that counts memory.
func TestLimitHoldsFromTheFirstInstruction(t *testing.T) {
	t.Parallel()
	const limit, jobs = 150 << 20, 6
	want := keeperHere("holds", cgroup.Kinds) == "kernel"
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	const look = `cat /proc/self/cgroup "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/memory.max" 2>/dev/null; true`
	for id := range int64(jobs) {
		f.job(id+1, "sh", "-c", look)
		f.with(func() {
			key := core.Key{Job: id + 1, Instance: 0}
			f.wantLocked(key, attempt(id+1, 0))
			d := f.wanted[key]
			d.Memory, d.HardLimit = limit, true
			f.wanted[key] = d
		})
	}
	for id := range int64(jobs) {
		f.awaitEnd(attempt(id+1, 0))
		out := f.output(attempt(id+1, 0), shim.StreamOut)
		inGroup := regexp.MustCompile(`(?m):memory:.*/qb-|^157286400$`).MatchString(out)
		if inGroup != want {
			t.Errorf("job %d: held by the kernel: %v, want %v; it says\n%s", id+1, inGroup, want, out)
		}
	}
}

func TestTimeLimitEndsAnItem(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, "trap '' TERM; sleep 300 & wait; sleep 300")
	f.with(func() { f.grace = 0.2 })
	runAgent(t, testConfig(t, f))
	key, id := core.Key{Job: 1, Instance: 0}, attempt(1, 0)
	f.with(func() {
		f.wantLocked(key, id)
		d := f.wanted[key]
		d.TimeLimit = 0.3
		f.wanted[key] = d
	})
	if end := f.awaitEnd(id); end.Outcome != core.OutcomeTimeout || end.Wall < 0.3 || !strings.Contains(end.Reason, "time limit") {
		t.Errorf("end %+v", end)
	}
}

// TestAgentTellsItsMemory: total, available, what others use, the cap and the reserve, and the resident
// memory of each running item.
func TestAgentTellsItsMemory(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	c := testConfig(t, f)
	c.Memory, c.MemoryReserve = 2<<30, 64<<20
	runAgent(t, c)
	f.eater(attempt(1, 0), 200, 20_000, 0)
	var running api.SyncInstance
	f.await("an item with 200 MB", func() bool {
		f.changed()
		for _, i := range f.last.Instances {
			running = i
		}
		return running.Memory >= 200<<20
	})
	var m api.SyncMemory
	f.await("others that use no more than is in use", func() bool { // the most of two looks is more while that falls
		f.changed()
		m = f.last.Memory
		return m.Foreign <= m.Total-m.Available
	})
	if m.Total <= 0 || m.Available <= 0 || m.Available > m.Total || m.Foreign <= 0 || m.Cap != 2<<30 || m.Reserve != 64<<20 {
		t.Errorf("memory %+v", m)
	}
}

// TestOtherAgentsItemsAreNotForeign: what the items of another agent have is found by its shims.
func TestOtherAgentsItemsAreNotForeign(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	c := testConfig(t, f)
	runAgent(t, c)
	f.eater(attempt(1, 0), 200, 20_000, 0)
	f.await("an item with 200 MB", func() bool {
		f.changed()
		return len(f.last.Instances) > 0 && f.last.Instances[0].Memory >= 200<<20
	})
	deadline := time.Now().Add(testPatience)
	for {
		memory, seconds := otherAgents("/elsewhere")
		if memory >= 200<<20 && seconds > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes and %v s of processor time were found", memory, seconds)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
