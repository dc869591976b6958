package model

import (
	"slices"
	"strings"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
)

// Asks is what decides which hosts may run the job.
func (j *Job) Asks() *fit.Job {
	return &fit.Job{JobFacts: &j.JobFacts, Needs: j.Needs, Learned: j.MemoryNeed, Avoids: j.Avoids,
		Started: !j.FirstStart.IsZero()}
}

// Load is what runs on the host except for one instance, which asks for itself; nil: for all.
type Load struct {
	H      *Host
	except *Instance
}

// Used counts slots.
func (l Load) Used() int {
	if l.except != nil {
		return l.H.Used - l.except.Taken()
	}
	return l.H.Used
}

// Unused is in bytes of memory.
func (l Load) Unused() int64 { return l.H.unused() }

// Duty lists a property of the jobs that are on the host now.
func (l Load) Duty(what string) []string {
	var list []string
	for _, i := range l.H.SortedInstances() {
		value, _ := i.Job.Asks().Property("job." + what)
		if text := value.String(); i != l.except && text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Refusal says why the host does not serve the job. The instance except, if any, is looked at as not there.
func (h *Host) Refusal(now time.Time, j *Job, except *Instance) fit.Refusal {
	return j.Asks().Refused(now, &h.Host, Load{h, except})
}

// Serves says whether the job may run on the host, whatever slots are taken now.
func (h *Host) Serves(now time.Time, j *Job) bool { return h.Refusal(now, j, nil).Serves() }

// Grants is how many slots an instance would get on the host now, 0 if it cannot start there.
func (h *Host) Grants(n fit.Needs) int { return n.Grant(h.Free(), h.Used) }

// Held is what live attempts and loaded programs on the host hold of a resource: always a count, never a counter.
func (h *Host) Held(name string) int64 {
	var sum int64
	for i := range h.Holding() {
		sum += i.Attempt.Holds[name]
	}
	return sum
}

// Left is what is left of a resource of the host.
func (h *Host) Left(name string) int64 { return h.Stock(name) - h.Held(name) }

// RoomFor is how many instances of the job, each with so much memory, the host could take beside the ones that it has:
// now, or with yield once the secondaries of others had given way.
func (h *Host) RoomFor(now time.Time, j *Job, memory int64, yield bool) int {
	if !yield && (h.Grants(j.Needs) == 0 || h.Limited() && now.Before(h.FullUntil)) {
		return 0
	}
	free, ledger, left := h.Free(), h.Ledger(nil), map[string]int64{}
	for name := range j.Needs.Takes {
		left[name] = h.Left(name)
	}
	if yield {
		for i := range h.Holding() {
			if !i.yields() || i.Job == j {
				continue
			}
			if free += i.Slots; h.Limited() {
				ledger += i.Takes()
			}
			for name := range left {
				left[name] += i.Attempt.Holds[name]
			}
		}
	}
	room := max(0, free) / max(1, j.Needs.Slots)
	if n := j.Needs.Startable(true, func(name string) int64 { return left[name] }); n >= 0 {
		room = min(room, n)
	}
	if memory > 0 && h.Limited() {
		room = int(min(int64(room), max(0, ledger)/memory))
	}
	return room
}

// Yielding are the slots of instances that end, or give way where others have fewer.
func (h *Host) Yielding() (slots int) {
	for i := range h.Holding() {
		if i.yields() {
			slots += i.Slots
		}
	}
	return slots
}

func (i *Instance) yields() bool { return i.Ending() || i.Kind == facts.Secondary && !i.Stays() }

// FreeFor estimates when an instance of the job could start on the host, if no instance there takes another item.
func (h *Host) FreeFor(now time.Time, j *Job) (at, sure float64) {
	left := map[string]int64{}
	for name := range j.Needs.Takes {
		if strings.HasPrefix(name, "host.") {
			left[name] = h.Left(name)
		}
	}
	ends := make([]planner.End, 0, len(h.Instances))
	for _, i := range h.SortedInstances() {
		ends = append(ends, i.end(now))
	}
	for _, i := range h.SortedPrograms() {
		ends = append(ends, i.end(now))
	}
	return planner.FreeAt(Seconds(now), h.Free(), left, ends, j.Needs.Slots, j.Needs.Takes)
}

// AddEnds tells a plan of the job's instances that are not among its rows.
func AddEnds(now time.Time, p *planner.Snapshot, j *Job) {
	planned := j.Planned()
	if len(j.Instances) == 0 || planned && j.Parts[RoleEnding] == 0 {
		return
	}
	for _, i := range j.sortedInstances() {
		if !planned || i.Ending() {
			host := &p.Present[i.Host.Place]
			host.Ends = append(host.Ends, i.end(now))
		}
	}
}

// end is when the instance gives back what it takes of its host, if it takes no other item.
func (i *Instance) end(now time.Time) planner.End {
	if i.Loaded() {
		at := Seconds(later(i.Until, now))
		return planner.End{At: at, Sure: at, Slots: i.Taken(), Holds: i.Attempt.Holds}
	}
	began, stood := Seconds(i.Attempt.StartedAt), i.Attempt.SuspendedUntil(now).Seconds()
	e := planner.EndOf(Seconds(now), began, i.Job.ExpectedItem().Seconds(), stood, KnowsItems(i.Job), i.Suspended())
	e.Slots, e.Holds = i.Taken(), i.Attempt.Holds
	return e
}

// KnowsItems says whether anything is known of how long the job's items run.
func KnowsItems(j *Job) bool { return j.DoneCount > 0 || j.FirstSeconds() > 0 }

func (j *Job) ExpectedItem() time.Duration {
	if mean := j.MeanItem(); mean > 0 || j.DoneCount > 0 {
		return time.Duration(mean * float64(time.Second))
	}
	return planner.UnknownItem * time.Second
}

// MeanItem is how long the job's items take on average, in seconds: what was stated or learned before one is complete;
// 0: nothing was.
func (j *Job) MeanItem() float64 {
	if j.DoneCount == 0 {
		return j.FirstSeconds()
	}
	return j.MeanSeconds()
}

// NextKind is what the job's next instance is: a primary while it lacks one.
func (j *Job) NextKind() facts.Kind {
	if j.LacksPrimary() {
		return facts.Primary
	}
	return facts.Secondary
}

func (j *Job) LacksPrimary() bool {
	primary, _, _ := j.Counts()
	return j.WantsInstances() && primary < min(j.CPUs, j.Remaining())
}

// HasSeat says whether a live attempt on the host has the seat of a resource that is counted per seat.
func (h *Host) HasSeat(p licences.Policy, name string, seat licences.Seat) bool {
	for i := range h.Holding() {
		if i.Attempt.Holds[name] > 0 && p.SeatOf(name, string(h.ID), i.Job.User) == seat {
			return true
		}
	}
	return false
}

// Present is what the host can take now, as the choice of hosts goes by it. Its machine has no number yet.
func (h *Host) Present(now time.Time) planner.Present {
	p := planner.Present{
		Free: h.Free(), Used: h.Used, Trial: h.OnTrial, Heard: h.Heard, Limited: h.Limited(), Full: now.Before(h.FullUntil),
		EndingSlots: h.Summed().endingTaken, EndingMemory: h.EndingMemory(),
	}
	if p.Limited {
		p.Shared, p.Own = h.rooms(nil)
	}
	return p
}
