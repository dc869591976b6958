package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"qb/statedir"
)

// Lock takes the farm's state folder for this process, making it if need be. While it is held, `<state>/farm.lock`
// has the holder's pid in it. The lock ends with release or with the process, however that ends.
func Lock(state string) (release func(), err error) {
	return lockFile(state, "farm.lock")
}

func lockFile(state, name string) (func(), error) {
	if err := statedir.Make(state, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(state, name)
	f, err := statedir.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the state folder's lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		return nil, fmt.Errorf("state folder %s is in use by process %s; stop that one, or give another -state",
			state, holder(f))
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	// The file stays: removing it would let two processes lock two files of the same name.
	return func() { f.Close() }, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func holder(f *os.File) string {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return pid
	}
	return "(pid not written yet)"
}
