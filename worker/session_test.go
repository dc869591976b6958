package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/internal/units"
	"qb/worker/core"
	"qb/worker/proc"
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
		{"environment", "exit 4 environment_failed no conda", "said unknown\n", "", 2},
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
		if c.between != "" {
			f.awaitSession(attempt(job, 0), c.between)
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

// TestStrangersAreRefused: whoever is no process of the program gets one line and no item.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "hang")
	config := testConfig(t, f)
	runAgent(t, config)
	f.chain(core.Key{Job: 1}, 3)
	f.awaitOutput(attempt(1, 2), "item 2")
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", now.Process.PID))
	if err != nil {
		t.Fatal(err)
	}
	path := shim.Variable(strings.Split(string(environ), "\x00"), "QB_WORK")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := backEnd{conn, bufio.NewReader(conn)}
	if reply := b.ask(message{"do": "requestwork"}); reply["error"] != "refused" || !strings.Contains(fmt.Sprint(reply["detail"]), strconv.Itoa(os.Getpid())) {
		t.Errorf("it is answered with %v", reply)
	}
	if reply := b.read(); reply != nil {
		t.Errorf("it is answered on, with %v", reply)
	}
}

// TestItemThatIsNeverReported: the time limit ends the whole session, and the next item has another program.
func TestItemThatIsNeverReported(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "hang")
	runAgent(t, testConfig(t, f))
	key := core.Key{Job: 1}
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			if next := end.Attempt.Item + 1; next < 4 {
				f.wantLocked(key, attempt(1, next))
				d := f.wanted[key]
				d.TimeLimit = 1
				f.wanted[key] = d
			}
		}
		f.wantLocked(key, attempt(1, 0))
	})
	if end := f.awaitEnd(attempt(1, 2)); end.Outcome != core.OutcomeTimeout || end.Wall < 1 {
		t.Errorf("item 2: %+v", end)
	}
	if end := f.awaitEnd(attempt(1, 3)); !done(end) {
		t.Errorf("item 3: %+v", end)
	}
	if pids := f.programs(1, 4); len(pids) != 2 {
		t.Errorf("the items were of processes %v", pids)
	}
}

// TestReportOfAStoppedItem: what a program reports of an item that was preempted a moment ago counts no more.
func TestReportOfAStoppedItem(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "late")
	runAgent(t, testConfig(t, f))
	f.chain(core.Key{Job: 1}, 3)
	f.awaitOutput(attempt(1, 2), "up")
	f.with(func() { clear(f.wanted) })
	if end := f.awaitEnd(attempt(1, 2)); end.Outcome != core.OutcomeStopped {
		t.Errorf("item 2: %+v", end)
	}
	if out := f.output(attempt(1, 2), shim.StreamOut); !strings.Contains(out, "said not_yours pending") {
		t.Errorf("item 2 wrote %q", out)
	}
}

// TestFailedProgramHasTheKillGrace: a program that reported a failure ends by itself within the kill grace of the farm,
// if that is the longer.
func TestFailedProgramHasTheKillGrace(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.with(func() { f.grace = 60 })
	f.loadOnce(1, "linger")
	runAgent(t, testConfig(t, f))
	f.chain(core.Key{Job: 1}, 4)
	if end := f.awaitEnd(attempt(1, 2)); shortEnd(end) != "exit 1" {
		t.Errorf("item 2 ended with %s", shortEnd(end))
	}
	f.awaitSession(attempt(1, 0), "lingered\n")
}

// TestItemThatWasNotTaken: an item that the program has not asked for yet is stopped alone, and handed back as one of
// which nothing ran. The program goes on with the next.
func TestItemThatWasNotTaken(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "busy")
	gate := filepath.Join(t.TempDir(), "gate")
	f.with(func() {
		spec := f.specs[1]
		spec.Env = map[string]string{"GO": gate}
		f.specs[1] = spec
	})
	config := testConfig(t, f)
	runAgent(t, config)
	key := core.Key{Job: 1}
	f.chain(key, 4)
	f.awaitEnd(attempt(1, 2))
	f.awaitState(key, core.StateStarting)
	f.want(key, attempt(1, 4))
	if end := f.awaitEnd(attempt(1, 3)); end.Outcome != core.OutcomeStopped || end.Wall != 0 || !end.Loaded {
		t.Errorf("item 3: %+v", end)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if end := f.awaitEnd(attempt(1, 4)); !done(end) {
		t.Errorf("item 4: %+v", end)
	}
	if pids := f.programs(1, 5); len(pids) != 1 {
		t.Errorf("the items were of processes %v", pids)
	}
}

// TestKilledBetweenItems: a program, a shim or an agent that is killed while no item is held fails none. What was
// loaded is gone before another program is started.
func TestKilledBetweenItems(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"program", "shim", "agent", "agent and shim"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			f.loadOnce(1, "plain")
			config := testConfig(t, f)
			agent := startAgent(t, config)
			key := core.Key{Job: 1}
			f.with(func() {
				f.keep = true // so that the instance is not closed
				f.wantLocked(key, attempt(1, 0))
			})
			f.awaitEnd(attempt(1, 0))
			now, err := readNow(filepath.Join(config.State, "i", "1.0"))
			if err != nil {
				t.Fatal(err)
			}
			killed := now.Process
			switch victim {
			case "program":
				syscall.Kill(now.Process.PID, syscall.SIGKILL)
			case "shim":
				syscall.Kill(now.Shim.PID, syscall.SIGKILL)
			case "agent":
				kill9(t, agent)
				startAgent(t, config)
				killed = proc.ID{}
			default:
				kill9(t, agent)
				syscall.Kill(now.Shim.PID, syscall.SIGKILL)
				startAgent(t, config)
			}
			if strings.HasSuffix(victim, "shim") { // an item that is sent to it now would be lost, as any other
				f.await("the instance is gone", func() bool { f.changed(); return len(f.last.Instances) == 0 })
			}
			f.with(func() { f.keep = false; f.wantLocked(key, attempt(1, 1)) })
			if end := f.awaitEnd(attempt(1, 1)); !done(end) {
				t.Errorf("item 1: %+v", end)
			}
			if why := map[string]string{"program": "was killed by signal 9 (SIGKILL), between two items",
				"shim": "the process that keeps it on its host ended"}[victim]; why != "" {
				f.awaitSession(attempt(1, 0), why)
			}
			if pids := f.programs(1, 2); killed.PID == 0 && len(pids) != 1 || killed.PID != 0 && (len(pids) != 2 || killed.Alive()) {
				t.Errorf("the items were of processes %v; the first one lives: %v", pids, killed.Alive())
			}
		})
	}
}

// TestKilledWithAnItem: with its item, at most that is lost, once; an agent alone loses nothing.
func TestKilledWithAnItem(t *testing.T) {
	t.Parallel()
	for victim, want := range map[string]string{"program": "signal 9", "shim": "lost", "agent": "exit 0", "agent and shim": "lost"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			f.loadOnce(1, "gate")
			gate := filepath.Join(t.TempDir(), "gate")
			f.with(func() {
				spec := f.specs[1]
				spec.Env = map[string]string{"GO": gate}
				f.specs[1] = spec
			})
			config := testConfig(t, f)
			agent := startAgent(t, config)
			f.chain(core.Key{Job: 1}, 4)
			f.awaitOutput(attempt(1, 2), "item 2")
			now, err := readNow(filepath.Join(config.State, "i", "1.0"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(victim, "agent") {
				kill9(t, agent)
			}
			switch victim {
			case "program":
				syscall.Kill(now.Process.PID, syscall.SIGKILL)
			case "shim", "agent and shim":
				syscall.Kill(now.Shim.PID, syscall.SIGKILL)
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if victim == "agent" { // the end comes while there is none
				record := filepath.Join(config.State, "spool", shim.AttemptName(attempt(1, 2)))
				f.await("the record", func() bool { _, err := os.Stat(record); return err == nil })
			}
			if strings.HasPrefix(victim, "agent") {
				startAgent(t, config)
			}
			end := f.awaitEnd(attempt(1, 2))
			if got, _, _ := strings.Cut(shortEnd(end), " the item's shim"); got != want {
				t.Errorf("item 2: %s", got)
			}
			if want != "exit 0" && now.Process.Alive() {
				t.Error("the program lives on")
			}
			if end := f.awaitEnd(attempt(1, 3)); !done(end) {
				t.Errorf("item 3: %+v", end)
			}
		})
	}
}

// TestProgramOfAnotherUser: on a worker of root the socket is the item's owner's, in the folder that the program has for
// itself, also where that is its /tmp. Nothing of it stays.
func TestProgramOfAnotherUser(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	folder, err := os.MkdirTemp("/var/tmp", "qb-open-") // /tmp is another one in there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "program")
	if out, err := exec.Command("sh", "-c", `chmod 755 "$0" && cp "$1" "$2" && chmod 755 "$2"`, folder, self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for n, private := range []bool{false, true} {
		f := newScriptedFarm(t)
		config := ownersConfig(t, f)
		config.PrivateTmp = private
		stop := runAgent(t, config)
		spec := f.job(1, "sh", "-c", `ls -l $QB_WORK; stat -c '%a %U' $QB_WORK; exec "$0" program plain`, program)
		spec.LoadOnce, spec.User, spec.Cwd = true, u.Username, "/"
		f.with(func() { f.specs[1] = spec })
		f.chain(core.Key{Job: 1}, 3)
		if end := f.awaitEnd(attempt(1, 2)); !done(end) {
			t.Errorf("%+v", end)
		}
		if out := f.output(attempt(1, 0), 0); !strings.Contains(out, "600 "+u.Username+"\n") || strings.Contains(out, " /tmp/work\n") != (n == 1) {
			t.Errorf("the first item wrote %q", out)
		}
		var id string
		if err := shim.ReadSealed(filepath.Join(config.State, "id"), &id); err != nil {
			t.Fatal(err)
		}
		f.await("its folder is gone", func() bool {
			found, _ := filepath.Glob(shim.TempsOf(id) + "/*")
			return len(found) == 0
		})
		stop()
	}
}

// loaded runs items of a job until one has ended and the program waits for the next; then the agent is killed, and what
// the test sends is all that the shim hears.
func (f *scriptedFarm) loaded(mode string) (conn net.Conn, lines *bufio.Reader, dir string) {
	f.t.Helper()
	f.loadOnce(1, mode)
	config := testConfig(f.t, f)
	agent := startAgent(f.t.(*testing.T), config)
	f.with(func() { f.keep = true; f.wantLocked(core.Key{Job: 1}, attempt(1, 0)) })
	f.awaitEnd(attempt(1, 0))
	kill9(f.t.(*testing.T), agent)
	dir = filepath.Join(config.State, "i", "1.0")
	conn, err := shim.DialIn(dir, time.Second)
	if err != nil {
		f.t.Fatal(err)
	}
	lines = shim.Messages(conn)
	var hello shim.Report
	if err := shim.ReadMessage(lines, &hello); err != nil || hello.Hello == nil || !hello.Hello.Loaded || hello.Hello.State != core.StateIdle {
		f.t.Fatalf("%+v, %v", hello.Hello, err)
	}
	return conn, lines, dir
}

// keptLog is what the programs of a shim without an agent have written between items.
func keptLog(t *testing.T, dir string) string {
	data, err := os.ReadFile(shim.SessionLogPath(filepath.Dir(filepath.Dir(dir)), attempt(1, 0)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it wrote nothing yet
		t.Error(err)
	}
	return string(plainLog(t, data, 0))
}

func command(t *testing.T, conn net.Conn, c shim.Command) {
	t.Helper()
	line, err := shim.EncodeMessage(c)
	if err == nil {
		err = shim.WriteMessage(conn, line, time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLoadedProgramIsClosed: a program that hears the word ends by itself, any other gets TERM, then KILL. The shim ends
// only when nothing of the program is left.
func TestLoadedProgramIsClosed(t *testing.T) {
	t.Parallel()
	for mode, grace := range map[string]time.Duration{"plain": time.Minute, "deaf": 100 * time.Millisecond} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			conn, _, dir := f.loaded(mode)
			now, err := readNow(dir)
			if err != nil {
				t.Fatal(err)
			}
			command(t, conn, shim.Command{Close: true, Ending: shim.Ending{Status: "complete", Grace: grace}})
			f.await("the shim ends", func() bool { return lockFree(dir) })
			if now.Process.Alive() {
				t.Error("the program lives on")
			}
			want := map[string]string{"plain": `ends: map\[status:complete version:1\]\n$`,
				"deaf": `(?s)hears TERM.*\n\[qb: [-0-9T:]+Z: process \d+ of the program was killed by signal 9 \(SIGKILL\), ` +
					`as it did not end within 100ms of the answer complete, nor within as long of TERM, between two items\]\n$`}[mode]
			if log := keptLog(t, dir); !regexp.MustCompile(want).MatchString(log) {
				t.Errorf("the session's log is %q", log)
			}
		})
	}
}

// TestLoadedProgramWaits: a program hears why it gets no item, each time that it has waited. When its host's lease ends,
// it has no item that could go on later, and is ended.
func TestLoadedProgramWaits(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	conn, _, dir := f.loaded("words")
	said := func() string { return keptLog(t, dir) }
	f.await("waiting", func() bool { return strings.Contains(said(), "waiting") })
	command(t, conn, shim.Command{Answer: "blocked"})
	f.await("blocked", func() bool { return strings.Contains(said(), "blocked") })
	now, err := readNow(dir)
	if err != nil {
		t.Fatal(err)
	}
	command(t, conn, shim.Command{Lease: shim.BootNow() + 200*time.Millisecond})
	f.await("its end", func() bool { return !now.Process.Alive() })
	f.await("why it ended", func() bool {
		return strings.Contains(said(), "killed by signal 9 (SIGKILL), as the host had no contact with the supervisor until its lease ended")
	})
	if lockFree(dir) {
		t.Error("the shim has ended, though its agent is there")
	}
}

// TestFiguresOfAnItem: processor time and memory are those of the time in which the item was held, though the process
// is the same. What it took for one item is not counted for the next.
func TestFiguresOfAnItem(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "work")
	runAgent(t, testConfig(t, f))
	f.chain(core.Key{Job: 1}, 5)
	const least = 150 << 20
	for n := range 5 {
		end := f.awaitEnd(attempt(1, n))
		if worked := n == 2; worked != (end.CPU > 0.3) || worked != (end.PeakMemory > least) || end.PeakSampled {
			t.Errorf("item %d: %v s, %s, sampled: %v", n, end.CPU, units.Size(end.PeakMemory), end.PeakSampled)
		}
	}
}

// TestSuspendedProgram: a program is frozen while its item is suspended, and goes on with it.
func TestSuspendedProgram(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "ticks")
	runAgent(t, testConfig(t, f))
	key := core.Key{Job: 1}
	f.chain(key, 4)
	f.awaitOutput(attempt(1, 2), "tick")
	suspend := func(yes bool) {
		f.with(func() {
			d := f.wanted[key]
			d.Suspended, d.SuspensionID = yes, 3
			f.wanted[key] = d
		})
	}
	suspend(true)
	f.awaitState(key, core.StateSuspended)
	time.Sleep(time.Second) // ten ticks
	suspend(false)
	end := f.awaitEnd(attempt(1, 2))
	if !done(end) || end.Suspended < 0.9 || end.Wall > 5 {
		t.Errorf("%+v", end)
	}
	if end := f.awaitEnd(attempt(1, 3)); !done(end) {
		t.Errorf("%+v", end)
	}
	if pids := f.programs(1, 4); len(pids) != 1 {
		t.Errorf("the items were of processes %v", pids)
	}
}

// TestWhatALoadOnceJobCannotHave says so.
func TestWhatALoadOnceJobCannotHave(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	specs := []api.JobSpec{{AgendaPreflights: []string{"true"}}, {AgendaPostflights: []string{"true"}},
		{Postflights: []string{"true"}}, {Validate: []string{"/out"}}}
	for n := range specs {
		specs[n].LoadOnce, specs[n].Command = true, []string{"true"}
	}
	words := []string{"agenda_preflights", "agenda_postflights", "postflights", "validate"}
	f.each(specs, func(n int, end api.Finished) {
		if end.Outcome != "launch" || !strings.Contains(end.Reason, " "+words[n]+" ") {
			t.Errorf("%s: %+v", words[n], end)
		}
	})
}

// TestPreflightOfALoadOnceJob runs once, before the program is loaded.
func TestPreflightOfALoadOnceJob(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "plain")
	f.with(func() {
		spec := f.specs[1]
		spec.Preflights = []string{"echo mounted"}
		f.specs[1] = spec
	})
	runAgent(t, testConfig(t, f))
	f.chain(core.Key{Job: 1}, 3)
	for n := range 3 {
		if end := f.awaitEnd(attempt(1, n)); !done(end) {
			t.Errorf("item %d: %+v", n, end)
		}
		if out := f.output(attempt(1, n), 0); strings.Contains(out, "mounted\nloaded") != (n == 0) {
			t.Errorf("item %d wrote %q", n, out)
		}
	}
}

// TestMemoryLimitOfASession: an item that outgrows its limit ends with its whole session, the next one has another.
func TestMemoryLimitOfASession(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.loadOnce(1, "work")
	runAgent(t, testConfig(t, f))
	key := core.Key{Job: 1}
	limited := func() {
		d := f.wanted[key]
		d.HardLimit, d.Memory = true, 100<<20
		f.wanted[key] = d
	}
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			if next := end.Attempt.Item + 1; next < 4 {
				f.wantLocked(key, attempt(1, next))
				limited()
			}
		}
		f.wantLocked(key, attempt(1, 0))
		limited()
	})
	for n := range 4 {
		end := f.awaitEnd(attempt(1, n))
		if n == 2 && (end.Outcome != core.OutcomeMemory || !end.Limit) || n != 2 && !done(end) {
			t.Errorf("item %d: %+v", n, end)
		}
	}
	if pids := f.programs(1, 4); len(pids) != 2 {
		t.Errorf("the items were of processes %v", pids)
	}
}
