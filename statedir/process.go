package statedir

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnName is the OS user who runs this process; the number of one who has no name.
func OwnName() string {
	u, err := user.Current()
	if err != nil {
		return strconv.Itoa(os.Geteuid())
	}
	return u.Username
}

// Lock takes a folder for this process by a file in it, which has the holder's pid. The lock ends with release or with
// the process, however that ends. Way is what to do where another process holds it.
func Lock(folder, name, way string) (release func(), err error) {
	path := filepath.Join(folder, name)
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the state folder's lock: %w", err)
	}
	if err = lockSoon(f); errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("state folder %s is in use by process %s; %s", folder, holder(f), way)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_ = f.Truncate(0) // on a full disk there is no pid to tell, and yet the lock
	_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	// The file stays: removing it would let two processes lock two files of the same name.
	return func() { f.Close() }, nil
}

// lockSoon bears with a holder that is just ending: a process between fork and exec holds the locks of its parent, too.
func lockSoon(f *os.File) (err error) {
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("locking %s: %w", f.Name(), err)
}

func holder(f *os.File) string {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return pid
	}
	return "(its pid is not written)"
}
