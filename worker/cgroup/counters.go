package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"qb/worker/proc"
)

// OomKills counts how often the kernel killed in the group for want of memory.
func (c Group) OomKills() int64 {
	return ReadCounter(filepath.Join(c.Folder, memoryFiles[c.Kind].kills), "oom_kill")
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
	c.write("memory.memsw.limit_in_bytes", limit) // the same for memory and swap; it is never less than the other
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
	return sumCounters(filepath.Join(c.Folder, "memory.stat"), memoryFiles[c.Kind].own...)
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
	return Counters{in.counting(Memory, "memory.max", "memory.limit_in_bytes", name),
		in.counting(Pids, "pids.max", "pids.max", name)}
}

func (c Group) counting(kind, file2, file1, name string) Group {
	writable := func(group Group, file string) bool {
		return unix.Access(filepath.Join(group.Folder, file), unix.W_OK) == nil
	}
	if c.Kind == V2 && writable(c, file2) {
		return c
	}
	for _, folder := range FoldersOf("self", kind) {
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

// memoryFiles are the files and counters of the kinds of groups that count memory.
var memoryFiles = map[string]struct {
	magic               int64
	limit, usage, kills string
	cache               string   // counter of memory.stat: copies of files that can be dropped
	own                 []string // counters of memory.stat: what cannot be
}{
	V2: {unix.CGROUP2_SUPER_MAGIC, "memory.max", "memory.current", "memory.events", "inactive_file",
		[]string{"anon", "shmem"}},
	Memory: {unix.CGROUP_SUPER_MAGIC, "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control",
		"total_inactive_file",
		[]string{"total_rss", "total_shmem"}},
}

// memoryGroups are this process's own groups, of version 2 first.
func memoryGroups() (groups []Group) {
	for _, kind := range []string{V2, Memory} {
		for _, folder := range FoldersOf("self", kind) {
			groups = append(groups, Group{kind, folder})
		}
	}
	return groups
}

func isGroup(folder string, magic int64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && int64(fs.Type) == magic
}

// ReadCounter reads NAME NUMBER from a file of counters, 0 if it is not there.
func ReadCounter(path, name string) int64 {
	n, _ := sumCounters(path, name)
	return n
}

// sumCounters adds up what a file of counters says of several; false if it has none of them.
func sumCounters(path string, names ...string) (sum int64, ok bool) {
	data, _ := proc.ReadFile(path) // none is in a file that cannot be read
	for line := range strings.Lines(string(data)) {
		if name, number, found := strings.Cut(line, " "); found && slices.Contains(names, name) {
			n, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			sum, ok = sum+n, true
		}
	}
	return sum, ok
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

func leastLeft(groups []Group) (limit, left int64, ok bool) {
	for _, g := range groups {
		for isGroup(g.Folder, memoryFiles[g.Kind].magic) {
			if most, rest, is := g.memoryLeft(); is && (!ok || rest < left) {
				limit, left, ok = most, rest, true
			}
			g.Folder = filepath.Dir(g.Folder)
		}
	}
	return limit, left, ok
}

// memoryLeft is the limit of a group and what is left of it; what can be dropped of its files counts as left.
func (c Group) memoryLeft() (limit, left int64, ok bool) {
	files := memoryFiles[c.Kind]
	limit, limitErr := c.number(files.limit)
	used, usedErr := c.number(files.usage)
	if limitErr != nil || usedErr != nil || limit <= 0 || limit >= 1<<60 {
		return 0, 0, false
	}
	return limit, max(0, limit-used+ReadCounter(filepath.Join(c.Folder, "memory.stat"), files.cache)), true
}

// number reads a file of the group that holds one.
func (c Group) number(name string) (int64, error) {
	text, err := proc.ReadFile(filepath.Join(c.Folder, name))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
