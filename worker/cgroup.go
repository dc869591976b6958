package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
)

// kernelKills tells whether the kernel killed for want of memory while an item ran, and holds an item with
// a limit in its instance's group, where this host lets us count memory.
type kernelKills struct {
	before int64 // kills on this host so far
	in     cage  // the group with the limit; zero: none
	inCage int64 // kills in that group before
}

// confine begins the watch and limits the group that the item is born in. Without a group the agent's own looks hold
// the item to its limit.
func (k *kernelKills) confine(o *runOrder, in cage) {
	k.before = countedIn("/proc/vmstat", "oom_kill")
	if o.Memory <= 0 || in.Kind == "" || !in.limitMemory(o.Memory) {
		return
	}
	k.in, k.inCage = in, in.oomKills()
}

// release lifts the limit of an item that has ended and says how often the kernel killed in its group.
func (k *kernelKills) release() (kills int64) {
	if k.in.Kind == "" {
		return 0
	}
	kills = k.in.oomKills() - k.inCage
	k.in.unlimitMemory()
	k.in = cage{}
	return kills
}

func (c cage) oomKills() int64 {
	if c.Kind == cageV2 {
		return countedIn(filepath.Join(c.Folder, "memory.events"), "oom_kill")
	}
	return countedIn(filepath.Join(c.Folder, "memory.oom_control"), "oom_kill")
}

// limitMemory limits memory and swap together.
func (c cage) limitMemory(bytes int64) bool {
	limit := strconv.FormatInt(bytes, 10)
	if c.Kind == cageV2 {
		c.write("memory.swap.max", "0") // a host without swap has no such file
		return c.write("memory.max", limit) == nil
	}
	c.unlimitMemory()
	if c.write("memory.limit_in_bytes", limit) != nil {
		return false
	}
	c.write("memory.memsw.limit_in_bytes", limit) // likewise; it is never less than the other
	return true
}

func (c cage) unlimitMemory() {
	if c.Kind == cageV2 {
		c.write("memory.max", "max")
		return
	}
	c.write("memory.memsw.limit_in_bytes", "-1")
	c.write("memory.limit_in_bytes", "-1")
}

// memoryNow is what the kernel counts of the group's processes: their own pages and what lies in their shared memory
// and /dev/shm, whatever they call themselves. Copies of files, which can be dropped, are not in it.
func (c cage) memoryNow() (bytes int64, ok bool) {
	data, err := os.ReadFile(filepath.Join(c.Folder, "memory.stat"))
	if err != nil {
		return 0, false
	}
	names := []string{"anon ", "shmem "}
	if c.Kind != cageV2 {
		names = []string{"total_rss ", "total_shmem "}
	}
	for line := range strings.Lines(string(data)) {
		for _, name := range names {
			if rest, is := strings.CutPrefix(line, name); is {
				n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
				bytes, ok = bytes+n, true
			}
		}
	}
	return bytes, ok
}

// counted are the groups of an instance in which the kernel counts its memory and its processes; zero where this host
// lets us make none. Of version 2 they are its cage.
type counted struct {
	Memory cage `json:"memory,omitzero"`
	Pids   cage `json:"pids,omitzero"`
}

// Groups of version 1 that count.
const (
	cageMemory = "memory"
	cagePids   = "pids"
)

// newCounted finds the counters of a cage of that name, or makes groups of version 1 beside it.
func newCounted(in cage, name string) counted {
	if in.Kind == "" {
		return counted{}
	}
	return counted{in.counting(cageMemory, "memory.max", "memory.limit_in_bytes", name), in.counting(cagePids, "pids.max", "pids.max", name)}
}

func (c cage) counting(kind, file2, file1, name string) cage {
	writable := func(group cage, file string) bool {
		return unix.Access(filepath.Join(group.Folder, file), unix.W_OK) == nil
	}
	if c.Kind == cageV2 && writable(c, file2) {
		return c
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cage{}
	}
	for _, folder := range cageParents(string(data), kind) {
		group := cage{kind, filepath.Join(folder, groupPrefix+name)}
		if os.Mkdir(group.Folder, 0o755) != nil {
			continue
		}
		if writable(group, file1) && writable(group, "tasks") {
			return group
		}
		os.Remove(group.Folder)
	}
	return cage{}
}

// enter has what this thread forks born in the groups of version 1.
func (k counted) enter() (leave func(), err error) {
	var entered []cage
	leave = func() {
		for _, c := range entered {
			cage{c.Kind, filepath.Dir(c.Folder)}.write("tasks", "0")
		}
	}
	for _, c := range []cage{k.Memory, k.Pids} {
		if c.Kind == "" || c.Kind == cageV2 {
			continue
		}
		if err := c.write("tasks", "0"); err != nil { // 0 is the thread that writes
			leave()
			return func() {}, err
		}
		entered = append(entered, c)
	}
	return leave, nil
}

// limitProcesses holds the item to so many processes; where no group counts them, the kernel counts its user's.
func (k counted) limitProcesses(most int) error {
	switch {
	case most <= 0:
		return nil
	case k.Pids.Kind != "":
		return k.Pids.write("pids.max", strconv.Itoa(most))
	}
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(most), Max: uint64(most)})
}

// remove takes away the groups beside the cage, when that is empty.
func (k counted) remove() error {
	var err error
	for _, c := range []cage{k.Memory, k.Pids} {
		if c.Kind != "" && c.Kind != cageV2 {
			err = errors.Join(err, c.remove())
		}
	}
	return err
}

// memoryGroup is this process's own group.
type memoryGroup struct {
	kind          string // cageV2 or cageMemory
	folder, limit string
}

// memoryGroups are this process's own groups, of version 2 first.
func memoryGroups() (groups []memoryGroup) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for _, folder := range cageParents(string(data), cageV2) {
		groups = append(groups, memoryGroup{cageV2, folder, "memory.max"})
	}
	for _, folder := range cageParents(string(data), cageMemory) {
		groups = append(groups, memoryGroup{cageMemory, folder, "memory.limit_in_bytes"})
	}
	return groups
}

var groupMagic = map[string]int64{cageV2: unix.CGROUP2_SUPER_MAGIC, cageMemory: unix.CGROUP_SUPER_MAGIC}

func isGroup(folder string, magic int64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && int64(fs.Type) == magic
}

// outOfMemory tells an end that was the kernel's for want of memory. Evidence is a kill in the item's own
// group, or a SIGKILL that is not ours (or what a shell makes of one) while the host's count of such kills
// rose.
func (it *shimItem) outOfMemory(f *api.Finished) bool {
	caged := it.kills.release()
	signal, code := it.status.Signal(), it.status.ExitStatus()
	switch {
	case it.status.Exited() && code == 0:
		return false
	case caged > 0:
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed it at its limit of %s", core.Bytes(it.order.Memory))
	case (it.status.Signaled() && signal == syscall.SIGKILL || code == 128+int(syscall.SIGKILL)) && countedIn("/proc/vmstat", "oom_kill") > it.kills.before:
		f.Reason = "the kernel killed it, as its host had no memory left"
	default:
		return false
	}
	f.Outcome = core.OutcomeMemory
	if it.status.Signaled() {
		n := int(signal)
		f.Signal = &n
	}
	return true
}

// countedIn reads NAME NUMBER from a file of counters, 0 if it is not there.
func countedIn(path, name string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}

// memoryKeeper says who holds items to their limits here: the kernel, or the agent by its looks.
func memoryKeeper(k counted) string {
	if k.Memory.Kind != "" {
		return "kernel"
	}
	return "agent"
}

// groupLimit is what this process's own group, or one above it, may have of the machine's memory and what it has
// left of that, for an agent in a container or a service with a limit; false if there is no such limit. Of several
// the one counts that leaves least.
func groupLimit() (limit, left int64, ok bool) { return leastLeft(memoryGroups()) }

func leastLeft(groups []memoryGroup) (limit, left int64, ok bool) {
	for _, g := range groups {
		for isGroup(g.folder, groupMagic[g.kind]) {
			if most, rest, is := g.left(); is && (!ok || rest < left) {
				limit, left, ok = most, rest, true
			}
			g.folder = filepath.Dir(g.folder)
		}
	}
	return limit, left, ok
}

// left is the limit of a group and what is left of it; what can be dropped of its files counts as left.
func (g memoryGroup) left() (limit, left int64, ok bool) {
	text, err := os.ReadFile(filepath.Join(g.folder, g.limit))
	if err != nil {
		return 0, 0, false
	}
	limit, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit <= 0 || limit >= 1<<60 {
		return 0, 0, false
	}
	usage, cache := "memory.current", "inactive_file"
	if g.kind == cageMemory {
		usage, cache = "memory.usage_in_bytes", "total_inactive_file"
	}
	used, err := os.ReadFile(filepath.Join(g.folder, usage))
	if err != nil {
		return 0, 0, false
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(used)), 10, 64)
	return limit, max(0, limit-n+countedIn(filepath.Join(g.folder, "memory.stat"), cache)), true
}
