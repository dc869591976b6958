package farm_test

import (
	"testing"
	"time"

	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// No host is silent for time in which the farm did not read what hosts sent, or was stopped, and its items are not lost
// for it; a dead host is unreachable when the farm has listened to it for the liveness, and lost after its lease.
func TestSilenceIsListeningTime(t *testing.T) {
	r := newRig(t)
	r.say("host a slots=1")
	r.say("submit one cpus=1 max=0 items=1")
	lost := 0
	tick := func(seconds int, unread func(second int) time.Duration) {
		for n := range seconds {
			r.now = r.now.Add(time.Second)
			r.step(message.Ticked{Unread: unread(n)})
			for _, w := range r.farm.Take(r.now).Writes {
				if _, ended := w.(facts.EndAttempt); ended {
					lost++
				}
			}
		}
	}
	is := func(want, when string) {
		t.Helper()
		if h := r.farm.View(r.now).Hosts[0]; h.State != want {
			t.Errorf("%s the host is %s, want %s", when, h.State, want)
		}
	}
	tick(3000, func(n int) time.Duration { return time.Duration(n) * time.Second })
	is("up", "while nothing is read")
	tick(20, func(int) time.Duration { return 3000 * time.Second })
	is("up", "while reports as old as those before are read")
	tick(20, func(int) time.Duration { return 3000 * time.Second })
	is("unreachable", "when reports that came later have been read")

	r = newRig(t)
	r.say("host a slots=1")
	r.say("submit one cpus=1 max=0 items=1")
	tick(1, func(int) time.Duration { return 0 })
	r.now = r.now.Add(20 * time.Minute) // beyond the lease
	tick(1, func(int) time.Duration { return 0 })
	is("up", "after a pause of the process")
	if lost > 0 {
		t.Error("an item was lost for a pause of the process")
	}
	tick(40, func(int) time.Duration { return 0 })
	is("unreachable", "when it was listened to after the pause")
	tick(2400, func(int) time.Duration { return 0 })
	if lost != 1 {
		t.Errorf("%d items of a dead host were lost, want 1", lost)
	}
}

// A held sync that is dropped for a later one, or whose sender has left, was given no answer, so that none was in vain.
func TestDroppedSyncsAreNotInVain(t *testing.T) {
	for _, left := range []bool{false, true} {
		r := newRig(t)
		r.say("host a slots=1")
		at := r.workers["a"].sequence
		for n := range 120 {
			e := message.WorkerSynced{Ticket: r.newTicket(), Incarnation: "a-start0", Sequence: at + uint64(n) + 1, Heard: agents.LastAnswer(at), Hold: 10 * time.Second,
				Host: facts.HostFacts{ID: "a", Boot: "boot0", StateID: "a-state0", Slots: 1, Cluster: "/"}}
			e.Left = left && n%2 == 0
			r.step(e)
			r.step(message.SyncLeft{Ticket: e.Ticket, Host: e.Host})
			r.now = r.now.Add(time.Second)
			r.step(message.Ticked{})
			for _, reply := range r.farm.Take(r.now).Replies {
				if reply.Err == nil {
					t.Fatalf("second %d: a sync is answered that nobody waits for", n)
				}
			}
		}
		if h := r.farm.View(r.now).Hosts[0]; h.State != "up" {
			t.Errorf("a host that gave up all its syncs is %s: %s", h.State, h.Remark)
		}
	}
}
