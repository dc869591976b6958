package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
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

// serverAccount chooses the user of the server. Postgres refuses to run as root; a cluster that exists keeps its
// owner, so that installing a postgres user later does not orphan it.
func serverAccount(data string) (*account, error) {
	var st syscall.Stat_t
	err := syscall.Stat(data, &st)
	exists := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking at %s: %w", data, err)
	}
	if euid := os.Geteuid(); euid != 0 {
		if exists && int(st.Uid) != euid {
			return nil, fmt.Errorf("database folder %s belongs to user id %d, not to you (%d); run as that user, or give another -state", data, st.Uid, euid)
		}
		return nil, nil
	}
	if exists && st.Uid != 0 {
		return &account{st.Uid, st.Gid}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{uint32(uid), uint32(gid)}, nil
		}
	}
	return nil, errors.New("the Postgres server refuses to run as root and there is neither a user postgres nor nobody; run qb as another user, or set database_url")
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
			return fmt.Errorf("the Postgres server runs as user id %d, which may not pass through folder %s; chmod o+x it, or use another place", a.uid, dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}
