package worker

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

// cage is a control group of an instance: whatever its items start stays in it, also what leaves its parent,
// its session and its environment, and outlives the shim. All of it is frozen or killed at once. The zero
// cage is none; then what descends from the shim is looked for in the process table again and again.
type cage struct {
	Kind   string `json:"kind,omitempty"`
	Folder string `json:"folder,omitempty"`
}

// Kinds of cages.
const (
	cageV2      = "cgroup2" // what is frozen can be killed
	cageFreezer = "freezer" // of version 1: what is frozen dies when it is thawed
)

// cageKinds are tried in this order.
var cageKinds = []string{cageV2, cageFreezer}

// Waits of a cage. A frozen group is reached within milliseconds, unless the kernel holds a process.
const (
	cageWait  = 20 * time.Millisecond
	cagePoll  = time.Millisecond
	cageTries = 50 // to empty and remove it
)

// groupPrefix begins the names of our groups. Those of an instance are locked by its shim.
const groupPrefix = "qb-i-"

// newCage makes a group of the first kind that this host lets us make.
func newCage(kinds []string, name string) cage {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cage{}
	}
	for _, kind := range kinds {
		for _, home := range cageHomes(string(data), kind) {
			c := cage{kind, filepath.Join(home, groupPrefix+name)}
			if c.make() {
				return c
			}
		}
	}
	return cage{}
}

// cageParents are the folders that may be this process's own group.
func cageParents(own, kind string) (folders []string) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case kind == cageV2 && parts[0] == "0" && parts[1] == "":
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				if folder := filepath.Join(root, parts[2]); isGroup(folder, unix.CGROUP2_SUPER_MAGIC) {
					folders = append(folders, folder)
				}
			}
		case kind == parts[1] && kind != "": // of version 1, by its controller's name
			if folder := filepath.Join("/sys/fs/cgroup", kind, parts[2]); isGroup(folder, unix.CGROUP_SUPER_MAGIC) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}

// cageHomes are the folders below which groups are made, the best first. In version 2 a group with processes in it
// gives those below it no count of memory. So where systemd has put this process into a group of its own below
// the one that it has left to us (Delegate, DelegateSubgroup), that one is better.
func cageHomes(own, kind string) (homes []string) {
	parents := cageParents(own, kind)
	if kind != cageV2 {
		return parents
	}
	for _, parent := range parents {
		for _, home := range []string{filepath.Dir(parent), parent} {
			if home == parent || isGroup(home, unix.CGROUP2_SUPER_MAGIC) && leftToUs(home) {
				cage{kind, home}.write("cgroup.subtree_control", "+memory") // refused where processes are
				cage{kind, home}.write("cgroup.subtree_control", "+pids")
				homes = append(homes, home)
			}
		}
	}
	return homes
}

// leftToUs says whether a group has systemd's mark of one that it does not look into.
func leftToUs(group string) bool {
	var mark [8]byte
	n, err := unix.Getxattr(group, "user.delegate", mark[:])
	return err == nil && string(mark[:n]) == "1"
}

// make leaves nothing behind if the group is of no use.
func (c cage) make() bool {
	if os.Mkdir(c.Folder, 0o755) != nil {
		return false
	}
	needed := []string{"cgroup.freeze", "cgroup.procs"} // since Linux 5.2
	if c.Kind == cageFreezer {
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

func (c cage) write(name, value string) error {
	file, err := os.OpenFile(filepath.Join(c.Folder, name), os.O_WRONLY, 0) // never makes one
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// enter sees to it that what the calling thread forks is born in the cage; leave undoes that. The thread is
// the goroutine's own.
func (c cage) enter(attr *syscall.SysProcAttr) (leave func(), err error) {
	leave = func() {}
	c.thaw() // it stays frozen when what was frozen in it is killed, and what is forked into it would never begin
	switch c.Kind {
	case cageV2:
		fd, err := unix.Open(c.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return leave, &os.PathError{Op: "open", Path: c.Folder, Err: err}
		}
		attr.UseCgroupFD, attr.CgroupFD = true, fd
		return func() { unix.Close(fd) }, nil
	case cageFreezer:
		if err := c.write("tasks", "0"); err != nil { // 0 is the thread that writes
			return leave, err
		}
		return func() { cage{c.Kind, filepath.Dir(c.Folder)}.write("tasks", "0") }, nil
	}
	return leave, nil
}

// inside are the processes in the cage, but for this one, a thread of which may be there to fork.
func (c cage) inside() map[int]bool {
	found := map[int]bool{}
	if c.Kind == "" {
		return found
	}
	data, _ := os.ReadFile(filepath.Join(c.Folder, "cgroup.procs"))
	for line := range bytes.Lines(data) {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			found[pid] = true
		}
	}
	delete(found, os.Getpid())
	return found
}

// kill sends KILL to all that is inside, and says how many those were. It does not wake what is frozen.
// Not by cgroup.kill: some kernels then kill whatever is forked into that group ever after.
func (c cage) kill() int {
	if len(c.inside()) == 0 {
		return 0
	}
	c.freeze()
	inside := c.inside() // nothing is forked any more
	for pid := range inside {
		unix.Kill(pid, unix.SIGKILL)
	}
	if c.Kind == cageFreezer {
		c.thaw() // they die before they run on; in version 2 they die frozen
	}
	return len(inside)
}

// freeze stops all that is inside and says whether it stands still. A process that the kernel holds (D)
// counts as still, once none of the others runs: it freezes when it comes back.
func (c cage) freeze() bool {
	switch c.Kind {
	case cageV2:
		c.write("cgroup.freeze", "1")
	case cageFreezer:
		c.write("freezer.state", "FROZEN")
	default:
		return true
	}
	for began := time.Now(); ; time.Sleep(cagePoll) {
		if c.frozen() {
			return true
		}
		if time.Since(began) > cageWait {
			return c.heldByKernel()
		}
	}
}

func (c cage) frozen() bool {
	if c.Kind == cageV2 {
		return countedIn(filepath.Join(c.Folder, "cgroup.events"), "frozen") == 1
	}
	state, err := os.ReadFile(filepath.Join(c.Folder, "freezer.state"))
	return err == nil && string(bytes.TrimSpace(state)) == "FROZEN"
}

func (c cage) heldByKernel() bool {
	held := false
	for pid := range c.inside() {
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

func (c cage) thaw() {
	switch c.Kind {
	case cageV2:
		c.write("cgroup.freeze", "0")
	case cageFreezer:
		c.write("freezer.state", "THAWED")
	}
}

// remove takes the group away, with all that may still be inside.
func (c cage) remove() error {
	if c.Kind == "" {
		return nil
	}
	var err error
	for range cageTries {
		if err = os.Remove(c.Folder); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		c.kill()
		time.Sleep(cagePoll)
	}
	return fmt.Errorf("removing the control group of an ended instance: %w", err)
}

// tellCages says once how items are held on this host.
func (a *agent) tellCages() {
	name := "probe-" + strconv.Itoa(os.Getpid())
	c := newCage(a.cages, name)
	k := newCounted(c, name)
	defer func() { c.remove(); k.remove() }()
	if c.Kind == "" {
		a.log.Warn("this host lets the worker make no control groups: processes that leave their parent are found by looking for them, and one that also gives up its environment may outlive a shim that is killed; run the worker as root or under systemd with Delegate=yes")
		return
	}
	a.log.Info("items are held in control groups", "kind", c.Kind, "folder", filepath.Dir(c.Folder), "memory_limits", memoryKeeper(k))
	if os.Geteuid() == 0 && (k.Memory.Kind == "" || k.Pids.Kind == "") {
		a.log.Warn("this host counts items' memory or processes in no control group: memory is summed up from the process table, worker_processes counts all processes of an item's user",
			"memory", k.Memory.Kind != "", "processes", k.Pids.Kind != "")
	}
}
