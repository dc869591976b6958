package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processID tells a process from a later one with the same number: Start is in clock ticks since boot.
type processID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// process is a line of the kernel's process table.
type process struct {
	processID
	parent  int
	group   int
	session int
	state   byte   // R running, S sleeping, D in the kernel, T stopped, Z dead and unread, X gone …
	ticks   uint64 // of processor time, those of waited-for children included
}

// readProcess reads /proc/PID/stat. The name in its second field may hold blanks and parentheses.
func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(data, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	number := func(i int) (n uint64) {
		n, _ = strconv.ParseUint(fields[i], 10, 64)
		return n
	}
	return process{
		processID: processID{pid, number(19)}, state: fields[0][0],
		parent: int(number(1)), group: int(number(2)), session: int(number(3)),
		ticks: number(11) + number(12) + number(13) + number(14),
	}, true
}

func identify(pid int) processID {
	p, _ := readProcess(pid)
	return p.processID
}

// alive says whether that very process still runs; one that only waits to be reaped does not.
func (id processID) alive() bool {
	p, ok := readProcess(id.PID)
	return ok && p.Start == id.Start && p.state != 'Z' && p.state != 'X'
}

// allProcesses reads the whole table. It is not a snapshot: what is forked or re-parented meanwhile may be
// missed, so that those who need certainty look again.
func allProcesses() []process {
	names, err := readNames("/proc")
	if err != nil {
		return nil
	}
	list := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

func readNames(dir string) ([]string, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Readdirnames(-1)
}

// descendants finds all that descend from root. As root is a subreaper, a process whose parents died has
// root as its parent.
func descendants(root int) []process {
	all := allProcesses()
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
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

// familyOf is descendants by the kernel's lists of children, for a cheap look that may miss some.
func familyOf(root int) []int {
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		threads := fmt.Sprintf("/proc/%d/%s", queue[0], threadsOfProcess)
		names, _ := readNames(threads)
		for _, name := range names {
			data, err := os.ReadFile(threads + "/" + name + "/children")
			if err != nil {
				continue
			}
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

// signalTree sends a signal to every living descendant of root and returns how many there were.
func signalTree(root int, signal unix.Signal) (living int) {
	for _, p := range descendants(root) {
		if p.state != 'Z' && p.state != 'X' {
			living++
			unix.Kill(p.PID, signal)
		}
	}
	return living
}

// freezeTree stops every descendant of root but those held otherwise, and says whether a whole scan found
// none that could still run. One that the kernel holds (D) counts as stopped: the signal waits for it, and
// the parent of a stopped vfork stays there for good.
func freezeTree(root int, held map[int]bool) (frozen bool) {
	const passes = 20 // a tree that forks faster than this is tried again by the caller
	for clean, pass := 0, 0; pass < passes; pass++ {
		clean++
		for _, p := range descendants(root) {
			switch {
			case held[p.PID], strings.ContainsRune("TtZX", rune(p.state)):
			case p.state == 'D':
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

// leftovers finds what a shim that died left behind: what carries its mark in the environment, and what
// descends from that. While the item's first process lives, or if the shim died just now, its session
// and its group count too; later their number may be that of a stranger.
func leftovers(mark string, first processID, justDied bool) []process {
	var found []process
	self := os.Getpid()
	known := map[int]bool{}
	all := allProcesses()
	sessionCounts := first.PID != 0 && (justDied || first.alive())
	for again := true; again; {
		again = false
		for _, p := range all {
			if known[p.PID] || p.PID == self || p.state == 'Z' || p.state == 'X' {
				continue
			}
			ours := sessionCounts && p.Start >= first.Start && (p.session == first.PID || p.group == first.PID)
			if ours || known[p.parent] || carriesMark(p.PID, mark) {
				known[p.PID], again = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// markVariable carries an instance's mark through everything that its shim starts.
const markVariable = "QB_INSTANCE_MARK"

func carriesMark(pid int, mark string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, data...), []byte("\x00"+markVariable+"="+mark+"\x00"))
}
