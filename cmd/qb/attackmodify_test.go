package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runsBeside are changes by which a job would run or read something else, with DIR a folder that all may write.
var runsBeside = []string{
	"-mpreflights=id -u >DIR/planted", "-mpostflights=id -u >DIR/planted", "-magenda_preflights=id -u >DIR/planted", "-magenda_postflights=id -u >DIR/planted",
	"-mpathmap=/usr/bin=DIR/bin", "-mvalidate=/etc/shadow:1", "-mregex_errors=.", "-mregex_progress=(.)", "-mregex_highlights=.*", "-mregex_outputpaths=.*",
}

// attacker is a user of the system who may change a job, but not submit as its owner.
type attacker struct {
	farmUser
	what, job string
	owner     farmUser
}

// TestAttackChangedJob has real users change jobs that they may change, of root and of another, and run their items again on
// a farm that root started: nothing of theirs runs as the owner. The owner's own change of the same kind does.
func TestAttackChangedJob(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("useradd"); os.Geteuid() != 0 || err != nil {
		t.Log("only root makes users, and with useradd")
		return
	}
	dir := farmFolder(t)
	program, conf, open := filepath.Join(dir, "qb"), filepath.Join(dir, "qb.conf"), filepath.Join(dir, "open")
	self, err := os.Executable()
	if err == nil {
		err = os.WriteFile(conf, []byte("worker_lowest_uid = 0\n"), 0o644)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(open, "bin"), 0o777)
	}
	if err == nil {
		err = os.Chmod(open, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(open, "bin", "env"), []byte("#!/bin/sh\nid -u >"+open+"/planted\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, program)
	prefix := fmt.Sprintf("qbm%d", os.Getpid())
	system(t, "groupadd", "--system", prefix)
	t.Cleanup(func() { system(t, "groupdel", prefix) })
	ada, roles := makeUser(t, prefix+"a", prefix, dir), [][]string{{"-role", "operator"}, {"-role", "user", "-leads", "fx"}, {"-role", "user", "-groups", "fx"}, {"-role", "user"}}
	var users []farmUser
	for n := range roles {
		users = append(users, makeUser(t, fmt.Sprintf("%s%d", prefix, n), prefix, dir))
	}
	f := startFarm(t, "-conf", conf, "-hosts", "1", "-slots", "4")
	socket, root := filepath.Join(f.state, "qb.sock"), farmUser{name: "root", home: dir}
	root.must(t, program, socket, "admin", "user", "add", ada.name, "-role", "user", "-groups", "fx")
	jobs := map[string]string{}
	for _, owner := range []farmUser{root, ada} {
		jobs[owner.name] = owner.must(t, program, socket, "sub", "-range", "1-2", "-cpus", "2", "-security", "group=vm,others=vm", "/usr/bin/env", "sh", "-c", `[ QB_FRAME_NUMBER = 1 ] || while [ ! -e go ]; do sleep 0.05; done`)
	}
	for n, role := range roles {
		u := users[n]
		root.must(t, program, socket, append([]string{"admin", "user", "add", u.name}, role...)...)
		for _, owner := range []farmUser{root, ada} {
			attacker{u, strings.Join(role, " "), jobs[owner.name], owner}.attack(t, f, program, open)
		}
	}
	ada.must(t, program, socket, "modify", "-magenda_preflights", "id -u >"+open+"/planted", jobs[ada.name])
	ada.again(t, f, program, jobs[ada.name])
	if planted, err := os.ReadFile(filepath.Join(open, "planted")); err != nil || strings.TrimSpace(string(planted)) != fmt.Sprint(ada.uid) {
		t.Errorf("the owner's own command wrote %q: %v", planted, err)
	}
	for _, owner := range []farmUser{root, ada} {
		owner.must(t, program, socket, "kill", jobs[owner.name])
		f.until("the job of "+owner.name+" is over", func() bool {
			return owner.must(t, program, socket, "jobs", "-no-headers", "-fields", "status", jobs[owner.name]) == "killed"
		})
	}
}

// attack tries each change, then has the item run again, and wants nothing to be there that it would have made.
func (a attacker) attack(t *testing.T, f *testFarm, program, open string) {
	t.Helper()
	socket := filepath.Join(f.state, "qb.sock")
	for _, change := range runsBeside {
		out, ok := a.qb(t, program, socket, "modify", strings.ReplaceAll(change, "DIR", open), a.job)
		name, _, _ := strings.Cut(strings.TrimPrefix(change, "-m"), "=")
		if ok || !strings.Contains(out, name+" decides what runs as "+a.owner.name) || !strings.Contains(out, "right to submit as "+a.owner.name) {
			t.Errorf("%s gives %s's job %s: %s", a.what, a.owner.name, change, out)
		}
	}
	a.must(t, program, socket, "modify", "-mpriority", "500", a.job) // which it may
	a.again(t, f, program, a.job)
	if planted, err := os.ReadFile(filepath.Join(open, "planted")); err == nil {
		t.Errorf("%s had the uid %s run a command", a.what, planted)
	}
}

// again has the first item of a job run again.
func (u farmUser) again(t *testing.T, f *testFarm, program, job string) {
	t.Helper()
	socket := filepath.Join(f.state, "qb.sock")
	attempts := func() (n int) { // 0: the last one runs
		out := u.must(t, program, socket, "items", "-attempts", "-no-headers", "-fields", "item,state", job)
		over := false
		for line := range strings.Lines(out) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "1" {
				n++
				over = fields[1] == "done"
			}
		}
		if !over {
			return 0
		}
		return n
	}
	f.until("item 1 of job "+job+" has run", func() bool { return attempts() > 0 })
	before := attempts()
	u.must(t, program, socket, "redo", job+":1")
	f.until("item 1 of job "+job+" has run again", func() bool { return attempts() > before })
}

// must is a command that succeeds.
func (u farmUser) must(t *testing.T, program, socket string, args ...string) string {
	t.Helper()
	out, ok := u.qb(t, program, socket, args...)
	if !ok {
		t.Fatalf("%s: %v: %s", u.name, args, out)
	}
	return out
}
