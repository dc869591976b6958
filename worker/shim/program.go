package shim

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
)

// program is one process that the shim starts, with all that this process starts: an item's command, a stage of an
// item, or the command of a load-once job, which is kept for one item after another. There is one at a time. It is over
// when its whole tree is reaped and its output is read, not when its first process ends.
type program struct {
	order     *RunCommand // what it was started by
	session   *session    // nil: it is not kept
	pid       int         // 0 until it is forked
	process   proc.ID     // the same with its start, which tells it from a later one
	pidfd     int         // of the same process; -1: this kernel has none
	launching bool        // being forked
	status    syscall.WaitStatus
	exited    bool
	ended     core.Moment // when it exited
	treeGone  bool
	pumped    bool
	drained   bool // enough waiting for output of what the process left behind

	halting   bool // being stopped for its TERM
	signalled bool // TERM was sent while it ran
	killing   bool
	killed    core.Moment // when KILL was sent first
	cause     string      // why it was killed between two items; empty: it was not
	kills     kernelKills
	meter     *meter
	pump      *pump

	left     string // processes that it left behind, in words
	peak     int64  // figures of its tree, or of what it did for its last item, when it is over
	cpu      float64
	oomKills int64 // in its group, for want of memory
}

// maybeLaunch starts the process if the lease lasts; else the next lease starts it. A program that is kept gets the
// item.
func (s *shim) maybeLaunch(it *shimItem) {
	if it.over || it.stopped || s.suspended || BootNow() >= s.lease {
		return
	}
	if s.program != nil {
		if k := s.program.session; k != nil {
			k.hand(it)
		}
		return
	}
	it.beginLog(s)
	if err := it.log.open(); err != nil {
		s.finish(it, api.Finished{Outcome: "log", Reason: "the item's log cannot be written: " + err.Error()})
		return
	}
	last := it.at == len(it.order.Before)+len(it.order.After)
	p := &program{order: it.present(), pidfd: -1, pump: newPump(it.log, s.pumping), launching: true}
	if it.order.Session != nil && it.stage() == nil {
		p.session = newSession(s, p)
	}
	p.meter = newMeter(s.tree.Shim.PID, s.tree.Counted.Memory, it.order.Memory > 0, &s.forker.ownPeak,
		func() { s.tryPost(s.sayMeasured) })
	s.program = p
	it.meter = p.meter
	it.log.charge = p.meter.charge
	var out, errs [2]int
	if err := errors.Join(unix.Pipe2(out[:], unix.O_CLOEXEC), unix.Pipe2(errs[:], unix.O_CLOEXEC)); err != nil {
		s.forked(p, 0, &api.Finished{Outcome: "launch", Reason: fmt.Sprintf("making pipes: %v", err)}, [2]int{-1, -1})
		return
	}
	p.kills.before = s.hostKills.before()
	s.whileIn(p, launchWait, func() { s.giveUpLaunch(it, p) })
	secluded := it.first
	s.forker.work <- func() {
		began, pidfd := BootNow(), -1 // it runs before this shim does again
		pid, err := s.fork(p, !secluded, [2]int{out[1], errs[1]}, &pidfd)
		unix.Close(out[1])
		unix.Close(errs[1])
		var failed *api.Finished
		pipes := [2]int{out[0], errs[0]}
		switch {
		case err != nil:
			failed = s.failedStart(p.order, err)
		case p.session != nil:
			p.pump.begin(pipes[0], pipes[1])
		}
		s.post(func() {
			if p.pidfd = pidfd; !it.first {
				it.started = began
			}
			it.unsecluded = last && failed == nil
			s.forked(p, pid, failed, pipes)
		})
		if failed == nil {
			s.attend(p, pid, pidfd, pipes, last)
		}
	}
}

// beginLog gives the item a log for its next program, behind the output of the stages before.
func (it *shimItem) beginLog(s *shim) {
	it.log = newLog(LogPath(s.root, it.order.Attempt), it.order.LogLimit, s.pumping)
	it.log.fresh = !it.first
	it.log.watch(it.order, it.licences, it.stage() == nil)
}

// forked goes on when the process runs, or could not be started.
func (s *shim) forked(p *program, pid int, failed *api.Finished, pipes [2]int) {
	it := s.item // it was started for this one, which does not end before it runs
	p.launching = false
	if failed != nil {
		unix.Close(pipes[0])
		unix.Close(pipes[1])
		p.pump.log.file.Close()
		p.kills.release()
		if p.session != nil {
			p.session.close()
		}
		s.program = nil
		f := *failed
		if it.stopped {
			f = it.stopEnd()
		}
		s.finish(it, f)
		return
	}
	p.pid = pid
	p.process = proc.Identify(pid)
	it.begun = true
	if s.suspended && it.suspended == 0 { // while it was being forked
		it.suspended = it.started
	}
	s.writeNow(it)
	if p.session == nil && !it.first {
		s.say(Report{Started: new(it.order.Attempt)})
	}
	s.watchStage(it, p)
	p.meter.start()
	if it.stopped || s.wiped {
		s.kill(p, killRepeat)
	}
	s.checkLease()
}

func (s *shim) fork(p *program, seclude bool, pipes [2]int, pidfd *int) (int, error) {
	o := p.order
	attr := &syscall.ProcAttr{
		Dir: o.Dir, Env: append(o.Env, proc.MarkVariable+"="+s.intent.Mark),
		Files: []uintptr{s.null.Fd(), uintptr(pipes[0]), uintptr(pipes[1])},
		// The death signal ends the process with its shim, which alone could hold it to the lease.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: pidfd},
	}
	if l := o.Login; l != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: l.UID, Gid: l.GID, Groups: l.Groups}
	}
	if seclude {
		if err := s.forker.seclude(o); err != nil {
			return 0, Refused(err)
		}
	}
	if p.session != nil {
		listening := make(chan error)
		go func() { listening <- p.session.listen(o) }() // this thread may have another /tmp than its agent
		if err := <-listening; err != nil {
			return 0, Refused(err)
		}
	}
	leave, err := s.tree.Enter(attr.Sys, o.Private.Processes)
	if err != nil {
		return 0, Refused(err)
	}
	defer leave()
	p.kills.confine(o, s.tree.Counted.Memory)
	defer unix.Umask(unix.Umask(o.Umask))
	return s.forker.start(o, attr)
}

// failedStart is the end of an attempt whose process could not be started, through the host's fault or the command's.
func (s *shim) failedStart(o *RunCommand, err error) *api.Finished {
	f := Unstarted(err)
	if f.Outcome != "launch" {
		return &f
	}
	why := s.launchReason(o, err)
	if f.Reason = why.Reason; why.Folder != "" { // to a supervisor that does not know the code this host refuses the user
		f.Outcome, f.Code = "refused", why.Folder
	}
	return &f
}

// giveUpLaunch kills a child that hangs on its way to its program, on a file system that does not answer.
func (s *shim) giveUpLaunch(it *shimItem, p *program) {
	if p.launching && !it.stopped {
		it.stopped, it.outcome = true, "launch"
		it.reason = fmt.Sprintf("the item's working directory %s or program %s did not answer within %s", p.order.Dir,
			p.order.Argv[0], launchWait)
		s.kill(p, killRepeat)
	}
}

// whileIn has f run after d if that program is still there then: what is begun for one, such as killing what its
// process left behind until nothing is left, must not reach the next.
func (s *shim) whileIn(p *program, d time.Duration, f func()) {
	s.after(d, func() {
		if s.program == p {
			f()
		}
	})
}

func (s *shim) exited(p *program, status syscall.WaitStatus) {
	p.exited = true
	p.status = status
	p.ended = BootNow()
	it := s.item
	if it != nil && it.log != nil {
		s.whileIn(p, lookAfter, func() { it.log.giveUp(lookLate) })
	}
	switch {
	case it == nil || !it.stopped:
		s.whileIn(p, drainWait, func() { p.drained = true; s.advance(p) })
	case !p.signalled: // there is no TERM for what it left behind
		s.kill(p, killRepeat)
	}
	s.advance(p)
}

// advance takes a program whose process has ended to its end: what the process left behind may write for a moment, then
// it is killed; a pipe that somebody outside the tree holds is cut.
func (s *shim) advance(p *program) {
	switch {
	case s.program != p || !p.exited:
	case p.treeGone && p.pumped:
		s.ended(p)
	case p.treeGone:
		s.whileIn(p, drainWait, func() {
			if !p.pumped {
				p.pump.cut()
			}
		})
	case !p.killing && (p.pumped || p.drained) && (s.item == nil || !s.item.stopped):
		p.left = leftBehind(s.tree.Running())
		s.kill(p, killRepeat)
	}
}

// ended goes on without the program: nothing of it is left.
func (s *shim) ended(p *program) {
	s.program = nil
	p.closePidfd()
	p.peak, p.cpu = p.meter.end()
	p.oomKills = p.kills.release()
	if k := p.session; k != nil {
		k.close()
		k.noteEnd(s.item)
	}
	switch it := s.item; {
	case it == nil:
		s.say(Report{Sample: &sample{}}) // its memory is free
		s.frozen = false
		s.done = s.closing || s.wiped
	case it.over, it.report != nil && it.verdict == nil: // by the program's word, which is being recorded
	case p.session != nil && p.session.given > 0 && !it.given && !it.stopped: // the next one has another program
		s.frozen = false
		s.maybeLaunch(it)
	default:
		s.stageEnded(it, p)
	}
}

// kill repeats itself until the kernel says that nothing is left, however long that takes: a process in
// the kernel's hands dies only when it comes back.
func (s *shim) kill(p *program, wait time.Duration) {
	if p.treeGone || s.program != p {
		return
	}
	if !p.killing {
		p.killing, p.killed = true, BootNow()
	}
	if !p.exited && p.pidfd >= 0 { // first, or it might exit because its children died
		unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
	s.tree.Kill(p.launching)
	s.whileIn(p, wait, func() { s.kill(p, min(2*wait, killRepeatMx)) })
}

// memory is what its tree takes; none once it is over.
func (p *program) memory() (bytes int64) {
	if p != nil {
		bytes, _ = p.meter.now()
	}
	return bytes
}

func (p *program) closePidfd() {
	if p.pidfd >= 0 && !p.halting {
		unix.Close(p.pidfd)
		p.pidfd = -1
	}
}
