package pgcluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestClusterOfAnotherUser: a database folder of another account is refused and left as it is.
func TestClusterOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a folder away")
		return
	}
	state := stateFolder(t)
	c := startIn(t, state)
	stop(t, c)
	const other = 65534
	if err := os.Lchown(c.data, other, other); err != nil {
		t.Fatal(err)
	}
	_, err := Start(context.Background(), Config{State: state, Fast: true})
	if err == nil || !strings.Contains(err.Error(), "belongs to user id 65534, not to "+serverUser) {
		t.Errorf("start: %v", err)
	}
	if owner, _, err := ownerOf(c.data); err != nil || owner != other {
		t.Errorf("the folder belongs to %d, %v", owner, err)
	}
}

// TestOtherUsersGetNoConnection: root's database admits root and its own account only. The system's accounts postgres
// and 65534, and a user with a login, are refused, even where the folders and the socket are open to them.
func TestOtherUsersGetNoConnection(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can be another user")
		return
	}
	state := stateFolder(t)
	c := startIn(t, state)
	login := "qb-test-" + strconv.Itoa(os.Getpid())
	if out, err := exec.Command("useradd", "--no-create-home", login).CombinedOutput(); err != nil {
		t.Fatalf("useradd: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("userdel", login).CombinedOutput(); err != nil {
			t.Errorf("userdel: %v: %s", err, out)
		}
	})
	ask := func(name string) (string, error) {
		who, err := user.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		cmd := exec.Command(c.bin.path("psql"), "-XAt", "-c", "SELECT 'in'", c.URL())
		cmd.Dir, cmd.Env = "/", []string{"LC_ALL=C"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	for _, open := range []bool{false, true} {
		if open {
			if err := errors.Join(os.Chmod(state, 0o755), os.Chmod(c.sockets, 0o755), os.Chmod(c.socket(), 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"postgres", "nobody", login} {
			out, err := ask(name)
			want := "Permission denied"
			if open {
				want = "Peer authentication failed"
			}
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s, folders open %v: %v: %s", name, open, err, out)
			}
		}
	}
	for _, name := range []string{"root", serverUser} {
		if out, err := ask(name); err != nil || out != "in" {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
