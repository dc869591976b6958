package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ID tells a process from a later one with the same number: Start is in clock ticks since boot.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Process is a line of the kernel's process table.
type Process struct {
	ID
	Parent  int
	group   int
	session int
	State   byte   // R running, S sleeping, D in the kernel, T stopped, Z dead and unread, X gone …
	Ticks   uint64 // of processor time, those of waited-for children included
	Own     uint64 // the same without them
}

// Read reads /proc/PID/stat. The name in its second field may hold blanks and parentheses.
func Read(pid int) (Process, bool) {
	data, err := ReadFile(ofProcess(pid, "stat"))
	end := bytes.LastIndexByte(data, ')')
	if err != nil || end < 0 {
		return Process{}, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return Process{}, false
	}
	number := func(i int) (n uint64) {
		n, _ = strconv.ParseUint(fields[i], 10, 64)
		return n
	}
	return Process{
		ID: ID{pid, number(19)}, State: fields[0][0],
		Parent: int(number(1)), group: int(number(2)), session: int(number(3)),
		Ticks: number(11) + number(12) + number(13) + number(14), Own: number(11) + number(12),
	}, true
}

// Identify returns the number and start of a process; Start is 0 if there is none.
func Identify(pid int) ID {
	p, _ := Read(pid)
	return p.ID
}

// Alive says whether that very process still runs; a process that only waits to be reaped does not.
func (id ID) Alive() bool {
	p, ok := Read(id.PID)
	return ok && p.Start == id.Start && p.State != 'Z' && p.State != 'X'
}

// All reads the whole table. It is not a snapshot: what is forked or re-parented meanwhile may be
// missed, so that callers that need certainty look again.
func All() []Process {
	names, _ := Names("/proc")
	list := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := Read(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// CloseInherited has what this process inherited from its parent closed in each child: others of an owner's
// processes may look into that.
func CloseInherited() {
	names, _ := Names("/proc/self/fd")
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// Descendants finds all that descend from root. As root is a subreaper, a process whose parents died has
// root as its parent.
func Descendants(root int) []Process {
	all := All()
	children := map[int][]Process{}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Process
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if !seen[p.PID] {
				seen[p.PID] = true
				found = append(found, p)
				queue = append(queue, p.PID)
			}
		}
	}
	return found
}

// Family is Descendants by the kernel's lists of children, for a cheap look that may miss some.
func Family(root int) []int {
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		threads := ofProcess(queue[0], threadsOfProcess)
		names, _ := Names(threads)
		for _, name := range names {
			data, _ := ReadFile(threads + "/" + name + "/children") // none are read of a thread that has ended
			for _, field := range strings.Fields(string(data)) {
				if pid, err := strconv.Atoi(field); err == nil {
					found = append(found, pid)
					queue = append(queue, pid)
				}
			}
		}
	}
	return found
}

// threadsOfProcess is the kernel's name for the folder of a process's threads.
const threadsOfProcess = "task"

// SignalTree sends a signal to every living descendant of root and returns how many there were.
func SignalTree(root int, signal unix.Signal) (living int) {
	for _, p := range Descendants(root) {
		if p.State != 'Z' && p.State != 'X' {
			living++
			unix.Kill(p.PID, signal)
		}
	}
	return living
}

// FreezeTree stops every descendant of root but those held otherwise, and says whether a whole scan found
// none that could still run. A process that the kernel holds (D) counts as stopped: the signal waits for it, and
// the parent of a stopped vfork stays there for good.
func FreezeTree(root int, held map[int]bool) (frozen bool) {
	const passes = 20 // a tree that forks faster than this is tried again by the caller
	for clean, pass := 0, 0; pass < passes; pass++ {
		clean++
		for _, p := range Descendants(root) {
			switch {
			case held[p.PID], strings.ContainsRune("TtZX", rune(p.State)):
			case p.State == 'D':
				unix.Kill(p.PID, unix.SIGSTOP)
			default:
				clean = 0
				unix.Kill(p.PID, unix.SIGSTOP)
			}
		}
		if clean == 2 { // two, as a scan may miss what is forked or re-parented during it
			return true
		}
	}
	return false
}

// Leftovers finds what a shim that died left behind: what carries its mark in the environment, and what
// descends from that. While the item's first process lives, or if the shim died just now, its session
// and its group count too; later their number may be that of a stranger.
func Leftovers(mark string, first ID, justDied bool) []Process {
	var found []Process
	self := os.Getpid()
	known := map[int]bool{}
	all := All()
	sessionCounts := first.PID != 0 && (justDied || first.Alive())
	for again := true; again; {
		again = false
		for _, p := range all {
			if known[p.PID] || p.PID == self || p.State == 'Z' || p.State == 'X' {
				continue
			}
			ours := sessionCounts && p.Start >= first.Start && (p.session == first.PID || p.group == first.PID)
			if ours || known[p.Parent] || carriesMark(p.PID, mark) {
				known[p.PID], again = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// MarkVariable carries an instance's mark through everything that its shim starts.
const MarkVariable = "QB_INSTANCE_MARK"

// carriesMark looks at the last mark alone: a shim puts its own behind what its item was given.
func carriesMark(pid int, mark string) bool {
	data, err := ReadFile(ofProcess(pid, "environ"))
	if err != nil {
		return false
	}
	name := []byte("\x00" + MarkVariable + "=")
	at := bytes.LastIndex(append([]byte{0}, data...), name)
	return at >= 0 && bytes.HasPrefix(data[at+len(name)-1:], []byte(mark+"\x00"))
}
