package pgcluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// formerly gives a stopped cluster the owner and the access of an older qb; half leaves the rest as a crash in the middle
// of a conversion does.
func formerly(t *testing.T, c *Cluster, uid, gid int, half bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.data, "pg_hba.conf"), []byte("local all all trust\nhost all all 127.0.0.1/32 trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(c.data, func(path string, _ fs.DirEntry, err error) error {
		if n++; err != nil || half && path != c.data && n%2 == 0 {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	err = errors.Join(err, os.Lchown(c.sockets, uid, gid))
	if err != nil {
		t.Fatal(err)
	}
}

// owners counts what lies in a folder by user id.
func owners(t *testing.T, dir string) map[uint32]int {
	t.Helper()
	count := map[uint32]int{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		err = syscall.Lstat(path, &st)
		count[st.Uid]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestTakeOver: a cluster that postgres or nobody had goes to the server's own account, with its rows, also after a crash
// in the middle and with its log on another disk; what is not the cluster's stays whose it is.
func TestTakeOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root's clusters have an account of their own")
		return
	}
	state := stateFolder(t)
	c := startIn(t, state)
	run(t, c, "CREATE TABLE kept (n int)")
	run(t, c, "INSERT INTO kept VALUES (1), (2)")
	stop(t, c)
	if c.user.uid == 0 || owners(t, c.data)[c.user.uid] < 900 {
		t.Fatalf("a new cluster runs as %+v: %v", c.user, owners(t, c.data))
	}
	const former = 65534
	again := func() {
		t.Helper()
		next := startIn(t, state)
		if n := count(t, next); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
		stop(t, next)
		if all := owners(t, c.data); len(all) != 1 || all[c.user.uid] == 0 {
			t.Errorf("owners %v", all)
		}
		if text, err := os.ReadFile(filepath.Join(c.data, "pg_hba.conf")); err != nil || string(text) != accessFile {
			t.Errorf("pg_hba.conf: %v\n%s", err, text)
		}
	}
	t.Run("whole", func(t *testing.T) {
		formerly(t, c, former, former, false)
		again()
	})
	t.Run("after a crash in the middle", func(t *testing.T) {
		formerly(t, c, former, former, true)
		again()
	})
	t.Run("a link to a file of root's", func(t *testing.T) { testForeignLink(t, c, former, again) })
	t.Run("a second name of a file of root's", func(t *testing.T) { testSecondName(t, c, state, former, again) })
	t.Run("the log of writes on another disk", func(t *testing.T) { testOtherDisk(t, c, state, former, again) })
}

func testForeignLink(t *testing.T, c *Cluster, former int, again func()) {
	victim := filepath.Join(t.TempDir(), "victim")
	link := filepath.Join(c.data, "link")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Symlink(victim, link)); err != nil {
		t.Fatal(err)
	}
	formerly(t, c, former, former, false)
	again()
	if owner, _, err := ownerOf(victim); err != nil || owner != 0 {
		t.Errorf("the link's target belongs to %d, %v", owner, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
}

func testSecondName(t *testing.T, c *Cluster, state string, former int, again func()) {
	victim, name := filepath.Join(filepath.Dir(state), "victim"), filepath.Join(c.data, "base", "name")
	formerly(t, c, former, former, false)
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Link(victim, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), Config{State: state, Fast: true}); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("start: %v", err)
	}
	if owner, _, err := ownerOf(victim); err != nil || owner != 0 {
		t.Errorf("a file of root's belongs to %d, %v", owner, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	again()
}

func testOtherDisk(t *testing.T, c *Cluster, state string, former int, again func()) {
	formerly(t, c, former, former, false)
	wal, elsewhere := filepath.Join(c.data, "pg_wal"), filepath.Join(filepath.Dir(state), "wal")
	roots := filepath.Join(filepath.Dir(state), "roots")
	if err := errors.Join(os.Rename(wal, elsewhere), os.Mkdir(roots, 0o755), os.WriteFile(filepath.Join(roots, "file"), nil, 0o600),
		os.Symlink(roots, wal), os.Lchown(wal, former, former)); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), Config{State: state, Fast: true}); err == nil || !strings.Contains(err.Error(), "roots") {
		t.Errorf("start with a link to a folder of root's: %v", err)
	}
	if all := owners(t, roots); len(all) != 1 || all[0] != 2 {
		t.Errorf("a folder of root's belongs to %v", all)
	}
	if err := errors.Join(os.Remove(wal), os.Symlink(elsewhere, wal), os.Lchown(wal, former, former)); err != nil {
		t.Fatal(err)
	}
	again()
	if all := owners(t, elsewhere); len(all) != 1 || all[c.user.uid] == 0 {
		t.Errorf("the log of writes belongs to %v", all)
	}
}

// TestOtherUsersGetNoConnection: root's database lets in root and its own account. The users postgres and nobody, and one
// with a login, get nothing, not even where the folders and the socket are open to them.
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
