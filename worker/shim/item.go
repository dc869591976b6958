package shim

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/units"
	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/proc"
)

// shimItem is the attempt that a shim runs. It is over when its whole tree is reaped and its output is
// read, not when its first process ends.
type shimItem struct {
	order     *RunCommand
	pid       int     // 0 until it is forked
	process   proc.ID // the same with its start, which tells it from a later one
	pidfd     int     // of the same process; -1: this kernel has none
	launching bool    // being forked
	started   core.Moment
	ended     core.Moment
	frozen    core.Moment // since when it is frozen; 0: it is not
	suspended core.Moment // since when by order; 0: it is not
	stood     core.Moment // how long it was suspended before
	status    syscall.WaitStatus
	exited    bool
	treeGone  bool
	pumped    bool
	drained   bool // enough waiting for output of what the process left behind

	stopped   bool // by order, before its end was known
	halting   bool // being was stopped for its TERM
	signalled bool // TERM was sent while it ran
	killing   bool
	killed    core.Moment // when KILL was sent first
	reason    string
	code      string // of outcome stopped
	outcome   string // of a stop, if not stopped
	limit     bool   // outcome memory: its own limit
	kills     kernelKills

	unsecluded bool // when its tree is gone, by the forker itself

	meter    *meter
	pump     *pump
	licences licences // of all stages; good when the present one's pump has ended
	left     string   // processes that the present one left behind, in words
	over     bool
	stages
}

// run takes an attempt once: the same order again changes nothing.
func (s *shim) run(o *RunCommand) {
	if s.item != nil || o.Attempt == s.last || s.closing {
		return
	}
	s.begin(o)
	it := &shimItem{order: o, pidfd: -1, licences: watchLicences(o.NoLicence)}
	s.item = it
	s.frozen = false
	s.suspended = o.Suspended
	s.suspensionID = o.SuspensionID
	s.writeNow(it)
	if s.spareTaken { // by the last record; without it, this one waits for space
		s.spareTaken = MakeSpare(s.dir) != nil
	}
	s.setLease(o.Lease)
	s.maybeLaunch(it)
	s.sayUnstarted(it)
}

// maybeLaunch starts the process if the lease lasts; else the next lease starts it.
func (s *shim) maybeLaunch(it *shimItem) {
	if it.over || it.pid != 0 || it.launching || it.stopped || s.suspended || BootNow() >= s.lease {
		return
	}
	how := unix.O_CREAT | unix.O_TRUNC | unix.O_WRONLY
	if it.first {
		how = unix.O_CREAT | unix.O_WRONLY // behind the output of the stages before
	}
	log, err := OpenFile(LogPath(s.root, it.order.Attempt), how)
	if err != nil {
		s.finish(it, api.Finished{Outcome: "log", Reason: "the item's log cannot be written: " + err.Error()})
		return
	}
	it.pump = newPump(log, it.order.LogLimit, s.pumping)
	it.pump.watch(it.order, it.licences, it.stage() == nil)
	it.meter = newMeter(s.tree.Shim.PID, s.tree.Counted.Memory, it.order.Memory > 0, &s.forker.ownPeak,
		func() { s.tryPost(func() { s.sayMeasured(it) }) })
	it.pump.charge = it.meter.charge
	var out, errs [2]int
	if err = errors.Join(unix.Pipe2(out[:], unix.O_CLOEXEC), unix.Pipe2(errs[:], unix.O_CLOEXEC)); err != nil {
		s.forked(it, 0, &api.Finished{Outcome: "launch", Reason: fmt.Sprintf("making pipes: %v", err)}, [2]int{-1, -1})
		return
	}
	it.launching = true
	it.kills.before = s.hostKills.before()
	last := it.at == len(it.order.Before)+len(it.order.After)
	s.afterInStage(it, launchWait, func() { s.giveUpLaunch(it) })
	s.forker.work <- func() {
		began, pidfd := BootNow(), -1 // it runs before this shim does again
		pid, err := s.fork(it, out[1], errs[1], &pidfd)
		unix.Close(out[1])
		unix.Close(errs[1])
		var failed *api.Finished
		if err != nil {
			failed = s.failedStart(it.present(), err)
		}
		pipes := [2]int{out[0], errs[0]}
		s.post(func() {
			if it.pidfd = pidfd; !it.first {
				it.started = began
			}
			it.unsecluded = last && failed == nil
			s.forked(it, pid, failed, pipes)
		})
		if failed == nil {
			s.attend(it, pid, pidfd, pipes, last)
		}
	}
}

// forked goes on when the process runs, or could not be started.
func (s *shim) forked(it *shimItem, pid int, failed *api.Finished, pipes [2]int) {
	it.launching = false
	if failed != nil {
		unix.Close(pipes[0])
		unix.Close(pipes[1])
		it.pump.file.Close()
		it.kills.release()
		f := *failed
		if it.stopped {
			f = api.Finished{Outcome: cmp.Or(it.outcome, core.OutcomeStopped), Code: it.code, Reason: it.reason}
		}
		s.finish(it, f)
		return
	}
	it.pid = pid
	it.process = proc.Identify(pid)
	if s.suspended && it.suspended == 0 { // while it was being forked
		it.suspended = it.started
	}
	s.writeNow(it)
	s.follow(it)
	if it.stopped || s.wiped {
		s.kill(it, killRepeat)
	}
	s.checkLease()
}

func (s *shim) fork(it *shimItem, out, errs int, pidfd *int) (int, error) {
	o := it.present()
	attr := &syscall.ProcAttr{
		Dir: o.Dir, Env: append(o.Env, proc.MarkVariable+"="+s.intent.Mark),
		Files: []uintptr{s.null.Fd(), uintptr(out), uintptr(errs)},
		// The death signal ends the process with its shim, which alone could hold it to the lease.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: pidfd},
	}
	if l := o.Login; l != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: l.UID, Gid: l.GID, Groups: l.Groups}
	}
	if !it.first {
		if err := s.forker.seclude(o); err != nil {
			return 0, Refused(err)
		}
	}
	leave, err := s.tree.Enter(attr.Sys, o.Private.Processes)
	if err != nil {
		return 0, Refused(err)
	}
	defer leave()
	it.kills.confine(it.order, s.tree.Counted.Memory)
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
func (s *shim) giveUpLaunch(it *shimItem) {
	if it.launching && !it.stopped {
		it.stopped, it.outcome = true, "launch"
		it.reason = fmt.Sprintf("the item's working directory %s or program %s did not answer within %s", it.order.Dir,
			it.present().Argv[0], launchWait)
		s.kill(it, killRepeat)
	}
}

func (s *shim) follow(it *shimItem) {
	if id := it.order.Attempt; !it.first {
		s.say(Report{Started: &id})
	}
	s.watchStage(it)
	it.meter.start()
}

func (s *shim) exited(it *shimItem, status syscall.WaitStatus) {
	it.exited = true
	it.status = status
	it.ended = BootNow()
	s.afterInStage(it, lookAfter, func() { it.pump.giveUp(lookLate) })
	switch {
	case !it.stopped:
		s.afterInStage(it, drainWait, func() { it.drained = true; s.advance(it) })
	case !it.signalled: // there is no TERM for what it left behind
		s.kill(it, killRepeat)
	}
	s.advance(it)
}

// advance takes an attempt whose process has ended to its record: what the process left behind may
// write for a moment, then it is killed; a pipe that somebody outside the tree holds is cut.
func (s *shim) advance(it *shimItem) {
	switch {
	case it.over || !it.exited:
	case it.treeGone && it.pumped:
		s.ended(it)
	case it.treeGone:
		s.afterInStage(it, drainWait, func() {
			if !it.pumped {
				it.pump.cut()
			}
		})
	case !it.stopped && !it.killing && (it.pumped || it.drained):
		it.left = leftBehind(s.tree.Running())
		s.kill(it, killRepeat)
	}
}

func (s *shim) verdict(it *shimItem) api.Finished {
	f := api.Finished{}
	killed := it.status.Signaled() && it.status.Signal() == syscall.SIGKILL
	switch {
	case EndedByStop(it.stopped, it.signalled, killed):
		f.Outcome = cmp.Or(it.outcome, core.OutcomeStopped)
		f.Limit = it.limit
		f.Code = it.code
		f.Reason = it.reason
	case it.outOfMemory(&f, &s.hostKills):
	case it.status.Signaled():
		f.Outcome, f.Signal = "signal", new(int(it.status.Signal()))
	default:
		f.Outcome, f.ExitCode = "exit", new(it.status.ExitStatus())
	}
	f.PeakMemory, f.CPU = it.meter.end()
	f.Wall, f.Suspended = it.ran(it.ended).Seconds(), it.suspendedUntil(it.ended).Seconds()
	f.Reason = cmp.Or(f.Reason, it.pump.shortfall())
	return f
}

// finish writes the record, as often as it takes, and only then says that the attempt has ended.
func (s *shim) finish(it *shimItem, f api.Finished) {
	it.over = true
	it.kills.release()
	it.closePidfd()
	if it.order.Private != (Private{}) && !it.unsecluded {
		s.forker.work <- func() { s.forker.unseclude(it.order) } // no fork is on its way
	}
	f.Attempt, f.Instance = it.order.Attempt, it.order.Instance
	f.Highlights, f.OutputPaths = it.highlights, it.paths
	f.InLease = BootNow() < s.lease
	it.licences.judge(&f)
	s.record(it, f)
}

func (s *shim) record(it *shimItem, f api.Finished) {
	if !s.wiped {
		r := Spooled{Boot: s.intent.Boot, Finished: f, Ended: it.ended, Frozen: it.frozen}
		if it.pid != 0 {
			r.Started = it.started
		}
		spared, err := s.spool.PutOrSpare(s.dir, r)
		s.spareTaken = s.spareTaken || spared
		if err != nil {
			// Its memory is free already, and the agent must not take it off what others use.
			s.say(Report{Sample: &sample{CPU: f.CPU, Wall: f.Wall, Frozen: s.frozen}})
			s.after(recordRetry, func() { s.record(it, f) })
			return
		}
		s.writeNow(it)
	}
	s.last = it.order.Attempt
	s.item = nil
	s.frozen = false
	s.suspended = false
	s.say(Report{Ended: &f})
	s.done = s.closing || s.wiped
}

func (s *shim) sayMeasured(it *shimItem) {
	if it.over || it.meter == nil {
		return
	}
	memory, cpu := it.meter.now()
	s.say(Report{Sample: &sample{Memory: memory, CPU: cpu, Wall: it.ran(BootNow()).Seconds(), Frozen: s.frozen,
		Suspended: s.frozen && s.suspended, SuspensionID: s.provenSuspension(it),
		Progress: it.pump.progress(), Held: it.kills.in.Kind != "", Unkillable: it.killing && !it.treeGone &&
			BootNow()-it.killed > core.Moment(stuckAfter)}})
}

// writeNow writes over space that was set aside; a failure would be one of the disk itself, and the
// intent still names the instance.
func (s *shim) writeNow(it *shimItem) {
	n := NowRecord{Attempt: it.order.Attempt, Shim: s.tree.Shim, Process: it.process, Ended: it.over,
		StartedAt: it.started}
	if data, err := Seal(n); err == nil && len(data) <= NowSize {
		s.now.WriteAt(data, 0)
	}
}

// outOfMemory recognises an end that was the kernel's for want of memory. Evidence is a kill in the item's own
// group, whatever its first process made of that, as scripts that do not look at what they start end with 0, or a
// SIGKILL that is not ours (or what a shell makes of one) while the host's count of such kills rose.
func (it *shimItem) outOfMemory(f *api.Finished, host *hostKills) bool {
	inGroup := it.kills.release()
	signal, code := it.status.Signal(), it.status.ExitStatus()
	switch {
	case inGroup > 0 && it.status.Exited():
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed %d of the item's processes at its limit of %s; the command itself ended with exit status %d", inGroup, units.Size(it.order.Memory), code)
	case inGroup > 0:
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed the item at its limit of %s", units.Size(it.order.Memory))
	case (it.status.Signaled() && signal == syscall.SIGKILL || code == 128+int(syscall.SIGKILL)) &&
		host.read() > it.kills.before:
		f.Reason = "the kernel killed the item, as the host had no memory left"
	default:
		return false
	}
	f.Outcome = core.OutcomeMemory
	if it.status.Signaled() {
		f.Signal = new(int(signal))
	} else {
		f.ExitCode = new(code)
	}
	return true
}

// hostKills is how often the kernel has killed on this host for want of memory. It makes a page of text for that, so
// items that follow one another within a second begin with one reading.
type hostKills struct {
	count int64
	at    time.Time
}

const hostKillsFor = time.Second

func (h *hostKills) before() int64 {
	if time.Since(h.at) > hostKillsFor {
		h.read()
	}
	return h.count
}

func (h *hostKills) read() int64 {
	h.count = cgroup.ReadCounter("/proc/vmstat", "oom_kill")
	h.at = time.Now()
	return h.count
}

// kernelKills records whether the kernel killed for want of memory while an item ran, and holds an item with
// a limit in its instance's group, where this host lets us count memory.
type kernelKills struct {
	before  int64        // kills on this host so far
	in      cgroup.Group // the group with the limit; zero: none
	inGroup int64        // kills in that group before
}

// confine limits the group that the item is born in. Without a group the agent's own looks hold the item to its limit.
func (k *kernelKills) confine(o *RunCommand, in cgroup.Group) {
	if o.Memory <= 0 || in.Kind == "" || !in.LimitMemory(o.Memory) {
		return
	}
	k.in, k.inGroup = in, in.OomKills()
}

// release lifts the limit of an item that has ended and says how often the kernel killed in its group.
func (k *kernelKills) release() (kills int64) {
	if k.in.Kind == "" {
		return 0
	}
	kills = k.in.OomKills() - k.inGroup
	k.in.UnlimitMemory()
	k.in = cgroup.Group{}
	return kills
}
