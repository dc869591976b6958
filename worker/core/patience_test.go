package core

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/api"
)

// Patience is at least twice the last round trip, doubles with each sync given up, is never longer than Overdue or a third of
// the lease, and an answer resets it.
func TestPatienceGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		c.lease = span("lease", time.Hour)
		c.now = Moment(time.Hour)
		f := pendingSync{sequence: 1, sentAt: c.now - span("round trip", 30*time.Second), carries: true}
		asked := span("asked", 30*time.Second)
		c.waits.Answered(true, c.now-f.sentAt, asked)
		most := c.limits.Overdue
		if c.lease > 0 {
			most = max(c.limits.Patience, min(most, c.lease/3))
		}
		last := c.patience()
		if want := min(most, max(c.limits.Patience, 2*(c.now-f.sentAt), asked)); last != want {
			t.Fatalf("patience %v after a round trip of %v and %v asked for, want %v", last, c.now-f.sentAt, asked, want)
		}
		for n := range rapid.IntRange(1, 40).Draw(t, "given up") {
			c.pendingSync = pendingSync{sequence: uint64(n + 2), sentAt: c.now, carries: true}
			c.giveUp(false)
			if next := c.patience(); next != min(most, 2*last) {
				t.Fatalf("patience %v after %d syncs given up, was %v", next, n+1, last)
			}
			last = c.patience()
		}
		if len(c.earlier) >= OpenSyncs {
			t.Fatalf("%d syncs beside the newest may be answered", len(c.earlier))
		}
		c.waits.Answered(true, 0, 0)
		if c.patience() != c.limits.Patience {
			t.Fatalf("patience %v after an answer at once", c.patience())
		}
	})
}

// A supervisor that takes a while for every answer is asked less and less often, and its answers are heard, whatever ends
// meanwhile.
func TestSlowSupervisorIsHeard(t *testing.T) {
	const took = 3 * time.Second
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	type waiting struct {
		sequence uint64
		at       Moment
	}
	var queue []waiting
	sent, heard, now := 0, 0, Moment(0)
	step := func(ev Event) {
		for _, o := range c.Step(now, ev) {
			if s, ok := o.(SendSync); ok {
				sent++
				queue = append(queue, waiting{s.Sync.Sequence, now + took})
			}
		}
	}
	step(Booted{})
	const items = 600
	for item := range items { // one ends every 100 ms
		now += 100 * time.Millisecond
		step(ended(item, item, "exit"))
		for len(queue) > 0 && queue[0].at <= now {
			before := c.heardIn
			step(answer(queue[0].sequence, 1))
			queue = queue[1:]
			if c.heardIn > before {
				heard++
			}
		}
	}
	if most := 2 * int(now/took); sent > most {
		t.Errorf("%d syncs in %v at a supervisor that takes %v, at most %d are right", sent, now, took, most)
	}
	if heard < sent/2 || len(c.records) > int(10*2*took/time.Second)+10 {
		t.Errorf("%d of %d answers were taken, %d results are left", heard, sent, len(c.records))
	}
}

// Answers are taken in rising order of their syncs: one to a sync given up for a later one counts until an answer to a later
// one was taken, and never after a failure or a supervisor that is overdue.
func TestLateAnswers(t *testing.T) {
	three := func() (*Core, Moment) { // syncs 1 to 3 are under way
		c, now := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1), Moment(time.Second)
		c.Step(now, Booted{})
		c.Step(now, ended(0, 0, "exit"))
		now += time.Second
		c.Step(now, ended(1, 1, "exit"))
		if c.pendingSync.sequence != 3 || len(c.earlier) != 2 {
			t.Fatalf("sync %d is under way beside %v", c.pendingSync.sequence, c.earlier)
		}
		return c, now
	}
	c, now := three()
	c.Step(now, answer(2, 1, 7))
	if c.heardIn != 5 || c.pendingSync.sequence != 3 || len(c.wish.Instances) != 1 || len(c.records) != 1 {
		t.Errorf("heard in %d, flight %d, desired %v, records %v", c.heardIn, c.pendingSync.sequence, c.wish.Instances, c.records)
	}
	if c.leaseEnd != Moment(time.Second)+c.lease {
		t.Errorf("the lease ends at %v: it is counted from when the answered sync was sent", c.leaseEnd)
	}
	c.Step(now, answer(1, 1))
	if c.heardIn != 5 || len(c.wish.Instances) != 1 {
		t.Error("an answer to an earlier sync is taken after one to a later one")
	}
	c.Step(now, answer(3, 1))
	if c.heardIn != 7 || len(c.records) != 0 {
		t.Errorf("heard in %d, records %v", c.heardIn, c.records)
	}
	for name, ends := range map[string]func(*Core, Moment) Moment{
		"a refusal": func(c *Core, now Moment) Moment {
			c.Step(now, Unanswered{Sequence: 3, Code: api.CodeNameTaken})
			return now
		},
		"a supervisor that is overdue": func(c *Core, now Moment) Moment {
			now += time.Minute
			if !slices.ContainsFunc(c.Step(now, Ticked{}), func(o Command) bool { g, ok := o.(GiveUpSync); return ok && g.Overdue }) {
				t.Error("it is waited for")
			}
			return now
		},
	} {
		c, now := three()
		now = ends(c, now)
		if c.Step(now, answer(2, 1, 7)); c.heardIn != 0 || len(c.wish.Instances) != 0 {
			t.Errorf("an answer counts after %s", name)
		}
	}
}

// An answer that comes at once and changes nothing is asked for again less and less often.
func TestVainAnswersAreAskedForLessOften(t *testing.T) {
	c, now, sent := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1), Moment(time.Second), 0
	step := func(ev Event) {
		for again := []Event{ev}; len(again) > 0; again = again[1:] {
			for _, o := range c.Step(now, again[0]) {
				if s, ok := o.(SendSync); ok {
					sent++
					again = append(again, answer(s.Sync.Sequence, 1))
				}
			}
		}
	}
	step(Booted{})
	for now < 61*time.Second {
		now = max(now+time.Millisecond, c.Wake())
		step(Ticked{})
	}
	if sent > 70 {
		t.Errorf("%d syncs in a minute", sent)
	}
}

// firstAnswer is the answer to a sync that the response to an earlier one carries.
func firstAnswer(carrier, sequence uint64, items ...int) Answered {
	a := answer(sequence, 1, items...)
	a.Sequence = carrier
	a.Reply.Answer = 2 * sequence
	return a
}

// A result goes in a sync of its own while another is held. The response to the held one answers it, and it is held in
// its turn: one sync for each result.
func TestResultIsAnsweredByTheHeldSync(t *testing.T) {
	c, now, sent := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1), Moment(time.Second), 0
	var step func(ev Event)
	step = func(ev Event) {
		for _, o := range c.Step(now, ev) {
			switch o := o.(type) {
			case SendSync:
				sent++
			case HandItem:
				step(ItemStarted{Key: o.Key, Attempt: o.Item.Desired.Attempt})
			}
		}
	}
	step(Booted{})
	step(answer(1, 1, 0))
	now += 100 * time.Millisecond
	step(ItemStarted{Key: Key{1, 0}, Attempt: attempt(1, 0)})
	step(Ticked{})
	held := c.pendingSync.sequence
	before := sent
	const items = 50
	for item := range items {
		now += 200 * time.Millisecond
		step(ended(0, item, "exit"))
		if c.pendingSync.sequence != held+1 || c.heardIn >= 2*(held+1) {
			t.Fatalf("sync %d is under way after an end, heard in %d; sync %d was held", c.pendingSync.sequence, c.heardIn, held)
		}
		now += time.Millisecond
		step(firstAnswer(held, held+1, item+1))
		held++
		if c.heardIn != 2*held || c.pendingSync.sequence != held || len(c.records) != 0 {
			t.Fatalf("after a first answer: heard in %d, sync %d under way, records %v", c.heardIn, c.pendingSync.sequence, c.records)
		}
		now += 50 * time.Millisecond
		step(Ticked{})
	}
	if sent-before != items {
		t.Errorf("%d syncs for %d results", sent-before, items)
	}
	now += time.Second
	step(answer(held, 1, -1)) // its last: the item is to end
	if c.heardIn != 2*held+1 || len(c.wish.Instances) != 0 {
		t.Errorf("the last answer after the first: heard in %d, desired %v", c.heardIn, c.wish.Instances)
	}
	step(firstAnswer(held-1, held, 9))
	if c.heardIn != 2*held+1 || len(c.wish.Instances) != 0 {
		t.Error("a first answer counts after the last one to the same sync")
	}
}

// What a first answer leaves open is said again soon, and results whose answer does not come are sent again.
func TestWhatAFirstAnswerLeavesOpen(t *testing.T) {
	for name, c := range map[string]struct {
		answer *Answered
		within time.Duration
	}{
		"the end is listed still":           {new(firstAnswer(2, 3, 0)), time.Second},
		"an item without its specification": {new(withoutSpec(firstAnswer(2, 3, -1, 5))), time.Second},
		"no answer came":                    {nil, 2 * time.Second},
	} {
		core, now := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1), Moment(time.Second)
		core.Step(now, Booted{})
		core.Step(now, answer(1, 1, 0))
		core.Step(now, ItemStarted{Key: Key{1, 0}, Attempt: attempt(1, 0)})
		now += 100 * time.Millisecond
		core.Step(now, Ticked{})
		now += time.Second
		core.Step(now, ended(0, 0, "exit"))
		if core.pendingSync.sequence != 3 {
			t.Fatalf("%s: sync %d is under way", name, core.pendingSync.sequence)
		}
		if c.answer != nil {
			core.Step(now, *c.answer)
		}
		if core.Wake() > now+c.within {
			t.Errorf("%s: the next sync is due %v later", name, core.Wake()-now)
		}
		if core.Step(core.Wake(), Ticked{}); core.pendingSync.sequence != 4 {
			t.Errorf("%s: sync %d is under way", name, core.pendingSync.sequence)
		}
	}
}

func withoutSpec(a Answered) Answered {
	a.Reply.Jobs = nil
	a.Reply.Instances[0].Attempt.Job = 2
	return a
}
