package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"qb/api"
)

// kernelKills tells whether the kernel killed for want of memory while an item ran, and holds an item with
// a limit in a control group of its own, where this host lets us make one.
type kernelKills struct {
	before int64  // kills on this host so far
	cage   string // folder of the group; empty: none
	events string // the file there that counts kills
	lift   string // of a group that goes on after the item: its file with the limit
	inCage int64  // kills in that group before
}

// confine begins the watch and sees to it that what the calling thread forks is born within its limit, so
// that what it forks at once is too; leave undoes that. The thread is the goroutine's own. Without a group
// the agent's own looks hold the item to its limit.
func (k *kernelKills) confine(o *runOrder, in cage, attr *syscall.SysProcAttr) (leave func()) {
	k.before = countedIn("/proc/vmstat", "oom_kill")
	if o.Memory <= 0 {
		return func() {}
	}
	name := fmt.Sprintf("qb-%s-%d", attemptName(o.Attempt), os.Getpid())
	for _, g := range memoryGroups() {
		if in.Kind == cageV2 && g.kind == cageV2 { // a process is in one group of version 2 only
			if k.limitCage(g, in, o.Memory) {
				return func() {}
			}
			continue
		}
		if leave, ok := k.enter(g, filepath.Join(g.folder, name), o.Memory, attr); ok {
			return leave
		}
	}
	return func() {}
}

// memoryGroup is a group of ours below which we may be able to make others.
type memoryGroup struct {
	kind                        string // cageV2 or cageMemory
	folder, limit, swap, events string
	swapLimit                   func(bytes int64) string
}

// cageMemory is a group of version 1 that counts memory.
const cageMemory = "memory"

// memoryGroups are this process's own groups, of version 2 first.
func memoryGroups() (groups []memoryGroup) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for _, folder := range cageParents(string(data), cageV2) {
		groups = append(groups, memoryGroup{cageV2, folder, "memory.max", "memory.swap.max", "memory.events",
			func(int64) string { return "0" }})
	}
	for _, folder := range cageParents(string(data), cageMemory) {
		groups = append(groups, memoryGroup{cageMemory, folder, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control",
			func(bytes int64) string { return strconv.FormatInt(bytes, 10) }})
	}
	return groups
}

var groupMagic = map[string]int64{cageV2: unix.CGROUP2_SUPER_MAGIC, cageMemory: unix.CGROUP_SUPER_MAGIC}

func isGroup(folder string, magic int64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && int64(fs.Type) == magic
}

// enter makes a group with a limit and has what this thread forks born in it, or leaves nothing behind.
func (k *kernelKills) enter(g memoryGroup, folder string, limit int64, attr *syscall.SysProcAttr) (leave func(), ok bool) {
	if os.Mkdir(folder, 0o755) != nil {
		return nil, false
	}
	group := cage{g.kind, folder}
	err := group.write(g.limit, strconv.FormatInt(limit, 10))
	if err == nil {
		group.write(g.swap, g.swapLimit(limit)) // a host without swap has no such file
		leave, err = group.enter(attr)
	}
	if err != nil {
		os.Remove(folder)
		return nil, false
	}
	k.cage, k.events = folder, filepath.Join(folder, g.events)
	return leave, true
}

// limitCage limits the group that the item is in anyway, if memory is counted there.
func (k *kernelKills) limitCage(g memoryGroup, in cage, limit int64) bool {
	if in.write(g.limit, strconv.FormatInt(limit, 10)) != nil {
		return false
	}
	in.write(g.swap, g.swapLimit(limit)) // a host without swap has no such file
	k.cage, k.events, k.lift = in.Folder, filepath.Join(in.Folder, g.events), filepath.Join(in.Folder, g.limit)
	k.inCage = countedIn(k.events, "oom_kill")
	return true
}

// release removes the group of an item that has ended and says how often the kernel killed in it.
func (k *kernelKills) release() (kills int64) {
	if k.cage == "" {
		return 0
	}
	kills = countedIn(k.events, "oom_kill") - k.inCage
	if k.lift != "" {
		os.WriteFile(k.lift, []byte("max"), 0)
	} else {
		os.Remove(k.cage)
	}
	k.cage = ""
	return kills
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
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed it at its limit of %s", Bytes(it.order.Memory))
	case (it.status.Signaled() && signal == syscall.SIGKILL || code == 128+int(syscall.SIGKILL)) && countedIn("/proc/vmstat", "oom_kill") > it.kills.before:
		f.Reason = "the kernel killed it, as its host had no memory left"
	default:
		return false
	}
	f.Outcome = outcomeMemory
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
func memoryKeeper(in cage) string {
	for _, g := range memoryGroups() {
		file := filepath.Join(g.folder, g.limit)
		if g.kind == cageV2 {
			file = filepath.Join(in.Folder, g.limit)
		}
		if (g.kind != cageV2 || in.Kind == cageV2) && unix.Access(file, unix.W_OK) == nil {
			return "kernel"
		}
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

// otherAgents sums up what items of other agents on this machine have: of what descends from shims whose
// folders are not below root. Their kernel numbers are world-readable; pages that several share count in
// each.
func otherAgents(root string) int64 {
	all := allProcesses()
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.PID)
	}
	var sum int64
	for _, p := range all {
		if p.parent == 2 || !foreignShim(p.PID, root) {
			continue
		}
		for queue := children[p.PID]; len(queue) > 0; queue = queue[1:] {
			sum += residentBytes(queue[0])
			queue = append(queue, children[queue[0]]...)
		}
	}
	return sum
}

// foreignShim says whether a process is the shim of another agent: PROGRAM shim FOLDER/i/JOB.N.
func foreignShim(pid int, root string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	if len(words) != 3 || words[1] != "shim" || filepath.Base(filepath.Dir(words[2])) != "i" {
		return false
	}
	return !strings.HasPrefix(words[2], root+"/") && unix.Access(words[2], unix.F_OK) != unix.ENOENT
}
