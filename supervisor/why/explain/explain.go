package explain

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// Explanation says why a job's items wait or have failed: one sentence, and the facts below it.
type Explanation struct {
	facts.Why
	Facts []Fact
}

// Fact is one line of an explanation. Code is why hosts are refused or avoided; "" in other kinds.
type Fact struct {
	Kind  string
	Code  facts.Reason
	Text  string
	Jobs  []facts.JobID  // that it names
	Hosts []facts.HostID // that it names, or of which it tells; at most hostsTold
	Slots int            // that it counts
	Holds *Holds         // of kind holder
}

// Holds is how a job holds slots.
type Holds struct{ Primary, Secondary, Ending int }

// hostsTold bounds the hosts of a fact.
const hostsTold = 50

func hostsOf(hosts []*Host) (ids []facts.HostID) {
	for _, h := range hosts[:min(len(hosts), hostsTold)] {
		ids = append(ids, h.ID)
	}
	return ids
}

// Explainer explains the jobs of one farm. Jobs that ask for the same share what was found out.
type Explainer struct {
	*Farm
	keys     fit.Keys
	groups   map[string]*group // by key
	licences map[string]licence
	surplus  map[string]int // of each user, in instances; nil: not counted yet
	noHostUp string         // why no host takes work; "": not asked yet
	passing  bool           // something that was found out changes with time, or by what Like does not compare
}

// group is what jobs of one key share.
type group struct {
	hostSummary
	holders    *holders
	nearMisses *nearMisses
	cases      map[caseKey]*openCase
}

// caseKey is equal for jobs of one group that have room on the same hosts now.
type caseKey struct {
	learned, memory int64
	slots           int
	mayUse          bool
}

// openCase is what they share. Its members are nil until they are asked for.
type openCase struct {
	free    *freeHosts
	changes *[]change
}

// one is a job that is explained.
type one struct {
	*Explainer
	j *Job
	g *group
	c *openCase
}

// New begins with nothing found out.
func New(f *Farm) *Explainer {
	x := &Explainer{Farm: f, groups: map[string]*group{}, licences: map[string]licence{}}
	x.keys = fit.KeysOf(x.everyHost)
	x.passing = x.keys.Passing()
	return x
}

// Holds says whether what was found out until now holds as long as the jobs and hosts are Like what they were, and all
// else of the farm but the time is the same.
func (x *Explainer) Holds() bool { return !x.passing }

// of looks at a job.
func (x *Explainer) of(j *Job) one {
	key := x.keys.Of(&j.Job)
	g := x.groups[key]
	if g == nil {
		g = &group{hostSummary: x.look(j), cases: map[caseKey]*openCase{}}
		x.groups[key] = g
		x.passing = x.passing || len(j.Avoids) > 0 || j.LooksAtLoad()
	}
	at := caseKey{j.Learned, j.Memory, j.Slots, j.MayUseReserved}
	c := g.cases[at]
	if c == nil {
		c = &openCase{}
		g.cases[at] = c
	}
	return one{x, j, g, c}
}

// Explain says why a job's items wait; found is false if there is no such job. The order is one more fact, where the
// site has an unusual one.
func (x *Explainer) Explain(id facts.JobID, order string) (e Explanation, found bool) {
	j := x.job(id)
	if j == nil {
		return e, false
	}
	why := x.why(j)
	e = Explanation{Why: why.Why, Facts: []Fact{}}
	add := func(kind, format string, args ...any) {
		e.Facts = append(e.Facts, Fact{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	with := func(of func(*Fact)) { of(&e.Facts[len(e.Facts)-1]) } // members of the last
	for _, text := range why.also {
		add("also", "%s", text)
	}
	add("items", "%d wait, %d run, %d of %d are complete", j.Pending, j.Running, j.Done, j.Items)
	add("width", "%d primary and %d secondary instances run, %d are leaving; cpus is %d, it may run %d wide (%s)",
		j.Primary, j.Secondary, j.Draining, j.CPUs, j.Width, j.widthCause(x.Policy.Share))
	if j.Resuming > 0 {
		add("resuming", "instances that wait on their hosts for slots to go on: %d", j.Resuming)
	}
	if text := j.widerText(x.Policy.Share); text != "" {
		add("change", "%s", text)
	}
	if order != "" {
		add("order", "%s", order)
	}
	x.addSharing(j, add)
	w := x.of(j)
	add("hosts", "%d of %d hosts take work, %d of them serve this job", w.g.usable, len(x.Hosts), w.g.fit)
	if len(w.g.shut) > 0 {
		add("shut", "%s", shutText(w.g.shut))
		with(func(f *Fact) { f.Hosts = hostsOf(w.g.shut) })
	}
	if len(w.g.away) > 0 {
		add("away", "%s", awayText(w.g.away))
		with(func(f *Fact) { f.Hosts = hostsOf(w.g.away) })
	}
	e.Facts = append(e.Facts, w.avoidedFacts()...)
	w.addClauses(add)
	add("slots", "%d slots on those hosts, %d free%s", w.g.slots, w.g.free, w.g.foreignText()+w.g.keptText())
	with(func(f *Fact) { f.Slots = w.g.slots })
	if x.reservedFor(j) {
		add("reserved", "host %s is kept for this job and has enough free slots in about %.0f s", x.Reserved.Host,
			x.Reserved.At.Sub(x.Now).Seconds())
		with(func(f *Fact) { f.Hosts = []facts.HostID{x.Reserved.Host} })
	}
	if j.Learned > 0 {
		add("memory", "%s", j.memoryText())
	}
	for _, r := range w.g.refusals.MostFirst() {
		e.Facts = append(e.Facts, Fact{Kind: "refused", Code: r.Kind, Text: r.String()})
	}
	for _, line := range w.licenceFacts() {
		add("licence", "%s", line)
	}
	e.Facts = append(e.Facts, w.holders().lines(j)...)
	return e, true
}

func (x *Explainer) why(j *Job) answer {
	if own, found := ownAnswer(j, x.state); found {
		return own
	}
	return x.waits(j)
}

// waits says for what of the hosts the job waits.
func (x *Explainer) waits(j *Job) answer {
	w := x.of(j)
	none := facts.Params{}
	switch {
	case len(x.Hosts) == 0:
		return because(facts.ReasonNoWorker, none, "no worker is connected")
	case w.g.usable == 0:
		return because(facts.ReasonNoHostUp, none, "no host takes work now").and(x.unusableText())
	case w.g.fit == 0:
		return w.noneFits()
	case j.Primary+j.Secondary >= j.Width:
		return because(facts.ReasonWidthReached, none, j.widthReason(x.Policy.Share, j.Primary+j.Secondary))
	}
	licence, text, held := w.scarce()
	switch {
	case j.Limited.Reason != "":
		return answer{Why: j.Limited}
	case licence != "":
		return because(facts.ReasonResourceUsedUp, facts.Params{Resource: licence}, text).hint(w.advice()).hint(held)
	case w.g.without == w.g.fit:
		return w.usedUp().hint(w.avoidedText())
	case w.g.free > 0 && !w.g.room:
		return w.scattered().hint(w.avoidedText())
	case w.g.free > 0:
		return w.openReason().hint(w.avoidedText())
	case w.g.avoidedRoom:
		return w.avoided()
	}
	return w.taken().hint(w.avoidedText())
}

// everyHost goes through all hosts, whatever their state.
func (x *Explainer) everyHost(yield func(*fit.Host) bool) {
	for n := range x.Hosts {
		if !yield(x.Hosts[n].Host) {
			return
		}
	}
}

// state is the state of a job, "" if it is not known.
func (x *Explainer) state(id facts.JobID) facts.JobState {
	if j := x.job(id); j != nil {
		return j.State
	}
	return ""
}

// Own is the reason of a job whose items wait for nothing that hosts could give; found is false if they do. The state
// of a job that is not known is "".
func Own(j *Job, state func(facts.JobID) facts.JobState) (why facts.Why, found bool) {
	a, found := ownAnswer(j, state)
	return a.Why, found
}

func ownAnswer(j *Job, state func(facts.JobID) facts.JobState) (a answer, found bool) {
	switch {
	case len(j.Orders) > 0:
		return because(facts.ReasonOrderUnderWay, facts.Params{By: j.Orders[0].By}, j.orderReason()), true
	case j.State == facts.Blocked:
		return j.blockedReason(state), true
	case j.State == facts.Suspended:
		return answer{Why: facts.Because(facts.ReasonSuspended, facts.Params{By: j.BlockedBy}, "")}, true
	case j.State == facts.FailedJob:
		return answer{Why: facts.FailedItems(j.JobFacts, j.Failed, j.Items, j.Failure)}, true
	case j.State.Final():
		return answer{}, true
	case j.WaitsToGoOn.Reason != "":
		return answer{Why: j.WaitsToGoOn}, true
	case j.Paused > 0 && j.Pending == 0:
		p := facts.Params{Items: j.Paused, Until: facts.Moment(j.NextTry), Limit: int64(j.RetryDelay)}
		if j.Unlucky {
			p.Limit = 0
		}
		return answer{Why: facts.Because(facts.ReasonRetryDelay, p, "")}, true
	case j.Waiting > 0 && j.Pending == 0:
		return j.waitingReason(state), true
	case j.Blocked > 0 && j.Pending == 0:
		return because(facts.ReasonItemsHeld, facts.Params{},
			are(j.Blocked, "item")+" held; unblock the job to let them run"), true
	case j.StaysOpen:
		return answer{Why: facts.Because(facts.ReasonStaysOpen, facts.Params{}, "")}, true
	case j.StartsIn > 0 && j.Pending > 0:
		return answer{Why: facts.Because(facts.ReasonStartsLater,
			facts.Params{Until: j.StartAt, Seconds: math.Ceil(j.StartsIn.Minutes()) * 60}, "")}, true
	case j.OverBudget.Reason != "" && j.Pending > 0:
		return answer{Why: j.OverBudget}, true
	}
	return answer{}, j.Pending == 0
}

func (j *Job) blockedReason(state func(facts.JobID) facts.JobState) answer {
	if j.BlockedBy != "" {
		return answer{Why: facts.Because(facts.ReasonBlocked, facts.Params{By: j.BlockedBy}, "")}
	}
	var waits, never []string
	code := facts.ReasonWaitsForJobs
	p := facts.Params{}
	for _, l := range j.WaitFor {
		is := cmp.Or(state(l.Job), l.Was)
		switch {
		case l.Among != 0 && is.Final() &&
			slices.ContainsFunc(j.WaitFor, func(o facts.Link) bool {
				return o.Among == l.Among &&
					!cmp.Or(state(o.Job), o.Was).Final()
			}):
			continue // its submission ends with other jobs
		case l.Job == 0:
			never = append(never, fmt.Sprintf("a job labelled %s in process group %d (not submitted yet)", l.Label, j.PGrp))
			code, p.Label = facts.ReasonWaitsForLabel, l.Label
		case l.Items != "" && (is == "" || is.Final()):
			never = append(never, fmt.Sprintf("items %s of job %d, which ended otherwise than %s: retry them or unblock this job", l.Items, l.Job, l.End))
		case l.Of != facts.OfJob:
			waits = append(waits, waitedItems(l))
		case is == "" || (is.Final() && !l.Satisfied(is)):
			never = append(never, fmt.Sprintf("job %d, which ended otherwise than %s: retry that job or unblock this one", l.Job,
				l.End))
		case l.End == "done":
			waits = append(waits, fmt.Sprintf("job %d to end", l.Job))
		default:
			waits = append(waits, fmt.Sprintf("job %d to be %s", l.Job, l.End))
		}
	}
	waits = append(never, waits...) // first what only a person can end
	if len(waits) == 0 {
		return because(code, p, "waits for other jobs")
	}
	return because(code, p, listed("waits for ", waits))
}

// waitedItems are the items of another job that a job or its items wait for.
func waitedItems(l facts.Link) string {
	if l.Items != "" {
		return fmt.Sprintf("items %s of job %d to be %s", l.Items, l.Job, l.End)
	}
	if l.End == "done" {
		return fmt.Sprintf("the same items of job %d to end", l.Job)
	}
	return fmt.Sprintf("the same items of job %d to be %s", l.Job, l.End)
}

// waitingReason says what the items wait for that wait for items of other jobs.
func (j *Job) waitingReason(state func(facts.JobID) facts.JobState) answer {
	var waits, never []string
	p := facts.Params{Items: j.Waiting}
	text := facts.Several(j.Waiting, "item") + " wait for "
	if j.Waiting == 1 {
		text = "1 item waits for "
	}
	for _, l := range j.WaitFor {
		if !l.Each() {
			continue
		}
		if p.Job == 0 {
			p.Job = l.Job
		}
		if is := state(l.Job); is == "" || is.Final() {
			never = append(never, fmt.Sprintf("the same items of job %d, which ended otherwise than %s: retry them or unblock this job", l.Job, l.End))
			continue
		}
		waits = append(waits, waitedItems(l))
	}
	return because(facts.ReasonWaitsForItems, p, listed(text, append(never, waits...)))
}

// orderReason says how far the order under way has come.
func (j *Job) orderReason() string {
	o := j.Orders[0]
	text := fmt.Sprintf("%s by %s is being carried out: %d of %s", o.Action, o.By, o.Done,
		facts.Several(o.Affected, "item"))
	if n := len(j.Orders) - 1; n > 0 {
		text += fmt.Sprintf("; %s after it", facts.Several(n, "order"))
	}
	return text
}

// hostSummary is what the hosts look like to jobs that ask for the same.
type hostSummary struct {
	usable   int     // hosts that take work
	closed   int     // of the usable, hosts that run nothing for the job's user
	fit      int     // of the usable, hosts that serve the job
	fitting  []*Host // these, by name
	slots    int     // of these
	foreign  int     // slots of these that programs or people outside the farm take, and nothing of the farm has
	kept     int     // idle slots of these that are kept for what waits to go on
	free     int     // of the slots
	open     []*Host // of the ones that fit, hosts with a free slot
	room     bool    // one of them has slots for an instance
	without  int     // of the ones that fit, hosts with too little left of a resource
	lacks    string  // its name
	shut     []*Host // would serve the job, but are locked or refuse work
	away     []*Host // meet its conditions, but are not heard from
	refusals fit.Refusals
	unknown  string // that none has a name or a group that the job asks for; ""

	avoided      []avoided // of the usable, hosts that would serve the job, but get nothing of it for a while
	avoidedSlots int       // of these
	avoidedRoom  bool      // one of them has slots for an instance now
}

// look asks each host whether it serves the job.
func (x *Explainer) look(j *Job) (s hostSummary) {
	for n := range x.Hosts {
		h := &x.Hosts[n]
		why := j.Refused(x.Now, h.Host, h.Load)
		if h.Usable() && !why.Until.IsZero() {
			s.avoid(x.Now, j, h)
		}
		switch usable := h.Usable(); {
		case !usable && why.Serves() && (h.State == "up" || h.State == "locked"):
			s.shut = append(s.shut, h)
		case !usable && why.Serves():
			s.away = append(s.away, h)
		case !usable:
		case !why.Serves():
			s.usable++
			s.refusals.Add(h.ID, why)
			if !h.RunsFor(x.Now, j.User) {
				s.closed++
			}
		default:
			s.usable++
			s.serve(j, h)
		}
	}
	if s.fit == 0 {
		s.unknown = fit.Unknown(j.JobFacts, x.everyHost)
	}
	return s
}

// foreignText says how many slots are not offered, "" if all are.
func (s *hostSummary) foreignText() string {
	if s.foreign == 0 {
		return ""
	}
	return fmt.Sprintf(", %d used outside the farm", s.foreign)
}

// keptText says how many slots are kept for what waits to go on, "" if none are.
func (s *hostSummary) keptText() string {
	if s.kept == 0 {
		return ""
	}
	return fmt.Sprintf(", %d kept for resumed instances", s.kept)
}

// serve counts a host that serves the job.
func (s *hostSummary) serve(j *Job, h *Host) {
	s.fit++
	s.slots, s.foreign = s.slots+h.Slots, s.foreign+max(0, min(h.Away, h.Slots-h.Used))
	s.kept += h.Kept
	s.fitting = append(s.fitting, h)
	if h.Free > 0 {
		s.free += h.Free
		s.open = append(s.open, h)
		s.room = s.room || j.Grant(h.Free, h.Used) > 0
	}
	if len(j.Takes) > 0 && j.Startable(true, h.left) == 0 {
		s.without, s.lacks = s.without+1, cmp.Or(s.lacks, j.usedUp(h))
	}
}

// usedUp is the first resource of which the host has too little left for an instance.
func (j *Job) usedUp(h *Host) string {
	for _, name := range slices.Sorted(maps.Keys(j.Takes)) {
		if strings.HasPrefix(name, "host.") && h.left(name) < j.Takes[name] {
			return name
		}
	}
	return ""
}

// unusableText says why no host takes work.
func (x *Explainer) unusableText() string {
	if x.noHostUp != "" {
		return x.noHostUp
	}
	counts := map[string]int{}
	refusing := ""
	for n := range x.Hosts {
		h := &x.Hosts[n]
		if h.State == "up" && h.Refusing != "" && refusing == "" {
			refusing = fmt.Sprintf("%s: %s", h.ID, h.Refusing)
		}
		counts[h.State]++
	}
	x.noHostUp = cmp.Or(refusing, fmt.Sprintf("%d locked, %d unreachable, %d lost", counts["locked"],
		counts["unreachable"], counts["lost"]))
	return x.noHostUp
}

// are counts things that are in some state: "1 item is", "2 items are".
func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return facts.Several(n, what) + " are"
}
