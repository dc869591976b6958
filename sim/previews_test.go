package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/parts"
)

// simVerbs are worlds of people who give all the orders that Qube has, and submit preview items; only supervisors fail
// there, so that it is known where a job may run. They have a chance of their own.
type simVerbs struct {
	on     bool
	random *rand.Rand

	left   map[facts.AttemptID]simLeft
	heard  map[facts.HostID]simHeard
	shut   map[facts.HostID]time.Duration // until when a host was locked
	lifted map[facts.JobID]time.Duration  // when somebody last let a job go anywhere
}

// simVerbsWorld says in which worlds: none that is elsewhere in the tests.
func simVerbsWorld(seed uint64) bool { return seed%24 == 7 || seed%48 == 19 }

func newSimVerbs(w *simWorld, on bool) simVerbs {
	v := simVerbs{on: on && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0x7e2b)), left: map[facts.AttemptID]simLeft{}, heard: map[facts.HostID]simHeard{},
		shut: map[facts.HostID]time.Duration{}, lifted: map[facts.JobID]time.Duration{}}
	if !v.on {
		return v
	}
	w.faults.onlySupervisors, w.faults.dieInStep, w.faults.unkillable = true, 0, 0
	w.faults.kinds = slices.DeleteFunc(slices.Clone(w.faults.kinds), func(f simFault) bool {
		return f.outer || f.name == "clock set" || f.name == "database full" || slices.ContainsFunc(simTwinFaults, func(t simFault) bool { return t.name == f.name })
	})
	if v.random.IntN(2) == 0 {
		w.policy.CPUShare.Mode = "off"
	}
	if v.random.IntN(2) == 0 {
		w.policy.CommitRows, w.policy.OrderRows, w.database.perRow = 0, 0, 0
	}
	return v
}

// newWorldOf is a world with faults of its own, among which those people are not.
func newWorldOf(seed uint64) *simWorld {
	w := newSimWorld(seed)
	w.clients.verbs = newSimVerbs(w, false)
	return w
}

// newVerbsWorld is one of those worlds in which nothing fails by itself.
func newVerbsWorld(n uint64) *simWorld {
	w := newSimWorld(24*n + 7)
	w.faults = simFaults{lasts: simScriptEnds}
	w.clients.verbs = newSimVerbs(w, true)
	return w
}

// simVerbActions are what those people order.
var simVerbActions = []facts.Action{
	facts.Migrate, facts.Migrate, facts.Migrate, facts.Retire, facts.Retire, facts.Retire, facts.Shove, facts.Top, facts.Top, facts.Bottom, facts.Bottom,
	facts.Preempt, facts.Interrupt, facts.Kill, facts.Retry, facts.Block, facts.Unblock, facts.ToComplete,
}

func (v *simVerbs) begin(w *simWorld) {
	if !v.on {
		return
	}
	for range 40 {
		w.after(5*time.Second+time.Duration(v.random.Int64N(int64(w.faults.lasts))), func() {
			if c := w.clients; !w.calm && len(c.jobs) > 0 {
				v.order(c, c.jobs[v.random.IntN(len(c.jobs))], simVerbActions[v.random.IntN(len(simVerbActions))])
			}
		})
	}
}

// order gives an order to a job, to some of its items or to some of its instances.
func (v *simVerbs) order(c *simClients, job facts.JobID, action facts.Action) {
	total := c.world.rows.jobs[job].items
	e := message.JobAction{Job: job, Action: action, By: "op", Everybody: v.random.IntN(2) == 0}
	first := v.random.IntN(total)
	some := []agenda.Span{{First: first, Last: first + v.random.IntN(total-first), Step: 1}}
	switch kind := v.random.IntN(4); {
	case slices.Contains([]facts.Action{facts.Shove, facts.Top, facts.Bottom}, action), kind == 0 && action != facts.Kill && action != facts.ToComplete:
	case kind == 1 && action.TakesInstances() != nil || action == facts.Retire && kind > 0:
		e.Choice.Instances = []agenda.Span{{First: 0, Last: v.random.IntN(3), Step: 1}}
	default:
		e.Items = some
	}
	c.order(e, total)
}

// choose has a submission name preview items, with a priority and a width, or none.
func (v *simVerbs) choose(given *facts.JobFacts, items int) {
	if !v.on || v.random.IntN(2) == 0 {
		return
	}
	given.Dependency, given.Requirements, given.StartAt = "", "", ""
	if given.Flags = []string{facts.FlagPAgenda}; v.random.IntN(2) == 0 {
		given.PAgenda = fmt.Sprintf("%d,%d", 1+v.random.IntN(items), 1+v.random.IntN(items))
	}
	given.PAgendaPriority, given.PAgendaCPUs = v.random.IntN(3), v.random.IntN(3)
}

// simSite is what the site has set for preview items.
var simSite = parts.Site{Priority: 1, Most: -1}

// divided are the rows of a submission, as the endpoint of submissions makes them, once it is chosen whether it has
// preview items.
func (c *simClients) divided(given *facts.JobFacts, items int) []facts.JobFacts {
	c.verbs.choose(given, items)
	rows, _, err := parts.Of(*given, func() (*agenda.Agenda, error) { return agenda.Parse(given.Agenda, 0) }, simSite)
	if err != nil {
		c.world.fail("S29: %s is refused: %v", given.Submission, err)
	}
	for _, row := range rows {
		c.asked[row.Submission] = 0
	}
	if len(rows) > 1 {
		c.previews[given.Submission] = *given
	}
	c.items += items
	return rows
}

// submitted takes in that the jobs of a submission are there.
func (c *simClients) submitted(given facts.JobFacts, rows []facts.JobFacts) {
	for _, row := range rows {
		c.jobs = append(c.jobs, c.asked[row.Submission])
	}
	c.checkPreview(given)
}

// submitParts submits them one after the other, as the endpoint does. The answer is that to the last.
func (s *simSupervisor) submitParts(rows []facts.JobFacts, blocked bool, heard func(facts.JobFacts, outbox.Reply, error), answer func(outbox.Reply, error)) {
	s.submit(rows[0], blocked, func(r outbox.Reply, err error) {
		heard(rows[0], r, err)
		if len(rows) == 1 || err != nil || r.Err != nil {
			answer(r, err)
			return
		}
		rest, first := slices.Clone(rows[1:]), r.Body.(message.JobReply).Job.ID
		rest[0].PGrp = cmp.Or(rest[0].PGrp, first)
		// preview items make two jobs
		rest[0].Division = &facts.Division{Jobs: []facts.JobID{first}, Agenda: rest[0].Division.Agenda}
		s.submitParts(rest, blocked, heard, answer)
	})
}

// checkPreview: of a submission with preview items a job has these and no others, with a priority and a width of their
// own, and a later one of its process group has all others, with those of the submission (S29). That it comes first is
// for checkFirst.
func (c *simClients) checkPreview(given facts.JobFacts) {
	w, items := c.world, 0
	if _, err := fmt.Sscanf(given.Agenda.Range, "1-%d", &items); err != nil {
		w.fail("S29: %s has the range %q: %v", given.Submission, given.Agenda.Range, err)
	}
	if !slices.Contains(given.Flags, facts.FlagPAgenda) {
		return
	}
	wanted := map[string]bool{"1": true, fmt.Sprint((items-1)/2 + 1): true, fmt.Sprint(items): true}
	var a, b int
	if n, _ := fmt.Sscanf(given.PAgenda, "%d,%d", &a, &b); n == 2 {
		wanted = map[string]bool{fmt.Sprint(a): true, fmt.Sprint(b): true}
	}
	last := w.rows.jobs[c.asked[given.Submission]]
	first := w.rows.jobs[c.asked[given.Submission+" preview"]]
	if len(wanted) == items { // nothing is left for another job
		first = last
	}
	if first == nil || last == nil {
		w.fail("S29: %s is answered, and its jobs are %v and %v", given.Submission, first, last)
		return
	}
	seen := map[string]int{}
	for _, j := range []*simJobRow{first, last} {
		list, err := agenda.Parse(j.facts.Agenda, 0)
		for n := 0; err == nil && n < list.Len() && (j == first || first != last); n++ {
			name := list.Item(n).Name
			if seen[name]++; wanted[name] != (j == first) || seen[name] > 1 {
				w.fail("S29: item %s of %s is in job %d, and its preview items are %v", name, given.Submission, j.facts.ID, wanted)
			}
		}
		if first == last {
			break
		}
	}
	if first.facts.ID > last.facts.ID || first.facts.PGrp != last.facts.PGrp {
		w.fail("S29: %s makes jobs %d and %d, in the process groups %d and %d", given.Submission, first.facts.ID, last.facts.ID, first.facts.PGrp, last.facts.PGrp)
	}
	if len(seen) != items {
		w.fail("S29: %s has %d items, and its jobs have %v", given.Submission, items, seen)
	}
	w.some("preview items submitted")
}

// checkPreviewed looks at the first rows of the jobs of such a submission.
func (c *simClients) checkPreviewed(row facts.JobFacts) {
	given, is := c.previews[strings.TrimSuffix(row.Submission, " preview")]
	if !is {
		return
	}
	priority, cpus, most := given.Priority, given.CPUs, given.MaxCPUs
	if strings.HasSuffix(row.Submission, " preview") {
		priority, cpus, most = cmp.Or(given.PAgendaPriority, simSite.Priority), given.PAgendaCPUs, new(int)
		if list, err := agenda.Parse(row.Agenda, 0); cpus == 0 && err == nil {
			cpus = list.Len()
		}
	}
	if row.Priority != priority || row.CPUs != cpus || *row.MaxCPUs != *most {
		c.world.fail("S29: %s has priority %d and %d cpus, at most %d, and wants %d, %d and %d", row.Submission, row.Priority, row.CPUs, *row.MaxCPUs, priority, cpus, *most)
	}
}
