package farm

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
)

// Explanation says why a job's items wait: one sentence, and the facts below it.
type Explanation struct {
	facts.Why
	Facts []Fact
}

// Fact is one line of an explanation. Code is why hosts are refused; "" in other kinds.
type Fact struct {
	Kind string
	Code facts.Reason
	Text string
}

// Explain says why a job's items wait, by the same predicates as Plan.
func (f *Farm) Explain(now time.Time, id facts.JobID) (Explanation, bool) {
	j := f.jobs[id]
	if j == nil {
		return Explanation{}, false
	}
	sight := f.newSight()
	e := Explanation{Why: f.reason(now, j, sight), Facts: []Fact{}}
	add := func(kind, format string, args ...any) {
		e.Facts = append(e.Facts, Fact{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	primary, secondary, draining := j.counts()
	add("items", "%d wait, %d run, %d of %d are complete", j.pending(), j.tally.Count(agenda.Running), j.tally.Count(agenda.Complete), j.agenda.Len())
	add("width", "%d primary and %d secondary instances run, %d are leaving; cpus is %d, it may run %d wide (%s)", primary, secondary, draining, j.CPUs, f.width(j), f.widthCause(j))
	if text := f.widerText(j); text != "" {
		add("change", "%s", text)
	}
	f.addOrder(now, j, add)
	f.addSharing(j, add)
	s := f.survey(now, j, sight)
	add("hosts", "%d of %d hosts take work, %d of them serve this job", s.usable, len(f.hosts), s.fit)
	if len(s.shut) > 0 {
		add("shut", "%s", f.shutText(now, s.shut))
	}
	f.addClauses(now, j, s, sight, add)
	add("slots", "%d slots on those hosts, %d free", s.slots, s.free)
	if r := f.reserved; r != nil && r.job == j {
		add("reserved", "host %s is kept for it and has enough free slots in about %.0f s", r.host.ID, r.at.Sub(now).Seconds())
	}
	if j.book.need > 0 {
		add("memory", "%s", f.memoryFact(j))
	}
	for _, r := range s.refusals {
		e.Facts = append(e.Facts, Fact{"refused", r.Kind, r.String()})
	}
	for _, line := range f.licenceFacts(j, sight) {
		add("licence", "%s", line)
	}
	for _, line := range f.holdersFor(j, sight).lines(j) {
		add("holder", "%s", line)
	}
	return e, true
}

// survey is what the hosts look like to one job.
type survey struct {
	usable   int        // hosts that take work
	closed   int        // of the usable, hosts that run nothing for the job's user
	fit      int        // of the usable, hosts that serve the job
	fitting  []*host    // these, by name
	slots    int        // of these
	free     int        // of the slots
	open     []*host    // of those that fit, hosts with a free slot
	room     bool       // one of them has slots for an instance
	without  int        // of those that fit, hosts with too little left of a resource
	lacks    string     // its name
	shut     []*host    // would serve the job, but take no work now
	refusals []refusals // why the other usable hosts do not serve it, most hosts first
}

// survey looks at the hosts with the job's eyes; jobs that ask for the same share an answer.
func (f *Farm) survey(now time.Time, j *job, sight *sight) survey {
	key := sight.keys.Of(j.asks())
	if s, ok := sight.surveys[key]; ok {
		return s
	}
	var s survey
	var refusing refusalList
	for _, h := range f.sortedHosts() {
		why := h.refuses(now, j, nil)
		switch usable := h.usable(now, f.policy); {
		case !usable && why.Serves():
			s.shut = append(s.shut, h)
		case !usable:
		case !why.Serves():
			s.usable++
			refusing.add(h, why)
			if !h.RunsFor(now, j.User) {
				s.closed++
			}
		default:
			s.usable++
			s.serve(f, j, h)
		}
	}
	s.refusals = refusing.mostFirst()
	sight.surveys[key] = s
	return s
}

// serve counts a host that serves the job.
func (s *survey) serve(f *Farm, j *job, h *host) {
	s.fit++
	s.slots += h.Slots
	s.fitting = append(s.fitting, h)
	if free := h.free(); free > 0 {
		s.free += free
		s.open = append(s.open, h)
		s.room = s.room || h.grants(j.needs) > 0
	}
	if len(j.needs.Takes) > 0 && f.startable(j.needs, h) == 0 {
		s.without, s.lacks = s.without+1, cmp.Or(s.lacks, usedUp(j.needs, h))
	}
}

// ownReason is the reason of a job whose items wait for nothing that hosts could give; found is false if they do.
func (f *Farm) ownReason(j *job) (why facts.Why, found bool) {
	switch {
	case len(j.orders) > 0:
		return facts.Why{Reason: facts.ReasonOrderUnderWay, Params: facts.Params{By: j.orders[0].By}, Cause: j.orderReason()}, true
	case j.State == facts.Blocked:
		return f.blockedReason(j), true
	case j.State.Final():
		return facts.Why{}, true
	case j.tally.Count(agenda.Blocked) > 0 && j.pending() == 0:
		return facts.Why{Reason: facts.ReasonItemsHeld, Cause: are(j.tally.Count(agenda.Blocked), "item") + " held; unblock the job to let them run"}, true
	}
	return facts.Why{}, j.pending() == 0
}

// reason is one sentence when items of the job wait, else empty.
func (f *Farm) reason(now time.Time, j *job, sight *sight) facts.Why {
	if why, found := f.ownReason(j); found {
		return why
	}
	s := f.survey(now, j, sight)
	primary, secondary, _ := j.counts()
	switch {
	case len(f.hosts) == 0:
		return facts.Why{Reason: facts.ReasonNoWorker, Cause: "no worker is connected"}
	case s.usable == 0:
		return facts.Why{Reason: facts.ReasonNoHostUp, Cause: f.unusableReason(now)}
	case s.fit == 0:
		why := "no host that takes work can run this job; "
		if len(s.shut) > 0 {
			why += f.shutText(now, s.shut) + "; "
		}
		return facts.Why{Reason: facts.ReasonNoHostFits, Cause: why + refusalsText(s.refusals) + f.advice(now, j, s, sight)}
	case primary+secondary >= f.width(j):
		return facts.Why{Reason: facts.ReasonWidthReached, Cause: f.widthReason(j, primary+secondary)}
	}
	why := facts.Why{Reason: facts.ReasonSlotsTaken}
	name, text := f.scarce(j, sight)
	switch {
	case name != "":
		why = facts.Why{Reason: facts.ReasonResourceUsedUp, Params: facts.Params{Resource: name}, Cause: text}
	case s.without == s.fit:
		why = facts.Why{Reason: facts.ReasonResourceUsedUp, Params: facts.Params{Resource: s.lacks}, Cause: f.usedUpReason(j, s)}
	case s.free > 0 && !s.room:
		why = facts.Why{Reason: facts.ReasonSlotsScattered, Cause: f.narrowReason(j, s, sight)}
	case s.free > 0:
		return f.openReason(now, j, s, sight)
	default:
		why.Cause = f.takenText(j, s, sight) + "; " + f.turnOf(now, j, sight)
	}
	why.Cause += f.advice(now, j, s, sight)
	return why
}

func (f *Farm) blockedReason(j *job) facts.Why {
	if j.BlockedBy != "" {
		return facts.Because(facts.ReasonBlocked, facts.Params{By: j.BlockedBy}, "")
	}
	var waits, never []string
	for _, l := range j.WaitFor {
		parent := f.jobs[l.Job]
		switch {
		case parent == nil || (parent.State.Final() && !l.Satisfied(parent.State)):
			never = append(never, fmt.Sprintf("job %d, which ended otherwise than %s: retry that job or unblock this one", l.Job, l.End))
		case l.End == "done":
			waits = append(waits, fmt.Sprintf("job %d to end", l.Job))
		default:
			waits = append(waits, fmt.Sprintf("job %d to be %s", l.Job, l.End))
		}
	}
	waits = append(never, waits...) // first what only a person can end
	if more := len(waits) - maxWaits; more > 0 {
		waits = append(waits[:maxWaits], fmt.Sprintf("%d more jobs", more))
	}
	return facts.Why{Reason: facts.ReasonWaitsForJobs, Cause: "waits for " + strings.Join(waits, " and for ")}
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

// shutText says which hosts would serve the job if they took work, and why the first of them does not.
func (f *Farm) shutText(now time.Time, shut []*host) string {
	h := shut[0]
	why := "is " + h.state(now, f.policy)
	switch why {
	case "is locked":
		why += " by " + h.LockedBy
	case "is up":
		why = "refuses it: " + h.refusing
	}
	if len(shut) == 1 {
		return fmt.Sprintf("%s would serve it, but %s", h.ID, why)
	}
	return fmt.Sprintf("%d hosts would serve it, but take no work now (%s %s, …)", len(shut), h.ID, why)
}
