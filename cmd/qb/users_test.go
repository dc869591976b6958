package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// farmUser is a user of the system for as long as a test lasts.
type farmUser struct {
	name, home string
	uid, gid   uint32
	groups     []uint32
}

func makeUser(t *testing.T, name, group, homes string) farmUser {
	t.Helper()
	u := farmUser{name: name, home: filepath.Join(homes, name)}
	system(t, "useradd", "--system", "--user-group", "--groups", group, "--no-create-home", "--home-dir", u.home, "--shell", "/bin/sh", name)
	t.Cleanup(func() { system(t, "userdel", name) })
	found, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := found.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) uint32 {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
	u.uid, u.gid = number(found.Uid), number(found.Gid)
	for _, id := range ids {
		u.groups = append(u.groups, number(id))
	}
	if err = os.MkdirAll(u.home, 0o700); err == nil {
		err = os.Chown(u.home, int(u.uid), int(u.gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func system(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v: %s", name, args, err, out)
	}
}

// qb runs a command as the user, over the farm's socket, where the kernel says who calls.
func (u farmUser) qb(t *testing.T, program, socket string, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = u.home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "QB_CONF=" + os.DevNull, "QB_SUPERVISOR=unix:" + socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid, Groups: u.groups}}
	text, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), err == nil
}

// TestTwoUsers runs jobs of two users of the system on a farm that root started, where it may make users: each process
// is its owner's alone, with his groups and home and no rights of root, and his output is read by him and by root.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("useradd"); os.Geteuid() != 0 || err != nil {
		t.Log("only root makes users, and with useradd")
		return
	}
	dir := farmFolder(t)
	program, conf := filepath.Join(dir, "qb"), filepath.Join(dir, "qb.conf") // where others may go
	self, err := os.Executable()
	if err == nil {
		err = os.WriteFile(conf, []byte("worker_lowest_uid = 0\nsupervisor_log_access = \"owner\"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, program)
	prefix := fmt.Sprintf("qbt%d", os.Getpid())
	system(t, "groupadd", "--system", prefix)
	t.Cleanup(func() { system(t, "groupdel", prefix) })
	users := []farmUser{makeUser(t, prefix+"a", prefix, dir), makeUser(t, prefix+"b", prefix, dir)}
	f := startFarm(t, "-conf", conf, "-hosts", "1", "-slots", "2")
	socket := filepath.Join(f.state, "qb.sock")
	var jobs []string
	for _, u := range users {
		job, ok := u.qb(t, program, socket, "sub", "sh", "-c", `id -u; id -g; echo $(id -G | tr " " "\n" | sort -n); echo $HOME $USER; pwd; while [ ! -e go ]; do sleep 0.05; done`)
		if !ok {
			t.Fatalf("submitting: %s", job)
		}
		jobs = append(jobs, job)
	}
	for _, u := range users {
		u.awaitProcess(t)
		if err := os.WriteFile(filepath.Join(u.home, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n, u := range users {
		u.awaitJob(t, f, program, jobs[n])
		slices.Sort(u.groups)
		want := fmt.Sprintf("%d\n%d\n%s\n%s %s\n%s", u.uid, u.gid, strings.Trim(fmt.Sprint(u.groups), "[]"), u.home, u.name, u.home)
		if out, ok := u.qb(t, program, socket, "out", jobs[n]); !ok || out != want {
			t.Errorf("%s reads %q, want %q", u.name, out, want)
		}
		if out, ok := users[1-n].qb(t, program, socket, "out", jobs[n]); ok || !strings.Contains(out, "belongs to "+u.name) {
			t.Errorf("%s reads of %s's: %s", users[1-n].name, u.name, out)
		}
		if out, ok := users[1-n].qb(t, program, socket, "kill", jobs[n]); ok || !strings.Contains(out, "belongs to "+u.name) {
			t.Errorf("%s kills %s's: %s", users[1-n].name, u.name, out)
		}
		if out, ok := (farmUser{home: dir}).qb(t, program, socket, "out", jobs[n]); !ok || out != want {
			t.Errorf("root reads %q", out)
		}
	}
	closed := []string{"admin.token", "worker.token", "logs", "workers"}
	job, _ := users[0].qb(t, program, socket, "sub", "sh", "-c", "cd "+f.state+"; for n in "+strings.Join(closed, " ")+"; do [ -r $n ] && echo open: $n; done; ls "+users[1].home+" 2>/dev/null; echo end")
	users[0].awaitJob(t, f, program, job)
	if out, _ := users[0].qb(t, program, socket, "out", job); out != "end" {
		t.Errorf("an item can read %s", out)
	}
}

// TestRemarkOnWhoIsNotServed: root's farm runs root's jobs as root; of a user whose jobs none of its workers runs, the
// submission says so at once, and what to change. If all of them run items as another user, it is refused.
func TestRemarkOnWhoIsNotServed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("useradd"); os.Geteuid() != 0 || err != nil {
		t.Log("only root makes users, and with useradd")
		return
	}
	dir := farmFolder(t)
	program, conf := filepath.Join(dir, "qb"), filepath.Join(dir, "qb.conf")
	self, err := os.Executable()
	if err == nil {
		err = os.WriteFile(conf, []byte("worker_run_as = \"agent\"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, program)
	name := fmt.Sprintf("qbr%d", os.Getpid())
	system(t, "groupadd", "--system", name+"s")
	t.Cleanup(func() { system(t, "groupdel", name+"s") })
	low := makeUser(t, name, name+"s", dir)
	for _, test := range []struct {
		args  []string
		taken bool
		want  string
	}{
		{nil, true, fmt.Sprintf("%s has the uid %d, below worker_lowest_uid = 1000", low.name, low.uid)},
		{[]string{"-conf", conf}, false, "no host runs jobs of " + low.name + ": all items of this farm run as root"},
	} {
		f := startFarm(t, append(test.args, "-hosts", "1", "-slots", "1")...)
		socket := filepath.Join(f.state, "qb.sock")
		out, ok := low.qb(t, program, socket, "sub", "true")
		id := strings.Contains(out, "\n1") || strings.HasPrefix(out, "1\n")
		if ok != test.taken || id != test.taken || !strings.Contains(out, test.want) {
			t.Errorf("%v: %q, want %q", test.args, out, test.want)
		}
		root := farmUser{home: dir}
		job, ok := root.qb(t, program, socket, "sub", "id", "-u")
		if !ok {
			t.Fatalf("root submits: %s", job)
		}
		root.awaitJob(t, f, program, job)
		if out, _ := root.qb(t, program, socket, "out", job); out != "0" {
			t.Errorf("%v: root's job runs as %s", test.args, out)
		}
	}
}

// TestStartIsShort: a farm's start prints four lines and ready, as root and as another user; details only with
// -verbose.
func TestStartIsShort(t *testing.T) {
	t.Parallel()
	short := regexp.MustCompile(`^state     .+; the database is a private Postgres there\nhosts     h \(1 slot\); items run as .+\naddress   http://127\.0\.0\.1:\d+ and unix:.+/qb\.sock\npage      http://127\.0\.0\.1:\d+/; qb open prints .+\n$`)
	f := startFarm(t, "-slots", "1")
	f.until("the start is short", func() bool { return short.MatchString(f.log.String()) })
	f = startFarm(t, "-slots", "1", "-verbose")
	f.until("-verbose tells more", func() bool { return strings.Contains(f.log.String(), "worker started") })
}

func (u farmUser) awaitJob(t *testing.T, f *testFarm, program, job string) {
	t.Helper()
	f.until("job "+job+" is complete", func() bool {
		out, _ := u.qb(t, program, filepath.Join(f.state, "qb.sock"), "jobs", "-no-headers", "-fields", "status", job)
		return out == "complete"
	})
}

// awaitProcess waits for a process of the user's own, and wants it to be no other user's.
func (u farmUser) awaitProcess(t *testing.T) {
	t.Helper()
	id := strconv.Itoa(int(u.uid))
	for deadline := time.Now().Add(laterLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		names, _ := filepath.Glob("/proc/[0-9]*/status")
		for _, name := range names {
			data, _ := os.ReadFile(name)
			fields := map[string][]string{}
			for line := range strings.Lines(string(data)) {
				key, value, _ := strings.Cut(line, ":")
				fields[key] = strings.Fields(value)
			}
			if len(fields["Uid"]) != 4 || fields["Uid"][0] != id || !slices.Contains(fields["Name"], "sh") {
				continue
			}
			gid := strconv.Itoa(int(u.gid))
			if !slices.Equal(fields["Uid"], []string{id, id, id, id}) || !slices.Equal(fields["Gid"], []string{gid, gid, gid, gid}) ||
				len(fields["Groups"]) != len(u.groups) || strings.Trim(fields["CapEff"][0], "0") != "" {
				t.Errorf("a process of %s is %v %v %v %v", u.name, fields["Uid"], fields["Gid"], fields["Groups"], fields["CapEff"])
			}
			return
		}
	}
	t.Fatalf("no process of %s runs", u.name)
}

// TestOneFileForSupervisorAndWorker: what only root's worker can do is no obstacle for a supervisor of another user
// that reads the same file; a worker or a farm of that user is refused.
func TestOneFileForSupervisorAndWorker(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root can be another user")
		return
	}
	dir := farmFolder(t)
	program, conf, state := filepath.Join(dir, "qb"), filepath.Join(dir, "qb.conf"), filepath.Join(dir, "state")
	self, err := os.Executable()
	if err == nil {
		err = os.WriteFile(conf, []byte("worker_run_as = \"owner\"\n"), 0o644)
	}
	if err == nil {
		err = errors.Join(os.Mkdir(state, 0o700), os.Chown(state, 65534, 65534))
	}
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, program)
	nobody := farmUser{home: dir, uid: 65534, gid: 65534}
	if out, ok := nobody.qb(t, program, "", "config", "check", conf); !ok {
		t.Errorf("the supervisor's user is refused: %s", out)
	}
	for _, args := range [][]string{{"worker", "-token_file", conf, "-supervisor", "http://localhost:1"}, {"farm"}} {
		out, ok := nobody.qb(t, program, filepath.Join(dir, "none"), append(args, "-conf", conf, "-state", state)...)
		if ok || !strings.Contains(out, "qb.conf:1: worker_run_as = \"owner\" needs root") {
			t.Errorf("%v of another user than root: %s", args, out)
		}
	}
}
