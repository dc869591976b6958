package crash

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/postgres"
)

// TestRecovery measures how long it takes from an order to kill to the end of a tree, and from a host's loss to
// the item's next attempt elsewhere: rebooted, cut off, and with its agent killed for good while its item runs
// on past the lease. No two attempts may have run at once, and an audit finds nothing. QB_RECOVERIES says how
// often; the suite does three of the five once.
func TestRecovery(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("QB_RECOVERIES"))
	more := times
	if times == 0 {
		times = 1
		t.Parallel()
	}
	r := newCrashRig(t, 3, 2, 2)
	r.until("both hosts are up", func() bool {
		return strings.Count(r.qb(-1, r.both(), "qbhosts", "-no-headers", "-fields", "state"), "up") == 2
	})
	for _, how := range []recovery{
		{"kill of a tree that heeds TERM, to its last process", times, func() time.Duration { return r.killTree("fork") }},
		{"kill of a tree that does not, grace 1 s", more, func() time.Duration { return r.killTree("stubborn") }},
		{"host rebooted, from the start of its agent to its item's next attempt", times, r.rebootUnder},
		{"host cut off, lease 6 s, grace 1 s, to its item elsewhere", more, r.cutUnder},
		{"agent killed for good, likewise", times, r.killAgentUnder},
	} {
		how.measure(t)
	}
	r.checkTruth()
	if more > 0 {
		r = newCrashRig(t, 4, 1, 2, "QB_SUPERVISOR_KILL_GRACE=10s")
		recovery{"kill of a tree that does not heed TERM, grace 10 s", more, func() time.Duration { return r.killTree("stubborn") }}.measure(t)
		r.checkTruth()
	}
}

// recovery is a way back that is timed, so many times; a way that took no time could not be tried.
type recovery struct {
	what  string
	times int
	once  func() time.Duration
}

func (how recovery) measure(t *testing.T) {
	var all []time.Duration
	for range how.times {
		if took := how.once(); took > 0 {
			all = append(all, took)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		t.Logf("%s: p50 %.2f s, max %.2f s of %d", how.what, percentile(all, 50).Seconds(), all[len(all)-1].Seconds(), len(all))
	}
}

// killTree submits items with a tree each, kills their job, and waits until no process of them is there.
func (r *crashRig) killTree(manner string) time.Duration {
	job := r.qb(0, r.both(), "qbsub", "-range", "1-2", "-cpus", "2", "/bin/sh", r.path("item.sh"), r.path("truth"), "1000000", manner)
	r.until("its items run", func() bool { return len(r.running(job)) == 2 && r.begunBy(job) == 2 && len(r.itemProcesses()) >= 4 })
	began := time.Now()
	r.qb(0, r.both(), "qbkill", job)
	r.until("nothing of it is there", func() bool { return len(r.itemProcesses()) == 0 })
	return time.Since(began)
}

func (r *crashRig) begunBy(job string) (n int) {
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	for id := range runs {
		if strconv.FormatInt(int64(id.Job), 10) == job {
			n++
		}
	}
	return n
}

// moved starts an item, does that to its host, and waits for the item's next attempt, which is on the other while the
// first is silent. Undo comes after that. What is measured ends at the first line that the next attempt wrote, on the
// clock since boot.
func (r *crashRig) moved(harm func(host int) (began time.Duration), undo func(host int)) time.Duration {
	job := r.qb(0, r.both(), "qbsub", "-cpus", "1", "-max_cpus", "0", "/bin/sh", r.path("item.sh"), r.path("truth"), "1000000", "plain")
	first := r.awaitRun(job, 1)
	host := slices.IndexFunc(r.agents, func(p *crashProcess) bool { return p.name == first.host })
	began := harm(host)
	next := r.awaitRun(job, 2)
	undo(host)
	r.until("the first attempt is gone", func() bool {
		return !slices.ContainsFunc(r.itemProcesses(), func(p crashProc) bool { return p.id == first.id })
	})
	r.qb(0, r.both(), "qbkill", job)
	r.until("the job is gone", func() bool { return len(r.itemProcesses()) == 0 })
	r.until("both hosts are up", func() bool {
		return strings.Count(r.qb(-1, r.both(), "qbhosts", "-no-headers", "-fields", "state"), "up") == 2
	})
	return time.Duration(next.first*float64(time.Second)) - began
}

// awaitRun waits until an attempt of the job's one item has written its first line.
func (r *crashRig) awaitRun(job string, number int) (found *crashRun) {
	r.t.Helper()
	id, err := strconv.ParseInt(job, 10, 64)
	r.must(err)
	r.until("attempt "+strconv.Itoa(number)+" of job "+job+" runs", func() bool {
		runs, err := readTruth(r.path("truth"))
		r.must(err)
		found = runs[facts.AttemptID{Job: facts.JobID(id), Item: 0, Number: number}]
		return found != nil
	})
	return found
}

// sinceBoot is on the clock of the items' lines.
func (r *crashRig) sinceBoot() time.Duration {
	var now unix.Timespec
	r.must(unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
	return time.Duration(now.Nano())
}

func (r *crashRig) rebootUnder() time.Duration {
	if !r.root {
		return 0 // another boot id needs a mount
	}
	return r.moved(func(host int) time.Duration {
		agent := r.agents[host]
		r.endHost(agent)
		r.newBoot(agent.name)
		began := r.sinceBoot()
		r.must(agent.start())
		return began
	}, func(int) {})
}

func (r *crashRig) cutUnder() time.Duration {
	silent := func(host int, on bool) {
		for _, p := range r.proxies[host] {
			p.setSilent(on)
		}
	}
	return r.moved(func(host int) time.Duration {
		began := r.sinceBoot()
		silent(host, true)
		return began
	}, func(host int) { silent(host, false) })
}

func (r *crashRig) killAgentUnder() time.Duration {
	return r.moved(func(host int) time.Duration {
		began := r.sinceBoot()
		r.agents[host].signal(syscall.SIGKILL)
		<-r.agents[host].ended
		return began
	}, func(host int) { r.must(r.agents[host].start()) })
}

// checkTruth wants no two attempts at once, and an audit that finds nothing.
func (r *crashRig) checkTruth() {
	r.t.Helper()
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	for _, text := range overlaps(runs) {
		r.t.Error(text)
	}
	audit, err := postgres.Audit(context.Background(), r.database)
	r.must(err)
	for _, p := range audit.Problems {
		r.t.Errorf("audit: %s", problemText(p))
	}
	r.t.Logf("%d attempts ran; the audit read %d and found %d problems", len(runs), audit.Attempts, len(audit.Problems))
}
