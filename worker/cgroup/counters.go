package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OomKills counts how often the kernel killed in the group for want of memory.
func (c Group) OomKills() int64 {
	if c.Kind == V2 {
		return ReadCounter(filepath.Join(c.Folder, "memory.events"), "oom_kill")
	}
	return ReadCounter(filepath.Join(c.Folder, "memory.oom_control"), "oom_kill")
}

// LimitMemory limits memory and swap together.
func (c Group) LimitMemory(bytes int64) bool {
	limit := strconv.FormatInt(bytes, 10)
	if c.Kind == V2 {
		c.write("memory.swap.max", "0") // a host without swap has no such file
		return c.write("memory.max", limit) == nil
	}
	c.UnlimitMemory()
	if c.write("memory.limit_in_bytes", limit) != nil {
		return false
	}
	c.write("memory.memsw.limit_in_bytes", limit) // likewise; it is never less than the other
	return true
}

// UnlimitMemory lifts LimitMemory's limit.
func (c Group) UnlimitMemory() {
	if c.Kind == V2 {
		c.write("memory.max", "max")
		return
	}
	c.write("memory.memsw.limit_in_bytes", "-1")
	c.write("memory.limit_in_bytes", "-1")
}

// MemoryNow is what the kernel counts of the group's processes: their own pages and what lies in their shared memory
// and /dev/shm, whatever they call themselves. Copies of files, which can be dropped, are not in it.
func (c Group) MemoryNow() (bytes int64, ok bool) {
	data, err := os.ReadFile(filepath.Join(c.Folder, "memory.stat"))
	if err != nil {
		return 0, false
	}
	names := []string{"anon ", "shmem "}
	if c.Kind != V2 {
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

// Counters are the groups of an instance in which the kernel counts its memory and its processes; zero where this host
// lets us make none. Of version 2 they are its group.
type Counters struct {
	Memory Group `json:"memory,omitzero"`
	Pids   Group `json:"pids,omitzero"`
}

// Groups of version 1 that count.
const (
	Memory = "memory"
	Pids   = "pids"
)

// NewCounters finds the counters of a group, or makes groups of version 1 beside it.
func NewCounters(in Group, name string) Counters {
	if in.Kind == "" {
		return Counters{}
	}
	return Counters{in.counting(Memory, "memory.max", "memory.limit_in_bytes", name), in.counting(Pids, "pids.max", "pids.max", name)}
}

func (c Group) counting(kind, file2, file1, name string) Group {
	writable := func(group Group, file string) bool {
		return unix.Access(filepath.Join(group.Folder, file), unix.W_OK) == nil
	}
	if c.Kind == V2 && writable(c, file2) {
		return c
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Group{}
	}
	for _, folder := range OwnFolders(string(data), kind) {
		group := Group{kind, filepath.Join(folder, groupPrefix+name)}
		if os.Mkdir(group.Folder, 0o755) != nil {
			continue
		}
		if writable(group, file1) && writable(group, "tasks") {
			return group
		}
		os.Remove(group.Folder)
	}
	return Group{}
}

// Enter has what this thread forks born in the groups of version 1.
func (k Counters) Enter() (leave func(), err error) {
	var entered []Group
	leave = func() {
		for _, c := range entered {
			Group{c.Kind, filepath.Dir(c.Folder)}.write("tasks", "0")
		}
	}
	for _, c := range []Group{k.Memory, k.Pids} {
		if c.Kind == "" || c.Kind == V2 {
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

// LimitProcesses holds the item to so many processes; where no group counts them, the kernel counts its user's.
func (k Counters) LimitProcesses(most int) error {
	switch {
	case most <= 0:
		return nil
	case k.Pids.Kind != "":
		return k.Pids.write("pids.max", strconv.Itoa(most))
	}
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(most), Max: uint64(most)})
}

// Remove takes away the groups beside the group, when that is empty.
func (k Counters) Remove() error {
	var err error
	for _, c := range []Group{k.Memory, k.Pids} {
		if c.Kind != "" && c.Kind != V2 {
			err = errors.Join(err, c.Remove())
		}
	}
	return err
}

// memoryGroup is this process's own group.
type memoryGroup struct {
	kind          string // V2 or Memory
	folder, limit string
}

// memoryGroups are this process's own groups, of version 2 first.
func memoryGroups() (groups []memoryGroup) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for _, folder := range OwnFolders(string(data), V2) {
		groups = append(groups, memoryGroup{V2, folder, "memory.max"})
	}
	for _, folder := range OwnFolders(string(data), Memory) {
		groups = append(groups, memoryGroup{Memory, folder, "memory.limit_in_bytes"})
	}
	return groups
}

var groupMagic = map[string]int64{V2: unix.CGROUP2_SUPER_MAGIC, Memory: unix.CGROUP_SUPER_MAGIC}

func isGroup(folder string, magic int64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && int64(fs.Type) == magic
}

// ReadCounter reads NAME NUMBER from a file of counters, 0 if it is not there.
func ReadCounter(path, name string) int64 {
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

// MemoryEnforcer says who holds items to their limits here: the kernel, or the agent by its looks.
func MemoryEnforcer(k Counters) string {
	if k.Memory.Kind != "" {
		return "kernel"
	}
	return "agent"
}

// OwnLimit is what this process's own group, or one above it, may have of the machine's memory and what it has
// left of that, for an agent in a container or a service with a limit; false if there is no such limit. Of several
// the one counts that leaves least.
func OwnLimit() (limit, left int64, ok bool) { return leastLeft(memoryGroups()) }

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
	if g.kind == Memory {
		usage, cache = "memory.usage_in_bytes", "total_inactive_file"
	}
	used, err := os.ReadFile(filepath.Join(g.folder, usage))
	if err != nil {
		return 0, 0, false
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(used)), 10, 64)
	return limit, max(0, limit-n+ReadCounter(filepath.Join(g.folder, "memory.stat"), cache)), true
}
