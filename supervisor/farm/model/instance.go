package model

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Instance is a slot of a job on a host. It always has a live attempt: it takes the next item in the step
// that ends the last one, or closes.
type Instance struct {
	Job           *Job
	Host          *Host
	Number        int
	Kind          facts.Kind
	part          role // as it was counted last
	taken, wanted int  // slots of its host, the same
	Slots         int
	Devices       []int // GPUs of the host that are its own
	// SmartShare wants the slot at the item's end; taken back if the target rises
	Draining         bool
	Recorded         Recorded // of its attempt
	TimedOutRecorded bool     // its own timeout was reported
	SentAway         bool     // a person wants it to go at the item's end
	ForGood          bool     // it drains, and nothing of its job may start in its place
	// of the mark that its item lies under: what it is instead of coming back; Pending: none
	Under agenda.State

	Attempt   facts.RunFacts
	Order     *facts.Why // why it stops, or by whose order it takes no next item; nil: neither
	Began     time.Time  // of the instance
	LeaseEnds time.Time  // in full: its item may be moved then
	Floor     int        // attempts that were given since the last restore have higher numbers
	Granted   time.Time  // the end of the lease alone: its item runs so long at most
	ListedTo  string     // incarnation whose answer last listed the attempt, and that answer's sequence
	ListedIn  uint64
	Memory    int64
	Progress  int           // of its item in per cent, as the worker said last; 0: not known; see Progresses
	Stuck     bool          // its processes outlive KILL
	Stopped   bool          // it was ordered to end
	Inherited bool          // its attempt was given in an earlier term
	stood     time.Duration // for which its earlier attempts were suspended
	Program                 // that outlives it
	queue
	beside
}

// Recorded says which events of an attempt were recorded.
type Recorded struct{ Slow, Timeout, Draining, Kept bool }

func (i *Instance) Stopping() bool { return i.Attempt.State == facts.Stopping }

// Suspended says that the instance's processes stand still until a person resumes them.
func (i *Instance) Suspended() bool { return !i.Attempt.SuspendedAt.IsZero() && !i.Stopping() }

// Released says that the instance has given back its slots, as it is suspended.
func (i *Instance) Released() bool { return !i.Attempt.ReleasedAt.IsZero() }

// Resuming says that the instance was resumed, and waits for the slots that it has given back.
func (i *Instance) Resuming() bool { return !i.Attempt.ResumingAt.IsZero() && !i.Stopping() }

// Taken is how many slots of its host the instance takes.
func (i *Instance) Taken() int { return i.Attempt.Taken() }

// SuspensionID is the number of the instance's suspension, 0 if it is not suspended. A worker repeats it once the whole
// tree is frozen, so that no report of an earlier suspension counts for this one.
func (i *Instance) SuspensionID() int64 {
	if !i.Suspended() {
		return 0
	}
	return i.Attempt.SuspendedAt.UnixMicro()
}

// Ending says that the instance takes no further item, whatever a plan says, and that its slots come free without
// anybody's doing.
func (i *Instance) Ending() bool {
	return i.Stopping() || i.Loaded() || (i.SentAway || i.ForGood) && !i.Suspended()
}

// Begins gives the instance its next attempt. It remembers for how long the earlier ones were suspended.
func (i *Instance) Begins(a facts.RunFacts) {
	i.Progresses(0)
	i.Resides(0)
	i.stood += i.Attempt.SuspendedUntil(i.Attempt.EndedAt)
	i.Recorded = Recorded{}
	i.Order = nil
	starts, there := &i.Job.numbers.starts, i.Attached()
	if there {
		starts.remove(i)
	}
	if i.Attempt = a; there {
		starts.insert(i)
	}
}

// Progresses takes in how far the instance's item is, in per cent.
func (i *Instance) Progresses(percent int) {
	if percent != i.Progress {
		i.Job.numbers.progressed += percent - i.Progress
		i.Progress = percent
		i.Host.noteInstance(i)
		i.Job.Noted()
	}
}

// Stays says that nothing is taken from the instance to share slots: it is resumed, or ended by a person.
func (i *Instance) Stays() bool { return i.Protected() || i.Suspended() }

func (i *Instance) Killed() bool { return OrderOn(i).Reason == facts.ReasonKilled }

// OrderOn is why an instance stops, or by whose order it takes no next item; empty: neither.
func OrderOn(i *Instance) facts.Why {
	if i.Order == nil {
		return facts.Why{}
	}
	return *i.Order
}

func (i *Instance) Name() string {
	return strconv.FormatInt(int64(i.Job.ID), 10) + "." + strconv.Itoa(i.Number)
}

// Attach puts the instance to its job and its host.
func (i *Instance) Attach() {
	i.Job.Instances[i.Number] = i
	i.Job.numbers.sorted = nil
	i.Host.Instances[keyOf(i)] = i
	i.Host.sorted = nil
	i.Host.regrouped = true
	i.Job.numbers.insert(i)
	i.Touch()
}

// Detach takes it off them.
func (i *Instance) Detach() {
	i.Progresses(0)
	i.Job.numbers.remove(i)
	delete(i.Job.Instances, i.Number)
	i.Job.numbers.taken = min(i.Job.numbers.taken, i.Number)
	i.Job.numbers.sorted = nil
	delete(i.Host.Instances, keyOf(i))
	i.Host.sorted = nil
	i.Host.regrouped = true
	i.Touch()
}

func (i *Instance) Attached() bool { return i.Host.Instances[keyOf(i)] == i }

func keyOf(i *Instance) instanceKey { return instanceKey{i.Job.ID, i.Number} }

// FreeDevices are the lowest GPUs of the host that no instance has.
func (h *Host) FreeDevices(n int) []int {
	if n == 0 {
		return nil
	}
	taken := map[int]bool{}
	for i := range h.Holding() {
		for _, d := range i.Devices {
			taken[d] = true
		}
	}
	var free []int
	for d := 0; len(free) < n && d < int(h.Stock("host.gpus")); d++ {
		if !taken[d] {
			free = append(free, d)
		}
	}
	return free
}

// Believed is an end with what cannot be cut to what can. The host is marked.
func (i *Instance) Believed(now time.Time, slack time.Duration, r message.ReportedEnd) message.ReportedEnd {
	b := message.Bounds{Age: now.Sub(i.Attempt.StartedAt), Inherited: i.Inherited, Slack: slack, Cores: i.Host.Cores}
	if m := i.Host.Machine; m != nil {
		b.Memory = m.total
	}
	within, whole := r.Within(b)
	if !whole {
		i.Host.doubt = fmt.Sprintf("its agent reports an end with a peak of %s, %v s of wall time and %v s of CPU",
			units.Size(r.Peak), r.Wall, r.CPU)
	}
	return within
}

// Again says whether a failed item has a retry left, perhaps of the ones that failed with their instance.
func (i *Instance) Again(ofInstance bool) facts.RunsAgain {
	failed, most := i.Job.Failures[i.Attempt.Item]+1, i.Job.RetryWork
	if ofInstance || !i.Job.HasAgenda() {
		most = max(most, i.Job.RetryInstance)
	}
	if failed <= most && i.Tries() < MaxAttempts {
		return facts.ByItself
	}
	return facts.Never
}

// Tries is how many attempts of its item there have been, at most: numbers start again above a floor after a restore.
func (i *Instance) Tries() int {
	if i.Attempt.Number > i.Floor {
		return i.Attempt.Number - i.Floor
	}
	return i.Attempt.Number
}

func (i *Instance) Protected() bool { return i.Job.Preempted[i.Attempt.Item] >= protectedAfter }

// LeaseLapsed says whether the instance's host has been silent for so long that its item may be moved.
func (i *Instance) LeaseLapsed(now time.Time, p *message.Policy, braked bool) bool {
	if i.Stuck {
		return false // it is there, whatever the host says no more; only proof ends it
	}
	if i.Host.Due && !i.Host.Unacked(now, p.Liveness) {
		return false // it is here again, and the answer that lengthens its lease is on its way
	}
	end := i.LeaseEnds
	if braked {
		end = end.Add(p.ExecutionLease)
	}
	return !now.Before(end)
}

// timeLimit is after how many seconds the instance's item is ended by its worker: at the item's own limit,
// or when the instance reaches its, as ofInstance says; 0: never.
func (i *Instance) timeLimit() (seconds float64, ofInstance bool) {
	limit := float64(i.Job.AgendaTimeLimit)
	if i.Job.TimeLimit > 0 {
		left := max(1, float64(i.Job.TimeLimit)-(i.Attempt.StartedAt.Sub(i.Began)-i.stood).Seconds())
		if limit == 0 || left < limit {
			return left, true
		}
	}
	return limit, false
}

// TimedOut says which limit ended an item.
func (i *Instance) TimedOut(r message.ReportedEnd) facts.Why {
	p := facts.Params{Seconds: r.Wall}
	switch limit, ofInstance := i.timeLimit(); {
	case limit == 0: // changed in the meantime
	case ofInstance:
		p.Option = "timelimit"
		p.Limit = int64(i.Job.TimeLimit)
		p.Earlier = !i.Attempt.StartedAt.Equal(i.Began)
	default:
		p.Option, p.Limit = "agendatimelimit", int64(i.Job.AgendaTimeLimit)
	}
	return facts.Because(facts.ReasonTimeLimit, p, r.Reason)
}

// Expired says that the instance has lived as long as it may.
func (i *Instance) Expired(now time.Time) bool {
	stood := i.stood + i.Attempt.SuspendedUntil(i.Attempt.EndedAt)
	return i.Job.TimeLimit > 0 && now.Sub(i.Began)-stood >= time.Duration(i.Job.TimeLimit)*time.Second
}

// expires is when the instance has run for its job's time limit, in seconds; 0: never. While it is suspended the moment
// is put off.
func (i *Instance) expires() float64 {
	if i.Job.TimeLimit == 0 {
		return 0
	}
	return Seconds(i.Began) + float64(i.Job.TimeLimit) + i.stood.Seconds() + i.Attempt.Suspended
}

// Outgrown says that the job's reservations were changed since the instance took its share, "" if they were
// not: slots and devices are taken when an instance starts, so another instance must take the next item.
func (i *Instance) Outgrown() string {
	n := i.Job.Needs
	most := max(n.Slots, n.Most)
	switch {
	case i.Slots < n.Slots || (n.Most != agenda.Unlimited && i.Slots > most):
		return fmt.Sprintf("the job's reservations were changed: the instance has %s", facts.Several(i.Slots, "slot"))
	case !maps.Equal(i.Attempt.Holds, n.Holds):
		return "the job's reservations were changed: the instance holds other resources"
	}
	return ""
}
