package tree

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"qb/worker/cgroup"
	"qb/worker/proc"
)

// Names say where the kernel holds a tree. A record of them outlives agent and shim.
type Names struct {
	Group   cgroup.Group    `json:"cage"`
	Counted cgroup.Counters `json:"counted,omitzero"`
}

// New makes the groups for a tree, of the first of these kinds that this host allows.
func New(kinds []string, mark string) Names {
	group := cgroup.New(kinds, mark)
	return Names{group, cgroup.NewCounters(group, mark)}
}

// Remove removes the groups, and kills what may still be inside.
func (n Names) Remove() error { return errors.Join(n.Group.Remove(), n.Counted.Remove()) }

// KillLeft kills what a shim that died has left: all in the group, and what carries the mark or descends from that. The
// session of the item's first process counts while that lives, or if the shim died just now. It returns how many there
// were.
func (n Names) KillLeft(mark string, first proc.ID, justDied bool) (found int) {
	left := proc.Leftovers(mark, first, justDied)
	for _, p := range left {
		unix.Kill(p.PID, unix.SIGKILL)
	}
	return n.Group.Kill() + len(left)
}

// Below is the tree of this process, its shim, or of another that lives.
func (n Names) Below(shim proc.ID) Tree { return Tree{n, shim} }

// Tree is all that descends from a shim.
type Tree struct {
	Names
	Shim proc.ID
}

// Hold marks the groups as in use, for as long as this process lives.
func (t Tree) Hold() {
	t.Group.Hold()
	t.Counted.Memory.Hold()
	t.Counted.Pids.Hold()
}

// Enter has what the calling thread forks with attr born in the tree's groups, and holds it to so many processes; 0: to
// none. Leave undoes that. The thread is the goroutine's own.
func (t Tree) Enter(attr *syscall.SysProcAttr, processes int) (leave func(), err error) {
	leaveGroup, err := t.Group.Enter(attr)
	if err != nil {
		return nil, fmt.Errorf("entering the item's control group: %w", err)
	}
	leaveCounted, err := t.Counted.Enter()
	if err != nil {
		leaveGroup()
		return nil, fmt.Errorf("entering the item's control groups: %w", err)
	}
	leave = func() { leaveCounted(); leaveGroup() }
	if err := t.Counted.LimitProcesses(processes); err != nil {
		leave()
		return nil, fmt.Errorf("limiting the item's processes: %w", err)
	}
	return leave, nil
}

// Freeze freezes the control group, and stops one by one what descends from the shim and is not in it. It says whether
// all of it is frozen.
func (t Tree) Freeze() bool {
	still := t.Group.Freeze()
	return proc.FreezeTree(t.Shim.PID, t.Group.Inside()) && still
}

// Thaw lets a frozen tree go on.
func (t Tree) Thaw() {
	t.Group.Thaw()
	proc.SignalTree(t.Shim.PID, unix.SIGCONT)
}

// Terminate sends TERM to all, also to what somebody has stopped.
func (t Tree) Terminate() {
	proc.SignalTree(t.Shim.PID, unix.SIGTERM)
	proc.SignalTree(t.Shim.PID, unix.SIGCONT)
}

// Kill sends KILL to all. While a process is being forked the group is left out: it is frozen to be killed, a child
// that is born into a frozen group never reaches its program, and the thread that forks waits for that.
func (t Tree) Kill(forking bool) {
	if !forking {
		t.Group.Kill()
	}
	proc.SignalTree(t.Shim.PID, unix.SIGKILL)
}

// Running lists the processes that have not ended.
func (t Tree) Running() (found []proc.Process) {
	for _, p := range proc.Descendants(t.Shim.PID) {
		if p.State != 'Z' && p.State != 'X' {
			found = append(found, p)
		}
	}
	return found
}
