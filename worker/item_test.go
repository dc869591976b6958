package worker

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qb/api"
	"qb/internal/statedir"
	"qb/internal/units"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// each runs one item of a job each, all on the same worker, and hands their ends to check.
func (f *scriptedFarm) each(specs []api.JobSpec, check func(i int, end api.Finished)) {
	f.t.Helper()
	for i := range specs {
		specs[i].Job, specs[i].Version, specs[i].Agenda = int64(i+1), 1, true
		if specs[i].User == "" {
			specs[i].User = statedir.OwnName()
		}
		if specs[i].Cwd == "" {
			specs[i].Cwd = "/tmp"
		}
	}
	f.with(func() {
		for i, spec := range specs {
			f.specs[spec.Job] = spec
			f.wantLocked(core.Key{Job: spec.Job, Instance: 0}, attempt(spec.Job, i))
		}
	})
	for i, spec := range specs {
		check(i, f.awaitEnd(attempt(spec.Job, i)))
	}
}

func TestExitCodesAndSignalsAreKeptApart(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	codes := []int{0, 1, 2, 42, 126, 127, 128, 129, 137, 143, 254, 255}
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGABRT, syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGSEGV, syscall.SIGPIPE, syscall.SIGTERM, 64}
	var specs []api.JobSpec
	for _, code := range codes {
		specs = append(specs, api.JobSpec{Command: []string{"sh", "-c", fmt.Sprintf("exit %d", code)}})
	}
	for _, signal := range signals {
		specs = append(specs, api.JobSpec{Command: []string{"sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$; sleep 5", int(signal))}})
	}
	f.each(specs, func(i int, end api.Finished) {
		if i < len(codes) {
			if end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != codes[i] || end.Signal != nil {
				t.Errorf("exit %d is told as %+v", codes[i], end)
			}
			return
		}
		want := int(signals[i-len(codes)])
		if end.Outcome != "signal" || end.Signal == nil || *end.Signal != want || end.ExitCode != nil {
			t.Errorf("signal %d is told as %+v", want, end)
		}
	})
}

func TestLaunchFailuresSayWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	huge := make([]string, 0, 40)
	huge = append(huge, "true")
	for range 39 {
		huge = append(huge, strings.Repeat("x", 120<<10))
	}
	cases := []struct {
		spec api.JobSpec
		want []string
	}{
		{api.JobSpec{Command: []string{"no-such-program"}}, []string{"no-such-program", "PATH"}},
		{api.JobSpec{Command: []string{"/no/such/program"}}, []string{"/no/such/program", "no such file"}},
		{api.JobSpec{Command: []string{file("plain", "#!/bin/sh\n", 0o644)}}, []string{"plain", "permission denied", "not executable"}},
		{api.JobSpec{Command: []string{file("orphan", "#!/no/interpreter -x\n", 0o755)}}, []string{"orphan", "/no/interpreter"}},
		{api.JobSpec{Command: []string{file("noise", "\x01\x02\x03", 0o755)}}, []string{"noise", "exec format error"}},
		{api.JobSpec{Command: []string{dir}}, []string{dir, "the path is a directory"}},
		{api.JobSpec{Command: []string{"true"}, Cwd: "relative"}, []string{"relative", "not an absolute path"}},
		{api.JobSpec{Command: huge}, []string{"argument list too long", "MiB"}},
		{api.JobSpec{Command: []string{}}, []string{"the command is empty"}},
		{api.JobSpec{Command: []string{"true"}, Env: map[string]string{"A=B": "c"}}, []string{"A=B", "environment"}},
	}
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	var specs []api.JobSpec
	for _, c := range cases {
		specs = append(specs, c.spec)
	}
	f.each(specs, func(i int, end api.Finished) {
		if end.Outcome != "launch" || end.ExitCode != nil || end.Signal != nil {
			t.Errorf("%v is told as %+v", cases[i].spec.Command[:min(1, len(cases[i].spec.Command))], end)
		}
		for _, want := range cases[i].want {
			if !strings.Contains(end.Reason, want) {
				t.Errorf("reason %q does not say %q", end.Reason, want)
			}
		}
	})
}

// TestWorkingFolderIsTheHostsFault: an item whose working folder is missing, or closed to its owner, has not failed; its
// code says why another host may run it.
func TestWorkingFolderIsTheHostsFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if os.Geteuid() == 0 { // its items are another user's
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	plain, closed := filepath.Join(dir, "plain"), filepath.Join(dir, "closed")
	if err := errors.Join(os.WriteFile(plain, nil, 0o644), os.Mkdir(closed, 0)); err != nil {
		t.Fatal(err)
	}
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	owner := statedir.OwnName()
	if os.Geteuid() == 0 { // root may go everywhere
		config.RunAs, config.LowestUID, owner = settings.RunAsOwner, 0, "daemon"
	}
	runAgent(t, config)
	cases := []struct{ cwd, code, want string }{
		{"/no/such/dir", "folder_missing", "chdir /no/such/dir: no such file or directory"},
		{plain, "folder_missing", "not a directory"},
		{closed, "folder_denied", "permission denied"},
		{filepath.Join(closed, "below"), "folder_denied", "permission denied"},
		{dir, "", ""},
	}
	var specs []api.JobSpec
	for _, c := range cases {
		specs = append(specs, api.JobSpec{User: owner, Command: []string{"true"}, Cwd: c.cwd})
	}
	f.each(specs, func(i int, end api.Finished) {
		want := "refused"
		if cases[i].code == "" {
			want = "exit"
		}
		if end.Outcome != want || end.Code != cases[i].code || !strings.Contains(end.Reason, cases[i].want) {
			t.Errorf("%s: %+v", cases[i].cwd, end)
		}
	})
}

func TestItemSeesACleanWorld(t *testing.T) {
	t.Setenv("QB_TOKEN", "canary-token")
	t.Setenv("DATABASE_URL", "canary-database")
	f := newScriptedFarm(t)
	spec := f.job(3, "sh", "-c", `env; echo "stdin $(wc -c)"; ls /proc/self/fd | tr '\n' ' '; echo
		[ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ] && echo own session
		umask; grep -E 'SigBlk|SigIgn' /proc/self/status; cat /proc/self/oom_score_adj; pwd; echo "args $*"`,
		"sh", "QB_FRAME_NUMBER", "x-QB_FRAME_START_QB_FRAME_END-QB_FRAME_STEP", "QB_FRAME_RANGE")
	umask := 0o027
	spec.Padding, spec.Umask, spec.PGrp, spec.Env = 4, &umask, 2, map[string]string{"MINE": "yes"}
	dir := t.TempDir()
	spec.Cwd = dir
	f.with(func() { f.specs[3] = spec })
	runAgent(t, testConfig(t, f))
	f.with(func() {
		f.wantLocked(core.Key{Job: 3, Instance: 5}, attempt(3, 0))
		d := f.wanted[core.Key{Job: 3, Instance: 5}]
		d.Name, d.Start, d.End, d.Step, d.Slots, d.Env = "7-21x2", "0007", "0021", "2", 3, map[string]string{"CUDA_VISIBLE_DEVICES": "1"}
		f.wanted[core.Key{Job: 3, Instance: 5}] = d
	})
	f.awaitEnd(attempt(3, 0))
	out := f.output(attempt(3, 0), shim.StreamOut)
	for _, want := range []string{
		"QBJOBID=3\n", "QBSUBID=5\n", "QBPGRPID=2\n", "QB_JOBSLOTS=3\n", "QB_FRAME_PADDING=4\n", "QB_ATTEMPT=1\n",
		"QB_FRAME_NUMBER=7\n", "QB_FRAME_START=7\n", "QB_FRAME_END=21\n", "QB_FRAME_STEP=2\n", "QB_FRAME_RANGE=7-21x2\n",
		"QB_PADDED_FRAME_NUMBER=0007\n", "QB_PADDED_FRAME_END=0021\n", "QB_SUPERVISOR=http", "MINE=yes\n", "CUDA_VISIBLE_DEVICES=1\n",
		"stdin 0\n", "own session\n", "0027\n", "SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n", dir + "\n",
		"args 0007 x-0007_0021-2 7-21x2\n", "\n0 1 2 3 \n", // 3 is the folder that ls reads
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the item's world lacks %q", want)
		}
	}
	if strings.Contains(out, "canary") {
		t.Error("the item sees the agent's secrets")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestOwnersAndRights(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	if os.Geteuid() != 0 {
		config.RunAs = settings.RunAsOwner
		if err := config.Startable(); err == nil || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("worker_run_as = owner without root: %v", err)
		}
		return
	}
	config.RunAs, config.LowestUID = settings.RunAsOwner, 0
	runAgent(t, config)
	daemon, err := user.Lookup("daemon")
	if err != nil {
		t.Fatal(err)
	}
	report := []string{"sh", "-c", `echo "$(id -u):$(id -g):$(id -G):$HOME:$USER"; umask`}
	f.each([]api.JobSpec{
		{User: "daemon", Command: report},
		{User: "root", Command: report},
		{User: "no-such-user", Command: report},
	}, func(i int, end api.Finished) {
		switch i {
		case 0:
			want := fmt.Sprintf("%s:%s:%s:%s:daemon\n0022\n", daemon.Uid, daemon.Gid, daemon.Gid, daemon.HomeDir)
			if out := f.output(end.Attempt, shim.StreamOut); end.Outcome != "exit" || out != want {
				t.Errorf("%+v %q, want %q", end, out, want)
			}
		case 1:
			if end.Outcome != "refused" || !strings.Contains(end.Reason, "worker_allow_root") {
				t.Errorf("root's item: %+v", end)
			}
		case 2:
			if end.Outcome != "refused" || !strings.Contains(end.Reason, "no-such-user") {
				t.Errorf("a stranger's item: %+v", end)
			}
		}
	})
}

func TestRootAgentServesOnlyRoot(t *testing.T) {
	t.Parallel()
	l := &launcher{runAs: settings.RunAsAgent, agentUser: "root", environ: func() []string { return nil }, owners: map[string]ownerFacts{}}
	item := core.Item{Spec: api.JobSpec{User: "alice", Command: []string{"true"}}}
	if _, err := prepared(l, item); err == nil || shim.Unstarted(err).Outcome != "refused" || !strings.Contains(err.Error(), `"alice"`) {
		t.Errorf("alice's item on a root agent: %v", err)
	}
	item.Spec.User = "root"
	if order, err := prepared(l, item); err != nil || order.Login != nil {
		t.Errorf("root's item on a root agent: %+v, %v", order, err)
	}
}

func TestPeakMemoryIsThatOfTheTree(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.each([]api.JobSpec{
		{Command: []string{"sh", "-c", `"$0" eat 100 0; true`, self}}, // short, a child
		{Command: []string{"sh", "-c", `"$0" hold 60 "$1.a" & "$0" hold 60 "$1.b" &
			while [ ! -e "$1.a" ] || [ ! -e "$1.b" ]; do sleep 0.05; done; sleep 1.5; touch "$1.a.go" "$1.b.go"; wait`, self, filepath.Join(t.TempDir(), "held")}}, // two at once
		{Command: []string{"sh", "-c", `(setsid "$0" eat 80 100 "$1" >/dev/null 2>&1 &) ; while [ ! -e "$1" ]; do sleep 0.05; done`, self, filepath.Join(t.TempDir(), "eaten")}}, // an orphan
		{Command: []string{"true"}}, // it may be gone at the first look
		{Command: []string{"sleep", "0.5"}},
	}, func(i int, end api.Finished) {
		least := []int64{100 << 20, 120 << 20, 80 << 20, 0, 1}[i]
		most := []int64{500 << 20, 600 << 20, 400 << 20, 4 << 20, 4 << 20}[i] // the race detector eats too
		if end.PeakMemory < least || end.PeakMemory > most {
			t.Errorf("case %d: peak %s, want %s to %s", i, units.Size(end.PeakMemory), units.Size(least), units.Size(most))
		}
		if end.Wall <= 0 || end.CPU < 0 {
			t.Errorf("case %d: wall %v, cpu %v", i, end.Wall, end.CPU)
		}
	})
}

func TestProcessorTimeIsThatOfTheTree(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & wait`)
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	if end := f.awaitEnd(attempt(1, 0)); end.CPU < 0.02 {
		t.Errorf("cpu = %v seconds", end.CPU)
	}
}
