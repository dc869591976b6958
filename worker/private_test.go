package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// runAs runs one item as the user and waits for its end.
func (f *scriptedFarm) runAs(id int64, owner, line string) api.Finished {
	f.t.Helper()
	spec := f.job(id, line)
	spec.Shell, spec.User, spec.Cwd = true, owner, "/"
	f.with(func() { f.specs[id] = spec })
	f.want(core.Key{Job: id, Instance: 0}, attempt(id, 0))
	return f.awaitEnd(attempt(id, 0))
}

// TestItemsOfARootWorkerHaveThingsOfTheirOwn: /dev/shm and TMPDIR are the item's and are gone with it; setuid programs
// give it no rights; it makes so many processes.
func TestItemsOfARootWorkerHaveThingsOfTheirOwn(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	config.Processes, config.OpenFiles = 40, 777
	stop := runAgent(t, config)
	own := func() []string {
		var id string
		if err := shim.ReadSealed(filepath.Join(config.State, "id"), &id); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(shim.TempsOf(id) + "/*")
		return found
	}
	end := f.runAs(1, u.Username, `echo mine > /dev/shm/qb-own-$QBJOBID && echo more > $TMPDIR/file && stat -c '%a %U' $TMPDIR && df --output=target /dev/shm | tail -1
		grep NoNewPrivs /proc/self/status; echo core $(ulimit -Sc) $(ulimit -Hc) files $(ulimit -Sn) $(ulimit -Hn); ls -d /tmp/qb-*/ >/dev/null && ! ls /tmp/qb-* 2>/dev/null && echo closed; touch /tmp/qb-own-$(id -un) && echo shared`)
	out := f.output(end.Attempt, shim.StreamOut)
	for _, want := range []string{"700 " + u.Username + "\n", "/dev/shm\n", "NoNewPrivs:\t1\n", "core 0 0 files 777 777\n", "shared\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q; %+v %s", out, want, end, f.output(end.Attempt, shim.StreamErr))
		}
	}
	os.Remove("/tmp/qb-own-" + u.Username)
	if _, err := os.Stat("/dev/shm/qb-own-1"); err == nil {
		t.Error("its /dev/shm is the host's")
	}
	f.await("its folder is gone", func() bool { return len(own()) == 0 })
	if end := f.runAs(2, u.Username, `i=0; while [ $i -lt 60 ]; do sleep 2 & i=$((i+1)); done; echo all`); strings.Contains(f.output(end.Attempt, shim.StreamOut), "all") {
		t.Errorf("it made 60 processes of 40: %+v", end)
	}
	if end := f.runAs(3, u.Username, `ls -A /dev/shm $TMPDIR | wc -l`); !strings.Contains(f.output(end.Attempt, shim.StreamOut), "3\n") {
		t.Errorf("the next item finds what is not its own: %s", f.output(end.Attempt, shim.StreamOut))
	}
	stop()
	if left := own(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPrivateTmp: with worker_private_tmp /tmp is the item's own.
func TestPrivateTmp(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	config.PrivateTmp = true
	runAgent(t, config)
	end := f.runAs(1, u.Username, `touch /tmp/qb-private-$QBJOBID && echo "$TMPDIR $(ls -A /tmp)"`)
	if out := f.output(end.Attempt, shim.StreamOut); out != "/tmp qb-private-1\n" {
		t.Errorf("%q, %+v", out, end)
	}
	if _, err := os.Stat("/tmp/qb-private-1"); err == nil {
		t.Error("its /tmp is the host's")
	}
}

// TestLowUsersAreRefused unless a file that only root may change lists them.
func TestLowUsersAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root runs items of others")
		return
	}
	list := filepath.Join(t.TempDir(), "low-users")
	ask := func(name string) error {
		l := &launcher{runAs: settings.RunAsOwner, lowest: 1000, lowUsers: list, environ: func() []string { return nil }, owners: map[string]ownerFacts{}}
		_, err := prepared(l, core.Item{Spec: api.JobSpec{User: name, Command: []string{"true"}}})
		return err
	}
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"", 0, "cannot be read"}, {"games\n", 0o644, "does not list "}, {"# ours\n daemon # the old one\n", 0o644, ""}, {"daemon\n", 0o666, "users other than root may change it"},
	} {
		os.Remove(list)
		if c.mode != 0 {
			os.WriteFile(list, []byte(c.text), 0o600)
			os.Chmod(list, c.mode)
		}
		err := ask("daemon")
		if (c.want == "") != (err == nil) || err != nil && (shim.Unstarted(err).Outcome != "refused" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %v: %v", c.text, c.mode, err)
		}
	}
}

// TestNobodysItemsAreRefused: ids that the system gives to whom it cannot name are as the low ones, whatever the lowest
// is.
func TestNobodysItemsAreRefused(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "low-users")
	l := &launcher{runAs: settings.RunAsOwner, lowUsers: list, environ: func() []string { return nil }, owners: map[string]ownerFacts{}}
	ask := func(uid uint32) error {
		l.owners["him"] = ownerFacts{login: shim.Login{UID: uid}, home: "/", shell: "/bin/sh", at: time.Now()}
		_, err := prepared(l, core.Item{Spec: api.JobSpec{User: "him", Command: []string{"true"}}})
		return err
	}
	for _, l.lowest = range []int{0, 1000, 70_000} {
		for _, uid := range []uint32{65533, 65534, 65535, 65536, 1<<32 - 3, 1<<32 - 2, 1<<32 - 1} {
			want := uid == 65534 || uid == 65535 || uid >= 1<<32-2 || int(uid) < l.lowest
			if err := ask(uid); (err != nil) != want || want && shim.Unstarted(err).Outcome != "refused" {
				t.Errorf("uid %d, the lowest is %d: %v", uid, l.lowest, err)
			}
		}
	}
	if os.WriteFile(list, []byte("him\n"), 0o600); os.Geteuid() != 0 {
		t.Log("only root's list counts")
		return
	}
	if err := ask(65534); err != nil {
		t.Errorf("listed by root: %v", err)
	}
}

// TestOwnersUIDIsCompared: a name that is another user's here than where the job was submitted is refused, as the
// host's fault. A job whose owner's uid is not proven goes by the name.
func TestOwnersUIDIsCompared(t *testing.T) {
	t.Parallel()
	for _, runAs := range []string{settings.RunAsOwner, settings.RunAsAgent} {
		l := &launcher{runAs: runAs, agentUser: "ann", lowest: 1000, environ: func() []string { return nil }, owners: map[string]ownerFacts{
			"ann": {login: shim.Login{UID: 5001}, home: "/", shell: "/bin/sh", at: time.Now()},
		}}
		for uid, want := range map[int64]bool{-1: true, 5001: true, 0: false, 5002: false, 5001 + 1<<32: false} {
			spec := api.JobSpec{User: "ann", Command: []string{"true"}}
			if uid >= 0 {
				spec.UID = &uid
			}
			_, err := prepared(l, core.Item{Spec: spec})
			if (err == nil) != want {
				t.Errorf("%s, uid %d: %v", runAs, uid, err)
			}
			if want || err == nil {
				continue
			}
			if end := shim.Unstarted(err); end.Outcome != "refused" || end.Code != "uid_differs" || !strings.Contains(end.Reason, "5001") {
				t.Errorf("%s, uid %d: %+v", runAs, uid, end)
			}
		}
	}
}

// TestFolderStaysForWhatRunsOn: an agent that leaves an item to its shim leaves the folder of the items' own too, empty
// or not, as the shim may be about to use it. An item that leaves nothing removes it.
func TestFolderStaysForWhatRunsOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only items of a root worker have a folder of their own")
		return
	}
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	f.shellJob(1, `rmdir $TMPDIR && echo gone; while [ ! -e "$QB_TEST_GATE" ]; do sleep 0.02; done`)
	gate := filepath.Join(t.TempDir(), "gate")
	f.with(func() {
		spec := f.specs[1]
		spec.Env = map[string]string{"QB_TEST_GATE": gate}
		f.specs[1] = spec
	})
	stop := runAgentWith(t, config, false)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "gone")
	stop()
	var id string
	if err := shim.ReadSealed(filepath.Join(config.State, "id"), &id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(shim.TempsOf(id)); err != nil {
		t.Errorf("an item runs, and the folder is gone: %v", err)
	}
	stop = runAgent(t, config)
	os.WriteFile(gate, nil, 0o600)
	f.awaitEnd(attempt(1, 0))
	stop()
	if _, err := os.Stat(shim.TempsOf(id)); err == nil {
		t.Error("nothing runs, and the folder is there")
	}
}
