package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"qb/internal/statedir"
)

// initialise makes the cluster if there is none. initdb works in pg.new, and only a finished cluster gets the name
// pg: a half-made one has a PG_VERSION within 0.15 s and even starts, but lacks parts of its catalogue.
func (l *layout) initialise(ctx context.Context) error {
	have, err := clusterMajor(l.data)
	if err != nil {
		return err
	}
	if have == 0 {
		if entries, err := os.ReadDir(l.data); err == nil && len(entries) > 0 {
			return fmt.Errorf("%s is not empty and holds no Postgres cluster; move it away, or give another -state", l.data)
		}
		return l.makeCluster(ctx)
	}
	if have != l.bin.major {
		return fmt.Errorf(`the database in %s was made by Postgres %d, but the programs in %s are version %d;
install postgresql-%d again, or move the data: with version %d pg_dumpall to a file, move %s away, start qb, psql the file`,
			l.data, have, l.bin.dir, l.bin.major, have, have, l.data)
	}
	return nil
}

func (l *layout) makeCluster(ctx context.Context) error {
	fresh := filepath.Join(l.state, "pg.new")
	// An initdb that was killed may have left its server behind, still writing.
	if err := l.clear(ctx, fresh); err != nil {
		return err
	}
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("removing a half-made database: %w", err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("making the database folder: %w", err)
	}
	if err := l.user.own(fresh); err != nil {
		return fmt.Errorf("giving the database folder to its user: %w", err)
	}
	// Who may connect is written before each start.
	cmd := l.command(ctx, "initdb", "-D", fresh, "-U", superuser, "-A", "reject", "-E", "UTF8", "--no-locale",
		"--data-checksums")
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread() // the death signal follows the thread that forked
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		return fmt.Errorf("initdb in %s: %w\n%s", fresh, err, lastLines(string(out)))
	}
	if err := os.Remove(l.data); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making room for the database: %w", err)
	}
	if err := os.Rename(fresh, l.data); err != nil {
		return fmt.Errorf("putting the new database in place: %w", err)
	}
	return statedir.SyncFolder(l.state)
}

// command runs a server program as the server's user, in a process group of its own (so that Ctrl-C in a terminal
// does not reach it) and with none of the PG… variables that would change its folder or port.
func (l *layout) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.bin.path(program), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	if libs := os.Getenv("LD_LIBRARY_PATH"); libs != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libs)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: l.user.credential()}
	return cmd
}

// lastLines is the end of a log, short enough for an error message.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
