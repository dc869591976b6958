package pgcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const parentRole = "PGCLUSTER_TEST_PARENT"

// TestMain lets the test program be the parent that a test kills.
func TestMain(m *testing.M) {
	if state := os.Getenv(parentRole); state != "" {
		c, err := Start(context.Background(), Config{State: state, Fast: true})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(c.PID())
		select {}
	}
	os.Exit(m.Run())
}

// stateFolder is where the server's user can get in; t.TempDir has a closed parent.
func stateFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "state")
}

func startIn(t *testing.T, state string) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := Start(ctx, Config{State: state, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if left := serverProcesses(c.data); len(left) > 0 {
		t.Errorf("processes left after Stop: %v", left)
	}
}

func connect(t *testing.T, c *Cluster) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, c *Cluster, sql string) {
	t.Helper()
	if _, err := connect(t, c).Exec(context.Background(), sql); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, c *Cluster) (n int) {
	t.Helper()
	if err := connect(t, c).QueryRow(context.Background(), "SELECT count(*) FROM kept").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually waits for what must come; the limit only turns a hang into a failure.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}

// A cluster lives through an init that was killed, starts, a killed server, a killed parent and the lock files that
// crashes leave. One test, for making a cluster takes most of its time.
func TestLifeOfACluster(t *testing.T) {
	state := stateFolder(t)
	half := filepath.Join(state, "pg.new")
	if err := errors.Join(os.MkdirAll(filepath.Join(half, "base"), 0o755),
		os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := startIn(t, state)
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pg.new is still there: %v", err)
	}
	run(t, c, "CREATE TABLE kept (n int)")
	run(t, c, "INSERT INTO kept VALUES (1), (2)")

	t.Run("the socket folder is closed to others and there is no TCP", func(t *testing.T) {
		info, err := os.Stat(c.sockets)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("socket folder: %v, %v", info.Mode(), err)
		}
		var listen string
		if err := connect(t, c).QueryRow(context.Background(), "SHOW listen_addresses").Scan(&listen); err != nil ||
			listen != "" {
			t.Errorf("listen_addresses %q, %v", listen, err)
		}
	})
	t.Run("a second start is refused and names the holder", func(t *testing.T) {
		_, err := Start(context.Background(), Config{State: state})
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("second start: %v", err)
		}
		if count(t, c) != 2 {
			t.Error("the first cluster was disturbed")
		}
	})
	t.Run("a killed server comes back with its rows", func(t *testing.T) { testKilledServer(t, c) })
	stop(t, c)

	alive := sleeper(t, c.user)
	for name, damage := range map[string]func() error{
		"warm start":                        func() error { return nil },
		"postmaster.pid of another process": func() error { return write(c.user, pidFile(c), alive+"\n"+c.data+"\n") },
		"empty postmaster.pid":              func() error { return write(c.user, pidFile(c), "") },
		"socket lock of another process": func() error {
			return errors.Join(write(c.user, c.socket(), ""), write(c.user, c.socket()+".lock", alive+"\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			again := startIn(t, state)
			if n := count(t, again); n != 2 {
				t.Errorf("%d rows, want 2", n)
			}
			stop(t, again)
		})
	}
	t.Run("an orphan without lock files", func(t *testing.T) { testOrphan(t, c, state) })
	t.Run("a killed parent", func(t *testing.T) { testKilledParent(t, state) })
	t.Run("a path too long for a socket", func(t *testing.T) { testLongPath(t, state) })
	t.Run("a server that cannot live", func(t *testing.T) { testGivingUp(t, c, state) })
	t.Run("another major version", func(t *testing.T) { testOtherVersion(t, c, state) })
}

func testKilledServer(t *testing.T, c *Cluster) {
	old := c.PID()
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another server", func() bool { return c.PID() != 0 && c.PID() != old })
	if n := count(t, c); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func pidFile(c *Cluster) string { return filepath.Join(c.data, "postmaster.pid") }

func write(a *account, path, text string) error {
	return errors.Join(os.WriteFile(path, []byte(text), 0o600), a.own(path))
}

// sleeper is a living process of the server's user that is no server.
func sleeper(t *testing.T, a *account) string {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// testOrphan starts an unsupervised server, removes its lock files, and expects it to be ended and ours to be up.
func testOrphan(t *testing.T, c *Cluster, state string) {
	orphan := c.command(context.Background(), "postgres", "-D", c.data, "-p", port, "-k", c.sockets, "-c",
		"listen_addresses=")
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan's ready", func() bool {
		text, _ := os.ReadFile(pidFile(c))
		return strings.Contains(string(text), "ready")
	})
	again := startIn(t, state)
	if again.PID() == orphan.Process.Pid {
		t.Error("took the orphan for its own server")
	}
	if n := count(t, again); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	orphan.Wait()
	stop(t, again)
}

// testGivingUp takes a vital folder away from a running server; after some deaths the owner hears of it.
func testGivingUp(t *testing.T, c *Cluster, state string) {
	doomed, err := Start(context.Background(),
		Config{State: state, Fast: true, patience: patience{3, time.Millisecond, time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	vital := filepath.Join(c.data, "global")
	if err := os.Rename(vital, vital+".away"); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(doomed.PID(), syscall.SIGKILL)
	if err := <-doomed.Failed(); !strings.Contains(err.Error(), "3 times in a row") ||
		!strings.Contains(err.Error(), "could not") {
		t.Errorf("it gave up with %v", err)
	}
	if doomed.PID() != 0 {
		t.Error("a dead server has a pid")
	}
	stop(t, doomed)
	if err := os.Rename(vital+".away", vital); err != nil {
		t.Fatal(err)
	}
}

func testOtherVersion(t *testing.T, c *Cluster, state string) {
	if err := write(c.user, filepath.Join(c.data, "PG_VERSION"), "14\n"); err != nil {
		t.Fatal(err)
	}
	_, err := Start(context.Background(), Config{State: state})
	if err == nil || !strings.Contains(err.Error(), "made by Postgres 14") {
		t.Errorf("start over another version: %v", err)
	}
}

// testKilledParent kills a parent, whose server goes along, and expects the next start to find the rows.
func testKilledParent(t *testing.T, state string) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentRole+"="+state)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent said nothing: %v", err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "the end of the killed parent's server", func() bool {
		_, alive := lookAt(pid, filepath.Join(state, "pg"))
		return !alive
	})
	again := startIn(t, state)
	if n := count(t, again); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	stop(t, again)
}

// testLongPath moves the cluster to where its socket's path would be too long.
func testLongPath(t *testing.T, state string) {
	long := state + strings.Repeat("d", 100)
	if err := os.Rename(state, long); err != nil {
		t.Fatal(err)
	}
	again := startIn(t, long)
	if strings.HasPrefix(again.sockets, state) || len(again.socket()) > maxSocketPath {
		t.Errorf("socket in %s", again.sockets)
	}
	if n := count(t, again); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	stop(t, again)
	if _, err := os.Stat(again.sockets); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run folder is left: %v", err)
	}
	if err := os.Rename(long, state); err != nil {
		t.Fatal(err)
	}
}
