package shim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// EmptyWord as the only argument makes a shim's program empty the folder that it inherits as EmptyFD.
const (
	EmptyWord = "empty"
	EmptyFD   = 3
	EmptyMore = 4 // the exit code of a child whose time is over while it gets on
)

// EmptyFor is how long it may take. What it has not reached then is the next one's: nothing that it did is lost.
const EmptyFor = 20 * time.Second

// Limits of the child that empties a folder.
const (
	emptyCPU   = 15 // seconds
	emptyFiles = 64
	emptyBatch = 1024 // names at a time
)

// emptyMain is that child. It has the identity of the folder's owner, or that of the worker for what others have left
// there.
func emptyMain(out io.Writer) int {
	time.AfterFunc(2*EmptyFor, func() { os.Exit(3) }) // its agent may be gone
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 10)    // refused if it is lower already
	for what, most := range map[int]uint64{unix.RLIMIT_CPU: emptyCPU, unix.RLIMIT_NOFILE: emptyFiles, unix.RLIMIT_CORE: 0,
		unix.RLIMIT_FSIZE: 0} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			fmt.Fprintln(out, "limiting this process:", err)
			return 1
		}
	}
	switch err := empty(EmptyFD, time.Now().Add(EmptyFor)); {
	case errors.Is(err, errMore):
		return EmptyMore
	case err != nil:
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
}

var errMore = errors.New("there is more than fits the time")

// emptier empties one folder. A tree may be deeper than there are descriptors, or than a path is long: so whatever in a
// folder is a folder with something in it moves up to the top, where it has its turn. Two descriptors do. It follows no
// links and never goes up, and what another file system has mounted there it leaves alone.
type emptier struct {
	top    int
	device uint64
	number int
	until  time.Time
	failed error // why something stays: the first reason of the last pass over the top
}

// empty removes all that is in the folder.
func empty(top int, until time.Time) error {
	var st unix.Stat_t
	if err := unix.Fstat(top, &st); err != nil {
		return err
	}
	_ = unix.Fchmod(top, 0o700) // without it the removals say what is refused
	e := emptier{top: top, device: st.Dev, until: until}
	for {
		e.failed = nil
		done, err := e.pass(top, e.remove)
		if errors.Is(err, errMore) || errors.Is(e.failed, errMore) {
			return errMore
		}
		if done == 0 || err != nil {
			return errors.Join(err, e.failed)
		}
	}
}

// pass has do called with each name in a folder, and says how many were removed or moved.
func (e *emptier) pass(dir int, do func(name string) error) (done int, err error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // from the beginning
	if err != nil {
		return 0, err
	}
	folder := os.NewFile(uintptr(fd), ".")
	defer folder.Close()
	for {
		names, err := folder.Readdirnames(emptyBatch)
		if time.Now().After(e.until) {
			return done, errMore
		}
		for _, name := range names {
			if err := do(name); err != nil {
				e.failed = cmp.Or(e.failed, fmt.Errorf("%.100q: %w", name, err))
				continue
			}
			done++
		}
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
	}
}

// remove removes a name from the top; of a folder with something in it, whatever is in there first.
func (e *emptier) remove(name string) error {
	err := unlink(e.top, name)
	if !full(err) {
		return err
	}
	dir, err := e.open(e.top, name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	for {
		done, err := e.pass(dir, func(inside string) error {
			err := unlink(dir, inside)
			if full(err) {
				err = e.raise(dir, inside)
			}
			return err
		})
		if done == 0 || err != nil {
			return errors.Join(err, unlink(e.top, name))
		}
	}
}

// raise moves a folder to the top.
func (e *emptier) raise(dir int, name string) error {
	for {
		e.number++
		err := unix.Renameat(dir, name, e.top, ".qb-"+strconv.Itoa(e.number))
		switch err {
		case unix.EEXIST, unix.ENOTEMPTY, unix.ENOTDIR: // there is something of that name
			continue
		case unix.EACCES, unix.EPERM: // to move a folder its owner must be able to write it
			fd, openErr := e.open(dir, name)
			if openErr != nil {
				return openErr
			}
			unix.Close(fd)
			return unix.Renameat(dir, name, e.top, ".qb-"+strconv.Itoa(e.number))
		}
		return err
	}
}

// open opens a folder to remove what is in it, which its owner may have closed to himself.
func (e *emptier) open(dir int, name string) (fd int, err error) {
	const how = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	path, err := unix.Openat(dir, name, how|unix.O_PATH, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return -1, err
	}
	if st.Dev != e.device {
		return -1, unix.EXDEV
	}
	self := "/proc/self/fd/" + strconv.Itoa(path)
	if st.Mode&0o700 != 0o700 {
		_ = unix.Chmod(self, 0o700) // what is refused then says so
	}
	return unix.Open(self, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// unlink removes a file, or a folder with nothing in it.
func unlink(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // which of them a file system says for a folder is its own affair
		if folder := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); folder != unix.ENOTDIR {
			err = folder
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func full(err error) bool { return err == unix.ENOTEMPTY || err == unix.EEXIST }
