package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simChains are jobs that wait for items of others, by their numbers and by labels that may not be there yet. They have
// a chance of their own.
type simChains struct {
	on     bool
	random *rand.Rand
	rank   []int               // by submission: who has a lower one waits for no one with a higher one
	waits  map[string][]string // submissions by submission for which they were to wait, whatever became of that
}

// One world in simChainsEvery has them.
const simChainsEvery = 3

func newSimChains(w *simWorld) simChains {
	c := simChains{on: w.seed%simChainsEvery == 2 && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0xc4a1)), waits: map[string][]string{}}
	c.rank = c.random.Perm(8)
	return c
}

// choose puts a submission into the group of the first job, under a label, and lets it wait for others.
func (c *simChains) choose(w *simWorld, given *facts.JobFacts, n int, jobs []facts.JobID) {
	if !c.on || n >= len(c.rank) {
		return
	}
	given.Label, given.Dependency = simLabel(n), ""
	if len(jobs) > 0 && c.random.IntN(5) > 0 {
		given.PGrp = jobs[0]
	}
	if c.random.IntN(4) == 0 {
		return
	}
	var list []string
	for range 1 + c.random.IntN(2) {
		m := c.random.IntN(len(c.rank))
		if m == n || c.rank[m] > c.rank[n] && c.random.IntN(8) > 0 {
			continue
		}
		end := []string{"complete", "complete", "complete", "done", "done", "failed", "killed"}[c.random.IntN(7)]
		target, token := "", fmt.Sprintf("token%d", m)
		if given.PGrp != 0 {
			target = simLabel(m)
		}
		if len(jobs) > 0 && (target == "" || c.random.IntN(3) == 0) {
			id := jobs[c.random.IntN(len(jobs))]
			target, token = fmt.Sprint(id), w.rows.jobs[id].facts.Submission
		}
		if target == "" {
			continue
		}
		c.waits[given.Submission] = append(c.waits[given.Submission], token)
		switch link := fmt.Sprintf("link-%s-work-%s", end, target); c.random.IntN(4) {
		case 0, 1:
			list = append(list, link)
		case 2:
			list = append(list, fmt.Sprintf("%s:%d-2", link, 1+c.random.IntN(2)))
		default:
			list = append(list, fmt.Sprintf("link-%s-job-%s", end, target))
		}
	}
	given.Dependency = strings.Join(list, ",")
}

func simLabel(n int) string { return fmt.Sprintf("l%d", n) }

// refused says whether a submission was refused that closes a circle.
func (c *simChains) refused(w *simWorld, given *facts.JobFacts, r outbox.Reply) bool {
	if r.Err == nil || !c.circle(given.Submission) {
		return false
	}
	w.some("a circle of jobs refused")
	return true
}

// circle says whether a submission waits for itself, if all conditions stand that were ever asked for.
func (c *simChains) circle(of string) bool {
	next, seen := slices.Clone(c.waits[of]), map[string]bool{}
	for len(next) > 0 && next[0] != of {
		if !seen[next[0]] {
			seen[next[0]], next = true, append(next, c.waits[next[0]]...)
		}
		next = next[1:]
	}
	return len(next) > 0
}

// simLinked is what the rows tell of the jobs that a dependency names, as of one read.
type simLinked struct {
	links   []facts.Link
	states  map[facts.JobID]facts.JobState
	labels  map[string]facts.JobID
	before  map[facts.JobID][]facts.JobID
	parents []*items.Prepared
}

// linked reads what the endpoint reads: the states of the jobs that a dependency names, who has its labels, and the
// records of ended jobs whose items decide.
func (s *simSupervisor) linked(dependency string, group facts.JobID, own string) (l simLinked) {
	memory := s.world.database.memory
	if dependency != "" {
		l.links, _ = facts.ParseDependency(dependency)
	}
	names := []string{own}
	for _, link := range l.links {
		names = append(names, link.Label)
	}
	if names = slices.DeleteFunc(names, func(name string) bool { return name == "" }); group != 0 && len(names) > 0 {
		l.labels, _ = memory.Labels(context.Background(), group, names)
	}
	ids := []facts.JobID{}
	for n := range l.links {
		if link := &l.links[n]; link.Label != "" {
			link.Job = l.labels[link.Label]
		}
		if l.links[n].Job != 0 {
			ids = append(ids, l.links[n].Job)
		}
	}
	l.before, _ = memory.Before(context.Background(), ids)
	for _, id := range slices.Clone(ids) {
		ids = append(ids, l.before[id]...)
	}
	l.states, _ = memory.JobStates(context.Background(), ids)
	for _, link := range l.links {
		together := append(slices.Clone(l.before[link.Job]), link.Job)
		if link.Of == facts.OfJob || !slices.ContainsFunc(together, func(id facts.JobID) bool { return !link.Satisfied(l.states[id]) }) {
			continue
		}
		for _, id := range together {
			record := new(items.Prepared)
			if !l.states[id].Final() || slices.ContainsFunc(l.parents, func(p *items.Prepared) bool { return p.Job.ID == id }) {
				continue
			}
			if known, _ := memory.Record(context.Background(), id, record); known {
				l.parents = append(l.parents, record)
			}
		}
	}
	return l
}

// again adds to an order what it needs to know of the jobs that an ended one waited for.
func (s *simSupervisor) again(e *message.JobAction) {
	row := s.world.rows.jobs[e.Job]
	if row == nil {
		return
	}
	l := s.linked(row.facts.Dependency, row.facts.PGrp, "")
	e.Links, e.Labels, e.Before = l.states, l.labels, l.before
	if row.facts.State.Final() && len(row.facts.WaitFor) > 0 {
		e.Parents = l.parents
	}
}

// picked are the items of the parent that a link names.
func (j *simJobRow) picked(l facts.Link) (list []facts.ItemNo) {
	var first, last int
	if n, _ := fmt.Sscanf(l.Items, "%d-%d", &first, &last); n == 2 {
		for at := first; at <= last; at++ {
			list = append(list, facts.ItemNo(at-1))
		}
	}
	return list
}

// meets says whether an item of the parent is as the link wants it.
func (j *simJobRow) meets(l facts.Link, n facts.ItemNo) bool {
	is := map[agenda.State]string{agenda.Complete: "complete", agenda.Failed: "failed", agenda.Killed: "killed"}[j.state(n)]
	return is != "" && (l.End == "done" || l.End == is)
}

// itemsHold says whether a link on items has come true for the whole of the job that has it: one item by item only when
// the parent has ended.
func (r *simRows) itemsHold(j *simJobRow, l facts.Link) bool {
	parent := r.jobs[l.Job]
	if l.Items != "" {
		return !slices.ContainsFunc(parent.picked(l), func(n facts.ItemNo) bool { return !parent.meets(l, n) })
	}
	for n := range min(parent.items, j.items) {
		if !parent.meets(l, facts.ItemNo(n)) {
			return false
		}
	}
	return parent.facts.State.Final()
}

// waitsFor is a link for which an item of the job waits, nil if there is none.
func (r *simRows) waitsFor(j *simJobRow, n facts.ItemNo, links []facts.Link) *facts.Link {
	for at, l := range links {
		parent := r.jobs[l.Job]
		if l.Each() && int(n) < parent.items && !parent.meets(l, n) && !r.jobHolds(l) {
			return &links[at]
		}
	}
	return nil
}

// checkConditions: an item starts only when all that its job waits for has come true, and all that it waits for itself
// (S19).
func (r *simRows) checkConditions(j *simJobRow, a facts.AttemptFacts) {
	w := r.world
	for _, l := range j.facts.WaitFor {
		if !l.Each() {
			w.fail("S11: %v starts while its job waits for %+v", a.AttemptID, l)
		}
	}
	// An order that lets items run again takes its marks away when it begins, and until its piece comes an item is as
	// it was.
	if l := r.waitsFor(j, a.Item, j.facts.WaitFor); l != nil && !r.jobs[l.Job].reopening() {
		w.fail("S19: %v starts, and the same item of job %d is %v, and not %s", a.AttemptID, l.Job, r.jobs[l.Job].state(a.Item), l.End)
	}
	if len(j.facts.WaitFor) > 0 {
		w.some("an item started while others of its job waited for items")
	}
}

// checkCircle: no jobs wait for each other (S19).
func (r *simRows) checkCircle(id facts.JobID) {
	if r.reaches(id, id) {
		r.world.fail("S19: job %d waits for itself: %+v", id, r.jobs[id].facts.WaitFor)
	}
}

// reaches says whether a job waits for another, directly or by way of others.
func (r *simRows) reaches(from, goal facts.JobID) bool {
	next, seen := []facts.JobID{from}, map[facts.JobID]bool{0: true}
	for len(next) > 0 {
		j := r.jobs[next[0]]
		if next = next[1:]; j == nil || j.facts.State.Final() {
			continue
		}
		for _, l := range j.facts.WaitFor {
			if l.Job == goal {
				return true
			}
			if !seen[l.Job] {
				seen[l.Job], next = true, append(next, l.Job)
			}
		}
	}
	return false
}

// simNamed are links on labels that went in a transaction, which are looked at when all of it is there.
type simNamed struct {
	job  facts.JobID
	link facts.Link
}

// checkNamed: a condition on a label becomes one on the job that has it, or has come true by then (S11).
func (r *simRows) checkNamed() {
	for _, n := range r.named {
		j, l := r.jobs[n.job], n.link
		if r.became(j, l, j.facts.WaitFor) {
			r.world.some("a label appeared for which a job waited")
			continue
		}
		parent := r.appeared(j, l.Label)
		if parent == nil {
			r.world.fail("S11: job %d no longer waits for label %s, which no job of its group has", n.job, l.Label)
			return
		}
		if l.Job = parent.facts.ID; !r.holds(j, l) && !r.reaches(l.Job, n.job) {
			// such a condition is left out as a job runs again
			r.world.fail("S11: job %d no longer waits for job %d to be %s, which is %s (%+v)", n.job, l.Job, l.End, parent.facts.State, l)
		}
	}
	r.named = nil
}

// became finds what a link on a label has become, now that there is the job: it may be one on the whole job.
func (r *simRows) became(j *simJobRow, l facts.Link, links []facts.Link) bool {
	return slices.ContainsFunc(links, func(o facts.Link) bool {
		parent := r.jobs[o.Job]
		return o.Label == l.Label && o.End == l.End && o.Items == l.Items && parent != nil && parent.facts.Label == l.Label && parent.facts.PGrp == j.facts.PGrp
	})
}

// appeared is the job that has the label in the group of the job, nil if there is none.
func (r *simRows) appeared(j *simJobRow, label string) *simJobRow {
	for _, id := range sortedIDs(r.jobs) {
		if p := r.jobs[id]; p.facts.Label == label && !p.facts.Part() && p.facts.PGrp == j.facts.PGrp {
			return p
		}
	}
	return nil
}

// hopeless says whether a condition of the job can come true only if a person does something.
func (r *simRows) hopeless(j *simJobRow) bool {
	return slices.ContainsFunc(j.facts.WaitFor, func(l facts.Link) bool {
		return l.Job == 0 || r.jobs[l.Job].facts.State.Final() && !r.holds(j, l)
	})
}

// agreeOnWaiting: a farm that was just rebuilt lets those items wait that the rows let wait, and no others (S19).
func (r *simRows) agreeOnWaiting(j *facts.JobView, row *simJobRow) {
	if j.State != facts.Active {
		return
	}
	want, pauses := 0, 0 // an item that waits before it is tried again waits for others after that
	for n := range row.items {
		a, state := row.latest(facts.ItemNo(n)), row.state(facts.ItemNo(n))
		if state == agenda.Blocked || state == agenda.Pending && r.waitsFor(row, facts.ItemNo(n), j.WaitFor) != nil {
			want++
			if a != nil && row.facts.Pauses(a.State, a.Again, a.Why) {
				pauses++
			}
		}
	}
	if j.Items.Blocked > want || j.Items.Blocked < want-pauses {
		r.world.fail("S19: a rebuilt farm holds %d items of job %d back, which waits for %+v, and by the rows %d wait", j.Items.Blocked, j.ID, j.WaitFor, want)
	}
}

// checkReasons: a job that waits for others says so, by a code, and one whose parent ended otherwise too (S19).
func (t *simTerm) checkReasons() {
	for _, j := range t.farm.View(t.now()).Jobs {
		if j.State != facts.Blocked || j.BlockedBy != "" || len(j.Orders) > 0 {
			continue
		}
		if j.Code != facts.ReasonWaitsForJobs && j.Code != facts.ReasonWaitsForLabel {
			t.supervisor.world.fail("S19: job %d waits for %+v, and says %s (%s)", j.ID, j.WaitFor, j.Code, j.Reason)
		}
	}
}

// TestBarRetriedAtOnce (S11): of a job that is killed and at once run again no child is freed, if both come with one
// commit.
func TestBarRetriedAtOnce(t *testing.T) {
	held := 0
	for seed := uint64(1); seed <= simScripts; seed++ {
		w := newVerbsWorld(seed)
		w.clients.verbs.on = false
		for n := range 8 {
			nowhere := facts.JobFacts{User: "u1", CPUs: 1, Priority: 3, Requirements: "host.name=nowhere", Agenda: agenda.Spec{Range: "1-3"}}
			parent, child := nowhere, nowhere
			parent.Name, child.Name = fmt.Sprintf("parent %d", n), fmt.Sprintf("child %d", n)
			w.at(simScriptAt-20*time.Second, func() {
				w.clients.give(parent, func(id facts.JobID) {
					child.Dependency = fmt.Sprintf("link-killed-job-%d", id)
					w.clients.give(child, func(waits facts.JobID) {
						w.at(max(w.now, simScriptAt), func() { // the leader hears both at once
							for _, action := range []facts.Action{facts.Kill, facts.Retry} {
								e := message.JobAction{Job: id, Action: action, By: "op"}
								w.clients.noteOrder(e, 3)
								w.leader().supervisor.order(fmt.Sprintf("%s %d at once", action, id), e, func(r outbox.Reply, err error) {
									if err == nil && r.Err == nil && action == facts.Retry && w.rows.jobs[waits].facts.State == facts.Blocked {
										held++
									}
								})
							}
						})
					})
				})
			})
		}
		if w.live(); w.failure != "" {
			t.Errorf("%s\nseed %d: %s", w.story(), seed, w.failure)
			return
		}
	}
	if held == 0 {
		t.Error("no job that was killed was run again in the same commit")
	}
}
