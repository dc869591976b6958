package shim

import (
	"cmp"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/patterns"
	"qb/internal/units"
	"qb/worker/core"
)

// codeNoReport is of an item whose program ended well and did not say what became of the item.
const codeNoReport = "no_report"

// codeEnvironment is of an item whose program could not make what all its items need.
const codeEnvironment = "environment_failed"

// failedGrace is how long a program has at least to end by itself that reported an item as failed, and again after
// TERM.
const failedGrace = 10 * time.Second

// session is the part of a program that is kept for one item after another. What it has said of an item is taken once,
// for the item that it holds: complete ends the item alone. Any other end ends the session, and is over when nothing of
// the program is left, as that may still write what the item's next attempt writes.
//
// The shim's goroutine owns it, except for what serves its connections.
type session struct {
	s *shim
	p *program
	workSocket
	log *itemLog // of what the program writes between two items

	waiting []*asked
	given   int           // items that the program has got
	last    api.AttemptID // the last that it has reported
	noItem  string        // status for a request that waited in vain
	ending  string        // status for each request once the program is to end; empty: it is not
}

func newSession(s *shim, p *program) *session {
	return &session{s: s, p: p, workSocket: newWorkSocket(s), noItem: api.ProgramWaiting,
		log: newSessionLog(SessionLogPath(s.root, s.intent.Attempt), p.order.LogLimit, s.pumping)}
}

// asked is a request that waits for its reply.
type asked struct {
	api.ProgramRequest
	reply  chan api.ProgramReply
	unsent func() // called by the shim if the reply could not be written; nil: it does not matter
	at     core.Moment
	limit  *time.Timer // of its wait; nil: it does not wait
}

func (a *asked) answer(r api.ProgramReply) {
	if a.limit != nil {
		a.limit.Stop()
	}
	a.reply <- r
}

// hear takes a request in. Each gets one answer, at once or later.
func (k *session) hear(a *asked) {
	switch a.Do {
	case api.ProgramRequestWork:
		k.request(a)
	case api.ProgramReportWork:
		k.report(a)
	case api.ProgramReportJob: // that it is about to end; what becomes of an item that it holds is seen when it has
		if a.Status != api.ProgramComplete && a.Status != api.ProgramFailed {
			a.answer(refuse(api.ProgramUnknown, "the status %.100q of a job is not known; use complete or failed", a.Status))
			return
		}
		a.answer(status(api.ProgramOK))
	case api.ProgramJobObject:
		job := k.p.order.Session.Job
		job.Paths = k.p.order.Session.Work.Paths
		a.answer(api.ProgramReply{Status: api.ProgramOK, Job: &job})
	default:
		a.answer(refuse(api.ProgramUnknown, "%.100q is no request; use %s, %s, %s or %s", a.Do, api.ProgramRequestWork,
			api.ProgramReportWork, api.ProgramReportJob, api.ProgramJobObject))
	}
}

// request gives the item that the instance has, or waits for one. An item that the program has got already is given
// again: its first process may have lost it.
func (k *session) request(a *asked) {
	it := k.s.item
	switch {
	case k.ending != "":
		a.answer(status(k.ending))
	case it != nil && (it.stopped || it.verdict != nil):
		a.answer(status(api.ProgramPending))
	case k.mayTake(it):
		k.give(it, a)
	default:
		k.waiting = append(k.waiting, a)
		wait := min(workWait.Seconds(), max(workLeast.Seconds(), a.Wait))
		a.limit = time.AfterFunc(time.Duration(wait*float64(time.Second)), func() {
			k.s.post(func() { k.release(a, k.noItem) })
		})
	}
}

// mayTake says whether the program may have that item now.
func (k *session) mayTake(it *shimItem) bool {
	s := k.s
	return it != nil && it.meter == k.p.meter && !it.over && !it.stopped && it.report == nil && s.program == k.p &&
		!k.p.exited && !k.p.killing && !s.suspended && BootNow() < s.lease
}

// release gives up waiting for an item.
func (k *session) release(a *asked, how string) {
	for n := range k.waiting {
		if k.waiting[n] == a {
			k.waiting = append(k.waiting[:n], k.waiting[n+1:]...)
			a.answer(status(how))
			return
		}
	}
}

// hand offers the item to the program, which may have asked already.
func (k *session) hand(it *shimItem) {
	p := k.p
	if it.meter == nil { // the program was started for an item before
		if p.exited || p.killing || k.ending != "" {
			return // the item waits for the next program
		}
		it.meter = p.meter
		it.started = BootNow()
		p.kills.before = k.s.hostKills.before()
		p.kills.next(it.order, k.s.tree.Counted.Memory)
		p.meter.next()
	}
	for len(k.waiting) > 0 && k.mayTake(it) {
		a := k.waiting[0]
		k.waiting = k.waiting[1:]
		k.give(it, a)
	}
}

// give answers with the item. What the program wrote before belongs to the session, what it writes now to the item.
func (k *session) give(it *shimItem, a *asked) {
	if it.log == nil {
		it.beginLog(k.s)
		_ = unix.Unlink(it.log.path) // of an attempt with that number, before the database was restored
		it.log.charge = it.meter.charge
		k.p.pump.turn(it.log, false)
	}
	if !it.given {
		it.given = true
		it.begun = true
		k.noItem = api.ProgramWaiting
		k.given++
		k.s.say(Report{Started: new(it.order.Attempt)})
		a.unsent = func() {
			if it.given && it.report == nil {
				it.given = false
				k.given--
			}
		}
	}
	a.answer(api.ProgramReply{Status: api.ProgramRunning, Work: &it.order.Session.Work})
}

// Held is what a program has when it reports an item.
type Held struct {
	Last     api.AttemptID // that it has reported
	Item     api.AttemptID // that its instance has; zero: none
	Taken    bool          // the program has requested that
	Reported bool          // its end was reported, and is being recorded
	Stopped  bool          // it ends without the program's word
}

// Refuses is the code by which the report of an attempt is refused; empty: it is taken. The simulator's programs are
// answered by it too.
func (h Held) Refuses(id api.AttemptID) string {
	switch {
	case id == h.Last, id == h.Item && h.Reported:
		return api.ProgramReported
	case id != h.Item, !h.Taken, h.Stopped:
		return api.ProgramNotYours
	}
	return ""
}

// report takes what the program says of its item.
func (k *session) report(a *asked) {
	it := k.s.item
	id := api.AttemptID{Job: k.p.order.Attempt.Job, Item: a.Item, Number: a.Attempt}
	if refusal := checkReport(&a.ProgramRequest); refusal.Error != "" {
		a.answer(refusal)
		return
	}
	held := Held{Last: k.last}
	if it != nil {
		held.Item, held.Reported, held.Taken = it.order.Attempt, it.report != nil, it.given && k.s.program == k.p
		held.Stopped = it.stopped || it.over || k.p.exited || k.p.killing
	}
	switch code := held.Refuses(id); {
	case code == api.ProgramReported:
		a.answer(refuse(code, "item %d was reported before in its attempt %d; request the next one", a.Item, a.Attempt))
	case code != "" && held.Taken && id == held.Item:
		a.answer(refuse(code, "item %d is being stopped, and its attempt %d no longer counts; end the program", a.Item,
			a.Attempt))
	case code != "":
		a.answer(refuse(code, "item %d, attempt %d is not what this program holds; report the item that requestwork gave",
			a.Item, a.Attempt))
	case a.Status == api.ProgramRunning:
		it.progress = int(min(100, max(0, a.Progress)))
		a.answer(status(api.ProgramOK))
	default:
		k.conclude(it, a)
	}
}

// conclude takes the item to its end as reported, once its log has all that came before.
func (k *session) conclude(it *shimItem, a *asked) {
	p := k.p
	a.at = BootNow()
	it.report = a
	giveUp := time.AfterFunc(lookAfter, func() { it.log.giveUp(lookLate) })
	go func() {
		p.pump.turn(k.log, true)
		giveUp.Stop()
		peak, cpu, sampled := p.meter.lap()
		k.s.post(func() {
			f := api.Finished{PeakMemory: peak, CPU: cpu, PeakSampled: sampled}
			k.concluded(it, f)
		})
	}()
}

func (k *session) concluded(it *shimItem, f api.Finished) {
	s, p, a := k.s, k.p, it.report
	it.ended = a.at
	it.highlights, it.paths = it.log.seen.Highlights(), it.log.seen.OutputPaths()
	f.Wall, f.Suspended = it.ran(a.at).Seconds(), it.suspendedUntil(a.at).Seconds()
	killed := p.oomKills
	if s.program == p {
		killed = p.kills.count()
	}
	switch {
	case killed > 0:
		f.Outcome, f.Limit = core.OutcomeMemory, true
		f.Reason = fmt.Sprintf("the kernel killed %d of the item's processes at its limit of %s; the program itself reported %s",
			killed, units.Size(it.order.Memory), a.Status)
	case a.Status == api.ProgramFailed:
		f.Outcome, f.ExitCode = "exit", new(cmp.Or(a.ExitCode, 1))
		f.Reason = a.Reason
		if a.Code == api.ProgramEnvironment {
			f.Code = codeEnvironment
		}
	default:
		f.Outcome, f.ExitCode = "exit", new(0)
	}
	it.judge(&f)
	f.Reason = cmp.Or(f.Reason, it.log.shortfall())
	k.last = it.order.Attempt
	switch {
	case Done(f), s.program != p:
		s.finish(it, f)
	default:
		it.verdict = &f
		a.answer(status(api.ProgramPending))
		k.end(Ending{Grace: max(failedGrace, p.order.Session.Grace)})
	}
}

// addTo adds to an end what the program reported with it.
func (a *asked) addTo(f *api.Finished) {
	f.Result = a.Result
	f.OutputPaths = append(a.OutputPaths, f.OutputPaths...)
	f.OutputPaths = f.OutputPaths[:min(len(f.OutputPaths), patterns.MostPaths)]
}

// itemOver goes on when the record of the item is on disk.
func (k *session) itemOver(it *shimItem) {
	s := k.s
	if it.report != nil && it.verdict == nil {
		it.report.answer(status(api.ProgramOK))
	}
	switch {
	case s.wiped || s.frozen || BootNow() >= s.lease: // what is frozen is not woken
		s.killKept(k.p, "its host's lease had ended when it reported its item")
	case s.closing:
		k.end(s.ending)
	}
}

// end has the program end: each request is answered with a status, and it gets TERM after a grace and KILL after
// another.
func (k *session) end(how Ending) {
	s, p := k.s, k.p
	if k.ending != "" {
		return
	}
	k.ending = cmp.Or(how.Status, api.ProgramPending)
	for len(k.waiting) > 0 {
		k.release(k.waiting[0], k.ending)
	}
	if how.Grace <= 0 {
		s.kill(p, killRepeat)
		return
	}
	s.whileIn(p, how.Grace, func() {
		s.tree.Terminate()
		s.whileIn(p, how.Grace, func() {
			s.killKept(p, fmt.Sprintf("it did not end within %s of the answer %s, nor within as long of TERM", how.Grace,
				k.ending))
		})
	})
}

// silence says what the program has left unsaid.
func (k *session) silence(it *shimItem) string {
	if !it.given {
		return "the program ended with exit status 0 and never requested its item; a program of a load-once job asks for items with requestwork"
	}
	return "the program ended with exit status 0 and did not report its item; a program of a load-once job reports each item with reportwork"
}
