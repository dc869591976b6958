package farm_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// stranger is a sync under a host's name from a machine, a boot and a state folder that are not the host's.
func stranger(r *rig, host string, sequence uint64, machine string) message.WorkerSynced {
	return message.WorkerSynced{Ticket: r.newTicket(), Incarnation: "stranger-" + machine, Sequence: sequence, Hold: time.Second,
		Host: facts.HostFacts{ID: facts.HostID(host), MachineID: machine, Boot: "boot-" + machine, StateID: "state-" + machine, Slots: 1, Cluster: "/"}}
}

// speak gives the farm a sync and returns the refusal, nil if it was taken in.
func speak(r *rig, e message.WorkerSynced) *outbox.Refusal {
	r.step(e)
	batch := r.farm.Take(r.now)
	if err := r.rows.apply(batch.Writes); err != nil {
		r.t.Fatal(err)
	}
	for _, w := range batch.Writes {
		if e, ok := w.(facts.AddEvent); ok {
			r.history = append(r.history, e.Event)
		}
	}
	for _, reply := range batch.Replies {
		if reply.Ticket == e.Ticket {
			return reply.Err
		}
		r.deliver(reply)
	}
	return nil
}

// TestAnotherMachineIsRefused: it is answered with a code, listed with the host, and recorded once a minute.
func TestAnotherMachineIsRefused(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit one items=1-2")
	for n := range 120 {
		refusal := speak(r, stranger(r, "a", uint64(n+1), "other"))
		if refusal == nil || refusal.Code != agents.CodeNameTaken || !strings.Contains(refusal.Text, "other") || !strings.Contains(refusal.Text, "-remove a") {
			t.Fatalf("sync %d is answered with %+v", n, refusal)
		}
		r.say("advance 1s")
		r.workers["a"].owes = true
		r.settle()
	}
	view := r.farm.View(r.now)
	if h := view.Hosts[0]; h.State != "up" || h.Used != 1 || len(h.Claims) != 1 || h.Claims[0].Code != agents.OtherMachine || h.Claims[0].MachineID != "other" {
		t.Errorf("the host is listed as %+v", h)
	}
	told := 0
	for _, e := range r.history {
		if e.Type == "host-name-claimed" && e.Reason == agents.OtherMachine {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d events in 2 minutes", told)
	}
}

// TestAnotherMachineFollows: it has the name when the host was silent for its lease, and at once when a person removed
// the host; an item that may still run there keeps the name until then.
func TestAnotherMachineFollows(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit one items=1-2")
	r.say("silent a")
	r.say("advance 15m")
	if refusal := speak(r, stranger(r, "a", 1, "other")); refusal == nil {
		t.Fatal("another machine has the name before the item was given up")
	}
	remove := func(dead bool) (int, *outbox.Refusal) {
		ticket := r.newTicket()
		r.step(message.HostRemoved{Ticket: ticket, Host: "a", By: "op", Dead: dead})
		batch := r.farm.Take(r.now)
		if err := r.rows.apply(batch.Writes); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(batch.Replies, func(reply outbox.Reply) bool { return reply.Ticket == ticket })
		reply, _ := batch.Replies[at].Body.(message.HostReply)
		return reply.Pending, batch.Replies[at].Err
	}
	if pending, refusal := remove(false); pending != 1 || refusal != nil || len(r.farm.View(r.now).Hosts) != 1 {
		t.Fatalf("a host with an item was removed: %d, %v", pending, refusal)
	}
	if pending, refusal := remove(true); pending != 0 || refusal != nil {
		t.Fatal(pending, refusal)
	}
	if view := r.farm.View(r.now); len(view.Hosts) != 0 || !strings.Contains(view.Jobs[0].Reason, "no worker") {
		t.Errorf("after the removal: %+v, %q", view.Hosts, view.Jobs[0].Reason)
	}
	if refusal := speak(r, stranger(r, "a", 2, "other")); refusal != nil {
		t.Fatalf("the new machine is refused: %v", refusal)
	}
	if pending, refusal := remove(false); pending != 0 || refusal != nil || len(r.farm.View(r.now).Hosts) != 0 {
		t.Errorf("a host that is heard and has no item: %d, %v", pending, refusal)
	}
}

// TestRenamedHostKeepsItsItems: the machine, its boot and the state folder are the same, the name is not.
func TestRenamedHostKeepsItsItems(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=2")
	r.say("submit one cpus=2 items=1-3")
	w := r.workers["a"]
	delete(r.workers, "a")
	r.workers["b"] = w
	e := w.sync(r.newTicket())
	e.Host.ID, e.Incarnation, e.Sequence = "b", "b-start0", 1
	e.Registers = true
	if refusal := speak(r, e); refusal != nil || len(r.farm.View(r.now).Hosts) != 1 || r.farm.View(r.now).Hosts[0].ID != "a" {
		t.Fatalf("the registration under another name is answered with %v", refusal)
	}
	e.Registers, e.Sequence, e.Ticket = false, 2, r.newTicket()
	if refusal := speak(r, e); refusal != nil {
		t.Fatal(refusal)
	}
	view := r.farm.View(r.now)
	if len(view.Hosts) != 1 || view.Hosts[0].ID != "b" || view.Hosts[0].Used != 2 {
		t.Fatalf("after the rename: %+v", view.Hosts)
	}
	f, err := farm.Rebuild(r.policy, r.rows.facts(), r.now)
	if err != nil {
		t.Fatal(err)
	}
	if after := f.View(r.now); len(after.Hosts) != 1 || after.Hosts[0].ID != "b" || after.Hosts[0].Used != 2 {
		t.Errorf("a new term reads %+v", after.Hosts)
	}
}

// TestSecondClaimantWaitsForTheFirst: when a host was silent for long enough, one of two claimants on its machine has
// the name, and the other has to wait for the silence of that one.
func TestSecondClaimantWaitsForTheFirst(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	machine := r.farm.View(r.now).Hosts[0].MachineID
	r.say("silent a")
	claimant := func(boot string, sequence uint64) *outbox.Refusal {
		e := stranger(r, "a", sequence, machine)
		e.Incarnation, e.Host.Boot, e.Host.StateID = boot, boot, "state-"+boot
		return speak(r, e)
	}
	for n := range 12 {
		if first := claimant("first", uint64(n+1)); n == 0 && first == nil {
			t.Fatal("the first claimant has the name at once")
		} else if second := claimant("second", uint64(n+1)); second == nil {
			t.Fatalf("after %d s the second claimant has the name (the first was told %v)", n, first)
		} else if first == nil {
			return
		}
		r.say("advance 1s")
	}
	t.Error("the first claimant never has the name")
}

// TestWhoTakesANameOverShowsThatItHears (F31): an agent that had the name before knows the term and need not greet; it
// is given nothing before it took an answer, for it may have taken none since long before it lost the name.
func TestWhoTakesANameOverShowsThatItHears(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("silent a")
	r.say("advance 1h")
	if refusal := speak(r, stranger(r, "a", 1, "other")); refusal != nil {
		t.Fatalf("another machine has not the name of a dead host: %v", refusal)
	}
	r.say("advance 1h")
	r.say("submit one items=1")
	a := r.workers["a"]
	heard, given := a.sequence, func() int { return r.farm.View(r.now).Hosts[0].Used }
	returns := func(heard uint64) {
		a.sequence++
		e := a.sync(r.newTicket())
		e.Registers, e.Sequence, e.Heard = false, a.sequence, agents.LastAnswer(heard)
		if refusal := speak(r, e); refusal != nil {
			t.Fatalf("sync %d of the former holder is refused: %v", a.sequence, refusal)
		}
	}
	for n := range 3 {
		if returns(heard); given() != 0 {
			t.Fatalf("word %d, which shows no answer that was taken, is given an item", n+1)
		}
		r.say("advance 1s")
	}
	returns(a.sequence)
	r.say("advance 1s")
	if given() != 1 {
		t.Error("nothing is given to an agent that took its answer")
	}
}

// TestAKeyTakesNoUnenrolledHost: who has one host's key is not another host that has none, though he knows all of its
// ids.
func TestAKeyTakesNoUnenrolledHost(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1 machine=ma key=ka")
	r.say("host b slots=1 machine=mb")
	b := r.farm.View(r.now).Hosts[1]
	for n := range 40 {
		e := stranger(r, "b", uint64(n+1), b.MachineID)
		e.Host.Boot, e.Host.StateID, e.Host.Key, e.Registers = b.Boot, b.StateID, "ka", n == 0
		if refusal := speak(r, e); refusal == nil || refusal.Code != agents.CodeNameTaken {
			t.Fatalf("after %d s host b goes to the key of host a: %v", n, refusal)
		}
		r.say("advance 1s")
		r.workers["a"].owes, r.workers["b"].owes = true, true
		r.settle()
	}
	if view := r.farm.View(r.now); len(view.Hosts) != 2 || view.Hosts[1].State != "up" || view.Hosts[1].Key != "" {
		t.Errorf("the hosts are %+v", view.Hosts)
	}
}

// TestNameIsTakenFromNoItems: a renamed host waits for what runs under its new name, also on its own machine.
func TestNameIsTakenFromNoItems(t *testing.T) {
	r := newRig(t)
	r.say("policy lease=60s")
	r.say("host a slots=1 machine=m")
	r.say("host b slots=1 machine=m")
	r.say("submit one cpus=2 max=0 items=1-2")
	r.say("silent b")
	w := r.workers["a"]
	asks := func() *outbox.Refusal {
		w.sequence++
		e := w.sync(r.newTicket())
		e.Host.ID = "b"
		return speak(r, e)
	}
	for n := range 200 {
		hosts := r.farm.View(r.now).Hosts
		refusal := asks()
		switch after := r.farm.View(r.now).Hosts; {
		case refusal != nil && refusal.Code == agents.CodeNameTaken:
		case refusal != nil || n < 60 || hosts[1].Used > 0 || len(after) != 1 || after[0].ID != "b" || after[0].StateID != "a-state0":
			t.Fatalf("after %d s hosts %+v become %+v, and %v", n, hosts, after, refusal)
		default:
			return
		}
		r.say("advance 1s")
	}
	t.Error("the name is never given away")
}

// TestALateWordSaysNothing: whichever agent is a host, claims it, takes it over, is started again or renamed, and
// whatever is removed, a copy of a word that was read already changes nothing that is shown, and writes nothing: no
// event either.
func TestALateWordSaysNothing(t *testing.T) {
	late := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy lease=10s")
		var read []message.WorkerSynced
		machines, starts := [6]message.WorkerSynced{}, 0
		start := func(n int) {
			starts++
			machines[n] = stranger(r, "a", 0, fmt.Sprint("m", n%5)) // the last two are boots of one machine, with one folder
			machines[n].Incarnation = fmt.Sprint("start", starts)
			machines[n].Host.Boot, machines[n].Registers = fmt.Sprint("boot", n), true
		}
		for n := range machines {
			start(n)
		}
		for range rapid.IntRange(20, 50).Draw(rt, "turns") {
			n := rapid.IntRange(0, len(machines)-1).Draw(rt, "machine")
			switch rapid.IntRange(0, 11).Draw(rt, "what") {
			case 0:
				r.step(message.HostRemoved{Ticket: r.newTicket(), Host: machines[n].Host.ID, By: "op", Dead: true})
				r.farm.Take(r.now)
			case 1:
				if starts < 12 { // as many as are remembered surely
					start(n)
				}
			case 2:
				machines[n].Host.ID = facts.HostID(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name"))
			case 3, 4:
				r.say("advance 1s")
			case 5, 6, 7:
				if len(read) > 0 {
					late++
					e := rapid.SampledFrom(read).Draw(rt, "late")
					e.Ticket = r.newTicket()
					before := r.farm.View(r.now)
					r.step(e)
					if batch := r.farm.Take(r.now); len(batch.Writes) > 0 {
						rt.Fatalf("word %d of %s, read again, writes %+v", e.Sequence, e.Incarnation, batch.Writes)
					}
					if after := r.farm.View(r.now); !reflect.DeepEqual(before, after) {
						rt.Fatalf("word %d of %s, read again, has hosts %+v become %+v", e.Sequence, e.Incarnation, before.Hosts, after.Hosts)
					}
				}
			default:
				machines[n].Sequence++
				machines[n].Ticket = r.newTicket()
				e := machines[n]
				e.Left = true // no one waits for an answer here
				read = append(read, e)
				r.step(e)
				r.farm.Take(r.now)
				machines[n].Registers = machines[n].Registers && rapid.Bool().Draw(rt, "hears nothing")
			}
		}
	})
	if late == 0 {
		t.Error("no word was late")
	}
}

// TestAGreetingLosesNoEnd: an item that a greeting says is done is stopped before the greeting is answered. The worker
// forgets ends of what no answer lists, so there is no answer, and the next greeting is taken at its word. (The
// simulator's seed 6686: the item ran again.)
func TestAGreetingLosesNoEnd(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit one items=1-3")
	w := r.workers["a"]
	one := w.running[0]
	w.end(one, "exit", 0, "", 10)
	greets := func(orders func()) (refusal *outbox.Refusal) {
		e := w.sync(r.newTicket())
		e.Registers = true
		r.step(e)
		orders()
		batch := r.farm.Take(r.now)
		if err := r.rows.apply(batch.Writes); err != nil {
			t.Fatal(err)
		}
		for _, reply := range batch.Replies {
			if reply.Ticket == e.Ticket {
				return reply.Err
			}
		}
		t.Fatal("a greeting is not answered")
		return nil
	}
	if refusal := greets(func() { r.do("interrupt", []string{"1", "items=1"}) }); refusal == nil || refusal.Kind != "conflict" {
		t.Errorf("a greeting with the end of an item that is being stopped: %v", refusal)
	}
	if refusal := greets(func() {}); refusal != nil {
		t.Error(refusal)
	}
	if a := r.rows.attempts[one]; a.State != facts.Done {
		t.Errorf("the item that was done is %s", a.State)
	}
}
