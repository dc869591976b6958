package shim

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
)

// EndedByStop says whether the end of an attempt's first process was the work of a stop: it was signalled while it
// still ran, or it died of KILL. A process that exited before its signal was sent has done its work, whatever was
// ordered meanwhile. The simulator's shims decide by it too.
func EndedByStop(ordered, signalled, killed bool) bool { return ordered && (signalled || killed) }

// stop ends the attempt's tree. A tree whose lease has ended is not woken for its TERM: its item may already
// run elsewhere. A suspended item is.
func (s *shim) stop(o StopCommand) {
	it := s.item
	if it == nil || it.order.Attempt != o.Attempt || it.stopped || it.over {
		return
	}
	if it.pid == 0 && !it.launching {
		s.finish(it, api.Finished{Outcome: core.OutcomeStopped, Code: o.Code, Reason: o.Reason})
		return
	}
	it.pump.giveUp(lookStopped)
	s.suspend(SuspendCommand{Attempt: o.Attempt}) // no more: it hears its TERM
	if it.exited {
		it.cancel = &api.Finished{Outcome: cmp.Or(o.Outcome, core.OutcomeStopped), Code: o.Code, Reason: o.Reason,
			Limit: o.Limit}
	} else {
		it.stopped = true
		it.reason = o.Reason
		it.code = o.Code
		it.outcome = o.Outcome
		it.limit = o.Limit
	}
	if s.frozen || it.exited || o.Grace <= 0 || it.launching {
		s.kill(it, killRepeat)
		return
	}
	s.afterInStage(it, o.Grace, func() { s.kill(it, killRepeat) })
	if it.pidfd < 0 {
		s.terminate(it)
		return
	}
	it.halting = true
	fd := it.pidfd
	go func() {
		still := halt(fd)
		s.post(func() {
			it.halting = false
			if it.over {
				it.closePidfd()
			} else if still {
				s.terminate(it)
			}
		})
	}()
}

// halt makes a process stand still and says whether it does; false if it has exited. An exit takes long where much
// memory is given back, and a signal that comes meanwhile has no effect; only a process that is stopped is
// sure not to have begun its exit. It returns at the process's end at the latest, which KILL brings about.
func halt(pidfd int) bool {
	unix.PidfdSendSignal(pidfd, unix.SIGSTOP, nil, 0)
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_PIDFD, pidfd, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			return info.Code == cldStopped
		case unix.EINTR:
		default:
			return false // it is reaped
		}
	}
}

const cldStopped = 5 // of SIGCHLD's codes: it is stopped

// terminate sends TERM to the tree, the first process of which is stopped.
func (s *shim) terminate(it *shimItem) {
	switch {
	case it.treeGone || it.killing:
	case s.frozen:
		s.kill(it, killRepeat)
	default:
		it.signalled = !it.exited
		s.tree.Terminate()
	}
}

func (it *shimItem) closePidfd() {
	if it.pidfd >= 0 && !it.halting {
		unix.Close(it.pidfd)
		it.pidfd = -1
	}
}

// kill repeats itself until the kernel says that nothing is left, however long that takes: a process in
// the kernel's hands dies only when it comes back.
func (s *shim) kill(it *shimItem, wait time.Duration) {
	if it.treeGone || it.over || (it.pid == 0 && !it.launching) {
		return
	}
	if !it.killing {
		it.killing, it.killed = true, BootNow()
	}
	if !it.exited && it.pidfd >= 0 { // first, or it might exit because its children died
		unix.PidfdSendSignal(it.pidfd, unix.SIGKILL, nil, 0)
	}
	s.tree.Kill(it.launching)
	s.afterInStage(it, wait, func() { s.kill(it, min(2*wait, killRepeatMx)) })
}
