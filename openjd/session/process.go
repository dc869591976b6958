package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process of this machine, as /proc shows it.
type process struct {
	pid    int
	parent int
	group  int
	dead   bool // it has ended and waits for its parent
}

// processes are all processes of this machine.
func processes() []process {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var out []process
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		p := process{}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		p.dead = fields[0] == "Z" || fields[0] == "X"
		p.parent, _ = strconv.Atoi(fields[1])
		p.group, _ = strconv.Atoi(fields[2])
		out = append(out, p)
	}
	return out
}

// processTree are a process, its descendants, and the members of its group.
func processTree(pid int) []int {
	all := processes()
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		for _, p := range all {
			if (p.parent == tree[i] || p.group == pid) && !p.dead && !slices.Contains(tree, p.pid) {
				tree = append(tree, p.pid)
			}
		}
	}
	return tree
}

// killTree ends a process and its descendants at once: first all are stopped, so that none starts another meanwhile.
func killTree(pid int) {
	var tree []int
	for range 10 {
		now := processTree(pid)
		signalAll(now, syscall.SIGSTOP)
		if len(now) == len(tree) {
			break
		}
		tree = now
	}
	signalAll(tree, syscall.SIGKILL)
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

// endProcesses ends what is left of the session: processes with its variable, and their descendants.
func (s *Session) endProcesses() {
	for range 100 {
		left := s.left()
		if len(left) == 0 {
			return
		}
		signalAll(left, syscall.SIGSTOP)
		signalAll(left, syscall.SIGKILL)
		time.Sleep(10 * time.Millisecond)
	}
	s.logf("Processes of the session remain: %v", s.left())
}

// owns says whether a process has the variable of the session. A number alone does not say so: the system uses it
// again for another process.
func (s *Session) owns(pid int) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	mark := []byte(marker + "=" + s.id)
	isMark := func(v []byte) bool { return bytes.Equal(v, mark) }
	return err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), isMark)
}

// left are the live processes of the session.
func (s *Session) left() []int {
	all := processes()
	var out []int
	for _, p := range all {
		if !p.dead && p.pid != os.Getpid() && s.owns(p.pid) {
			out = append(out, p.pid)
		}
	}
	for i := 0; i < len(out); i++ {
		for _, p := range all {
			if p.parent == out[i] && !p.dead && !slices.Contains(out, p.pid) {
				out = append(out, p.pid)
			}
		}
	}
	return out
}
