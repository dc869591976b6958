package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/internal/pause"
)

// account is whom the server runs as; nil means as this process.
type account struct{ uid, gid uint32 }

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// serverUser is the account of root's private Postgres. No other service uses it, so a break-in at another service
// gives no access to it.
const serverUser = "qb-db"

// How long the account is waited for, while another process makes it or has locked the list of accounts.
const (
	accountWait = 10 * time.Second
	accountPoll = 100 * time.Millisecond
)

// serverAccount chooses the user of the server. Postgres refuses to run as root.
func serverAccount(ctx context.Context, data string, log *slog.Logger) (a *account, err error) {
	uid, name := os.Geteuid(), "you"
	if uid == 0 {
		if a, err = ensureAccount(ctx, log); err != nil {
			return nil, err
		}
		uid, name = int(a.uid), serverUser
	}
	owner, exists, err := ownerOf(data)
	if err != nil {
		return nil, err
	}
	if exists && int(owner) != uid {
		return nil, fmt.Errorf(
			"database folder %s belongs to user id %d, not to %s (%d); run as that user, or give another -state",
			data, owner, name, uid)
	}
	return a, nil
}

// ownerOf is the user id of a folder, if it exists.
func ownerOf(dir string) (uint32, bool, error) {
	var st syscall.Stat_t
	err := syscall.Lstat(dir, &st)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("looking at %s: %w", dir, err)
	}
	return st.Uid, true, nil
}

// ensureAccount finds the server's account, or makes it and logs that.
func ensureAccount(ctx context.Context, log *slog.Logger) (*account, error) {
	for began := time.Now(); ; {
		if a, err := findAccount(); a != nil || err != nil {
			return a, err
		}
		args := []string{"--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell",
			"/usr/sbin/nologin",
			"--comment", "private Postgres of qb", serverUser}
		out, err := exec.CommandContext(ctx, "useradd", args...).CombinedOutput()
		if err == nil {
			log.Info("made a system account for the private Postgres", "account", serverUser)
			continue
		}
		var ended *exec.ExitError
		if !errors.As(err, &ended) || time.Since(began) > accountWait {
			return nil, fmt.Errorf(
				"the private Postgres of root runs as the system user %s, which could not be made: %w: %s; make it (useradd --system --user-group %[1]s), "+
					"run qb as another user, or set database_url", serverUser, err, strings.TrimSpace(string(out)))
		}
		if err := pause.For(ctx, accountPoll); err != nil {
			return nil, fmt.Errorf("making the system user %s: %w", serverUser, err)
		}
	}
}

func findAccount() (*account, error) {
	u, err := user.Lookup(serverUser)
	if err != nil {
		return nil, nil // unknown: it can be made
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil || uid == 0 {
		return nil, fmt.Errorf(
			"the system user %s has the ids %s and %s; give it ids of its own, for the private Postgres runs as it", serverUser,
			u.Uid, u.Gid)
	}
	return &account{uint32(uid), uint32(gid)}, nil
}

// mayEnter says whether the account passes through a folder, by its mode bits.
func (a *account) mayEnter(dir string) (bool, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return false, fmt.Errorf("looking at folder %s: %w", dir, err)
	}
	switch {
	case st.Uid == a.uid:
		return st.Mode&0o100 != 0, nil
	case st.Gid == a.gid:
		return st.Mode&0o010 != 0, nil
	}
	return st.Mode&0o001 != 0, nil
}

// admit lets the account through the state folder, which is ours to change, and checks the folders above, which
// are not.
func (a *account) admit(state string) error {
	if a == nil {
		return nil
	}
	if err := a.admitInto(state); err != nil {
		return err
	}
	return a.checkParents(filepath.Dir(state))
}

func (a *account) admitInto(state string) error {
	ok, err := a.mayEnter(state)
	if ok || err != nil {
		return err
	}
	info, err := os.Stat(state)
	if err != nil {
		return fmt.Errorf("looking at the state folder: %w", err)
	}
	// If no group uses the folder it becomes the server's; else everybody may pass, but not list.
	mode := info.Mode().Perm() | 0o001
	if info.Mode().Perm()&0o070 == 0 {
		if err := os.Chown(state, -1, int(a.gid)); err != nil {
			return fmt.Errorf("letting the database's user into the state folder: %w", err)
		}
		mode = info.Mode().Perm() | 0o010
	}
	if err := os.Chmod(state, mode); err != nil {
		return fmt.Errorf("letting the database's user into the state folder: %w", err)
	}
	return nil
}

func (a *account) checkParents(dir string) error {
	for {
		ok, err := a.mayEnter(dir)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf(
				"the Postgres server runs as user id %d, which may not pass through folder %s; chmod o+x it, or use another place",
				a.uid, dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}
