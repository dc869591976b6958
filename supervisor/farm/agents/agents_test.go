package agents

import (
	"testing"
	"time"

	"qb/supervisor/job/facts"
)

var start = time.Unix(1000, 0)

func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// A host that reports, and acknowledges nothing, is as silent as a host that is not heard. An acknowledgement ends that
// for the replies until then: a later one may have been lost.
func TestUnacknowledgedIsSilence(t *testing.T) {
	a := &Agent{Incarnation: "one", LastSync: after(60)}
	a.Expect(after(10), "one", 5)
	a.Expect(after(50), "one", 9)
	if got := a.Silence(after(60)); got != 50*time.Second {
		t.Errorf("silent for %v, want 50s since the first reply", got)
	}
	if a.OneWay(after(60), time.Minute) || !a.OneWay(after(60), 40*time.Second) {
		t.Error("the liveness does not decide")
	}
	a.Acknowledge(Word{"one", 6}, 4)
	if a.Unacknowledged(after(60)) == 0 {
		t.Error("an older reply acknowledges a later one")
	}
	a.Acknowledge(Word{"one", 7}, 5)
	if got := a.Silence(after(60)); got != 10*time.Second {
		t.Errorf("silent for %v, want 10s since the reply that may have been lost", got)
	}
	a.Acknowledge(Word{"one", 8}, 9)
	if got := a.Silence(after(60)); got != 0 {
		t.Errorf("silent for %v after all was acknowledged", got)
	}
}

// A claim is granted when the host was silent for long enough: its machine's own at once after a while, another
// machine's after the lease and with nothing left. Until then it is refused with the code by which the claimant
// freezes.
func TestClaims(t *testing.T) {
	host := facts.HostFacts{ID: "a", MachineID: "m", Boot: "1", StateID: "s"}
	for _, c := range []struct {
		name    string
		row     facts.HostFacts
		silence time.Duration
		busy    bool
		granted bool
	}{
		{"rebooted, too soon", facts.HostFacts{ID: "a", MachineID: "m", Boot: "2", StateID: "s"}, claimSilence - time.Second, false, false},
		{"rebooted", facts.HostFacts{ID: "a", MachineID: "m", Boot: "2", StateID: "s"}, claimSilence, false, true},
		{"another machine, too soon", facts.HostFacts{ID: "a", MachineID: "n", Boot: "1", StateID: "s"}, time.Minute, false, false},
		{"another machine, busy", facts.HostFacts{ID: "a", MachineID: "n", Boot: "1", StateID: "s"}, 3 * time.Minute, true, false},
		{"another machine", facts.HostFacts{ID: "a", MachineID: "n", Boot: "1", StateID: "s"}, 3 * time.Minute, false, true},
	} {
		a := &Agent{Heard: true, Incarnation: "one", Sequence: 7, LastSync: start}
		s := Situation{Busy: c.busy, Same: func() bool { return false }, Lease: 2 * time.Minute}
		if v := a.Claim(start, host, c.row, s); v.Refusal == nil || v.Refusal.Code != CodeNameTaken || !v.First {
			t.Errorf("%s: the first word is answered with %+v", c.name, v)
		}
		a.Listen(start.Add(c.silence), c.silence)
		now := start.Add(c.silence)
		if c.silence > claimKept { // it went on asking
			a.Claim(now, host, c.row, s)
		}
		v := a.Claim(now, host, c.row, s)
		if (v.Refusal == nil) != c.granted {
			t.Errorf("%s: %+v, want granted %v", c.name, v, c.granted)
		}
		a.Succeed(c.row, Word{"two", 3}, true)
		if a.Claimed() {
			t.Errorf("%s: it still claims what it has", c.name)
		}
	}
}

// A registry knows which of two incarnations spoke first, and late words, also of a host that was renamed or removed.
func TestRegistry(t *testing.T) {
	r := NewRegistry(1)
	r.Note("a", Word{"one", 3})
	r.Note("a", Word{"two", 5})
	r.Note("a", Word{"one", 2})
	r.Note("b", Word{"beyond the bound", 1})
	if !r.Before("a", "one", "two") || r.Before("a", "two", "one") || r.Before("a", "none", "two") || len(r.seen) != 1 {
		t.Errorf("seen %v", r.seen)
	}
	r.NoteClaim("a", Word{"claimant", 7})
	if !r.Late("a", Word{"claimant", 7}) || r.Late("a", Word{"claimant", 8}) || r.Removed(Word{"claimant", 7}) || !r.Late("a", Word{"two", 5}) {
		t.Errorf("seen %v, claimed %v, removed %v", r.seen, r.claimed, r.removed)
	}
	r.Rename("a", "c")
	if !r.Before("c", "one", "two") {
		t.Error("a rename forgets the order")
	}
	for _, name := range []facts.HostID{"a", "c"} { // under neither name does a late word say anything
		if !r.Removed(Word{"one", 3}) || !r.Removed(Word{"two", 4}) || r.Removed(Word{"two", 6}) || !r.Removed(Word{"claimant", 7}) || r.Removed(Word{"claimant", 8}) {
			t.Errorf("seen %v, removed %v", r.seen, r.removed)
		}
		if got := r.Late(name, Word{"two", 5}); got != (name == "c") {
			t.Errorf("a word about %s is late: %v", name, got)
		}
	}
	r.Remove("c")
	if r.Late("c", Word{"two", 5}) || !r.Removed(Word{"two", 5}) {
		t.Errorf("seen %v, removed %v", r.seen, r.removed)
	}
}
