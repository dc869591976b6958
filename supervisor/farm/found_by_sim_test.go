package farm_test

import (
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// The bugs of the farm that the simulator (sim) found and that a dialogue cannot say; the others are in
// testdata/found_by_sim.txt.

// TestOldWordEndsNothing: a sync that a former agent wrote, perhaps on a former boot, is read late in a term
// that never heard that agent. It knew nothing of what was given since, and must not end it.
func TestOldWordEndsNothing(t *testing.T) {
	r := newRig(t)
	for _, line := range []string{"host a slots=1", "submit j items=1-3", "restart a", "finish 1", "crash", "finish 1"} {
		r.say(line)
	}
	for _, old := range []message.WorkerSynced{
		{Incarnation: "a-start0", Sequence: 99, Host: facts.HostFacts{ID: "a", Boot: "boot0", StateID: "a-state0", Slots: 1, Cluster: "/"}},
		{Incarnation: "a-older", Sequence: 99, Host: facts.HostFacts{ID: "a", Boot: "boot-1", StateID: "a-state0", Slots: 1, Cluster: "/"}},
	} {
		old.Registers, old.Ticket = true, r.newTicket()
		r.step(old)
		if batch := r.farm.Take(r.now); len(batch.Writes) > 0 {
			t.Errorf("an old word of %s makes %d writes and %d replies: %+v", old.Incarnation, len(batch.Writes), len(batch.Replies), batch)
		}
	}
	if got := r.say("finish 1"); got != "end 1/3#1 done\nevent job-complete job 1 \n" {
		t.Errorf("after the old words the item ends with %q", got)
	}
}

// TestRecordOfALaterTerm: a leader that was replaced without knowing it reads the record of a job that its
// successor made; taken up, the job met one of its own with the same number.
func TestRecordOfALaterTerm(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit j items=1")
	later := *r.rows.record(1)
	later.Job.ID = 2
	prepared, err := items.Prepare(later)
	if err != nil {
		t.Fatal(err)
	}
	r.step(message.JobAction{Ticket: r.newTicket(), Job: 2, Action: facts.Retry, Record: prepared})
	if batch := r.farm.Take(r.now); len(batch.Replies) != 1 || batch.Replies[0].Err == nil || batch.Replies[0].Err.Kind != "unavailable" {
		t.Errorf("the record of a later term's job is taken up: %+v", batch)
	}
	r.say("submit other items=1")
	r.say("finish 1")
}

// TestRecordOverAFurtherRun: while an order reads the record of a job that is no longer in memory, another order makes
// the job run and end, and it is forgotten again. What was read then no longer holds: attempts that the rows have
// would be started once more, and end the term.
func TestRecordOverAFurtherRun(t *testing.T) {
	r := newRig(t)
	forget := func() { r.step(message.JobsAged{Ticket: r.newTicket(), Jobs: []facts.JobID{1}}) }
	redo := func(record *items.Prepared) string {
		before := r.out.Len()
		r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Redo, By: "ann", Record: record})
		r.settle()
		return r.out.String()[before:]
	}
	for _, line := range []string{"host a slots=1", "submit j items=1", "finish 1"} {
		r.say(line)
	}
	forget()
	read, readToo := r.rows.prepared(t, 1), r.rows.prepared(t, 1)
	if said := redo(readToo); !strings.Contains(said, "start 1/1#2") {
		t.Fatalf("the job does not come back: %s", said)
	}
	r.say("finish 1")
	forget()
	if said := redo(read); !strings.Contains(said, "refused (unavailable): job 1 ran again") {
		t.Errorf("a record from before the job ran again is taken up: %s", said)
	}
	if said := redo(r.rows.prepared(t, 1)); !strings.Contains(said, "start 1/1#3") {
		t.Errorf("its record of now is not: %s", said)
	}
}

// TestItemsOfALaterTerm: a leader that was replaced without knowing it holds a job of its own, never committed,
// under the number of a job that its successor made; items chosen by that agenda may lie outside.
func TestItemsOfALaterTerm(t *testing.T) {
	r := newRig(t)
	r.say("submit j items=1-3")
	r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Redo, Items: agenda.SpansOf([]int{1, 4})})
	if batch := r.farm.Take(r.now); len(batch.Replies) != 1 || batch.Replies[0].Err == nil {
		t.Errorf("items that the job does not have are ordered: %+v", batch)
	}
}

// TestAbsentButAwaited: what an agent was ordered to run and does not list yet, it may be about to start; only
// after it took an answer that leaves the attempt out does its silence prove the end.
func TestAbsentButAwaited(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit j items=1-2")
	sync := func(heard, sequence uint64) outbox.Batch {
		r.step(message.WorkerSynced{Ticket: r.newTicket(), Incarnation: "a-start0", Sequence: sequence, Heard: agents.LastAnswer(heard), Hold: 10e9,
			Host: facts.HostFacts{ID: "a", Boot: "boot0", StateID: "a-state0", Slots: 1, Cluster: "/"}})
		return r.farm.Take(r.now)
	}
	ends := func(b outbox.Batch) (n int) {
		for _, w := range b.Writes {
			if _, ok := w.(facts.EndAttempt); ok {
				n++
			}
		}
		return n
	}
	at := r.workers["a"].sequence
	if b := sync(at, at+1); ends(b) != 0 {
		t.Errorf("an attempt that the worker may be about to start is ended: %+v", b)
	}
	r.step(message.JobAction{Job: 1, Action: facts.Interrupt, Items: agenda.SpansOf([]int{0}), By: "u1"})
	r.farm.Take(r.now)
	if b := sync(at+1, at+2); ends(b) != 0 {
		t.Errorf("an attempt is ended though the last answer that the worker took lists it: %+v", b)
	}
	if b := sync(at+2, at+3); ends(b) != 1 {
		t.Errorf("an attempt that the worker neither runs nor may start is not ended: %+v", b)
	}
}

// TestYoungTermKnowsNoSilence: in a new term no host has spoken yet; that is no mass failure.
func TestYoungTermKnowsNoSilence(t *testing.T) {
	r := newRig(t)
	for _, host := range []string{"a", "b", "c", "d", "e", "f"} {
		r.say("host " + host + " slots=1")
	}
	r.say("submit one cpus=6 items=1-6") // hosts without items do not engage it
	for _, w := range r.workers {
		w.silent = true
	}
	r.say("crash")
	if r.say("advance 2s"); r.farm.View(r.now).Brake != "" {
		t.Errorf("2 s after the term began the brake is engaged: %s", r.farm.View(r.now).Brake)
	}
	if r.say("advance 60s"); r.farm.View(r.now).Brake == "" {
		t.Error("6 silent hosts do not engage the brake")
	}
}

// listen lets time pass in which the farm listens and no worker speaks.
func (r *rig) listen(d time.Duration) {
	for range int(d / time.Second) {
		r.now = r.now.Add(time.Second)
		r.step(message.Ticked{})
	}
}

// TestDeafAfterARestart: a worker is restarted while a sync of its former agent is held, hears the answer to its
// registration, and then none. That the former agent took no answer any more says nothing of the new one, whose own
// untaken answers count from the first.
func TestDeafAfterARestart(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	word := func(sequence, heard uint64) {
		e := message.WorkerSynced{Ticket: r.newTicket(), Incarnation: "a-new", Sequence: sequence, Heard: agents.LastAnswer(heard), Registers: sequence == 1, Hold: time.Second,
			Host: facts.HostFacts{ID: "a", Boot: "boot0", StateID: "a-state0", Slots: 1, Cluster: "/"}}
		r.step(e)
		r.farm.Take(r.now)
		r.now = r.now.Add(2 * time.Second)
		r.step(message.Ticked{})
		r.farm.Take(r.now)
	}
	word(1, 0)
	word(2, 1) // its answer, and all that follow, are lost
	r.listen(time.Minute)
	word(3, 1)
	if h := r.farm.View(r.now).Hosts[0]; h.State != "unreachable" {
		t.Errorf("a host that took no answer for a minute is %s: %s", h.State, h.Remark)
	}
}

// TestOldWordOfADeafHost: a worker is restarted, and its registration is answered in vain. An old sync of the agent
// before it, read late, shows no answer that arrived since: the host gets nothing new. An agent that lives on
// shows one as soon as it takes it.
func TestOldWordOfADeafHost(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	word := func(incarnation string, sequence, heard uint64) string {
		e := message.WorkerSynced{Ticket: r.newTicket(), Incarnation: incarnation, Sequence: sequence, Heard: agents.LastAnswer(heard), Registers: heard == 0, Hold: time.Second,
			Host: facts.HostFacts{ID: "a", Boot: "boot0", StateID: "a-state0", Slots: 1, Cluster: "/"}}
		r.step(e)
		r.farm.Take(r.now)
		r.now = r.now.Add(2 * time.Second)
		r.step(message.Ticked{})
		r.farm.Take(r.now)
		return r.farm.View(r.now).Hosts[0].State
	}
	at := r.workers["a"].sequence
	word("a-start0", at+1, at)
	r.now = r.now.Add(time.Second)
	word("a-new", 1, 0)
	r.listen(time.Minute)
	if state := word("a-start0", at+2, at+1); state != "unreachable" {
		t.Errorf("an old word makes the host %s", state)
	}
	if state := word("a-start0", at+3, at+2); state != "up" {
		t.Errorf("an answer that was taken leaves the host %s", state)
	}
}

// TestEndTakenBackFreesNobody: a job ends, and an order has it run again before the commit that tells its end, or
// before the last parent that frees its children. A child that is not freed by then waits for its next end.
func TestEndTakenBackFreesNobody(t *testing.T) {
	const children = 40
	for _, action := range []facts.Action{facts.Retry, facts.Requeue, facts.Redo} {
		for _, plans := range []int{0, 3} {
			r, _ := bounded(t, 20, 20)
			r.say("submit parent items=1")
			for range children {
				r.say("submit child items=1 after=link-done-job-1")
			}
			waiting := func() (n int) {
				for _, j := range r.rows.jobs {
					if j.State == facts.Blocked && len(j.WaitFor) > 0 {
						n++
					}
				}
				return n
			}
			takeBack := func() { r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: action, By: "op"}) }
			r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Kill, By: "op"})
			if n := 0; plans == 0 {
				takeBack()
			} else {
				r.planned = func() {
					if n++; n == plans {
						takeBack()
					}
				}
			}
			r.settle()
			switch left := waiting(); {
			case plans == 0 && left != children:
				t.Errorf("%s in the commit of the end: %d of %d wait", action, left, children)
			case plans > 0 && (left == 0 || left == children):
				t.Errorf("%s after some were freed: %d of %d wait", action, left, children)
			}
			r.say("kill 1")
			if left := waiting(); left != 0 {
				t.Errorf("%s: %d of %d wait when the job has ended again", action, left, children)
			}
		}
	}
}

// TestHeldParentFreesItsChild: the items that a job waits for end, and before the farm has a turn somebody blocks their
// job. The condition has come true all the same.
func TestHeldParentFreesItsChild(t *testing.T) {
	r := newRig(t)
	for _, line := range []string{"host a slots=3", "submit p cpus=1 max=0 items=1-3", "submit c max=0 after=link-complete-work-1:1"} {
		r.say(line)
	}
	r.finish([]string{"1/1"})
	w := r.workers["a"]
	ticket := r.newTicket()
	r.waiting[ticket], w.owes = w, false
	r.step(w.sync(ticket))
	r.order(facts.Block, []string{"1"})
	before := r.out.Len()
	r.settle()
	if said := r.out.String()[before:]; !strings.Contains(said, "start 2/0#1") {
		t.Errorf("the job whose condition has come true does not start: %s", said)
	}
}
