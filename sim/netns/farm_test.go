package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// farm is a farm of six machines: a database, a leader, a standby, two workers and a workstation.
type farm struct {
	t       *testing.T
	dir     string
	network *Network

	db, s1, s2, w1, w2, ws *Machine

	token   string   // ann's
	leader  *service // on s1
	workers map[*Machine]*service
}

// Leases are short, so that a machine that is cut off is replaced while the test waits. Logs are on shared storage, as
// docs/operations.md wants for several supervisors.
const supervisorConf = `database_url = "postgres://qb@db/qb?sslmode=verify-full&sslrootcert=/etc/qb/db.crt&passfile=/etc/qb/db.pass"
supervisor_listen = "0.0.0.0:50001"
supervisor_logpath = "/srv/logs"
supervisor_liveness = "2s"
supervisor_execution_lease = "6s"
supervisor_kill_grace = "1s"
`

// patience is how long the test waits for what must come.
const patience = 2 * time.Minute

const bothSupervisors = "https://s1:50001,https://s2:50001"

// newFarm switches the machines on. Nothing of qb runs.
func newFarm(t *testing.T) *farm {
	t.Helper()
	f := &farm{t: t, workers: map[*Machine]*service{}}
	var err error
	f.dir, err = newFolder()
	must(t, err)
	buildPrograms(t, filepath.Join(f.dir, "programs"))
	f.network, err = New(f.dir, filepath.Join(f.dir, "programs"), "db", "s1", "s2", "w1", "w2", "ws")
	must(t, err)
	t.Cleanup(f.end)
	for i, m := range []**Machine{&f.db, &f.s1, &f.s2, &f.w1, &f.w2, &f.ws} {
		*m, err = f.network.Start(i)
		must(t, err)
		f.addUser(*m, "ann:x:4001:4001::/home/ann:/bin/sh\n", "ann:x:4001:\n")
	}
	for _, name := range []string{"truth", "pictures"} {
		must(t, os.Mkdir(f.shared(name), 0o755))
		must(t, os.Chown(f.shared(name), 4001, 4001))
	}
	must(t, os.WriteFile(f.shared("item.sh"), []byte(item), 0o755))
	return f
}

func (f *farm) shared(name string) string { return filepath.Join(f.network.SharedFolder(), name) }

func (f *farm) addUser(m *Machine, passwd, group string) {
	f.t.Helper()
	for name, line := range map[string]string{"etc/passwd": passwd, "etc/group": group} {
		text, err := os.ReadFile(m.Folder(name))
		must(f.t, err)
		must(f.t, os.WriteFile(m.Folder(name), append(text, line...), 0o644))
	}
}

// end switches all machines off, and keeps the folder of a run that failed.
func (f *farm) end() {
	for _, m := range []*Machine{f.db, f.s1, f.s2, f.w1, f.w2, f.ws} {
		if m != nil {
			_ = m.PowerOff() // it may be off
		}
	}
	if f.t.Failed() {
		must(f.t, os.WriteFile(filepath.Join(f.dir, keptFile), nil, 0o600))
		f.t.Logf("the machines' folders, with the services' logs, are kept in %s", f.dir)
		return
	}
	if err := os.RemoveAll(f.dir); err != nil {
		f.t.Error(err)
	}
}

// on runs a command as root on a machine and returns its standard output.
func (f *farm) on(m *Machine, program string, args ...string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.output(m.Command(ctx, program, args...), m.Name+": "+program)
}

// ann runs a command on the workstation, which has no state, as ann with her token.
func (f *farm) ann(program string, args ...string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.output(f.annsCommand(ctx, program, args...), "ws: "+program)
}

func (f *farm) annsCommand(ctx context.Context, program string, args ...string) *exec.Cmd {
	words := append([]string{"--reuid=4001", "--regid=4001", "--clear-groups", "env", "--chdir=" + Shared, program}, args...)
	cmd := f.ws.Command(ctx, "setpriv", words...)
	cmd.Env = append(cmd.Env, "HOME=/home/ann", "QB_SUPERVISOR="+bothSupervisors, "QB_TOKEN="+f.token)
	return cmd
}

func (f *farm) output(cmd *exec.Cmd, what string) string {
	f.t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s%s", what, err, out, &said)
	}
	return strings.TrimSpace(string(out))
}

// service is a program that runs on.
type service struct {
	machine *Machine
	cmd     *exec.Cmd
	log     string
	ended   chan struct{}
}

// start starts a service on a machine. Its log is /root/NAME.log there.
func (f *farm) start(m *Machine, name string, words ...string) *service {
	f.t.Helper()
	s := &service{machine: m, log: m.Folder("root/" + name + ".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	must(f.t, err)
	defer log.Close()
	s.cmd = m.Command(context.Background(), words[0], words[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	must(f.t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait() // its end is read from ended
		close(s.ended)
	}()
	return s
}

// pid is the program's, as the test sees it: the only child of nsenter.
func (s *service) pid() int {
	parent := strconv.Itoa(s.cmd.Process.Pid)
	text, _ := os.ReadFile("/proc/" + parent + "/task/" + parent + "/children")
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func (s *service) up() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// until repeats a look until it is satisfied.
func (f *farm) until(what string, look func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	for ; !look(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			f.t.Fatalf("never: %s; see %s", what, f.dir)
		}
	}
	return time.Since(began)
}

// untilIn waits until a service's log has a text.
func (f *farm) untilIn(s *service, text string) {
	f.t.Helper()
	f.until(fmt.Sprintf("%q in %s", text, s.log), func() bool {
		log, err := os.ReadFile(s.log)
		must(f.t, err)
		if !s.up() {
			f.t.Fatalf("a service on %s has ended; its log:\n%s", s.machine.Name, log)
		}
		return bytes.Contains(log, []byte(text))
	})
}

// leads reports whether the supervisor of a machine says so itself, on its socket.
func (f *farm) leads(m *Machine) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := m.Command(ctx, "qbping", "-supervisor", "unix:/run/qb/qb.sock", "-json")
	cmd.WaitDelay = time.Second // the program may outlive nsenter
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	return leadsIn(out)
}
