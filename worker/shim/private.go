package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Private is what an item of a root worker has for itself. The zero value is nothing.
type Private struct {
	NoNewPrivs bool   `json:"no_new_privs,omitempty"`
	Processes  int    `json:"processes,omitempty"` // at most; 0: no limit
	Files      int    `json:"files,omitempty"`     // open at a time, of each process; 0: the worker's own limit
	NoCore     bool   `json:"no_core,omitempty"`   // no process leaves a core dump
	Shm        int64  `json:"shm,omitempty"`       // bytes of its own /dev/shm; 0: the host's
	Temp       string `json:"temp,omitempty"`      // its folder for temporary files
	OwnTmp     bool   `json:"own_tmp,omitempty"`   // Temp is its /tmp
}

const (
	shmFolder = "/dev/shm"
	TmpFolder = "/tmp"
)

// seclude gives the calling thread, and so what it forks, what the order says an item has for itself. The thread is the
// shim's forker, which does nothing else; its mounts end with the last process that has them.
func (f *forker) seclude(o *RunCommand) error {
	p := o.Private
	if p.Temp != "" {
		if err := makeTemp(p.Temp, o.Login); err != nil {
			return fmt.Errorf("making the item's folder for temporary files: %w", err)
		}
	}
	if p.Shm > 0 || p.OwnTmp {
		if err := f.mountOwn(p); err != nil {
			return fmt.Errorf("mounting the item's own %s: %w", shmFolder, err)
		}
	}
	if err := p.limit(); err != nil {
		return fmt.Errorf("limiting the item's files: %w", err)
	}
	if p.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("setting no_new_privs: %w", err)
		}
	}
	return nil
}

// limit sets the resource limits of this process, which its children inherit. Only package syscall knows that Go must
// not put back the limit of files that it began with.
func (p Private) limit() error {
	if p.NoCore {
		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
			return err
		}
	}
	if p.Files == 0 {
		return nil
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Max = min(files.Max, uint64(p.Files)) // a root without CAP_SYS_RESOURCE may not raise it
	files.Cur = files.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
}

// unshare gives the calling thread mounts and System V memory of its own; what is mounted on the host later appears
// among the mounts.
func unshare() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
}

// mountOwn mounts in a namespace of this thread alone.
func (f *forker) mountOwn(p Private) error {
	if !f.apart {
		if err := unshare(); err != nil {
			return err
		}
		f.apart = true
	}
	if p.Shm > 0 {
		if err := unix.Mount("qb", shmFolder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
			fmt.Sprintf("mode=1777,size=%d", p.Shm)); err != nil {
			return err
		}
		f.mounted = append(f.mounted, shmFolder)
	}
	if p.OwnTmp && p.Temp != "" {
		if err := unix.Mount(p.Temp, TmpFolder, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		f.mounted = append(f.mounted, TmpFolder)
	}
	return nil
}

// unseclude undoes it on the same thread, when the item's processes are gone: what lay in its /dev/shm and its System V
// memory is free then.
func (f *forker) unseclude(o *RunCommand) {
	for _, folder := range f.mounted {
		unix.Unmount(folder, unix.MNT_DETACH)
	}
	f.mounted = nil
	if f.apart { // the kernel frees the memory when no process is left in its namespace; the new one is the next item's
		f.apart = unix.Unshare(unix.CLONE_NEWIPC) == nil
	}
	if o.Private.Temp != "" {
		_ = unix.Rmdir(o.Private.Temp) // where there is something in it, the agent removes it
	}
}

// makeTemp puts aside what has the folder's name, as after a restored database: to remove it may take long, and is the
// agent's work.
func makeTemp(dir string, l *Login) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if err = os.Rename(dir, fmt.Sprintf("%s.%d", dir, time.Now().UnixNano())); err == nil {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err != nil {
		return err
	}
	if l != nil {
		return os.Lchown(dir, int(l.UID), int(l.GID))
	}
	return nil
}

// TempsOf is the folder that holds the items' own, of the worker with that state folder.
func TempsOf(state string) string {
	return filepath.Join(TmpFolder, "qb-"+state[:min(len(state), 12)])
}

// OpenTemps makes the folder that holds the items' own: root's, which others may enter and not list.
func OpenTemps(dir string) error {
	err := os.Mkdir(dir, 0o711)
	if err == nil {
		return os.Chmod(dir, 0o711)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s exists, but is not a folder that only the worker can write; remove it", dir)
	}
	return nil
}

// CanMount says whether this host lets us give items mounts of their own.
func CanMount() error {
	failed := make(chan error, 1)
	go func() { // the thread ends with this goroutine, as it stays locked
		runtime.LockOSThread()
		err := unshare()
		if err == nil {
			err = unix.Mount("qb", shmFolder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=4096")
		}
		failed <- err
	}()
	return <-failed
}
