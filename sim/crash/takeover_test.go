package crash

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/supervisor/job/facts"
)

// TestTakeover measures how long the farm does nothing when its leader goes: from the signal to the first
// item that the successor starts. After each, no item may have been killed, moved or lost. QB_TAKEOVERS says how
// often the leader is killed, and half as often it is stopped; the suite does each once.
func TestTakeover(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("QB_TAKEOVERS"))
	ticks := "0"
	if times == 0 {
		times, ticks = 1, "2" // fewer items: the suite's other tests run beside this one
		t.Parallel()
	}
	r := newCrashRig(t, 1, 2, 4, "QB_SUPERVISOR_SHORT_ITEM=0s") // what is handed back has an attempt more
	item := []string{"/bin/sh", r.path("item.sh"), r.path("truth")}
	long := r.qb(0, r.both(), "qbsub", append([]string{"-range", "1-2", "-cpus", "2", "-max_cpus", "0"}, append(item, "1000000")...)...)
	r.until("the long items run", func() bool { return len(r.running(long)) == 2 })
	before := r.running(long)
	r.qb(0, r.both(), "qbsub", append([]string{"-range", "1-100000", "-cpus", "6", "-max_cpus", "0"}, append(item, ticks)...)...)
	r.until("items run", func() bool { return r.begun() > 20 })
	for _, how := range []struct {
		name  string
		sig   syscall.Signal
		times int
	}{{"killed", syscall.SIGKILL, times}, {"stopped", syscall.SIGSTOP, max(1, times/2)}} {
		var all []time.Duration
		for range how.times {
			all = append(all, r.takeover(how.sig))
			r.nothingLost()
		}
		slices.Sort(all)
		t.Logf("leader %s to first dispatch of the successor: p50 %.2f s, p99 %.2f s, max %.2f s of %d", how.name,
			percentile(all, 50).Seconds(), percentile(all, 99).Seconds(), all[len(all)-1].Seconds(), len(all))
	}
	if after := r.running(long); !slices.Equal(before, after) {
		t.Errorf("the long items ran as %v, and after the changes of leader as %v", before, after)
	}
}

// percentile is the least of sorted that p of 100 do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

// nothingLost wants, of a farm whose items all succeed, that each item begun ran once and runs on or is done,
// that none was left out on the way, and that an audit finds nothing.
func (r *crashRig) nothingLost() {
	r.t.Helper()
	audit := r.qb(0, r.both(), "env", "QB_DATABASE_URL="+r.database, "qb", "audit") // fails if it finds something
	rows, _ := r.rows()
	runs, err := readTruth(r.path("truth")) // after the rows: what they call done has written its end
	r.must(err)
	for _, text := range overlaps(runs) {
		r.t.Error(text)
	}
	done, begun, last := 0, map[facts.JobID]int{}, map[facts.JobID]facts.ItemNo{}
	for of, attempts := range rows {
		begun[of.job]++
		last[of.job] = max(last[of.job], of.item)
		if len(attempts) != 1 || attempts[0].state != "running" && attempts[0].state != "done" {
			r.t.Errorf("item %d of job %d was not left to run once: %+v", of.item, of.job, attempts)
		}
		run := runs[facts.AttemptID{Job: of.job, Item: of.item, Number: 1}]
		if attempts[0].state == "done" {
			done++
			if run == nil || run.ends != 1 {
				r.t.Errorf("item %d of job %d is done and never ran to its end: %+v", of.item, of.job, run)
			}
		}
	}
	for job, n := range begun {
		if int(last[job])+1 != n {
			r.t.Errorf("job %d began %d items, but reached number %d: some were left out", job, n, last[job])
		}
	}
	r.t.Logf("%d items begun, %d of them done; qb audit: %s", len(rows), done, audit)
}

// takeover ends or stops the leader and waits for the first start of an attempt of the next term. What the
// hosts still had to start of the old term is done within the wait for its leader's successor.
func (r *crashRig) takeover(sig syscall.Signal) time.Duration {
	old := r.leading()
	p := r.supervisors[old]
	began := time.Now()
	p.signal(sig)
	r.until("the standby leads", func() bool { return r.leader() == 1-old })
	seen := r.begun()
	r.until("it starts an item", func() bool { return r.begun() > seen })
	took := time.Since(began)
	if sig == syscall.SIGKILL {
		<-p.ended
		r.must(p.start())
	} else {
		p.signal(syscall.SIGCONT)
	}
	r.until("the old leader stands by", func() bool { return r.standsBy(old) })
	return took
}

// begun counts the attempts that have begun, by what they wrote.
func (r *crashRig) begun() (n int) {
	for i := range r.agents {
		text, _ := os.ReadFile(r.path("truth", "a"+strconv.Itoa(i+1)))
		n += strings.Count(string(text), "start ")
	}
	return n
}
