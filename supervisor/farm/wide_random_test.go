package farm_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

// foundLives are sequences of events, found by TestWideJobsComeToRest, after which a start went on waiting beside a host that would have
// taken it, or another plan would have moved what the last one had just moved.
var foundLives = map[string]string{
	"what was placed first fits better once it has started": `policy lease=60s min_run=3s settle=1s preempt=passive primary=aggressive
		host h0 slots=4
		host h1 slots=2
		host h2 slots=6
		host h3 slots=2
		submit w cpus=2 max=2 items=1-8 retrywork=1 priority=2 reservations=host.processors=4
		slow h0
		end h0 1/0 exit=0
		submit w cpus=2 max=-1 items=1-8 retrywork=1 priority=1 reservations=host.processors=2
		submit j cpus=2 max=2 items=1-2 retrywork=1 priority=1
		submit w cpus=1 max=-1 items=1-9 retrywork=1 priority=3 reservations=host.processors=2
		end h0 1/2 exit=0
		submit j cpus=1 max=3 items=1-8 retrywork=1 priority=2
		submit w cpus=2 max=0 items=1-2 retrywork=1 priority=1 reservations=host.processors=2+
		end h1 2/0 exit=0
		submit j cpus=2 max=-1 items=1-7 retrywork=1 priority=2
		submit j cpus=3 max=3 items=1-8 retrywork=1 priority=1
		preempt 5
		submit j cpus=1 max=-1 items=1-9 retrywork=1 priority=2
		submit w cpus=1 max=0 items=1-2 retrywork=1 priority=2 reservations=host.processors=2-4
		submit w cpus=2 max=-1 items=1-9 retrywork=1 priority=1 reservations=host.processors=2+
		end h1 2/3 exit=0
		kill 1
		slow h3
		block 2`,
	"the host of a start is kept for another job from now on": `policy lease=60s min_run=3s settle=1s preempt=passive primary=aggressive
		host h0 slots=6
		host h1 slots=6
		submit w cpus=1 max=2 items=1-2 retrywork=1 priority=3 reservations=host.processors=2
		submit j cpus=1 max=-1 items=1-3 retrywork=1 priority=3
		preempt 2
		submit w cpus=1 max=-1 items=1-3 retrywork=1 priority=1 reservations=host.processors=1+
		submit j cpus=1 max=-1 items=1-6 retrywork=1 priority=2
		kill 1
		submit w cpus=1 max=-1 items=1-8 retrywork=1 priority=1 reservations=host.processors=2
		end h0 2/1 exit=0
		block 1
		end h0 3/1 exit=0
		submit w cpus=1 max=-1 items=1-2 retrywork=1 priority=1 reservations=host.processors=3`,
	"another instance than the one that drains makes room for a wide one": `policy lease=60s min_run=3s settle=1s preempt=passive primary=aggressive
		host h0 slots=5
		host h1 slots=1
		host h2 slots=2
		host h3 slots=2
		submit j cpus=1 max=4 items=1-6 retrywork=1 priority=1
		submit w cpus=1 max=2 items=1-2 retrywork=1 priority=1 reservations=host.processors=2-4`,
	"the ends that the holder of a host waits for have slipped": `policy lease=60s min_run=3s settle=1s preempt=aggressive primary=aggressive
		host h0 slots=4
		host h1 slots=2
		host h2 slots=1
		host h3 slots=2
		submit w cpus=2 max=-1 items=1-3 retrywork=1 priority=3 reservations=host.processors=2+
		submit j cpus=2 max=-1 items=1-6 retrywork=1 priority=1
		suspend 2
		submit w cpus=3 max=4 items=1-4 retrywork=1 priority=3 reservations=host.processors=3
		submit w cpus=1 max=0 items=1-2 retrywork=1 priority=3 reservations=host.processors=4
		advance 17s
		end h0 1/2 exit=1`,
	"a promotion gives the job the primary that could have used the host that is kept": `policy lease=60s min_run=3s settle=1s preempt=disabled primary=aggressive
		host h0 slots=6
		host h1 slots=1
		host h2 slots=2
		submit j cpus=1 max=-1 items=1-4 retrywork=1 priority=1
		reboot h1
		submit w cpus=1 max=4 items=1-2 retrywork=1 priority=2 reservations=host.processors=2
		moves h0
		submit w cpus=2 max=4 items=1-2 retrywork=1 priority=2 reservations=host.processors=3
		redo 2
		advance 66s`,
	"a job gets its slots back from one that had taken them and gave them up": `policy lease=60s min_run=3s settle=1s preempt=aggressive primary=aggressive
		host h0 slots=5
		host h1 slots=6
		host h2 slots=5
		host h3 slots=5
		submit w cpus=1 max=-1 items=1-6 retrywork=1 priority=1 reservations=host.processors=3
		stands h1
		submit w cpus=1 max=3 items=1-4 retrywork=1 priority=1 reservations=host.processors=2
		stands h0
		silent h3
		kill 2
		submit w cpus=2 max=3 items=1-5 retrywork=1 priority=1 reservations=host.processors=2
		submit j cpus=2 max=4 items=1-6 retrywork=1 priority=1
		resume 2
		end h0 1/0 exit=0
		advance 88s
		suspend 2
		resume 3
		submit j cpus=2 max=-1 items=1-2 retrywork=1 priority=3
		submit j cpus=1 max=-1 items=1-2 retrywork=1 priority=2`,
	"a start takes a slot that a primary waits for": `policy lease=60s min_run=3s settle=1s preempt=passive primary=aggressive
		host h0 slots=5
		host h1 slots=1
		host h2 slots=1
		host h3 slots=3
		submit w cpus=2 max=0 items=1-2 retrywork=1 priority=1 reservations=host.processors=3
		modify 1 cpus=1 max=0
		submit w cpus=1 max=0 items=1-1 retrywork=1 priority=2 reservations=host.processors=4
		submit w cpus=1 max=2 items=1-9 retrywork=1 priority=1 reservations=host.processors=1+`,
}

// TestRestOfFoundLives goes through them again.
func TestRestOfFoundLives(t *testing.T) {
	for name, lines := range foundLives {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for line := range strings.Lines(lines) {
				r.say(strings.TrimSpace(line))
				if why := r.farm.Restless(r.now); why != "" {
					t.Fatalf("after %s: %s", line, why)
				}
			}
		})
	}
}

// TestWideJobsComeToRest drives farms of wide and narrow jobs through random lives. After every event, once
// everything has settled and no plan is due, a plan would start nothing, and the first job in the dispatch order
// that lacks a primary has no host on which one could start.
func TestWideJobsComeToRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.do("policy", []string{"lease=60s", "min_run=3s", "settle=1s",
			"preempt=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "preempt"),
			"primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary")})
		hosts := rapid.IntRange(1, 4).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(1+3*max(0, 1-n), 6).Draw(rt, "slots")))
		}
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "wide") == 0 {
				r.say(fmt.Sprintf("submit w cpus=%d max=%d items=1-%d retrywork=1 priority=%d reservations=host.processors=%s", rapid.IntRange(1, 3).Draw(rt, "cpus"),
					rapid.IntRange(-1, 4).Draw(rt, "max"), rapid.IntRange(1, 9).Draw(rt, "items"), rapid.IntRange(1, 3).Draw(rt, "priority"),
					rapid.SampledFrom([]string{"2", "3", "4", "1+", "2+", "2-4"}).Draw(rt, "slots")))
			} else {
				randomStep(rt, r, hosts)
			}
			if why := r.farm.Restless(r.now); why != "" {
				rt.Fatalf("%s\n%s", why, strings.Join(r.said, "\n"))
			}
		}
		calmDown(rt, r, hosts)
		everythingEnded(rt, r)
	})
}

// TestHeadsThatCannotBeHelped: wide jobs of better priority whose hosts hold nothing that yields to them, however many
// and whenever they come, delay no wide job behind them by a second.
func TestHeadsThatCannotBeHelped(t *testing.T) {
	t.Parallel()
	const item = 3 // seconds
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]string{"passive", "aggressive"}).Draw(rt, "policy")
		narrow, free := rapid.IntRange(1, 3).Draw(rt, "narrow"), rapid.IntRange(1, 3).Draw(rt, "hosts")
		before, after := rapid.IntRange(0, 4).Draw(rt, "heads before"), rapid.IntRange(0, 4).Draw(rt, "heads after")
		waits := func(before, after int) (seconds int) {
			r := newRig(t)
			r.do("policy", []string{"primary=" + policy})
			r.say("host held slots=4")
			r.say("submit vip priority=1 items=1 hosts=held reservations=host.processors=4")
			for n := range free {
				r.say(fmt.Sprintf("host h%d slots=2", n))
			}
			for n := range narrow {
				r.say(fmt.Sprintf("submit low priority=%d items=1-500 cpus=20 max=0 omithosts=held", 8+n))
			}
			for range 2 * item {
				r.endAfter(item, 1)
			}
			heads := func(count int) {
				for n := range count {
					r.say(fmt.Sprintf("submit head priority=%d items=1 hosts=held reservations=host.processors=%d", 1+n%2, 2+n%3))
				}
			}
			heads(before)
			r.say("submit wide priority=3 items=1 reservations=host.processors=2")
			wide := facts.JobID(2 + narrow + before)
			heads(after)
			for ; r.firstStart(wide).IsZero() && seconds < 60; seconds++ {
				r.endAfter(item, 1)
			}
			return seconds
		}
		alone := waits(0, 0)
		if with := waits(before, after); with > alone || alone > 2*item {
			rt.Fatalf("the wide job waits for %d s, alone for %d s", with, alone)
		}
	})
}
