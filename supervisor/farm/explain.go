package farm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
)

// Explanation says why a job's items wait: one sentence, and the facts below it.
type Explanation struct {
	Reason string
	Facts  []Fact
}

// Fact is one line of an explanation.
type Fact struct{ Kind, Text string }

// Explain says why a job's items wait, by the same predicates as Plan.
func (f *Farm) Explain(now time.Time, id JobID) (Explanation, bool) {
	j := f.jobs[id]
	if j == nil {
		return Explanation{}, false
	}
	memo := map[string]survey{}
	e := Explanation{Reason: f.reason(now, j, memo), Facts: []Fact{}}
	add := func(kind, format string, args ...any) {
		e.Facts = append(e.Facts, Fact{kind, fmt.Sprintf(format, args...)})
	}
	primary, secondary, draining := j.counts()
	add("items", "%d wait, %d run, %d of %d are complete", j.pending(), j.tally.Count(agenda.Running), j.tally.Count(agenda.Complete), j.agenda.Len())
	add("width", "%d primary and %d secondary instances run, %d are leaving; cpus is %d, it may run %d wide", primary, secondary, draining, j.CPUs, f.width(j))
	s := f.survey(now, j, memo)
	add("hosts", "%d of %d hosts take work, %d of them serve this job", s.usable, len(f.hosts), s.fit)
	f.addClauses(now, j, s, add)
	add("slots", "%d slots on those hosts, %d free", s.slots, s.free)
	if r := f.reserved; r != nil && r.job == j {
		add("reserved", "host %s is kept for it and has enough free slots in about %.0f s", r.host.ID, r.at.Sub(now).Seconds())
	}
	if j.book.need > 0 {
		add("memory", "%s", f.memoryFact(j))
	}
	for _, r := range s.refusals {
		add("refused", "%s", r)
	}
	for _, holder := range f.holders(now, j) {
		add("holder", "%s", holder)
	}
	return e, true
}

// survey is what the hosts look like to one job.
type survey struct {
	usable, fit, slots, free int
	reserved                 int  // of the free slots, those on the host that is kept for another job
	room                     bool // a host that fits has slots for an instance
	thirst                   string
	refusals                 []refusals // most hosts first
}

// refusals are the hosts that take work but do not serve the job for one and the same reason.
type refusals struct {
	why   string
	hosts []string
}

func (r refusals) String() string {
	if len(r.hosts) == 1 {
		return fmt.Sprintf("%s: %s", r.hosts[0], r.why)
	}
	return fmt.Sprintf("%d hosts (%s, …): %s", len(r.hosts), r.hosts[0], r.why)
}

// survey looks at the hosts with the job's eyes; jobs that ask for the same share an answer in memo.
func (f *Farm) survey(now time.Time, j *job, memo map[string]survey) survey {
	key := f.placeKey(j, len(memo) == 0)
	if s, ok := memo[key]; ok {
		return s
	}
	var s survey
	place := map[string]int{}
	for _, h := range f.sortedHosts() {
		if !h.usable(now, f.policy) {
			continue
		}
		s.usable++
		if why := f.refusal(now, h, j, nil); why != "" {
			n, seen := place[why]
			if !seen {
				n = len(s.refusals)
				place[why] = n
				s.refusals = append(s.refusals, refusals{why: why})
			}
			s.refusals[n].hosts = append(s.refusals[n].hosts, string(h.ID))
			continue
		}
		s.fit++
		s.slots += h.Slots
		s.free += max(0, h.free())
		s.room = s.room || j.needs.grant(h) > 0
		if f.reserved != nil && f.reserved.host == h {
			s.reserved = max(0, h.free())
		}
	}
	slices.SortStableFunc(s.refusals, func(a, b refusals) int { return len(b.hosts) - len(a.hosts) })
	memo[key] = s
	return s
}

// holders says which jobs hold the slots that would fit.
func (f *Farm) holders(now time.Time, j *job) []string {
	held := map[JobID][2]int{}
	for _, h := range f.sortedHosts() {
		if !h.usable(now, f.policy) || f.refusal(now, h, j, nil) != "" {
			continue
		}
		for _, i := range h.instances {
			counts := held[i.job.ID]
			counts[i.kind]++
			held[i.job.ID] = counts
		}
	}
	var lines []string
	for _, other := range f.sortedJobs() {
		if c := held[other.ID]; c[Primary]+c[Secondary] > 0 {
			lines = append(lines, fmt.Sprintf("job %d (priority %d) holds %d as primaries, %d as secondaries", other.ID, other.Priority, c[Primary], c[Secondary]))
		}
	}
	return lines
}

// reason is one sentence when items of the job wait, else empty.
func (f *Farm) reason(now time.Time, j *job, memo map[string]survey) string {
	switch {
	case j.State == Blocked:
		return f.blockedReason(j)
	case j.State.Final():
		return ""
	case j.tally.Count(agenda.Blocked) > 0 && j.pending() == 0:
		return fmt.Sprintf("%d items are held; unblock the job to let them run", j.tally.Count(agenda.Blocked))
	case j.pending() == 0:
		return ""
	}
	s := f.survey(now, j, memo)
	primary, secondary, _ := j.counts()
	switch {
	case len(f.hosts) == 0:
		return "no worker is connected"
	case s.usable == 0:
		return f.unusableReason(now)
	case s.fit == 0:
		return "no host that takes work can run this job; " + s.refusals[0].String()
	case primary+secondary >= f.width(j):
		return fmt.Sprintf("it runs as wide as it may: %d instances (cpus %d)", f.width(j), j.CPUs)
	case f.scarce(now, j) != "":
		return f.scarce(now, j)
	case f.reserved != nil && f.reserved.job == j && !s.room:
		return fmt.Sprintf("an instance takes %d slots of one host; %s is being freed for it", j.needs.slots, f.reserved.host.ID)
	case s.free > 0 && s.free == s.reserved && f.reserved.job != j:
		return fmt.Sprintf("the free slots of %s are kept for job %d, which needs %d at once", f.reserved.host.ID, f.reserved.job.ID, f.reserved.job.needs.slots)
	case s.free > 0 && !s.room && j.needs.idle:
		return "an instance takes a host that runs nothing else, and none that fits is idle"
	case s.free > 0 && !s.room:
		return fmt.Sprintf("an instance takes %d slots of one host, and no host that fits has so many free", j.needs.slots)
	case s.free > 0 && f.thirstOnce(now, j, memo) != "":
		return f.thirstOnce(now, j, memo)
	case s.free > 0:
		return "its instances are about to start"
	case primary < j.CPUs:
		return fmt.Sprintf("all %d slots that fit are taken; it has %d of its %d primaries and gets the next slots in order of priority", s.slots, primary, j.CPUs)
	}
	return fmt.Sprintf("all %d slots that fit are taken; surplus slots are shared equally and it has its %d", s.slots, secondary)
}

// scarce names the resource that keeps the job from starting another instance, if one does.
func (f *Farm) scarce(now time.Time, j *job) string {
	for _, name := range slices.Sorted(maps.Keys(j.needs.takes)) {
		one := needs{takes: map[string]int64{name: j.needs.takes[name]}}
		if !strings.HasPrefix(name, "host.") {
			if f.startable(one, nil) == 0 {
				return fmt.Sprintf("all %d of %s are in use, an instance takes %d", f.policy.Resources[name], name, j.needs.takes[name])
			}
			continue
		}
		exhausted := true
		for _, h := range f.hosts {
			exhausted = exhausted && (!h.usable(now, f.policy) || f.startable(one, h) == 0)
		}
		if exhausted {
			return fmt.Sprintf("all of %s are in use on the hosts that take work, an instance takes %d", name, j.needs.takes[name])
		}
	}
	return ""
}

func (f *Farm) blockedReason(j *job) string {
	if j.BlockedBy != "" {
		return "blocked by " + j.BlockedBy
	}
	var waits []string
	for _, l := range j.WaitFor {
		parent := f.jobs[l.Job]
		switch {
		case parent == nil || (parent.State.Final() && !l.satisfied(parent.State)):
			waits = append(waits, fmt.Sprintf("job %d, which ended otherwise than %s: retry that job or unblock this one", l.Job, l.End))
		case l.End == "done":
			waits = append(waits, fmt.Sprintf("job %d to end", l.Job))
		default:
			waits = append(waits, fmt.Sprintf("job %d to be %s", l.Job, l.End))
		}
	}
	return "waits for " + strings.Join(waits, " and for ")
}

func (f *Farm) unusableReason(now time.Time) string {
	counts := map[string]int{}
	refusing := ""
	for _, h := range f.sortedHosts() {
		state := h.state(now, f.policy)
		if state == "up" && h.refusing != "" && refusing == "" {
			refusing = fmt.Sprintf("%s: %s", h.ID, h.refusing)
		}
		counts[state]++
	}
	if refusing != "" {
		return "no host takes work now; " + refusing
	}
	return fmt.Sprintf("no host takes work now: %d locked, %d unreachable, %d lost", counts["locked"], counts["unreachable"], counts["lost"])
}
