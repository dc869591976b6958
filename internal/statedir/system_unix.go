//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openFlags keep the opening of a pipe from waiting, and a terminal from becoming that of the process.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// awaitData waits until a pipe has data, or has had a writer that is gone.
func awaitData(pipe *os.File, wait time.Duration) error {
	for until := time.Now().Add(wait); ; {
		left := time.Until(until)
		if left <= 0 {
			return fmt.Errorf("%s is a pipe, and nothing has been written to it for %v; start its writer first, or name a file",
				pipe.Name(), wait)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 || err != nil && err != unix.EINTR {
			return err
		}
	}
}

// writeInto writes to what takes its readers' time.
func writeInto(name string, data []byte, wait time.Duration) error {
	until := time.Now().Add(wait)
	open := func() (*os.File, error) { return os.OpenFile(name, os.O_WRONLY|openFlags, 0) }
	f, err := open()
	for ; errors.Is(err, unix.ENXIO) && time.Now().Before(until); f, err = open() {
		time.Sleep(20 * time.Millisecond)
	}
	if errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("%s is a pipe, and no program has read it for %v; start its reader first, or name a file", name,
			wait)
	}
	if err != nil {
		return err
	}
	_ = f.SetWriteDeadline(until) // a device without one takes the data at once
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// SyncFolder makes the names in a folder survive a power cut.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func rename(from, to string) error { return os.Rename(from, to) }

// createTemp makes a file of its own name and mode 0600.
func createTemp(dir, prefix string, _ fs.FileMode) (*os.File, error) {
	return os.CreateTemp(dir, prefix+"*")
}

// Mine says whether an open file or folder belongs to this process's user.
func Mine(f *os.File) (bool, error) {
	uid, _, err := ownerOf(f)
	return err == nil && uid == os.Geteuid(), err
}

// Exposed says why others than this process's user and root may have written an open file or folder, "" if they cannot.
func Exposed(f *os.File) (why string, err error) {
	uid, mode, err := ownerOf(f)
	switch {
	case err != nil:
		return "", err
	case uid != 0 && uid != os.Geteuid():
		return "belongs to another user", nil
	case mode&0o022 != 0:
		return fmt.Sprintf("can be written by others (mode %04o)", mode), nil
	}
	return "", nil
}

func ownerOf(f *os.File) (uid int, mode fs.FileMode, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), info.Mode().Perm(), nil
}
