package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/cmd/qb/find"
)

// TestSquatter: a local user without any right waits for the supervisor's port and takes it each time that the supervisor
// restarts. He sees connections, and neither a token nor anything else; nothing that he answers is run; and commands and
// workers go on with the true supervisor. QB_SQUATS says how often; the suite does it a few times, where it may make users.
func TestSquatter(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("useradd"); os.Geteuid() != 0 || err != nil {
		t.Log("only root makes users, and with useradd")
		return
	}
	times, _ := strconv.Atoi(os.Getenv("QB_SQUATS"))
	s := newSquatted(t)
	for range max(times, 3) {
		s.restart()
	}
	s.staleFarmFile()
	s.end()
}

// squatted is a farm of services on a port that a stranger wants.
type squatted struct {
	t                  *testing.T
	f                  *testFarm
	dir, address, seen string
	stranger           farmUser
	supervisor, squat  *exec.Cmd
	env                []string
	rounds, found      int
}

func newSquatted(t *testing.T) *squatted {
	dir := farmFolder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, filepath.Join(dir, "squat"))
	group := fmt.Sprintf("qbs%d", os.Getpid())
	system(t, "groupadd", "--system", group)
	t.Cleanup(func() { system(t, "groupdel", group) })
	s := &squatted{t: t, dir: dir, stranger: makeUser(t, group+"m", group, dir), f: &testFarm{t: t, state: filepath.Join(dir, "state")}}
	s.seen = filepath.Join(s.stranger.home, "seen")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	_ = l.Close()
	cluster := startCluster(t, filepath.Join(dir, "db"))
	t.Cleanup(func() { _ = cluster.Stop(t.Context()) })
	s.env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+s.f.state, "QB_DATABASE_URL="+cluster.URL(), "QB_SUPERVISOR_LISTEN="+s.address,
		"QB_SUPERVISOR_LIVENESS=2s")
	s.startSupervisor()
	token := filepath.Join(s.f.state, "worker.token")
	s.start("worker-by-socket", "qbworker", "-name", "bysocket", "-slots", "1", "-run_as", "agent", "-state", filepath.Join(dir, "w1"))
	byPort, _ := s.start("worker-by-port", "env", "QB_STATE="+filepath.Join(dir, "none"), "qbworker", "-name", "byport", "-slots", "1", "-run_as", "agent",
		"-state", filepath.Join(dir, "w2"), "-supervisor", "http://"+s.address, "-token_file", token)
	s.bothUp()
	squat := exec.Command(filepath.Join(dir, "squat"), s.address, s.seen, s.stranger.home)
	squat.Args[0], squat.Dir = "squat", s.stranger.home
	squat.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.stranger.home}
	squat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.stranger.uid, Gid: s.stranger.gid}, Pdeathsig: syscall.SIGKILL}
	if err := squat.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = squat.Process.Kill(); _ = squat.Wait() })
	s.squat = squat
	_ = byPort
	return s
}

func (s *squatted) start(log, name string, args ...string) (*exec.Cmd, <-chan struct{}) {
	s.t.Helper()
	out, err := os.OpenFile(filepath.Join(s.dir, log+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended long ago
		<-ended
		if s.t.Failed() {
			said, _ := os.ReadFile(out.Name())
			s.t.Logf("%s:\n%s", log, said[max(0, len(said)-4000):])
		}
	})
	return cmd, ended
}

// startSupervisor tries until the port is free, as a service manager does.
func (s *squatted) startSupervisor() {
	s.t.Helper()
	socket := filepath.Join(s.f.state, "qb.sock")
	for began := time.Now(); time.Since(began) < laterLimit; {
		supervisor, ended := s.start("supervisor", "qbsupervisor")
		s.supervisor = supervisor
		for waiting := true; waiting; {
			select {
			case <-ended:
				waiting = false
			case <-time.After(50 * time.Millisecond):
				if c, err := api.NewClient("unix:"+socket, ""); err == nil && c.Call(s.t.Context(), api.Health, nil, nil, nil) == nil {
					return
				}
			}
		}
	}
	s.t.Fatal("the supervisor never leads")
}

// restart kills the supervisor, uses the farm while the stranger has the port, and starts the supervisor again.
func (s *squatted) restart() {
	s.t.Helper()
	was := s.connections()
	_ = s.supervisor.Process.Kill()
	s.f.until("the stranger is asked", func() bool {
		s.qbjobs("QB_SUPERVISOR=http://" + s.address)
		return s.connections() > was
	})
	out, code := s.qbjobs("QB_SUPERVISOR=http://" + s.address)
	if code == 3 && strings.Contains(out, "nothing was sent") {
		s.found++
		if !strings.Contains(out, s.stranger.name) || !strings.Contains(out, "use the supervisor's socket") {
			s.t.Errorf("a command says %q", out)
		}
	}
	s.rounds++
	s.startSupervisor()
	s.bothUp()
}

// qbjobs asks with the admin's token.
func (s *squatted) qbjobs(env ...string) (string, int) {
	cmd := exec.Command("qbjobs")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+filepath.Join(s.dir, "none"), "QB_TOKEN_FILE="+filepath.Join(s.f.state, "admin.token"))
	cmd.Env = append(cmd.Env, env...)
	out, _ := cmd.CombinedOutput() // the exit code says it
	return string(out), cmd.ProcessState.ExitCode()
}

func (s *squatted) connections() int {
	data, _ := os.ReadFile(s.seen)
	return strings.Count(string(data), "connection\n")
}

func (s *squatted) bothUp() {
	s.t.Helper()
	s.f.until("both workers are up", func() bool {
		cmd := exec.Command("qbhosts", "-no-headers", "-fields", "state")
		cmd.Env, cmd.Dir = s.env, s.dir
		out, _ := cmd.CombinedOutput()
		s.f.last = string(out)
		return strings.Count(string(out), "up") == 2
	})
}

// staleFarmFile leaves a farm.json as a supervisor does that was killed, with a process id and a port that are the
// stranger's by now.
func (s *squatted) staleFarmFile() {
	_ = s.supervisor.Process.Kill()
	state := filepath.Join(s.dir, "stale")
	text := fmt.Sprintf(`{"url":"http://%s","token_file":%q,"pid":%d}`, s.address, filepath.Join(s.f.state, "admin.token"), s.squat.Process.Pid)
	if err := os.Mkdir(state, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(state, find.FarmJSON), []byte(text), 0o600)
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.f.until("the stranger is found behind a farm.json", func() bool {
		out, code := s.qbjobs("QB_STATE="+state, "QB_TOKEN_FILE=")
		return code == 3 && strings.Contains(out, "nothing was sent")
	})
}

// end wants the stranger to have seen connections and nothing in them.
func (s *squatted) end() {
	seen, err := os.ReadFile(s.seen)
	if err != nil {
		s.t.Fatal(err)
	}
	n := s.connections()
	if bytes := len(seen) - n*len("connection\n"); bytes > 0 {
		s.t.Errorf("the stranger was sent %d bytes:\n%.1000s", bytes, seen)
	}
	if _, err := os.Stat(filepath.Join(s.stranger.home, "ran")); err == nil {
		s.t.Error("a command of the stranger's was run")
	}
	if n < s.rounds || s.found == 0 {
		s.t.Errorf("the stranger had %d connections in %d restarts, and was named %d times", n, s.rounds, s.found)
	}
	s.t.Logf("%d restarts, %d connections to the stranger, none with a byte; a command named him %d times", s.rounds, n, s.found)
}

// squat is the stranger: it binds the address whenever that is free, writes down what it is sent, answers each sync with
// an item to run, and leaves again.
func squat() {
	address, seen, home := os.Args[1], os.Args[2], os.Args[3]
	log, err := os.OpenFile(seen, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := &http.Server{
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				fmt.Fprint(log, "connection\n")
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(log, "%s %s %v %s\n", r.Method, r.URL, r.Header, body)
			fmt.Fprintf(w, `{"epoch":%d,"sequence":1,"lease_seconds":60,"grace_seconds":1,"instances":[{"instance":0,"kind":"primary",`+
				`"attempt":{"job":666,"item":0,"number":1},"version":1,"slots":1,"name":"1"}],"jobs":[{"job":666,"version":1,"name":"x",`+
				`"user":"root","command":["touch","%s/ran"],"agenda":false,"pgrp":1}]}`, 1<<50, home)
		}),
	}
	for {
		l, err := net.Listen("tcp", address)
		if err != nil {
			time.Sleep(500 * time.Microsecond)
			continue
		}
		go func() {
			time.Sleep(1500 * time.Millisecond)
			l.Close()
		}()
		_ = server.Serve(l) // until it is closed
		time.Sleep(4 * time.Second)
	}
}
