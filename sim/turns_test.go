package sim

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simPlace is a job's place among those of its cluster and priority, the least first. Where fairshare ranks owners, an
// order among all is among those to which operators gave the same, and the owner's own among those of one account.
type simPlace struct {
	user, account, cluster string
	operator, priority     int
	global, turn           int64
	id                     facts.JobID
}

func (w *simWorld) placeOf(f facts.JobFacts) simPlace {
	p := simPlace{f.User, "", f.Cluster, w.operatorRank(f), f.Priority, f.GlobalOrder, f.LocalOrder, f.ID}
	if w.policy.Fairshare.Order {
		p.account = f.Account
	}
	if p.turn == 0 {
		p.turn = int64(f.ID)
	}
	return p
}

// precedes compares jobs of one cluster and priority.
func (p simPlace) precedes(o simPlace) bool {
	return cmp.Or(cmp.Compare(p.global, o.global), cmp.Compare(p.turn, o.turn), cmp.Compare(p.id, o.id)) < 0
}

// simPosition is where all unfinished jobs was before and after an order that moved one of them.
type simPosition struct{ before, after map[facts.JobID]simPlace }

func (r *simRows) places() map[facts.JobID]simPlace {
	places := map[facts.JobID]simPlace{}
	for _, id := range sortedIDs(r.jobs) {
		if f := r.jobs[id].facts; !f.State.Final() {
			places[id] = r.world.placeOf(f)
		}
	}
	return places
}

// checkMoved: a job that was put at the top or the bottom is there, among all or among its owner's. Of all, only it has
// moved; the owner's have exchanged their turns, and no other user's have moved (S27).
func (c *simClients) checkMoved(e message.JobAction, r outbox.Reply) {
	reply, is := r.Body.(message.ActionReply)
	if !is || r.Err != nil || reply.Affected == 0 || e.Action != facts.Top && e.Action != facts.Bottom {
		return
	}
	w := c.world
	x := w.effectOf(e.Job, e.Action, reply.Version)
	if x == nil || x.moves != 1 {
		return
	}
	before, after := x.position.before, x.position.after
	self, there := after[e.Job]
	if !there {
		return
	}
	var had, has []int64
	same := true
	for _, id := range sortedIDs(w.rows.jobs) {
		was, known := before[id]
		is, still := after[id]
		same = same && known == still
		if !known || !still {
			continue
		}
		among := was.cluster == self.cluster && was.operator == self.operator && (was.priority == self.priority || e.Everybody && w.policy.Share.ByOwner())
		own := among && was.priority == self.priority && was.user == self.user && was.account == self.account && was.global == before[e.Job].global
		if own {
			had, has = append(had, was.turn), append(has, is.turn)
		}
		if id != e.Job && was != is && (e.Everybody || !own) {
			w.fail("S27: %s of job %d (everybody %v) moves job %d from %+v to %+v", e.Action, e.Job, e.Everybody, id, was, is)
		}
		if id != e.Job && (own || among && e.Everybody) && self.precedes(is) != (e.Action == facts.Top) {
			w.fail("S27: %s of job %d (everybody %v) puts it at %+v, beside %+v", e.Action, e.Job, e.Everybody, self, is)
		}
	}
	slices.Sort(had)
	slices.Sort(has)
	if same && !e.Everybody && !slices.Equal(had, has) {
		w.fail("S27: %s of job %d leaves its owner's jobs with the turns %v, and they had %v", e.Action, e.Job, has, had)
	}
	w.some("a job moved by hand")
}

// simOvertaken is how long the slot may take that a job is to have, while others get free ones.
const simOvertaken = 8 * time.Second

// checkFirst: no job begins while another of its owner waits that is before it, asks for the same and has nothing
// (S27): one of a better priority, such as preview items, or a job that was put before it by hand.
func (r *simRows) checkFirst(j *simJobRow, a facts.AttemptFacts) {
	w := r.world
	delete(r.overtaken, a.Job)
	if last, ended := r.vacated[simInstance{a.Job, a.Instance}]; ended && last == r.applied {
		return // its instance goes on: whether it gives way is for the policy of preemption
	}
	if !w.clients.verbs.on || a.Kind != facts.Primary || w.policy.CPUShare.Mode != "off" || r.running(a.Job) > 1 || a.Memory < w.policy.Memory.Default {
		return
	}
	self := w.placeOf(j.facts)
	byHand := map[int64]bool{} // the turns of the owner's were exchanged, by place among all
	for _, id := range sortedIDs(r.jobs) {
		if p, f := w.placeOf(r.jobs[id].facts), r.jobs[id].facts; p.user == self.user && p.cluster == self.cluster && p.priority == self.priority && p.operator == self.operator && f.LocalOrder != 0 {
			byHand[f.GlobalOrder] = true
		}
	}
	for _, id := range sortedIDs(r.jobs) {
		o := r.jobs[id]
		p := w.placeOf(o.facts)
		waits := o.facts.State == facts.Active && o.changed < r.applied && len(o.attempts) == 0 && o.facts.StartAt == "" && len(o.facts.WaitFor) == 0 && o.state(0) == agenda.Pending
		if !waits || id == a.Job || p.user != self.user || p.cluster != self.cluster || p.account != self.account || o.facts.Reservations != j.facts.Reservations || o.facts.Requirements != "" || len(o.orders) > 0 {
			continue
		}
		if !w.goesBefore(p, self, byHand[p.global]) {
			continue
		}
		since, again := r.overtaken[id]
		if !again {
			r.overtaken[id] = w.now // it is to have a slot that somebody is about to leave
		}
		if again && w.now-since > simOvertaken {
			w.fail("S27: %v begins, and job %d, which stands before it and asks for the same, has nothing: %+v, %+v", a.AttemptID, id, p, self)
		}
	}
	w.some("a job began in its turn")
}

// goesBefore says whether a job of an owner's goes before another: by what operators gave and did, by priority, or by
// hand.
func (w *simWorld) goesBefore(p, self simPlace, byHand bool) bool {
	owned := cmp.Or(cmp.Compare(p.priority, self.priority), cmp.Compare(p.global, self.global))
	if w.policy.Share.ByOwner() {
		owned = cmp.Or(cmp.Compare(p.operator, self.operator), cmp.Compare(p.global, self.global), cmp.Compare(p.priority, self.priority))
	}
	return owned < 0 || owned == 0 && byHand && p.precedes(self)
}

// give submits a job that everybody knows all of.
func (c *simClients) give(given facts.JobFacts, done func(facts.JobID)) {
	given.Submission, given.Command, given.MaxCPUs = "token of "+given.Name, []string{"true"}, new(int)
	c.asked[given.Submission] = 0
	c.call(&simCall{
		name: "submit " + given.Name,
		run:  func(s *simSupervisor, answer func(outbox.Reply, error)) { s.submit(given, false, answer) },
		done: func(r outbox.Reply) {
			id := r.Body.(message.JobReply).Job.ID
			c.asked[given.Submission] = id
			c.jobs = append(c.jobs, id)
			done(id)
		},
	})
}

// TestBarTop (S27): of jobs that wait for the slots of another the last begins first, if it is put at the top.
func TestBarTop(t *testing.T) {
	moved := 0
	for seed := uint64(1); seed <= 4*simScripts; seed++ {
		w := newVerbsWorld(seed)
		w.clients.verbs.on, w.policy.CPUShare.Mode = false, "off"
		var jobs []facts.JobID
		w.at(simScriptAt-5*time.Second, func() {
			w.clients.give(facts.JobFacts{Name: "crowd", User: "u1", CPUs: 40, Priority: 3, Agenda: agenda.Spec{Range: "1-24"}}, func(facts.JobID) {})
		})
		for n := range 5 {
			w.at(simScriptAt+time.Duration(n)*100*time.Millisecond, func() {
				job := facts.JobFacts{Name: fmt.Sprintf("waits %d", n), User: "u0", CPUs: 1, Priority: 4, Agenda: agenda.Spec{Range: "1-3"}}
				w.clients.give(job, func(id facts.JobID) { jobs = append(jobs, id) })
			})
		}
		w.at(simScriptAt+4*time.Second, func() {
			if slices.Sort(jobs); len(jobs) < 5 {
				return // somebody asked one who does not lead
			}
			call := w.clients.order(message.JobAction{Job: jobs[4], Action: facts.Top, By: "op", Everybody: seed%2 == 0}, 0)
			done := call.done
			call.done = func(r outbox.Reply) {
				if done(r); !slices.ContainsFunc(jobs, func(id facts.JobID) bool { return len(w.rows.jobs[id].attempts) > 0 }) {
					w.beginsFirst(jobs, w.versions(jobs), &moved)
				}
			}
		})
		if w.live(); w.failure != "" {
			t.Errorf("%s\nseed %d: %s", w.story(), seed, w.failure)
			return
		}
	}
	if moved == 0 {
		t.Error("no job that was put at the top began")
	}
}

// beginsFirst looks now and then whether the last of the jobs has begun as soon as the first of the others, except for
// the time that its slot may take; until another order changes one of them.
func (w *simWorld) beginsFirst(jobs []facts.JobID, versions int64, moved *int) {
	others, now := 0, w.versions(jobs)
	for _, id := range jobs[:4] {
		others += min(1, len(w.rows.jobs[id].attempts))
	}
	switch top := w.rows.jobs[jobs[4]]; {
	case len(top.attempts) > 0:
		*moved++
	case now != versions:
	case others > 1:
		w.fail("S27: job %d was put before %v, %d of which have begun, and it has not", jobs[4], jobs[:4], others)
	default:
		w.after(100*time.Millisecond, func() { w.beginsFirst(jobs, versions, moved) })
	}
}

// versions changes with each change of the jobs.
func (w *simWorld) versions(jobs []facts.JobID) (sum int64) {
	for _, id := range jobs {
		sum += w.rows.jobs[id].facts.Version
	}
	return sum
}
