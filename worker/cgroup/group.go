package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/worker/proc"
)

// Group is a control group of an instance: whatever its items start stays in it, also what leaves its parent,
// its session and its environment, and outlives the shim. All of it is frozen or killed at once. The zero
// Group is none; then what descends from the shim is looked for in the process table again and again.
type Group struct {
	Kind   string `json:"kind,omitempty"`
	Folder string `json:"folder,omitempty"`
}

// Kinds of groups.
const (
	V2      = "cgroup2" // what is frozen can be killed
	Freezer = "freezer" // of version 1: what is frozen dies when it is thawed
)

// Kinds are tried in this order.
var Kinds = []string{V2, Freezer}

// Waits for a group. A frozen group is reached within milliseconds, unless the kernel holds a process.
const (
	freezeWithin = 20 * time.Millisecond
	pollEvery    = time.Millisecond
	removeTries  = 50 // to empty and remove it
)

// groupPrefix begins the names of our groups. Those of an instance are locked by its shim.
const groupPrefix = "qb-i-"

// New makes a group of the first kind that this host lets us make.
func New(kinds []string, name string) Group {
	for _, kind := range kinds {
		for _, home := range homes(kind) {
			c := Group{kind, filepath.Join(home, groupPrefix+name)}
			if c.Make() {
				return c
			}
		}
	}
	return Group{}
}

// FoldersOf are the folders that may be the group of a process, a number or "self".
func FoldersOf(process, kind string) (folders []string) {
	controller, roots, magic := kind, []string{"/sys/fs/cgroup/" + kind}, int64(unix.CGROUP_SUPER_MAGIC)
	if kind == V2 { // its line names no controller
		controller, roots, magic = "", []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, unix.CGROUP2_SUPER_MAGIC
	}
	groups, _ := proc.ReadFile("/proc/" + process + "/cgroup") // without it none is known
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != controller {
			continue
		}
		for _, root := range roots {
			if folder := filepath.Join(root, parts[2]); isGroup(folder, magic) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}

// homes are the folders below which groups are made, the best first. In version 2 a group with processes in it
// gives those below it no count of memory. So where systemd has put this process into a group of its own below
// the group that it has left to us (Delegate, DelegateSubgroup), that one is better.
func homes(kind string) (homes []string) {
	parents := FoldersOf("self", kind)
	if kind != V2 {
		return parents
	}
	for _, parent := range parents {
		for _, home := range []string{filepath.Dir(parent), parent} {
			if home == parent || isGroup(home, unix.CGROUP2_SUPER_MAGIC) && leftToUs(home) {
				Group{kind, home}.write("cgroup.subtree_control", "+memory") // refused where processes are
				Group{kind, home}.write("cgroup.subtree_control", "+pids")
				homes = append(homes, home)
			}
		}
	}
	return homes
}

// leftToUs says whether a group has systemd's mark of a group that it does not look into.
func leftToUs(group string) bool {
	var mark [8]byte
	n, err := unix.Getxattr(group, "user.delegate", mark[:])
	return err == nil && string(mark[:n]) == "1"
}

// Make leaves nothing behind if the group is of no use.
func (c Group) Make() bool {
	if os.Mkdir(c.Folder, 0o755) != nil {
		return false
	}
	needed := []string{"cgroup.freeze", "cgroup.procs"} // since Linux 5.2
	if c.Kind == Freezer {
		needed = []string{"freezer.state", "tasks"}
	}
	for _, name := range needed {
		if unix.Access(filepath.Join(c.Folder, name), unix.W_OK) != nil {
			os.Remove(c.Folder)
			return false
		}
	}
	return true
}

func (c Group) write(name, value string) error {
	return proc.WriteFile(filepath.Join(c.Folder, name), value)
}

// Enter sees to it that what the calling thread forks is born in the group; leave undoes that. The thread is
// the goroutine's own.
func (c Group) Enter(attr *syscall.SysProcAttr) (leave func(), err error) {
	leave = func() {}
	c.Thaw() // it stays frozen when what was frozen in it is killed, and what is forked into it would never begin
	switch c.Kind {
	case V2:
		fd, err := unix.Open(c.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return leave, &os.PathError{Op: "open", Path: c.Folder, Err: err}
		}
		attr.UseCgroupFD, attr.CgroupFD = true, fd
		return func() { unix.Close(fd) }, nil
	case Freezer:
		if err := c.write("tasks", "0"); err != nil { // 0 is the thread that writes
			return leave, err
		}
		return func() { Group{c.Kind, filepath.Dir(c.Folder)}.write("tasks", "0") }, nil
	}
	return leave, nil
}

// Inside are the processes in the group, except for this one, a thread of which may be there to fork.
func (c Group) Inside() map[int]bool {
	found := map[int]bool{}
	if c.Kind == "" {
		return found
	}
	data, _ := proc.ReadFile(filepath.Join(c.Folder, "cgroup.procs"))
	for line := range bytes.Lines(data) {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			found[pid] = true
		}
	}
	delete(found, os.Getpid())
	return found
}

// Kill sends KILL to all that is inside, and says how many those were. It does not wake what is frozen.
// Not by cgroup.kill: some kernels then kill whatever is forked into that group ever after.
func (c Group) Kill() int {
	if len(c.Inside()) == 0 {
		return 0
	}
	c.Freeze()
	inside := c.Inside() // nothing is forked any more
	for pid := range inside {
		unix.Kill(pid, unix.SIGKILL)
	}
	if c.Kind == Freezer {
		c.Thaw() // they die before they run on; in version 2 they die frozen
	}
	return len(inside)
}

// Freeze stops all that is inside and says whether it is frozen. A process that the kernel holds (D)
// counts as still, once none of the others runs: it freezes when it comes back.
func (c Group) Freeze() bool {
	switch c.Kind {
	case V2:
		c.write("cgroup.freeze", "1")
	case Freezer:
		c.write("freezer.state", "FROZEN")
	default:
		return true
	}
	for began := time.Now(); ; time.Sleep(pollEvery) {
		if c.Frozen() {
			return true
		}
		if time.Since(began) > freezeWithin {
			return c.heldByKernel()
		}
	}
}

// Frozen says whether the kernel has stopped all that is inside.
func (c Group) Frozen() bool {
	if c.Kind == V2 {
		return ReadCounter(filepath.Join(c.Folder, "cgroup.events"), "frozen") == 1
	}
	state, err := proc.ReadFile(filepath.Join(c.Folder, "freezer.state"))
	return err == nil && string(bytes.TrimSpace(state)) == "FROZEN"
}

func (c Group) heldByKernel() bool {
	held := false
	for pid := range c.Inside() {
		p, ok := proc.Read(pid)
		switch {
		case ok && p.State == 'R':
			return false
		case ok && p.State == 'D':
			held = true
		}
	}
	return held
}

// Thaw lets what is inside go on.
func (c Group) Thaw() {
	switch c.Kind {
	case V2:
		c.write("cgroup.freeze", "0")
	case Freezer:
		c.write("freezer.state", "THAWED")
	}
}

// Remove removes the group and kills what may still be inside.
func (c Group) Remove() error {
	if c.Kind == "" {
		return nil
	}
	var err error
	for range removeTries {
		if err = os.Remove(c.Folder); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		c.Kill()
		time.Sleep(pollEvery)
	}
	return fmt.Errorf("removing the control group of an ended instance: %w", err)
}
