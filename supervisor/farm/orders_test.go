package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// pieces is a rig whose orders change so many rows in a commit.
func pieces(t *testing.T, rows int) *rig {
	r := newRig(t)
	r.policy.OrderRows = rows
	r.step(message.PolicyChanged{Policy: r.policy})
	r.settle()
	return r
}

// attempt says of an item how its latest attempt ended and what the marks make of it.
func (r *rows) outcome(job facts.JobID, item facts.ItemNo) string {
	var last facts.AttemptFacts
	for id, a := range r.attempts {
		if id.Job == job && id.Item == item && id.Number > last.Number {
			last = a
		}
	}
	if last.State.Live() || last.State == facts.Done || last.Number > 0 && last.Again == facts.Never {
		return fmt.Sprintf("%s#%d", last.State, last.Number)
	}
	for _, m := range r.marks[job] {
		if m.Span().Has(int(item)) {
			return string(m.Kind)
		}
	}
	return fmt.Sprintf("pending#%d", last.Number)
}

// Instances that are retired in pieces end their items, though their job is narrower from the first piece on.
func TestRetireInPieces(t *testing.T) {
	for _, crash := range []bool{false, true} {
		r := pieces(t, 1)
		r.say("host a slots=9")
		r.say("submit j items=1-9 cpus=9 max=0")
		r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Retire, Choice: message.Choice{InstanceStates: facts.Retire.TakesInstances()}, By: "u1", Record: r.rows.prepared(t, 1)})
		if crash {
			r.say("crash")
		}
		for range 18 {
			r.settle()
		}
		for item := range facts.ItemNo(9) {
			if got := r.rows.outcome(1, item); got != "running#1" {
				t.Errorf("crash %v: item %d is %s", crash, item, got)
			}
		}
	}
}

// An order that is cut into pieces, perhaps by a change of the term after each, does what it does in one.
func TestOrdersInPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const items = 9
		rigs := []*rig{pieces(t, 1000), pieces(t, rapid.IntRange(1, 3).Draw(rt, "rows"))}
		say := func(line string) {
			for _, r := range rigs {
				r.say(line)
			}
		}
		say("host a slots=9")
		say("submit j items=1-9 cpus=9 max=0")
		for item := 1; item <= items; item++ {
			switch rapid.IntRange(0, 2).Draw(rt, "fate") {
			case 1:
				say(fmt.Sprintf("finish 1/%d exit=1", item))
			case 2:
				say(fmt.Sprintf("finish 1/%d", item))
			}
		}
		say("lock a")
		for range rapid.IntRange(1, 3).Draw(rt, "orders") {
			action := rapid.SampledFrom([]facts.Action{facts.Kill, facts.Retry, facts.Redo, facts.Interrupt, facts.Preempt, facts.Migrate, facts.Retire, facts.Suspend, facts.Resume, facts.Block, facts.Unblock, facts.Shove, facts.Top, facts.Bottom, facts.ToComplete, facts.ToFailed}).Draw(rt, "action")
			var spans []agenda.Span
			if rapid.Bool().Draw(rt, "some") {
				step := rapid.IntRange(1, 3).Draw(rt, "step")
				spans = []agenda.Span{{First: 0, Last: (items - 1) / step * step, Step: step}}
			}
			var choice message.Choice
			if takes := action.TakesInstances(); spans == nil && takes != nil && rapid.Bool().Draw(rt, "instances") {
				choice.InstanceStates = takes
			}
			crash := rapid.Bool().Draw(rt, "crash")
			for n, r := range rigs {
				r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: action, Items: spans, Choice: choice, By: "u1", Record: r.rows.prepared(t, 1)})
				r.settle()
				if crash && n == 1 {
					r.say("crash")
				}
				for range 2 * items { // whatever is left
					r.settle()
				}
			}
		}
		for item := range facts.ItemNo(items) {
			if whole, cut := rigs[0].rows.outcome(1, item), rigs[1].rows.outcome(1, item); whole != cut {
				rt.Fatalf("item %d is %s after orders in pieces, %s after the same orders in one", item, cut, whole)
			}
		}
		if len(rigs[1].rows.orders) > 0 {
			rt.Fatalf("orders are left: %+v", rigs[1].rows.orders)
		}
	})
}

// An item that fails after the order to kill it and before its own stop is not tried again, nor after a new term.
func TestKilledItemDoesNotComeBack(t *testing.T) {
	for _, between := range []string{"", "crash"} {
		r := pieces(t, 1)
		for _, line := range []string{"host a slots=3", "submit j items=1-3 cpus=3 max=0 retrywork=5"} {
			r.say(line)
		}
		r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Kill, By: "u1"})
		r.farm.Plan(r.now)
		batch := r.farm.Take(r.now)
		if err := r.rows.apply(batch.Writes); err != nil {
			t.Fatal(err)
		}
		if between != "" {
			r.say(between)
			continue
		}
		r.say("finish 1/3 exit=1")
		if got := r.rows.outcome(1, 2); got != "killed" && !strings.HasPrefix(got, "killed#1") {
			t.Errorf("the item that failed after the order is %s", got)
		}
	}
}

// The largest orders there are make small steps: in rows of a commit, and in pieces of patterns.
func TestOrdersAreBounded(t *testing.T) {
	const items = 1_000_000
	f := farm.New(testPolicy())
	r := &rig{t: t, now: newRig(t).now}
	f.Step(r.now, message.JobSubmitted{Ticket: 1, Blocked: true, By: "u1", Facts: facts.JobFacts{
		User: "u1", Priority: 5, Cluster: "/", CPUs: 1, Agenda: agenda.Spec{Range: "1-1000000"}, Command: []string{"x"}}})
	f.Take(r.now)
	give := func(action facts.Action, spans ...agenda.Span) (outbox.Reply, int) {
		f.Step(r.now, message.JobAction{Ticket: 2, Job: 1, Action: action, Items: spans, By: "u1"})
		batch, rows := f.Take(r.now), 0
		for _, w := range batch.Writes {
			if m, ok := w.(facts.ChangeMarks); ok {
				rows += len(m.Remove) + len(m.Add)
			}
		}
		return batch.Replies[0], rows
	}
	most := []int{1, 4, 30, 300} // patterns over patterns fall into pieces
	for n, step := range []int{2, 3, 7, 11} {
		reply, rows := give(facts.Kill, agenda.Span{First: 0, Last: (items - 1) / step * step, Step: step})
		if reply.Err == nil && rows > most[n] || reply.Err != nil && (reply.Err.Kind != "invalid" || step < 7) {
			t.Errorf("killing each %dth item takes %d rows of marks: %+v", step, rows, reply.Err)
		}
	}
	var many, deep []agenda.Span
	for n := range 10_001 {
		many = append(many, agenda.Span{First: 3 * n, Last: 3 * n, Step: 1})
	}
	for n := range 33 {
		deep = append(deep, agenda.Span{First: n, Last: n + 100*9000, Step: 100})
	}
	for name, spans := range map[string][]agenda.Span{"10,001 ranges": many, "33 ranges over each other": deep} {
		if reply, rows := give(facts.Kill, spans...); reply.Err == nil || reply.Err.Kind != "invalid" || rows > 0 {
			t.Errorf("%s are taken with %d rows: %+v", name, rows, reply)
		}
	}
	if reply, rows := give(facts.Kill, slices.Clone(many[:9000])...); reply.Err != nil && reply.Err.Kind != "invalid" || rows > 20_000 {
		t.Errorf("9,000 ranges: %d rows, %+v", rows, reply.Err)
	}
	if reply, rows := give(facts.Kill); reply.Err != nil || rows > 10_001 {
		t.Errorf("the whole job: %d rows, %+v", rows, reply.Err)
	}
}

// TestAttackOrders: the orders that may wait on a job are few, and the refusal of more names the limit and when to come again.
func TestAttackOrders(t *testing.T) {
	r := pieces(t, 1)
	r.say("host a slots=30")
	r.say("submit j items=1-30 cpus=30 max=0")
	for item := 1; item <= 30; item++ {
		r.say(fmt.Sprintf("finish 1/%d exit=1", item))
	}
	r.say("lock a")
	for n := range outbox.Ticket(20) {
		r.farm.Step(r.now, message.JobAction{Ticket: 1000 + n, Job: 1, Action: facts.Redo, By: "u1", Record: r.rows.prepared(t, 1)})
	}
	met := map[string]int{}
	for _, reply := range r.farm.Take(r.now).Replies {
		if reply.Err == nil {
			met[""]++
		} else {
			met[fmt.Sprint(reply.Err.Kind, " ", reply.Err.Limit, " ", reply.Err.Wait)]++
		}
	}
	if met[""] != message.MaxOrders || met["limit open-orders 10s"] != 20-message.MaxOrders {
		t.Errorf("twenty orders met %v", met)
	}
}

// TestARefusedOrderIsInTheHistory: an order that waited for another one is begun later, and by then it may be impossible.
func TestARefusedOrderIsInTheHistory(t *testing.T) {
	r := pieces(t, 1)
	r.say("host a slots=3")
	r.say("submit j items=1-100000 cpus=3 max=0")
	kill := func(first int) {
		var spans []agenda.Span
		for n := range 7000 {
			spans = append(spans, agenda.Span{First: first + 3*n, Last: first + 3*n, Step: 1})
		}
		r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Kill, Items: spans, By: "u1"})
	}
	kill(1000)
	r.settle()
	r.step(message.JobAction{Ticket: r.newTicket(), Job: 1, Action: facts.Interrupt, By: "u1"})
	kill(50000)
	r.settle()
	refused := slices.DeleteFunc(slices.Clone(r.history), func(e facts.EventFacts) bool { return e.Type != "order-refused" })
	if len(refused) != 1 || refused[0].Job != 1 || refused[0].By != "u1" || refused[0].Reason != facts.ReasonTooManyMarks || refused[0].Cause == "" {
		t.Errorf("the history says of it %+v", refused)
	}
}
