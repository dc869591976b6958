package shim

import (
	"cmp"
	"fmt"
	"syscall"
	"time"

	"qb/api"
	"qb/internal/units"
	"qb/worker/cgroup"
	"qb/worker/core"
)

// shimItem is the attempt that a shim runs. It is over when nothing of its programs is left and their output is read;
// of a program that is kept, also when that has reported it as complete.
type shimItem struct {
	order     *RunCommand
	begun     bool // something of it has run
	started   core.Moment
	ended     core.Moment
	frozen    core.Moment // since when it is frozen; 0: it is not
	suspended core.Moment // since when by order; 0: it is not
	stood     core.Moment // how long it was suspended before

	stopped bool // by order, before its end was known
	reason  string
	code    string // of outcome stopped
	outcome string // of a stop, if not stopped
	limit   bool   // outcome memory: its own limit

	given    bool          // to the program that is kept
	progress int           // that this reported, in per cent
	report   *asked        // of its end, by that program; nil: none was heard
	verdict  *api.Finished // what follows from it, if the item is over only when nothing of the program is left

	unsecluded bool // when its tree is gone, by the forker itself

	meter    *meter   // of its present program, or the last one
	log      *itemLog // the same
	licences licences // of all stages; good when the present one's log is closed
	over     bool
	stages
}

// run takes an attempt once: the same order again changes nothing.
func (s *shim) run(o *RunCommand) {
	if s.item != nil || o.Attempt == s.last || s.closing {
		return
	}
	s.begin(o)
	it := &shimItem{order: o, licences: watchLicences(o.NoLicence), unsecluded: s.program != nil}
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

// stopEnd is the end of an attempt that was stopped.
func (it *shimItem) stopEnd() api.Finished {
	return api.Finished{Outcome: cmp.Or(it.outcome, core.OutcomeStopped), Code: it.code, Reason: it.reason,
		Limit: it.limit}
}

// verdict is the end of the item by that of its process.
func (p *program) verdict(it *shimItem, host *hostKills) api.Finished {
	f := api.Finished{}
	killed := p.status.Signaled() && p.status.Signal() == syscall.SIGKILL
	switch {
	case EndedByStop(it.stopped, p.signalled, killed):
		f = it.stopEnd()
	case p.outOfMemory(&f, host):
	case p.status.Signaled():
		f.Outcome, f.Signal = "signal", new(int(p.status.Signal()))
	case p.session != nil && p.status.ExitStatus() == 0:
		f.Outcome, f.Code, f.Reason = "launch", codeNoReport, p.session.silence(it)
	default:
		f.Outcome, f.ExitCode = "exit", new(p.status.ExitStatus())
	}
	f.PeakMemory, f.CPU = p.peak, p.cpu
	it.ended = p.ended
	f.Wall, f.Suspended = it.ran(it.ended).Seconds(), it.suspendedUntil(it.ended).Seconds()
	f.Reason = cmp.Or(f.Reason, it.log.shortfall())
	return f
}

// finish writes the record, as often as it takes, and only then says that the attempt has ended.
func (s *shim) finish(it *shimItem, f api.Finished) {
	it.over = true
	if it.order.Private != (Private{}) && !it.unsecluded {
		s.forker.work <- func() { s.forker.unseclude(it.order) } // no fork is on its way
	}
	f.Attempt, f.Instance = it.order.Attempt, it.order.Instance
	f.Highlights, f.OutputPaths = it.highlights, it.paths
	f.Loaded = s.program != nil // even if it is about to end: the slot is free when nothing of it is left
	if it.report != nil {
		it.report.addTo(&f)
	}
	f.InLease = BootNow() < s.lease
	it.licences.judge(&f)
	s.record(it, f)
}

func (s *shim) record(it *shimItem, f api.Finished) {
	if !s.wiped {
		r := Spooled{Boot: s.intent.Boot, Finished: f, Ended: it.ended, Frozen: it.frozen}
		if it.begun {
			r.Started = it.started
		}
		spared, err := s.spool.PutOrSpare(s.dir, r)
		s.spareTaken = s.spareTaken || spared
		if err != nil {
			// Memory that is free already the agent must not take off what others use.
			s.say(Report{Sample: &sample{Memory: s.program.memory(), CPU: f.CPU, Wall: f.Wall, Frozen: s.frozen}})
			s.after(recordRetry, func() { s.record(it, f) })
			return
		}
		s.writeNow(it)
	}
	s.last = it.order.Attempt
	s.item = nil
	s.suspended = false
	s.say(Report{Ended: &f})
	if s.program == nil {
		s.frozen = false
		s.done = s.closing || s.wiped
		return
	}
	s.program.session.itemOver(it)
}

// sayMeasured tells the agent what the tree takes.
func (s *shim) sayMeasured() {
	it := s.item
	if it == nil { // a program that is kept waits
		s.say(Report{Sample: &sample{Memory: s.program.memory()}})
	}
	if it == nil || it.over || it.meter == nil {
		return
	}
	memory, cpu := it.meter.now()
	m := sample{Memory: memory, CPU: cpu, Wall: it.ran(BootNow()).Seconds(), Frozen: s.frozen,
		Suspended: s.frozen && s.suspended, SuspensionID: s.provenSuspension(it), Progress: it.progress}
	if it.log != nil && m.Progress == 0 {
		m.Progress = it.log.progress()
	}
	if p := s.program; p != nil {
		m.Held = p.kills.in.Kind != ""
		m.Unkillable = p.killing && BootNow()-p.killed > core.Moment(stuckAfter)
	}
	s.say(Report{Sample: &m})
}

// writeNow writes over space that was set aside; a failure would be one of the disk itself, and the
// intent still names the instance.
func (s *shim) writeNow(it *shimItem) {
	n := NowRecord{Attempt: it.order.Attempt, Shim: s.tree.Shim, Ended: it.over, StartedAt: it.started}
	if s.program != nil {
		n.Process = s.program.process
	}
	if data, err := Seal(n); err == nil && len(data) <= NowSize {
		s.now.WriteAt(data, 0)
	}
}

// outOfMemory recognises an end that was the kernel's for want of memory. Evidence is a kill in the item's own
// group, whatever its first process made of that, as scripts that do not look at what they start end with 0, or a
// SIGKILL that is not ours (or what a shell makes of one) while the host's count of such kills rose.
func (p *program) outOfMemory(f *api.Finished, host *hostKills) bool {
	signal, code := p.status.Signal(), p.status.ExitStatus()
	limit := units.Size(p.kills.limit)
	switch {
	case p.oomKills > 0 && p.status.Exited():
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed %d of the item's processes at its limit of %s; the command itself ended with exit status %d", p.oomKills, limit, code)
	case p.oomKills > 0:
		f.Limit, f.Reason = true, fmt.Sprintf("the kernel killed the item at its limit of %s", limit)
	case (p.status.Signaled() && signal == syscall.SIGKILL || code == 128+int(syscall.SIGKILL)) &&
		host.read() > p.kills.before:
		f.Reason = "the kernel killed the item, as the host had no memory left"
	default:
		return false
	}
	f.Outcome = core.OutcomeMemory
	if p.status.Signaled() {
		f.Signal = new(int(signal))
	} else {
		f.ExitCode = new(code)
	}
	return true
}

// hostKills is how often the kernel has killed on this host for want of memory. It makes a page of text for that, so
// items that follow one another at once begin with one reading. It is not much older than an item: kills before that
// would count as evidence that the item was killed, too.
type hostKills struct {
	count int64
	at    time.Time
}

const hostKillsFor = 100 * time.Millisecond

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
	limit   int64
	inGroup int64 // kills in that group before
}

// confine limits the group that the item is born in. Without a group the agent's own looks hold the item to its limit.
func (k *kernelKills) confine(o *RunCommand, in cgroup.Group) {
	if o.Memory <= 0 || in.Kind == "" || !in.LimitMemory(o.Memory) {
		return
	}
	k.in, k.limit, k.inGroup = in, o.Memory, in.OomKills()
}

// next holds a program that is kept to the limit of its next item.
func (k *kernelKills) next(o *RunCommand, in cgroup.Group) {
	switch {
	case k.in.Kind != "" && k.limit == o.Memory:
		k.inGroup = k.in.OomKills()
	default:
		k.release()
		k.confine(o, in)
	}
}

// count says how often the kernel killed in the group while the item ran.
func (k *kernelKills) count() int64 {
	if k.in.Kind == "" {
		return 0
	}
	return k.in.OomKills() - k.inGroup
}

// release lifts the limit when the program is over, and says how often the kernel killed in its group.
func (k *kernelKills) release() (kills int64) {
	kills = k.count()
	if k.in.Kind != "" {
		k.in.UnlimitMemory()
		k.in = cgroup.Group{}
	}
	return kills
}
