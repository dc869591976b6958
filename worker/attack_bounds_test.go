package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
)

// startsWithin is how soon the largest item that is accepted runs, or has failed, on a machine that has time for it.
const startsWithin = 5 * time.Second

// worstCharacters take most room somewhere between a submission and a process.
var worstCharacters = []string{"<", ">", "&", "\u2028", "\u2029", "\x01", "\x1f", "\x7f", `"`, "'", `\`, "\n", "\t", "\U0001F3AC", "é", "a", " ", "$", ";"}

// words are as many of at most size bytes as a submission may have, in all and in JSON.
func words(character string, size, most, mostInJSON int) (list []string) {
	word := strings.Repeat(character, size/len(character))
	for total, written := 0, 0; len(list) < api.MaxArguments/2; list = append(list, word) {
		total, written = total+len(word)+16, written+api.JSONSize(word)+16
		if total > most || written > mostInJSON {
			break
		}
	}
	return list
}

// largest is a specification at the bounds of what a supervisor accepts: see TestLargestIsAccepted of package translate.
func largest(spec api.JobSpec, character string, size int) api.JobSpec {
	spec.Command = append([]string{"/bin/true"}, words(character, size, api.MaxCommand-1024, api.MaxSpec/2-1024)...)
	spec.Env = map[string]string{}
	for n, value := range words(character, size-16, api.MaxEnv, api.MaxSpec/2) {
		spec.Env[fmt.Sprintf("X%d", n)] = value
	}
	return spec
}

// startsOrEnds waits for the start or the end of each attempt, and says how long the slowest took.
func (f *scriptedFarm) startsOrEnds(ids ...api.AttemptID) (slowest time.Duration) {
	began := time.Now()
	for _, id := range ids {
		f.await("start or end of "+shim.AttemptName(id), func() bool {
			_, ended := f.ends[id]
			for _, i := range f.last.Instances {
				ended = ended || i.Attempt == id && i.State == core.StateRunning
			}
			return ended
		})
	}
	return time.Since(began)
}

// TestAttackLargestJobs (H1): the largest item that is accepted runs or fails at once, whatever its characters, in all slots at once.
func TestAttackLargestJobs(t *testing.T) {
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	f.await("the first sync", func() bool { return f.syncs > 0 })
	job := int64(0)
	try := func(size int, character string) (took time.Duration) {
		job++
		spec := largest(f.job(job), character, size)
		f.with(func() {
			f.specs[job] = spec
			for n := range 4 {
				f.wantLocked(core.Key{Job: job, Instance: n}, attempt(job, n))
			}
		})
		took = f.startsOrEnds(attempt(job, 0), attempt(job, 1), attempt(job, 2), attempt(job, 3))
		for n := range 4 {
			end := f.awaitEnd(attempt(job, n))
			ran := end.Outcome == "exit" && *end.ExitCode == 0
			if !ran && (end.Outcome != "launch" || !strings.Contains(end.Reason, "B")) {
				t.Errorf("words of %d bytes of %q: %+v", size, character, end)
			}
		}
		return took
	}
	for _, size := range []int{api.MaxWord, 65_000, 63} {
		for _, character := range worstCharacters {
			took := try(size, character)
			for again := 0; took > startsWithin && again < 2; again++ { // the machine may have had no time
				took = min(took, try(size, character))
			}
			if took > startsWithin {
				t.Errorf("words of %d bytes of %q: %s", size, character, took)
			}
		}
	}
	f.await("the slots are free", func() bool { return len(f.last.Instances) == 0 })
}

// TestAttackOrderThatNoShimReads (H1): what is too long for the way to its shim ends with the reason, and a kill meanwhile frees
// the slot.
func TestAttackOrderThatNoShimReads(t *testing.T) {
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	before := peakMemory(t)
	specs := []api.JobSpec{
		{Command: []string{"/bin/true", strings.Repeat(";/a", 100_000)}, PathMap: []string{"/a=/" + strings.Repeat("b", 1000)}},
		{Command: append([]string{"/bin/true"}, words(";/a", 120_000, api.MaxCommand, api.MaxCommand)...), PathMap: []string{"/a=/" + strings.Repeat("b", 1000)}},
		{Command: []string{"/bin/true"}, Env: map[string]string{"X": strings.Repeat(";/a", 40_000)}, PathMap: []string{"/a=/" + strings.Repeat("b", 1000)}},
		{Command: []string{"/bin/true"}, Preflights: []string{strings.Repeat(";/a", 20_000)}, PathMap: []string{"/a=/" + strings.Repeat("b", 1000)}},
		{Command: []string{"/bin/true", strings.Repeat("QB_FRAME_NUMBER", 8000)}, Agenda: true},
		{Command: []string{"true " + strings.Repeat("QB_FRAME_NUMBER", 8000)}, Agenda: true, Shell: true},
		{Command: append([]string{"/bin/true"}, words("QB_FRAME_STEP", 120_000, api.MaxCommand, api.MaxCommand)...), Agenda: true, Validate: []string{strings.Repeat("QB_FRAME_STEP", 1000)}},
		{Command: append([]string{"/bin/true"}, words("QB_FRAME_RANGE", 400, api.MaxCommand, api.MaxCommand)...), Agenda: true},
		{Command: []string{"/bin/true", strings.Repeat("x", api.MaxWord+1)}}, // of a supervisor that accepts it
		{Command: append([]string{"/bin/true"}, words("\x01", 120_000, 4*api.MaxCommand, 64*api.MaxCommand)...)},
		{Command: []string{"/bin/true", strings.Repeat(";", 1000)}, Env: map[string]string{"A\x00": "x"}},
	}
	label := strings.Repeat("l", 4000)
	for n, spec := range specs {
		id := attempt(int64(n+1), 0)
		full := f.job(id.Job)
		spec.Job, spec.Version, spec.User, spec.Cwd, spec.Name = id.Job, 1, full.User, "/tmp", "job"
		f.with(func() {
			f.specs[id.Job] = spec
			f.wantLocked(core.Key{Job: id.Job}, id)
			d := f.wanted[core.Key{Job: id.Job}]
			d.Name, d.Start, d.Step = label, label, label
			f.wanted[core.Key{Job: id.Job}] = d
		})
		if took := f.startsOrEnds(id); took > startsWithin {
			t.Errorf("%d: %s", n, took)
		}
		if end := f.awaitEnd(id); end.Outcome != "launch" || len(end.Reason) > api.MaxReason {
			t.Errorf("%d: %+v", n, end)
		}
	}
	f.await("the slots are free", func() bool { return len(f.last.Instances) == 0 })
	if now := peakMemory(t); now-before > 300<<20 {
		t.Errorf("the agent took %d MB more", (now-before)>>20)
	}
}

// peakMemory is the largest that this process, with its agent, has been.
func peakMemory(t *testing.T) (bytes int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscan(text, &bytes); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bytes << 10
}

// TestAttackKillOfLargeJobs (H1): a kill frees the slots of the largest items within the grace and 5 s, also while they start.
func TestAttackKillOfLargeJobs(t *testing.T) {
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	for round, wait := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		job := int64(round + 1)
		spec := largest(f.job(job), "<", 65_000)
		spec.Command = append([]string{"/bin/sh", "-c", "trap '' TERM; sleep 60"}, spec.Command[4:]...)
		f.with(func() {
			f.specs[job] = spec
			for n := range 4 {
				f.wantLocked(core.Key{Job: job, Instance: n}, attempt(job, n))
			}
		})
		f.await("they are there", func() bool { return len(f.last.Instances) > 0 || len(f.ends) == 4*round+4 })
		time.Sleep(wait)
		killed := time.Now()
		f.with(func() { clear(f.wanted) })
		f.await("the slots are free", func() bool { return len(f.last.Instances) == 0 })
		if took := time.Since(killed); took > 2*time.Second+startsWithin {
			t.Errorf("%s after the start: the slots were free after %s", wait, took)
		}
	}
}

// costly are expressions at the bound, and output that takes most time to look at.
func costly(spec api.JobSpec, lines int) api.JobSpec {
	const expression = "(?:a?b?c?d?){312}z"
	spec.RegexErrors, spec.RegexProgress, spec.RegexHighlights, spec.RegexOutputPaths = expression, expression, expression, expression
	spec.Command = []string{`line=$(head -c 4000 /dev/zero | tr '\000' a); n=0; while [ $n -lt ` + strconv.Itoa(lines) + ` ]; do echo $line; n=$((n+1)); done`}
	spec.Shell = true
	return spec
}

// TestAttackExpressions (H4): expressions hold a slot no longer than the grace and 5 s after a kill, and not for long without one;
// what looking takes is the item's processor time. Those beyond the bound are named.
func TestAttackExpressions(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	const fitsPipe, fillsPipe = 15, 64
	specs := []api.JobSpec{costly(f.job(1), fillsPipe), costly(f.job(3), fitsPipe)}
	killed, left := attempt(1, 0), attempt(3, 0)
	f.with(func() {
		f.specs[1], f.specs[3] = specs[0], specs[1]
		f.wantLocked(core.Key{Job: 1, Instance: 0}, killed)
		f.wantLocked(core.Key{Job: 3, Instance: 0}, left)
	})
	f.await("both run", func() bool { return len(f.last.Instances) == 2 })
	began := time.Now()
	time.Sleep(4 * time.Second) // the command is over, and that of the first waits for its pipe
	stopped := time.Now()
	f.with(func() { delete(f.wanted, core.Key{Job: 1, Instance: 0}) })
	end := f.awaitEnd(killed)
	if took := time.Since(stopped); took > 2*time.Second+startsWithin || end.Outcome != core.OutcomeStopped {
		t.Errorf("%s after its kill: %+v", took, end)
	}
	if end.CPU < 0.2 {
		t.Errorf("looking at its output for 4 s counts as %.2f s of its processor time", end.CPU)
	}
	end = f.awaitEnd(left)
	if took := time.Since(began); end.Outcome != "exit" || end.CPU < 1 || took > 40*time.Second {
		t.Errorf("%s after its start: %+v", took, end)
	}
	if out := f.output(left, shim.StreamErr); end.Reason == "" || !strings.Contains(out, "[qb: "+end.Reason) {
		t.Errorf("the log says nothing of %q: %s", end.Reason, out)
	}
	f.job(2, "echo", "error")
	f.with(func() {
		spec := f.specs[2]
		spec.RegexErrors = "error\n(?:a?b?c?d?){992}z"
		f.specs[2] = spec
		f.wantLocked(core.Key{Job: 2, Instance: 0}, attempt(2, 0))
	})
	end = f.awaitEnd(attempt(2, 0))
	if out := f.output(end.Attempt, shim.StreamErr); !strings.Contains(end.Reason, "instructions") || !strings.Contains(out, "[qb: "+end.Reason[:40]) {
		t.Errorf("expressions beyond the bound: %+v; %s", end, out)
	}
}

// TestAttackDeepFolder (M4): what an item leaves in its TMPDIR is removed, however deep it is, also what its owner has closed to himself.
func TestAttackDeepFolder(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	runAgent(t, config)
	f.await("the first sync", func() bool { return f.syncs > 0 })
	lines := []string{
		`cd $TMPDIR; python3 -c 'import os
for n in range(25000):
    os.mkdir("d"); os.chdir("d")'`,
		`cd $TMPDIR && mkdir -p a/b/c && touch a/b/c/file && ln -s / a/link && mkfifo a/b/fifo && chmod 0 a/b/c a/b a && chmod 0 .`,
		`cd $TMPDIR && seq 1 5000 | xargs touch && mkdir .qb-1 && touch .qb-1/x`,
	}
	for n, line := range lines {
		end := f.runAs(int64(n+2), u.Username, line)
		if end.Outcome != "exit" || *end.ExitCode != 0 {
			t.Fatalf("%.40s: %+v %s", line, end, f.output(end.Attempt, shim.StreamErr))
		}
	}
	awaitNoFolders(t, f)
}

// TestAttackFolderOfTwo (M4): what another user has put into an item's TMPDIR, and closed, goes with it.
func TestAttackFolderOfTwo(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	other, _ := realUser(t)
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	runAgent(t, config)
	meet := openFolder(t)
	for id, who := range map[int64]string{1: u.Username, 2: other.Username} {
		spec := f.job(id, map[int64]string{
			1: `chmod 777 $TMPDIR && echo $TMPDIR > $MEET/there; while [ ! -e $MEET/done ]; do sleep 0.05; done`,
			2: `while [ ! -s $MEET/there ]; do sleep 0.05; done; cd $(cat $MEET/there) && mkdir -p theirs/more && touch theirs/more/file && chmod 700 theirs && touch $MEET/done`,
		}[id])
		spec.Shell, spec.User, spec.Cwd, spec.Env = true, who, "/", map[string]string{"MEET": meet}
		f.with(func() { f.specs[id] = spec })
		f.want(core.Key{Job: id}, attempt(id, 0))
	}
	for id := range int64(2) {
		if end := f.awaitEnd(attempt(id+1, 0)); end.Outcome != "exit" || *end.ExitCode != 0 {
			t.Fatalf("%+v", end)
		}
	}
	awaitNoFolders(t, f)
}

// TestAgentThatStartsAgainKeepsFolders: a new agent removes nothing of what items that run have in their TMPDIR.
func TestAgentThatStartsAgainKeepsFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root's workers give items folders of their own")
		return
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	config.AllowRoot = true
	first := startAgent(t, config)
	meet := openFolder(t)
	spec := f.job(1, `echo kept > $TMPDIR/file; touch $MEET/up; while [ ! -e $MEET/go ]; do sleep 0.05; done; cat $TMPDIR/file`)
	spec.Shell, spec.Cwd, spec.Env = true, "/", map[string]string{"MEET": meet}
	f.with(func() { f.specs[1] = spec })
	f.want(core.Key{Job: 1}, attempt(1, 0))
	f.await("it runs", func() bool { _, err := os.Stat(meet + "/up"); return err == nil })
	kill9(t, first)
	before := f.heard().Incarnation
	runAgent(t, config)
	f.await("the next agent", func() bool { return f.last.Incarnation != before })
	time.Sleep(2*hostLook + time.Second) // until it has swept
	if err := os.WriteFile(meet+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	end := f.awaitEnd(attempt(1, 0))
	if out := f.output(end.Attempt, shim.StreamOut); out != "kept\n" {
		t.Errorf("%q of %+v: %s", out, end, f.output(end.Attempt, shim.StreamErr))
	}
}

// awaitNoFolders waits until no item has left a folder, and says how long that took.
func awaitNoFolders(t *testing.T, f *scriptedFarm) {
	t.Helper()
	began := time.Now()
	for {
		found, err := filepath.Glob(shim.TempsOf(f.heard().StateID) + "/*")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Logf("gone after %s", time.Since(began))
			return
		}
		if time.Since(began) > testPatience {
			t.Fatalf("after %s there is %v", time.Since(began), found)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
