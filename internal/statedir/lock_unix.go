//go:build unix

package statedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Lock takes a folder for this process by a file in it, which has the holder's pid. The lock ends with release or with
// the process, however that ends. Way is what to do where another process holds it.
func Lock(folder, name, way string) (release func(), err error) {
	path := filepath.Join(folder, name)
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the state folder's lock: %w", err)
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR|syscall.O_NOFOLLOW))
	locked, err := tryLock(lock)
	if err == nil && !locked {
		err = fmt.Errorf("state folder %s is in use by process %s; %s", folder, holder(f), way)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), lock.Close())
	}
	defer f.Close()
	_ = f.Truncate(0) // on a full disk there is no pid to tell, and yet the lock
	_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	// The file stays: removing it would let two processes lock two files of the same name.
	return func() { _ = lock.Close() }, nil
}

// tryLock bears with a holder that is just ending: a process between fork and exec holds the locks of its parent, too.
func tryLock(lock *flock.Flock) (locked bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	locked, err = lock.TryLockContext(ctx, 20*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return locked, err
}

func holder(f *os.File) string {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return pid
	}
	return "(its pid is not written)"
}
