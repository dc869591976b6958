package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/worker/core"
	"qb/worker/shim"
)

// programs are what the programs without an item hold of a host, which no row tells.
func programs(h *message.HostView) (slots int, memory, other int64) {
	for _, i := range h.Instances {
		if i.State == "loaded" || i.State == "unloading" {
			slots += i.Slots
			memory += i.Memory
			for _, n := range i.Holds {
				other += n
			}
		}
	}
	return slots, memory, other
}

// simProgramFaults are what the program of a load-once job may do wrong with one item, in three of four worlds in
// which hosts fail. They are drawn by attempt, from a stream of their own, so that the other worlds stay as they are.
var simProgramFaults = []string{
	programTwice, programOther, programLate, programDies, programSilent, programMute, programStays,
}

const (
	programTwice  = "a program reports an item twice"
	programOther  = "a program reports the item of another"
	programLate   = "a program reports an item that is being stopped"
	programDies   = "a program dies between two items"
	programSilent = "a program does not report for a long time"
	programMute   = "a program ends without a report"
	programStays  = "a program does not end when it is to"
)

// simSilence is how long a program says nothing that does not report; then it ends.
const simSilence = 30 * time.Second

func (f *simFaults) drawPrograms(w *simWorld) {
	draw := rand.New(rand.NewPCG(w.seed, 0x7067))
	if f.onlySupervisors || draw.IntN(4) == 0 {
		return
	}
	for _, kind := range simProgramFaults {
		if draw.IntN(3) > 0 {
			f.programs = append(f.programs, kind)
		}
	}
}

// programFault is what the program does wrong with an attempt; empty: nothing. Of reports that come too late there are
// as many as there are stops.
func (w *simWorld) programFault(id api.AttemptID) string {
	draw := rand.New(rand.NewPCG(w.seed^0x7067, uint64(id.Job)<<40|uint64(id.Item)<<20|uint64(id.Number)))
	switch {
	case w.calm || len(w.faults.programs) == 0:
		return ""
	case draw.IntN(2) == 0:
	case slices.Contains(w.faults.programs, programLate):
		return programLate
	default:
		return ""
	}
	return w.faults.programs[draw.IntN(len(w.faults.programs))]
}

// errs notes that the program does what it should not.
func (s *simShim) errs(id api.AttemptID, fault string) {
	s.host.world.note("%s: %s: %v", s.host.name, fault, id)
	s.host.world.some("fault: " + fault)
}

// held is what the program has, as worker/shim has it.
func (s *simShim) held() (h shim.Held) {
	h.Last = s.reported
	if it := s.item; it != nil {
		h.Item, h.Taken, h.Reported = it.attempt, it.run != nil, it.reported
		h.Stopped = it.stopped || it.over || it.exited || it.killing
	}
	return h
}

// misreports has the program report what it must not: the shim takes it for the item that it holds then, if its rules
// let it, and in truth that was not done.
func (s *simShim) misreports(id api.AttemptID, fault string) {
	s.errs(id, fault)
	switch it := s.item; {
	case s.held().Refuses(id) != "":
	case it == nil || it.run == nil:
		s.host.world.fail("S31: a report of %v is taken on %s, where the program has no item", id, s.host.name)
	default:
		it.exit, it.mute, it.stopped, it.untrue = 0, true, false, true
		s.ended(it, false)
	}
}

// begins has the program do wrong what it does while it has the item.
func (s *simShim) begins(it *simProcess) {
	if it.fault == programOther {
		other := it.attempt
		for _, h := range s.host.world.hosts {
			for _, o := range h.everyShim() {
				if o != s && o.item != nil && o.item.loadOnce {
					other = o.item.attempt
				}
			}
		}
		if other == it.attempt {
			other.Item++
		}
		s.do(it.remaining/2, func() {
			if s.item == it && !it.over {
				s.misreports(other, it.fault)
			}
		})
	}
}

// worked is the end of an item's work: its process exits, or its program reports it.
func (s *simShim) worked(it *simProcess) {
	switch {
	case !it.loadOnce:
		s.ended(it, false)
	case it.reported:
	case it.fault == programSilent && !it.mute:
		s.errs(it.attempt, it.fault)
		it.mute = true
		it.remaining = simSilence
		it.running = false
		s.settle()
	case it.fault == programMute && !it.mute:
		s.errs(it.attempt, it.fault)
		it.mute = true
		s.ended(it, false)
	case it.mute:
		s.ended(it, false)
	case s.held().Refuses(it.attempt) != "": // it is being stopped, and waits for that
		s.host.world.some("a report of a stopped item refused")
	case it.exit == 0:
		s.ended(it, false)
	case it.fault == programStays: // it is over only when nothing of the program is left
		s.errs(it.attempt, it.fault)
		it.reported = true
		s.do(2*simFailedGrace, func() { s.ended(it, false) })
	default:
		s.ended(it, false)
	}
}

// simFailedGrace is how long a program has that has reported an item as failed, before TERM and after it.
const simFailedGrace = 10 * time.Second

// stays has the program go on after its item.
func (s *simShim) stays(it *simProcess) {
	s.reported, s.slow = it.attempt, it.fault == programStays
	switch it.fault {
	case programTwice:
		again := time.Duration(it.attempt.Item%4) * 700 * time.Millisecond
		s.do(again, func() {
			if s.program {
				s.misreports(it.attempt, it.fault)
			}
		})
	case programDies:
		s.do(time.Duration(it.attempt.Item%4)*20*time.Millisecond, func() {
			if s.program && (s.item == nil || s.item.run == nil) {
				s.errs(it.attempt, it.fault)
				s.unload()
			}
		})
	}
}

// unload is the end of a program without an item. The item that is handed to it gets another.
func (s *simShim) unload() {
	s.program = false
	if s.item == nil {
		s.say(func(l *simLink) { l.a.post(core.ShimMeasured{Key: s.intent.key}) })
	}
}

// loadedOn are the last attempts of the programs without an item on a host that the present term knows: it has taken in
// their ends, and not given them up. An item that was handed to one is in its row.
func (r *simRows) loadedOn(h *simHost) (list []*facts.AttemptFacts) {
	if r.world.faults.putBack != "" {
		return nil
	}
	for _, s := range h.everyShim() {
		id := truthID(s.attempt())
		a := r.attempt(id)
		known := a != nil && !a.State.Live() && a.State != facts.Lost && r.endedIn[id] == r.epoch
		if s.program && known && !r.reattached(a) {
			list = append(list, a)
		}
	}
	return list
}

// loaded are those of all hosts.
func (r *simRows) loaded() (list []*facts.AttemptFacts) {
	for _, h := range slices.Concat(r.world.hosts, r.world.twins) {
		list = append(list, r.loadedOn(h)...)
	}
	return list
}

// reattached says whether the instance of an attempt that has ended has another.
func (r *simRows) reattached(a *facts.AttemptFacts) bool {
	return slices.ContainsFunc(slices.Collect(r.everyLive()), func(b *facts.AttemptFacts) bool {
		return b.Job == a.Job && b.Instance == a.Instance && b.Host == a.Host
	})
}

// checkPrograms: what the program of a load-once job has is not given to another before its host has proved its end (S9).
// A new term knows no program between two items.
func (r *simRows) checkPrograms(a facts.AttemptFacts) {
	slots := 0
	for _, b := range r.loadedOn(r.world.holder(&a)) {
		slots += b.Slots
	}
	if slots > 0 {
		r.world.some("an item started beside a program without one")
	}
	if slots > 0 && r.held[a.Host]+slots > r.slots[a.Host] {
		r.world.fail("S9: %v starts on %s, where %d slots are held, %d more by programs without an item, and which has %d",
			a.AttemptID, a.Host, r.held[a.Host], slots, r.slots[a.Host])
	}
}

// checkFailed: what a program does wrong with an item costs that item alone an attempt, and no other (S31). What is
// killed with its shim's folder was not the program's doing.
func (r *simRows) checkFailed(a *facts.AttemptFacts, e facts.EndAttempt, run *simRun) {
	own := e.State == facts.Failed && !forMemory(e) && e.Reason != facts.ReasonSignal
	if run == nil || !run.loadOnce || run.exit != 0 || !own {
		return
	}
	if run.fault != programMute && run.fault != programSilent {
		r.world.fail("S31: %v failed (%s), and its program reported it as complete", a.AttemptID, e.Cause)
	}
}

// checkWaiting: a program without an item waits only while its job has items left that it may get (S32).
func (r *simRows) checkWaiting(live *message.View) {
	for _, h := range live.Hosts {
		for _, i := range h.Instances {
			if i.State != "loaded" {
				continue
			}
			at := slices.IndexFunc(live.Jobs, func(j *facts.JobView) bool { return j.ID == i.Job })
			if at < 0 || live.Jobs[at].State.Final() || live.Jobs[at].Items.Pending+live.Jobs[at].Items.Blocked == 0 {
				r.world.fail("S32: a program of job %d waits on %s, and the job has no item left", i.Job, h.ID)
				return
			}
			r.world.some("a program waited for an item")
		}
	}
}
