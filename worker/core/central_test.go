package core

import (
	"testing"

	"qb/api"
)

// What the supervisor's file sets is taken before the next sync, which says so.
func TestConfigureBeforeTheNextSync(t *testing.T) {
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	sent := func(orders []Order) (sync *api.Sync, configure *Configure) {
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
	reply := api.SyncReply{Epoch: 1, Sequence: first.Sequence, LeaseSeconds: 900, Central: &api.Central{Version: "v1"}}
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
