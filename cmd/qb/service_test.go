package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"qb/supervisor/store/pgcluster"
)

// The two services by themselves, on a database that the environment names: a worker that is ordered to end
// leaves its items running, and the next one takes them up.
func TestServicesAlone(t *testing.T) {
	t.Parallel()
	dir := farmFolder(t)
	cluster := startCluster(t, filepath.Join(dir, "db"))
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	f := &testFarm{t: t, state: filepath.Join(dir, "state")}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	env := append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state, "QB_DATABASE_URL="+cluster.URL(), "QB_SUPERVISOR_LISTEN=127.0.0.1:0")
	start := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Stderr = env, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended long ago
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			said, _ := os.ReadFile(log.Name())
			t.Errorf("%v: %v\n%s", cmd.Args, err, said)
		}
	}
	supervisor := start("qbsupervisor") // before its database, as when a machine boots
	f.until("the supervisor waits for its database", func() bool { return waitsForDatabase(log.Name()) })
	cluster = startCluster(t, filepath.Join(dir, "db"))
	f.until("the supervisor is ready", func() bool { _, err := os.Stat(filepath.Join(f.state, "farm.json")); return err == nil })
	worker := start("qbworker", "-name", "h", "-slots", "2", "-run_as", "agent")

	id := f.run(0, "qbsub", `echo $$ > pid; while ! test -e go; do sleep 0.1; done`)
	pid := filepath.Join(dir, "pid")
	f.until("the item runs", func() bool { return pidIn(pid) > 0 })
	end(worker)
	if !alive(pidIn(pid)) {
		t.Fatal("the item ended with its worker")
	}
	worker = start("qbworker", "-name", "h", "-slots", "2", "-run_as", "agent", "-stop-items")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.until("the job completes", func() bool { return f.job(id).Status == "complete" })
	if got := f.run(0, "qbitems", "-attempts", id, "-no-headers", "-fields", "attempt,state"); got != "1  done" {
		t.Errorf("attempts: %s", got)
	}
	end(worker)
	end(supervisor)
	f.run(3, "qbjobs")
}

func startCluster(t testing.TB, state string) *pgcluster.Cluster {
	t.Helper()
	needsPostgres(t)
	cluster, err := pgcluster.Start(t.Context(), pgcluster.Config{State: state, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func waitsForDatabase(log string) bool {
	said, _ := os.ReadFile(log)
	return strings.Contains(string(said), "waiting for the database (database_url)")
}

// A database that hangs: commands end in time and say so; once it is back nothing is lost.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-slots", "1")
	before := f.run(0, "qbsub", "-status", "blocked", "true")
	postmaster := f.postgres()
	all := append(childrenOf(postmaster), postmaster)
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	f.run(3, "qbsub", "-retryfor", "15s", "true") // longer than the term lasts
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	f.until("a submission is taken", func() bool {
		cmd := exec.Command("qbsub", "true")
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
		out, err := cmd.Output()
		id = strings.TrimSpace(string(out))
		return err == nil
	})
	f.until("it completes", func() bool { return f.job(id).Status == "complete" })
	if got := f.job(before).Status; got != "blocked" {
		t.Errorf("the job of before is %s", got)
	}
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

func childrenOf(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(data), ") ")
		words := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(words) > 1 && words[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}
