package core

import (
	"slices"
	"testing"

	"qb/api"
)

// What the supervisor's file sets is taken before the next sync, which says so.
func TestConfigureBeforeTheNextSync(t *testing.T) {
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	sent := func(orders []Command) (sync *api.Sync, configure *Configure) {
		for _, o := range orders {
			switch o := o.(type) {
			case SendSync:
				sync = &o.Sync
			case Configure:
				configure = &o
			}
		}
		return sync, configure
	}
	first, _ := sent(c.Step(1, Booted{}))
	if first == nil {
		t.Fatal("it sends no sync")
	}
	reply := api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: first.Sequence, Answer: 2*first.Sequence + 1, LeaseSeconds: 900, Central: &api.Central{Version: "v1"}}
	next, configure := sent(c.Step(2, Answered{Sequence: first.Sequence, Reply: reply}))
	if next != nil || configure == nil || configure.Central.Version != "v1" {
		t.Fatalf("%+v %+v", next, configure)
	}
	if next, _ := sent(c.Step(3e9, Ticked{})); next != nil {
		t.Fatal("it sends a sync before it is configured")
	}
	next, _ = sent(c.Step(3e9, Configured{Identity: api.Sync{Host: "h", Central: "v1", Slots: 7}}))
	if next == nil || next.Central != "v1" || next.Slots != 7 || next.Sequence <= first.Sequence {
		t.Fatalf("%+v", next)
	}
	reply.Sequence = next.Sequence
	if _, configure = sent(c.Step(4e9, Answered{Sequence: next.Sequence, Reply: reply})); configure != nil {
		t.Error("it takes the same again")
	}
}

// A leader hears the worker's settings once, and again when they have changed or another leads.
func TestSettingsAreSaidOnce(t *testing.T) {
	settings := []api.Setting{{Key: "worker_cpus"}}
	c := NewCore(api.Sync{Host: "h", Settings: settings}, DefaultLimits(), 1)
	now, epoch := Moment(1), int64(1)
	next := func(event Event) (said bool) {
		orders := c.Step(now, event)
		for now += 100e9; ; orders, now = c.Step(now, Ticked{}), now+100e9 {
			for _, o := range orders {
				if o, ok := o.(SendSync); ok {
					event = Answered{Sequence: o.Sync.Sequence, Reply: api.SyncReply{Epoch: epoch, Term: signedTerm(farmKey, "a", epoch), Sequence: o.Sync.Sequence, Answer: 2*o.Sync.Sequence + 1, LeaseSeconds: 9000}}
					c.Step(now, event)
					return len(o.Sync.Settings) > 0
				}
			}
		}
	}
	for n, want := range []bool{true, false, false} {
		if event := []Event{Booted{}, Ticked{}, Ticked{}}[n]; next(event) != want {
			t.Errorf("sync %d: settings %t", n, !want)
		}
	}
	epoch = 2 // the leader that answers has heard a sync without settings
	for n, want := range []bool{false, true, false} {
		if next(Ticked{}) != want {
			t.Errorf("under another leader, sync %d: settings %t", n, !want)
		}
	}
	if !next(Configured{Identity: api.Sync{Host: "h", Settings: settings}}) || next(Ticked{}) {
		t.Error("settings that have changed are not said once")
	}
}

// An order to start again is carried out once, however often answers repeat it, and again if it is another one.
func TestRestartIsOrderedOnce(t *testing.T) {
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	now, said, orders := Moment(1), []string{}, c.Step(1, Booted{})
	for _, id := range []string{"", "a", "a", "b", "", "b"} {
		for sent := false; !sent; now += 100e9 {
			for _, o := range orders {
				if o, ok := o.(SendSync); ok {
					reply := api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: o.Sync.Sequence, Answer: 2*o.Sync.Sequence + 1, LeaseSeconds: 9000, Restart: id}
					for _, o := range c.Step(now, Answered{Sequence: o.Sync.Sequence, Reply: reply}) {
						if o, ok := o.(Restart); ok {
							said = append(said, o.ID)
						}
					}
					sent = true
				}
			}
			orders = c.Step(now, Ticked{})
		}
	}
	if !slices.Equal(said, []string{"a", "b"}) {
		t.Errorf("%q", said)
	}
}
