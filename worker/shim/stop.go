package shim

import (
	"cmp"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
)

// EndedByStop says whether the end of an attempt's first process was the work of a stop: it was signalled while it
// still ran, or it died of KILL. A process that exited before its signal was sent has done its work, whatever was
// ordered meanwhile. The simulator's shims decide by it too.
func EndedByStop(ordered, signalled, killed bool) bool { return ordered && (signalled || killed) }

// stop ends the attempt's tree. A tree whose lease has ended is not woken for its TERM: its item may already
// run elsewhere. A suspended item is. An item of which nothing has begun, as the program that is kept has not taken it,
// ends alone.
func (s *shim) stop(o StopCommand) {
	it, p := s.item, s.program
	if it == nil || it.order.Attempt != o.Attempt || it.stopped || it.over || it.report != nil {
		return
	}
	if p == nil || p.session != nil && p.session.given > 0 && !it.given {
		s.finish(it, api.Finished{Outcome: cmp.Or(o.Outcome, core.OutcomeStopped), Code: o.Code, Reason: o.Reason})
		return
	}
	it.log.giveUp(lookStopped)
	s.suspend(SuspendCommand{Attempt: o.Attempt}) // no more: it hears its TERM
	if p.exited {
		it.cancel = &api.Finished{Outcome: cmp.Or(o.Outcome, core.OutcomeStopped), Code: o.Code, Reason: o.Reason,
			Limit: o.Limit}
	} else {
		it.stopped = true
		it.reason = o.Reason
		it.code = o.Code
		it.outcome = o.Outcome
		it.limit = o.Limit
	}
	if s.frozen || p.exited || o.Grace <= 0 || p.launching {
		s.kill(p, killRepeat)
		return
	}
	s.whileIn(p, o.Grace, func() { s.kill(p, killRepeat) })
	if p.pidfd < 0 {
		s.terminate(p)
		return
	}
	p.halting = true
	fd := p.pidfd
	go func() {
		still := halt(fd)
		s.post(func() {
			p.halting = false
			if s.program != p {
				p.closePidfd()
			} else if still {
				s.terminate(p)
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
func (s *shim) terminate(p *program) {
	switch {
	case p.treeGone || p.killing:
	case s.frozen:
		s.kill(p, killRepeat)
	default:
		p.signalled = !p.exited
		s.tree.Terminate()
	}
}
