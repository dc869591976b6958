package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
)

// stressRig is a core with a primary and two secondaries that run, looked at every two seconds.
type stressRig struct {
	*Core
	now Moment
}

func newStressRig(s Stress) *stressRig {
	limits := DefaultLimits()
	limits.Stress = s
	c := NewCore(api.Sync{Host: "h", Slots: 4, Cores: 4}, limits, 1)
	r := &stressRig{c, Moment(time.Second)}
	c.Step(r.now, Booted{})
	for n, kind := range []string{"primary", "secondary", "secondary"} {
		key := Key{Job: 1, Instance: n}
		id := api.AttemptID{Job: 1, Item: n, Number: 1}
		c.instances[key] = &instance{key: key, attempt: id, state: StateRunning, wall: float64(100 - n)}
		c.wish.Instances[key] = api.Desired{Instance: n, Kind: kind, Attempt: id}
	}
	return r
}

// look is a regular look after two seconds; it returns which instances are stopped.
func (r *stressRig) look(ev HostMeasured) (stopped []int) {
	r.now += Moment(2 * time.Second)
	for _, o := range r.Step(r.now, ev) {
		if s, ok := o.(StopItem); ok {
			if s.Code != codeHostSwapping || s.Outcome != OutcomeStopped {
				panic(s.Code)
			}
			stopped = append(stopped, s.Key.Instance)
		}
	}
	return stopped
}

// TestSwap: a host that swaps too much at two looks refuses items with the reason; if it goes on the newest secondary is
// returned, one at a time, never a primary; it recovers when it has been quiet for a while.
func TestSwap(t *testing.T) {
	r := newStressRig(Stress{SwapLimit: 10 << 20})
	much, little, some := HostMeasured{Swap: api.SyncSwap{Rate: 20 << 20}}, HostMeasured{Swap: api.SyncSwap{Rate: 1 << 20}}, HostMeasured{Swap: api.SyncSwap{Rate: 8 << 20}}
	r.look(much)
	if r.look(little); r.Refusing() != "" {
		t.Errorf("one look alone: %s", r.Refusing())
	}
	r.look(much)
	r.look(much)
	if !strings.Contains(r.Refusing(), "worker_swap_limit = 10 MiB") {
		t.Fatalf("refuses with %q", r.Refusing())
	}
	var gone []int
	for range 6 {
		gone = append(gone, r.look(much)...)
	}
	if len(gone) != 1 || gone[0] != 2 {
		t.Errorf("after 12 s instances %v are stopped, want the newest secondary", gone)
	}
	for range 10 {
		gone = append(gone, r.look(much)...)
	}
	if len(gone) != 1 {
		t.Errorf("%v are stopped while one is on its way", gone)
	}
	delete(r.instances, Key{Job: 1, Instance: 2})
	for range 20 {
		stopped := r.look(much)
		gone = append(gone, stopped...)
		for _, n := range stopped {
			delete(r.instances, Key{Job: 1, Instance: n})
		}
	}
	if len(gone) != 2 || gone[1] != 1 {
		t.Errorf("%v are stopped in all, want 2 and 1 and never the primary", gone)
	}
	for range 10 {
		r.look(some) // below the limit, above half of it
	}
	if r.Refusing() == "" {
		t.Error("it recovers while it swaps more than half of the limit")
	}
	for range 4 {
		r.look(little)
	}
	if r.Refusing() == "" {
		t.Error("it recovers at once")
	}
	r.look(little)
	if r.look(little); r.Refusing() != "" {
		t.Errorf("it does not recover: %s", r.Refusing())
	}
	free := newStressRig(Stress{})
	for range 20 {
		if stopped := free.look(much); len(stopped) > 0 || free.Refusing() != "" {
			t.Fatal("without a limit it matters")
		}
	}
}

// TestStressIsReportedSoon: while the supervisor holds its answers, a host that refuses items, takes them again or offers another
// number of slots says so within the report interval, and not again and again.
func TestStressIsReportedSoon(t *testing.T) {
	limits := DefaultLimits()
	limits.Stress = Stress{SwapLimit: 10 << 20, ForeignCPU: true}
	c := NewCore(api.Sync{Host: "h", Slots: 4, Cores: 4}, limits, 1)
	var last api.Sync
	syncs, answerAt, stale, told := 0, Moment(1<<62), Moment(0), []string{}
	c.Step(0, Booted{})
	for now := Moment(0); now < 4*time.Minute; now += 50 * ms {
		var orders []Command
		switch {
		case now%(2*time.Second) == 0:
			is := HostMeasured{}
			if now > time.Minute && now < 90*time.Second {
				is.Swap.Rate = 20 << 20
			} else if now > 2*time.Minute {
				is.Busy = 4
			}
			orders = c.Step(now, is)
		case now >= answerAt:
			answerAt = 1 << 62
			orders = c.Step(now, Answered{last.Sequence, api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: last.Sequence, Answer: 2*last.Sequence + 1, LeaseSeconds: 600}})
		default:
			orders = c.Step(now, Ticked{})
		}
		for _, o := range orders {
			if s, ok := o.(SendSync); ok {
				if (s.Sync.Refusing != "") != (last.Refusing != "") || s.Sync.ForeignSlots != last.ForeignSlots {
					told = append(told, fmt.Sprintf("%v %d", s.Sync.Refusing != "", s.Sync.ForeignSlots))
				}
				last, answerAt, syncs = s.Sync, now+max(50*ms, Moment(s.Sync.HoldSeconds*float64(time.Second))), syncs+1
			}
		}
		if (last.Refusing != "") == (c.Refusing() != "") && last.ForeignSlots == c.stress.away {
			stale = now
		} else if now-stale > limits.Report+100*ms {
			t.Fatalf("at %s it is not told since %s that it refuses %q and others take %d slots", now, stale, c.Refusing(), c.stress.away)
		}
	}
	if want := []string{"true 0", "false 0", "false 1", "false 2", "false 3", "false 4"}; !slices.Equal(told, want) {
		t.Errorf("it tells %q, want %q", told, want)
	}
	if most := 24 + 2*len(told) + 3; syncs > most {
		t.Errorf("%d syncs in four minutes, want %d at most", syncs, most)
	}
}

// TestForeignCPU: processors in use, less what items have, take slots when that lasts, and give them back; a moment of it, or
// what items of the farm use, takes none.
func TestForeignCPU(t *testing.T) {
	r := newStressRig(Stress{ForeignCPU: true})
	cpu := 0.0
	for range 30 { // three items use three processors, one of another agent half of one
		cpu += 2
		for n := range 3 {
			r.Step(r.now, ShimMeasured{Key: Key{Job: 1, Instance: n}, CPU: cpu, Wall: cpu})
		}
		r.look(HostMeasured{Busy: 3.5, OthersBusy: 0.5})
	}
	if r.stress.away != 0 {
		t.Errorf("items of the farm take %d slots", r.stress.away)
	}
	r.look(HostMeasured{Busy: 4})
	if r.stress.away != 0 {
		t.Errorf("a moment takes %d slots", r.stress.away)
	}
	for range 60 {
		r.look(HostMeasured{Busy: 2.2})
	}
	if r.stress.away != 2 {
		t.Errorf("2.2 processors take %d slots, want 2", r.stress.away)
	}
	for range 60 {
		r.look(HostMeasured{Busy: 1e9})
	}
	if r.stress.away != 4 {
		t.Errorf("all processors take %d slots, want all 4", r.stress.away)
	}
	for range 60 {
		r.look(HostMeasured{Busy: -5})
	}
	if r.stress.away != 0 {
		t.Errorf("%d slots do not come back", r.stress.away)
	}
	few := newStressRig(Stress{ForeignCPU: true})
	few.identity.Slots = 2 // of 4 processors: two are left for others
	for range 60 {
		few.look(HostMeasured{Busy: 2})
	}
	if few.stress.away != 0 {
		t.Errorf("%d slots are taken, though processors are left beside them", few.stress.away)
	}
}

// TestKept: slots that are kept for people are not offered, and where they are wanted back at once the secondaries go first, the
// newest first. What is on its way counts as gone.
func TestKept(t *testing.T) {
	r := newStressRig(Stress{})
	look := func(kept KeptSlots) (stopped []int) {
		r.now += Moment(2 * time.Second)
		for _, o := range r.Step(r.now, HostMeasured{Kept: kept}) {
			if s, ok := o.(StopItem); ok {
				if s.Code != codeHostInUse || s.Outcome != OutcomeStopped {
					t.Fatal(s.Code, s.Outcome)
				}
				stopped = append(stopped, s.Key.Instance)
			}
		}
		return stopped
	}
	if stopped := look(KeptSlots{Slots: 4, Code: KeptByCalendar}); stopped != nil || r.away() != 4 || r.keptFor() != KeptByCalendar {
		t.Errorf("%v are stopped, %d slots are kept for %q", stopped, r.away(), r.keptFor())
	}
	if stopped := look(KeptSlots{Slots: 2, Code: KeptForPeople, Return: true}); !slices.Equal(stopped, []int{2}) || r.away() != 2 {
		t.Errorf("%v are stopped, want the newest secondary alone; %d slots are kept", stopped, r.away())
	}
	if stopped := look(KeptSlots{Slots: 2, Code: KeptForPeople, Return: true}); stopped != nil {
		t.Errorf("%v are stopped beside the one on its way", stopped)
	}
	if stopped := look(KeptSlots{Slots: 4, Code: KeptForPeople, Return: true}); !slices.Equal(stopped, []int{1, 0}) {
		t.Errorf("%v are stopped, want the other secondary, then the primary", stopped)
	}
	if look(KeptSlots{}); r.away() != 0 || r.keptFor() != "" {
		t.Errorf("nobody is there, and %d slots are kept for %q", r.away(), r.keptFor())
	}
}
