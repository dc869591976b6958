package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/internal/limitwriter"
	"qb/worker/proc"
	"qb/worker/shim"
)

// Bounds of the removal of items' folders.
const (
	tempsWaiting  = 256             // names; others wait for the next sweep
	tempsAtOnce   = 2               // of them
	tempsFarewell = 5 * time.Second // for what waits when the agent ends
	tempsText     = 4 << 10         // bytes of what a child may say
)

// temps removes the private folders of items that have ended. What users have made is removed by a child with the
// rights of the folder's owner and limits of its own, never by the agent itself: a tree may be deeper than the agent
// has descriptors, and larger than it has time for.
type temps struct {
	dir     string
	program []string // path and arguments that run shim.Main
	log     *slog.Logger
	waiting chan string

	mu   sync.Mutex
	busy map[string]bool
	said map[string]bool // that it cannot be removed
}

func newTemps(dir string, shimCommand []string, log *slog.Logger) *temps {
	proc.CloseInherited()
	return &temps{
		dir: dir, program: append([]string{"/proc/self/exe"}, shimCommand[1:]...), log: log,
		waiting: make(chan string, tempsWaiting), busy: map[string]bool{}, said: map[string]bool{},
	}
}

// ended has an item's folder removed. It never waits. A worker whose items have none has no temps.
func (t *temps) ended(name string) {
	if t == nil {
		return
	}
	select {
	case t.waiting <- name:
	default: // the sweep removes it
	}
}

// run removes until the context ends, and for a moment more what waits then.
func (t *temps) run(ctx context.Context) {
	var wait sync.WaitGroup
	for range tempsAtOnce {
		wait.Go(func() { t.serve(ctx) })
	}
	wait.Wait()
}

func (t *temps) serve(ctx context.Context) {
	for {
		select {
		case name := <-t.waiting:
			t.remove(ctx, name)
			continue
		case <-ctx.Done():
		}
		break
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), tempsFarewell)
	defer cancel()
	for last.Err() == nil {
		select {
		case name := <-t.waiting:
			t.remove(last, name)
		default:
			return
		}
	}
}

// names are the entries that are there now.
func (t *temps) names() []string {
	if t == nil {
		return nil
	}
	names, _ := proc.Names(t.dir) // without the folder there is nothing
	return names
}

// remove removes a folder and says once if it cannot.
func (t *temps) remove(ctx context.Context, name string) {
	path := filepath.Join(t.dir, name)
	if err := unix.Rmdir(path); err == nil || err == unix.ENOENT {
		return // most items leave nothing
	}
	t.mu.Lock()
	other := t.busy[name]
	t.busy[name] = true
	t.mu.Unlock()
	if other {
		return
	}
	err := t.emptied(ctx, path)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, name)
	if errors.Is(err, errMore) { // behind the others that wait
		t.ended(name)
		return
	}
	switch {
	case err == nil && t.said[name]:
		t.log.Info("removing what an item left in its folder for temporary files", "folder", path)
	case err != nil && !t.said[name] && ctx.Err() == nil:
		t.log.Warn("what an item left in its folder for temporary files cannot be removed yet; will retry every few minutes",
			"folder", path, "error", err)
	}
	if delete(t.said, name); err != nil {
		t.said[name] = true
	}
}

// emptied has the folder emptied with the rights of its owner, then with ours, for what others have put there and what
// its owner keeps from being removed by holding up his child, and removes it.
func (t *temps) emptied(ctx context.Context, path string) error {
	folder, err := openOwn(path)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer folder.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &st); err != nil {
		return err
	}
	said := error(nil)
	for _, as := range []*syscall.Credential{{Uid: st.Uid, Gid: st.Gid}, nil} {
		if said = t.empty(ctx, folder, as); errors.Is(said, errMore) {
			return said
		}
		if err := os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if said == nil {
			said = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return said
}

// openOwn opens a folder, but not what a user may have mounted over it: a file system that answers no one would hold up
// this process.
func openOwn(path string) (*os.File, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat2(int(dir.Fd()), filepath.Base(path), &unix.OpenHow{Flags: how, Resolve: unix.RESOLVE_NO_XDEV})
	if err == unix.ENOSYS { // before Linux 5.6
		fd, err = unix.Openat(int(dir.Fd()), filepath.Base(path), how, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// empty runs the child, and ends it when it takes too long.
func (t *temps) empty(ctx context.Context, folder *os.File, as *syscall.Credential) error {
	ctx, cancel := context.WithTimeout(ctx, shim.EmptyFor+tempsFarewell)
	defer cancel()
	said := &limitwriter.Buffer{Most: tempsText}
	child := &exec.Cmd{
		Path: t.program[0], Args: append(append([]string{}, t.program[1:]...), shim.EmptyWord), Env: shim.Environment(),
		Dir:    "/",
		Stdout: said, ExtraFiles: []*os.File{folder}, WaitDelay: time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: as},
	}
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case err := <-ended:
		if child.ProcessState.ExitCode() == shim.EmptyMore {
			return errMore
		}
		if text := bytes.TrimSpace(said.Bytes()); err != nil && len(text) > 0 {
			return errors.New(string(text))
		}
		return err
	case <-ctx.Done():
	}
	_ = child.Process.Kill() // it may just have ended
	select {
	case <-ended:
	case <-time.After(tempsFarewell): // a file system that does not answer holds it
	}
	return fmt.Errorf("removing files took longer than %s without progress", shim.EmptyFor)
}

// errMore says that there is more in a folder than was removed in the time of one child.
var errMore = errors.New("more files are left in the folder")
