package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qb/api"
)

// testFarm is a real farm of a test's own, which the test may kill.
type testFarm struct {
	t     *testing.T
	state string
	args  []string
	env   []string // of the farm, beside the usual ones
	cmd   *exec.Cmd
	log   *lockedText
	url   string
	last  string // what a look found that until waits for
}

// needsPostgres leaves a test out of `go test -short`.
func needsPostgres(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Postgres")
	}
}

// farmFolder is a folder for a farm, whose server's user must enter it.
func farmFolder(t testing.TB) string {
	t.Helper()
	needsPostgres(t)
	dir, err := os.MkdirTemp("", "qb-farm-")
	if err == nil {
		t.Cleanup(func() { removeFarm(dir) })
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// removeFarm removes a farm's folder and what its workers left elsewhere.
func removeFarm(dir string) error {
	removeTemps(dir)
	return os.RemoveAll(dir)
}

// removeTemps removes the folders of items' own of workers whose state is below dir: a killed worker leaves them to
// its successor.
func removeTemps(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "id" {
			text, _ := os.ReadFile(path)
			if id := workerID.FindSubmatch(text); id != nil {
				_ = os.RemoveAll("/tmp/qb-" + string(id[1]))
			}
		}
		return nil // what cannot be read may be going at this moment
	})
}

// workerID finds what the folders of a worker's items are named after in the file of its state.
var workerID = regexp.MustCompile(`"([A-Z2-7]{12})[A-Z2-7]*"`)

func startFarm(t *testing.T, args ...string) *testFarm {
	t.Helper()
	f := &testFarm{t: t, state: filepath.Join(farmFolder(t), "farm"), args: args}
	f.start()
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill() // it may have ended long ago
		if t.Failed() {
			t.Logf("the farm's log:\n%s", f.log)
		}
	})
	return f
}

func (f *testFarm) start() {
	f.t.Helper()
	f.log = &lockedText{}
	f.cmd = farmCommand("qb", f.state, f.args...)
	f.cmd.Env = append(f.cmd.Env, f.env...)
	f.cmd.Stderr = f.log
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	line := make([]byte, 200)
	n, _ := out.Read(line)
	url, ok := strings.CutPrefix(string(line[:n]), "ready ")
	if !ok {
		_ = f.cmd.Wait()
		f.t.Fatalf("the farm says %q instead of ready; its log:\n%s", line[:n], f.log)
	}
	f.url = strings.TrimSpace(url)
}

// run is a command on the farm; it must end with the exit code.
func (f *testFarm) run(code int, name string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Dir(f.state)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		f.t.Fatalf("%s %v: %v, exit code %d, want %d\n%s%s", name, args, err, got, code, out, &errOut)
	}
	return strings.TrimSpace(string(out))
}

func (f *testFarm) job(id string) api.Job {
	f.t.Helper()
	var jobs []api.Job
	if err := json.Unmarshal([]byte(f.run(0, "qbjobs", "-json", id)), &jobs); err != nil || len(jobs) != 1 {
		f.t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	return jobs[0]
}

// until repeats a look until it is satisfied.
func (f *testFarm) until(what string, look func() bool) {
	f.t.Helper()
	for began := time.Now(); !look(); time.Sleep(30 * time.Millisecond) {
		if time.Since(began) > laterLimit {
			f.t.Fatalf("never: %s; %s", what, f.last)
		}
	}
}

// processes are those whose command line names the state folder: workers and shims.
func (f *testFarm) processes(kind string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		words := strings.Split(string(line), "\x00")
		if err == nil && len(words) > 1 && words[1] == kind && strings.Contains(string(line), f.state) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (f *testFarm) postgres() int {
	data, _ := os.ReadFile(filepath.Join(f.state, "pg", "postmaster.pid"))
	pid, _, _ := strings.Cut(string(data), "\n")
	n, _ := strconv.Atoi(pid)
	return n
}

func alive(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func pidIn(file string) int {
	data, _ := os.ReadFile(file)
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n
}

// kill -9 of the farm takes its Postgres and its worker along, not the items; the next farm on the same
// state takes the items up, and each has run once. Ctrl-C then leaves no process.
func TestFarmTakesItemsUpAgain(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-slots", "3")
	dir := filepath.Dir(f.state)
	id := f.run(0, "qbsub", "-range", "1-2", "-cpus", "2", "-max_cpus", "0",
		`echo $$ > pid.QB_FRAME_NUMBER; echo began >> log.QB_FRAME_NUMBER; while ! test -e go; do sleep 0.1; done`)
	first, second := filepath.Join(dir, "pid.1"), filepath.Join(dir, "pid.2")
	f.until("both items run", func() bool { return pidIn(first) > 0 && pidIn(second) > 0 && f.job(id).Items.Running == 2 })
	postgres, workers := f.postgres(), f.processes("worker")
	if !alive(postgres) || len(workers) != 1 {
		t.Fatalf("postgres %d alive: %v, workers %v", postgres, alive(postgres), workers)
	}

	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait() // killed
	f.until("Postgres and the worker end with the farm", func() bool { return !alive(postgres) && !alive(workers[0]) })
	if !alive(pidIn(first)) || !alive(pidIn(second)) {
		t.Fatal("the items' processes ended with the farm")
	}
	f.run(3, "qbjobs")

	f.start()
	f.until("the items run on", func() bool { return f.job(id).Items.Running == 2 })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.until("the job completes", func() bool { return f.job(id).Status == "complete" })
	for _, n := range []string{"1", "2"} {
		if log, _ := os.ReadFile(filepath.Join(dir, "log."+n)); string(log) != "began\n" {
			t.Errorf("item %s ran as %q", n, log)
		}
	}
	if got := f.run(0, "qbitems", "-attempts", id, "-no-headers", "-fields", "number,attempt,state"); got != "0  1  done\n1  1  done" {
		t.Errorf("attempts:\n%s", got)
	}
	f.run(0, "qb", "audit")

	f.run(0, "qbsub", "-range", "1-3", "-cpus", "3", `echo $$ > last.QB_FRAME_NUMBER; sleep 600`)
	third := filepath.Join(dir, "last.3")
	f.until("the last job runs", func() bool { return pidIn(third) > 0 })
	postgres = f.postgres()
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if alive(postgres) || alive(pidIn(third)) || len(f.processes("worker")) > 0 || len(f.processes("shim")) > 0 {
		t.Errorf("left alive: postgres %v, item %v, workers %v, shims %v", alive(postgres), alive(pidIn(third)),
			f.processes("worker"), f.processes("shim"))
	}
	if _, err := os.Stat(filepath.Join(f.state, "farm.json")); err == nil {
		t.Error("farm.json is left")
	}
}

// The first line of the manual does what the manual says, and a local worker that dies is replaced.
func TestSharesSlots(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-hosts", "2", "-slots", "15")
	id := f.run(0, "qbsub", "-priority", "5", "-cpus", "10", "-max_cpus", "50", "-range", "1-100", "sleep", "600")
	f.until("10 primaries and 20 secondaries", func() bool {
		n := f.job(id).Instances
		return n.Primary == 10 && n.Secondary == 20
	})
	f.run(0, "qbmodify", "-mmax_cpus", "12", id)
	f.until("10 and 2", func() bool {
		n := f.job(id).Instances
		return n.Primary == 10 && n.Secondary == 2 && n.Draining == 0
	})
	workers := f.processes("worker")
	if len(workers) != 2 {
		t.Fatalf("workers %v", workers)
	}
	if err := syscall.Kill(workers[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.until("another worker", func() bool { return !alive(workers[0]) && len(f.processes("worker")) == 2 })
	if n := f.job(id); n.Items.Running != 12 {
		t.Errorf("items %+v", n.Items)
	}
	f.run(0, "qbkill", "0")
	f.until("all items ended", func() bool { return len(f.processes("shim")) == 0 })
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// A supervisor that takes the connection and never answers is as good as none.
func TestSilentSupervisor(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cmd := exec.Command("qbjobs", "-supervisor", "http://"+silent.Addr().String())
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+t.TempDir())
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || strings.Count(string(out), "\n") > 2 {
		t.Errorf("exit code %d, want 3: %s", code, out)
	}
}

// A farm that is started with other hosts than before removes the ones that it no longer starts.
func TestHostsAreRetired(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-hosts", "2", "-slots", "1")
	names := func() string {
		return strings.ReplaceAll(f.run(0, "qbhosts", "-no-headers", "-fields", "name"), "\n", " ")
	}
	if got := names(); got != "h-1 h-2" {
		t.Fatalf("hosts %q", got)
	}
	for _, c := range []struct{ hosts, want string }{{"1", "h"}, {"2", "h-1 h-2"}} {
		if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = f.cmd.Wait()
		f.args = []string{"-hosts", c.hosts, "-slots", "1"}
		f.start()
		f.until("the hosts are "+c.want, func() bool { f.last = names(); return f.last == c.want })
		f.run(0, "qbsub", "-waiton", "true")
	}
}

// Who follows a log while the supervisor is killed reads on when it is back, without a gap and without a repetition.
func TestFollowedLogGoesOn(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-slots", "1")
	more := filepath.Join(filepath.Dir(f.state), "more")
	id := f.run(0, "qbsub", "echo one; while [ ! -e "+more+" ]; do sleep 0.1; done; echo two")
	follow := exec.Command("qbout", id, "-follow")
	follow.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
	var printed, errOut lockedText
	follow.Stdout, follow.Stderr = &printed, &errOut
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	f.until("the first line is printed", func() bool { return printed.String() == "one\n" })
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
	f.until("the follower waits", func() bool { return strings.Contains(errOut.String(), "waiting for it") })
	f.start()
	if err := os.WriteFile(more, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := follow.Wait(); err != nil || printed.String() != "one\ntwo\n" {
		t.Errorf("%v, printed %q\n%s", err, printed.String(), errOut.String())
	}
}

// lockedText is what a command has printed so far.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
