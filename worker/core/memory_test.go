package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"qb/api"
)

const testGB = int64(1) << 30

// memoryCore is a core of a host with 8 GB, 1 of them in reserve, that runs an item on each instance, all
// promised 2 GB (1.5 if there are more than two); the second half are secondaries.
func memoryCore(t *testing.T, instances int, limits bool) *Core {
	t.Helper()
	c, need := NewCore(api.Sync{Host: "h1"}, DefaultLimits(), 1), 2*testGB
	if instances > 2 {
		need = testGB * 3 / 2
	}
	c.Step(0, Booted{})
	c.Step(ms, hostHas(8, 0))
	reply := api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: 1, Answer: 3, LeaseSeconds: 600, GraceSeconds: 3, Jobs: []api.JobSpec{{Job: 1, Version: 1}}}
	for n := range instances {
		kind := "primary"
		if n >= instances/2 {
			kind = "secondary"
		}
		d := api.Desired{Instance: n, Kind: kind, Attempt: attempt(1, n), Version: 1, Memory: need, HardLimit: limits}
		if limits {
			d.TimeLimit = 30
		}
		reply.Instances = append(reply.Instances, d)
	}
	c.Step(2*ms, Answered{1, reply})
	for n := range instances {
		c.Step(3*ms, ItemStarted{Key{1, n}, attempt(1, n)})
	}
	return c
}

// hostHas is a look at a host of 8 GB of which so many are available, and so many are other agents'.
func hostHas(available, others float64) HostMeasured {
	return HostMeasured{Memory: api.SyncMemory{Total: 8 * testGB, Available: int64(available * float64(testGB)), Reserve: testGB},
		Others: int64(others * float64(testGB))}
}

func resident(n int, gigabytes float64) ShimMeasured {
	return ShimMeasured{Key: Key{1, n}, Memory: int64(gigabytes * float64(testGB)), Wall: 1}
}

func stops(orders []Command) string {
	var lines []string
	for _, o := range orders {
		if o, ok := o.(StopItem); ok {
			lines = append(lines, fmt.Sprintf("%s %s: %s", o.Key, o.Outcome, o.Reason))
		}
	}
	return strings.Join(lines, "; ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) || (want == "" && got != "") {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestReserveIsKept(t *testing.T) {
	c := memoryCore(t, 4, false)
	for n, has := range []float64{3, 1.2, 2, 0.5} { // 0 is furthest over, 2 of the secondaries
		c.Step(10*ms, resident(n, has))
	}
	expect(t, "at the first look", stops(c.Step(20*ms, hostHas(0.8, 0))), "")
	expect(t, "at the second", stops(c.Step(30*ms, hostHas(0.8, 0))), "1.2 memory: the host had only 819 MiB of memory left")
	expect(t, "while one goes", stops(c.Step(40*ms, hostHas(0.1, 0))), "")
	c.Step(50*ms, ended(2, 2, OutcomeMemory))
	expect(t, "again, at once below half", stops(c.Step(60*ms, hostHas(0.4, 0))), "1.0 memory")
	c.Step(70*ms, ended(0, 0, OutcomeMemory))
	expect(t, "of those within their need a secondary, unblamed", stops(c.Step(80*ms, hostHas(0.4, 0))), "1.3 stopped")
	c.Step(90*ms, ended(3, 3, OutcomeStopped))
	expect(t, "enough again", stops(c.Step(95*ms, hostHas(1, 0))), "")
}

func TestLimitsActOnlyWhereAskedFor(t *testing.T) {
	c := memoryCore(t, 2, false)
	expect(t, "no limit", stops(c.Step(10*ms, ShimMeasured{Key: Key{1, 0}, Memory: 5 * testGB, Wall: 1e6})), "")
	c = memoryCore(t, 2, true)
	expect(t, "within", stops(c.Step(10*ms, resident(0, 2))), "")
	c.Step(15*ms, ShimMeasured{Key: Key{1, 0}, Memory: 3 * testGB, Wall: 1, Held: true})
	expect(t, "that the kernel keeps", stops(c.Step(16*ms, ShimMeasured{Key: Key{1, 0}, Memory: 3 * testGB, Wall: 1, Held: true})), "")
	expect(t, "beyond", stops(c.Step(20*ms, resident(0, 2.5))), "1.0 memory: the item had 2.5 GiB, its limit is 2 GiB")
	expect(t, "only once", stops(c.Step(30*ms, resident(0, 3))), "")
	expect(t, "in time", stops(c.Step(40*ms, ShimMeasured{Key: Key{1, 1}, Wall: 29.9})), "")
	expect(t, "late", stops(c.Step(50*ms, ShimMeasured{Key: Key{1, 1}, Wall: 30.2})), "1.1 timeout: the item ran for 30 s, its time limit is 30 s")
}

// TestStartThatNoLongerFitsIsRefused: 5 GB were free; others take 3 of them while the supervisor's order is
// on its way, and one item has not touched its own 2 GB yet.
func TestStartThatNoLongerFitsIsRefused(t *testing.T) {
	c := memoryCore(t, 1, false)
	c.Step(10*ms, hostHas(4, 0))
	reply := api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: c.sequence, Answer: 2*c.sequence + 1, LeaseSeconds: 600, Jobs: []api.JobSpec{{Job: 1, Version: 1}}}
	for n := range 2 {
		reply.Instances = append(reply.Instances, api.Desired{Instance: n, Attempt: attempt(1, n), Version: 1, Memory: 2 * testGB})
	}
	orders := c.Step(100*ms, Ticked{})
	reply.Sequence, reply.Answer = c.sequence, 2*c.sequence+1
	orders = append(orders, c.Step(110*ms, Answered{c.sequence, reply})...)
	if text := said(orders); strings.Contains(text, "start") || !strings.Contains(text, "1-1-1 ended: full") {
		t.Errorf("orders %s, want no start and an end that says full", text)
	}
	alone := NewCore(api.Sync{Host: "h1"}, DefaultLimits(), 1)
	alone.memory = api.SyncMemory{Total: 8 * testGB, Available: testGB}
	alone.admits(api.Desired{Attempt: attempt(2, 0), Memory: 8 * testGB})
	if got := alone.records[attempt(2, 0)]; got == nil || !strings.HasSuffix(got.finished.Reason, "1 GiB are available, 0 B of them in reserve or promised to others") {
		t.Errorf("a host with nothing else: %+v", got)
	}
	if got := c.records[attempt(1, 1)]; got == nil || !strings.Contains(got.finished.Reason, "it needs 2 GiB of memory, 4 GiB are available") {
		t.Errorf("record %+v", got)
	}
}

// TestForeignMemoryLeavesOutWhatItemsHave: two items have 1.5 GB. The most of two looks counts.
func TestForeignMemoryLeavesOutWhatItemsHave(t *testing.T) {
	c := memoryCore(t, 2, false)
	c.Step(10*ms, resident(0, 1))
	c.Step(10*ms, resident(1, 0.5))
	look := func(what string, available, others, want float64, ended ...Key) {
		t.Helper()
		ev := hostHas(available, others)
		if ev.Ended, ev.Between = ended, len(ended) > 0; !ev.Between {
			c.Step(20*ms, resident(0, 1))
			c.Step(20*ms, resident(1, 0.5))
		}
		c.Step(20*ms, ev)
		if got := float64(c.memory.Foreign) / float64(testGB); got != want {
			t.Errorf("%s: %v GB foreign, want %v", what, got, want)
		}
	}
	look("first", 4, 0, 2.5)
	look("other agents have 2 GB of it", 4, 2, 2.5)
	look("and again", 4, 2, 0.5)
	look("more is used", 3, 2, 1.5)
	// The items' memory is free before their ends are heard of: nothing of it may be promised twice.
	look("both items are gone, unheard", 4.5, 2, 1.5)
	look("the end of one is heard", 4.5, 2, 1.5, Key{1, 0})
	look("of both", 3.5, 2, 2.5, Key{1, 0}, Key{1, 1})
	c.Step(30*ms, ended(0, 0, "exit"))
	c.Step(30*ms, ended(1, 1, "exit"))
	look("less is used, once", 8, 0, 2.5)
	look("twice", 8, 0, 0)
}

// TestForeignMemoryOfALongEnd: an item of 1 GB is gone, and its log is still being shipped at two looks in a row.
// What others have is not taken for less meanwhile.
func TestForeignMemoryOfALongEnd(t *testing.T) {
	c := memoryCore(t, 2, false)
	c.Step(10*ms, resident(0, 1))
	c.Step(10*ms, resident(1, 1))
	for n, available := range []float64{4, 4, 5, 5} {
		ev := hostHas(available, 0)
		if available == 5 {
			ev.Ended = []Key{{1, 0}}
		}
		c.Step(Moment(20+n)*ms, ev)
		if n > 0 && c.memory.Foreign != 2*testGB {
			t.Errorf("look %d: %d MB foreign, want 2048", n, c.memory.Foreign>>20)
		}
	}
}

// TestForeignMemoryBesideASilentShim: an item of 1 GB whose shim does not answer has ended meanwhile, and what
// others use is not reported as smaller for it; larger for a while, as it may have ended before the last look.
func TestForeignMemoryBesideASilentShim(t *testing.T) {
	c := memoryCore(t, 2, false)
	c.Step(10*ms, resident(0, 1))
	c.Step(10*ms, resident(1, 1))
	for n, available := range []float64{4, 4, 5, 5, 5} {
		if available == 5 {
			c.Step(Moment(20+n)*ms, ShimUnreachable{Key{1, 0}})
		}
		c.Step(Moment(20+n)*ms, resident(1, 1))
		c.Step(Moment(20+n)*ms, hostHas(available, 0))
		if want := []int64{2, 2, 3, 2, 2}[n] * testGB; c.memory.Foreign != want {
			t.Errorf("look %d: %d MB foreign, want %d", n, c.memory.Foreign>>20, want>>20)
		}
	}
}

// TestForeignMemoryOfTwoFalls: before each of two looks in a row another item has given memory back, and that was not
// reported yet: one has less, the other has ended. Others have 2 GB all the time, and that is what is reported.
func TestForeignMemoryOfTwoFalls(t *testing.T) {
	c := memoryCore(t, 2, false)
	told := func(what string) {
		t.Helper()
		if c.memory.Foreign != 2*testGB {
			t.Errorf("%s: %d MB foreign, want 2048", what, c.memory.Foreign>>20)
		}
	}
	measured := func(at Moment, n int, gigabytes float64) {
		m := resident(n, gigabytes)
		m.Wall = at.Seconds()
		c.Step(at, m)
	}
	for at := time.Second; at < 4*time.Second; at += time.Second {
		measured(at, 0, 2)
		measured(at, 1, 1)
		c.Step(at+ms, hostHas(3, 0))
	}
	told("before")
	measured(4*time.Second, 0, 2)
	measured(4*time.Second, 1, 1)
	c.Step(4500*ms, hostHas(4, 0))
	told("one gave 1 GB back, unheard")
	measured(4600*ms, 0, 1)
	measured(4600*ms, 1, 1)
	told("that is heard")
	c.Step(5500*ms, hostHas(5, 0))
	told("the other has ended, unheard")
	end := ended(1, 1, "exit")
	end.Finished.Wall = 5.4
	c.Step(5600*ms, end)
	told("that is heard")
	measured(6*time.Second, 0, 1)
	c.Step(6100*ms, hostHas(6, 0))
	told("and the first has ended, unheard")
}

// TestForeignMemoryOfAnEndAfterALook: an item that was measured, then looked past, and then ended was still there at
// the look: what it had is not taken for others'.
func TestForeignMemoryOfAnEndAfterALook(t *testing.T) {
	c := memoryCore(t, 2, false)
	for at := time.Second; at < 4*time.Second; at += time.Second {
		for n := range 2 {
			m := resident(n, 1)
			m.Wall = at.Seconds()
			c.Step(at, m)
		}
		c.Step(at+100*ms, hostHas(4, 0))
	}
	end := ended(1, 1, "exit")
	end.Finished.Wall = 3.2
	c.Step(3300*ms, end)
	if c.memory.Foreign != 2*testGB {
		t.Errorf("%d MB foreign, want 2048", c.memory.Foreign>>20)
	}
}

// TestForeignMemoryAfterASleep: an item of 3 GB gave 2 of them back a moment before a look, and the host slept until
// just before the next, so that both know only what the item had before. Others have 2 GB all the time.
func TestForeignMemoryAfterASleep(t *testing.T) {
	c := memoryCore(t, 1, false)
	look := func(what string, available float64, between bool) {
		t.Helper()
		ev := hostHas(available, 0)
		ev.Between = between
		if c.Step(20*ms, ev); c.looks > 1 && c.memory.Foreign != 2*testGB {
			t.Errorf("%s: %d MB foreign, want 2048", what, c.memory.Foreign>>20)
		}
	}
	for range 3 {
		c.Step(10*ms, resident(0, 3))
		look("before", 3, false)
	}
	c.Step(10*ms, resident(0, 3))
	look("2 GB are given back, unheard", 5, false)
	look("after the sleep, at once", 5, true)
	look("after the sleep", 5, false)
	c.Step(30*ms, resident(0, 1))
	look("the item is looked at", 5, false)
	// A shim that hangs holds nothing up for ever.
	for range 2 * (unseenMost + 1) {
		c.Step(40*ms, hostHas(6, 0))
	}
	if c.memory.Foreign != testGB {
		t.Errorf("a shim that hangs: %d MB foreign, want 1024", c.memory.Foreign>>20)
	}
}

// TestForeignMemoryOfAYoungItem: what an item took that was never looked at is not taken for others', and that
// not for ever.
func TestForeignMemoryOfAYoungItem(t *testing.T) {
	c := memoryCore(t, 2, false)
	c.Step(10*ms, resident(0, 1))
	c.Step(11*ms, resident(1, 1))
	c.Step(20*ms, hostHas(6, 0))
	c.Step(21*ms, resident(0, 1))
	c.Step(21*ms, resident(1, 1))
	c.Step(22*ms, hostHas(6, 0))
	c.Step(30*ms, resident(1, 1))
	c.Step(30*ms, resident(1, 0)) // as one just begun: nothing is known of it
	for n, want := range []int64{0, 0, 2} {
		c.Step(Moment(40+n)*ms, hostHas(5, 0))
		if c.memory.Foreign != want*testGB {
			t.Errorf("look %d: %d MB foreign, want %d GB", n, c.memory.Foreign>>20, want)
		}
	}
}

// TestMemoryIsReportedSoon: while the supervisor holds its answers, a change of free memory goes out within the report
// interval, also if it never stops changing; a small one waits for the hold's end, and a supervisor that does not
// answer is not asked ever again.
func TestMemoryIsReportedSoon(t *testing.T) {
	limits := DefaultLimits()
	for name, tc := range map[string]struct {
		step, answerAfter float64       // gigabytes from one look to the next; seconds that the supervisor is late
		within, pause     time.Duration // from a look to a sync that has it; least between two syncs
	}{
		"a large change":            {0.5, 0.01, limits.Report + 100*ms, 50 * ms},
		"a small change":            {0.001, 0.01, limits.Hold + 100*ms, limits.Hold},
		"a slow supervisor":         {0.5, 6, 2*6*time.Second + limits.Report, limits.Report},
		"one that is slow and idle": {0.001, 6, limits.Hold + 6*time.Second + 100*ms, limits.Hold},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCore(api.Sync{Host: "h"}, limits, 1)
			now, sent, answerAt, hold := Moment(0), Moment(0), Moment(0), time.Duration(0)
			sequence, syncs, available, said := uint64(0), 0, 4.0, 4.0
			changedAt := Moment(0)
			take := func(orders []Command) {
				for _, o := range orders {
					s, ok := o.(SendSync)
					if !ok {
						continue
					}
					if syncs++; syncs > 2 && now-sent < tc.pause {
						t.Fatalf("at %s a sync follows one at %s", now, sent)
					}
					sequence, sent, hold = s.Sync.Sequence, now, time.Duration(s.Sync.HoldSeconds*float64(time.Second))
					said, answerAt = float64(s.Sync.Memory.Available)/float64(testGB), now+max(hold, Moment(tc.answerAfter*float64(time.Second)))
				}
			}
			take(c.Step(0, Booted{}))
			take(c.Step(0, hostHas(available, 0)))
			take(c.Step(ms, Answered{sequence, api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: sequence, Answer: 2*sequence + 1, LeaseSeconds: 600}}))
			for now = 2 * ms; now < 2*time.Minute; now += 10 * ms {
				if now%(500*ms) == 2*ms {
					if available == said {
						changedAt = now
					}
					available += tc.step
					if available > 7 {
						available = 1
					}
					take(c.Step(now, hostHas(available, 0)))
				}
				if now >= answerAt {
					answerAt = 1 << 62
					take(c.Step(now, Answered{sequence, api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: sequence, Answer: 2*sequence + 1, LeaseSeconds: 600}}))
				}
				if now >= c.Wake() {
					take(c.Step(now, Ticked{}))
				}
				if available != said && now-changedAt > tc.within {
					t.Fatalf("at %s the %.2f GB of %s are not reported; the last sync was at %s", now, available, changedAt, sent)
				}
				if said != available && sent > changedAt {
					changedAt = sent
				}
			}
			t.Logf("%d syncs in two minutes", syncs)
		})
	}
}
