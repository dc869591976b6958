package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// takeOver gives a cluster that an older qb ran as postgres or nobody to the server's own account. The folder itself is
// given last, so that a crash in the middle is made good by the next start; nothing but owners changes.
func (l *layout) takeOver(ctx context.Context) error {
	owner, exists, err := ownerOf(l.data)
	if err != nil || !exists || l.user == nil || owner == l.user.uid {
		return err
	}
	if have, err := clusterMajor(l.data); err != nil || have == 0 {
		return err
	}
	if err := l.clear(ctx, l.data); err != nil {
		return err
	}
	l.log.Info("giving the private database to its own account", "folder", l.data, "account", serverUser, "from_uid", owner)
	err = handover{from: owner, to: *l.user}.linked(l.data)
	if err == nil {
		err = handover{from: owner, to: *l.user, roots: true}.whole(l.data)
	}
	if err != nil {
		return fmt.Errorf("giving the database in %s to the account %s: %w", l.data, serverUser, err)
	}
	return nil
}

// handover changes the owner of what belonged to one user.
type handover struct {
	from  uint32
	to    account
	roots bool // also what root put there; never behind a link, which the former account may have turned elsewhere
}

// whole gives a folder, which must be no link, and all that lies in it: the folder itself last.
func (h handover) whole(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	if err := h.inside(dir); err != nil {
		return err
	}
	if err := unix.Syncfs(fd); err != nil {
		return fmt.Errorf("syncing %s: %w", path, err)
	}
	return h.give(fd, path)
}

// inside gives all that lies in a folder, to any depth; of a link the link alone.
func (h handover) inside(dir *os.File) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := h.entry(dir, name); err != nil {
			return err
		}
	}
	return nil
}

func (h handover) entry(dir *os.File, name string) error {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer unix.Close(fd)
	sub, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		f := os.NewFile(uintptr(sub), path)
		err = h.inside(f)
		f.Close()
	} else if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		err = nil
	}
	if err != nil {
		return err
	}
	return h.give(fd, path)
}

// give changes the owner of what is open, if it was the former account's, or root's by one name: a second name of a file
// of root's may have been put there to be given away.
func (h handover) give(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	if st.Uid == h.to.uid && st.Gid == h.to.gid {
		return nil
	}
	folder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	ofRoot := h.roots && st.Uid == 0 && (folder || st.Nlink == 1)
	if st.Uid != h.from && st.Uid != h.to.uid && !ofRoot {
		return fmt.Errorf("%s belongs to user id %d and has %d names, but the database to user id %d; move it away", path, st.Uid, st.Nlink, h.from)
	}
	if err := unix.Fchownat(fd, "", int(h.to.uid), int(h.to.gid), unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("chown %s: %w", path, err)
	}
	return nil
}

// linked gives what an administrator put on another disk: the log of writes, and tablespaces.
func (h handover) linked(data string) error {
	links := []string{filepath.Join(data, "pg_wal")}
	spaces, err := filepath.Glob(filepath.Join(data, "pg_tblspc", "*"))
	if err != nil {
		return err
	}
	for _, link := range append(links, spaces...) {
		target, err := os.Readlink(link)
		if errors.Is(err, unix.EINVAL) {
			continue // it is no link
		}
		if err != nil {
			return err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		if err := h.to.checkParents(filepath.Dir(target)); err != nil {
			return err
		}
		if err := h.whole(target); err != nil {
			return err
		}
	}
	return nil
}
