package netns

import (
	"context"
	"encoding/json"
	"os"
	"syscall"
	"time"
)

// cutWorkerOff takes the cable out of a worker that runs two items. The other one gets them when the lease has ended, and
// the first one comes back by itself.
func (f *farm) cutWorkerOff() {
	f.on(f.s1, "qblock", "w2")
	job := f.ann("qbsub", "-name", "cut", "-range", "1-2", "-cpus", "2", "/srv/item.sh", "100")
	f.until("both items run on w1", func() bool { return f.begun(job, f.w1, 0) == 2 })
	f.on(f.s1, "qbunlock", "w2")
	must(f.t, f.w1.Cut(true))
	cut := uptime(f.t)
	f.until("the items of w1 run on w2", func() bool { return f.begun(job, f.w2, cut) == 2 })
	f.t.Logf("a worker cut off, execution lease 6 s: its items began elsewhere after %.1f s", f.firstStart(job, cut)-cut)
	must(f.t, f.w1.Cut(false))
	healed := uptime(f.t)
	again := f.ann("qbsub", "-name", "again", "-range", "1-8", "-hosts", "w1", "/srv/item.sh", "0")
	f.until("w1 gets items again", func() bool { return f.begun(again, f.w1, healed) > 0 })
	f.t.Logf("the worker's cable put in again: its next item began after %.1f s", f.firstStart(again, healed)-healed)
	f.complete(job)
	f.complete(again)
	f.checkTruth(job, 2)
	f.checkTruth(again, 8)
}

// firstStart is the first start of an item of a job after a time; 0: none.
func (f *farm) firstStart(job string, after float64) (first float64) {
	for _, r := range f.runs(job) {
		if r.first > after && (first == 0 || r.first < first) {
			first = r.first
		}
	}
	return first
}

// losePackets loses a third of one worker's packets while items run there.
func (f *farm) losePackets() {
	job := f.ann("qbsub", "-name", "lossy", "-range", "1-60", "-cpus", "4", "/srv/item.sh", "2")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	must(f.t, f.w1.LosePackets(ctx))
	f.complete(job)
	f.checkTruth(job, 60)
	f.t.Logf("a third of a worker's packets lost for 15 s: %d of 60 items ran there", f.begun(job, f.w1, 0))
}

// nameBothSupervisors adds the standby's address on the worker that joined with one, and starts both again, as services
// do, while items run.
func (f *farm) nameBothSupervisors() {
	job := f.ann("qbsub", "-name", "across", "-range", "1-4", "-cpus", "4", "/srv/item.sh", "30")
	f.until("all items run", func() bool { return len(f.runs(job)) == 4 })
	must(f.t, os.WriteFile(f.w1.Folder("etc/qb.conf"), []byte("worker_supervisor = [\"https://s1:50001\", \"https://s2:50001\"]\n"), 0o644))
	for _, m := range []*Machine{f.w1, f.w2} {
		old := f.workers[m]
		must(f.t, syscall.Kill(old.pid(), syscall.SIGTERM))
		<-old.ended
		f.workers[m] = f.start(m, "worker", "qb", "worker")
	}
	f.complete(job)
	f.checkTruth(job, 4)
	if n := len(f.runs(job)); n != 4 {
		f.t.Errorf("4 items had %d runs across a restart of their workers", n)
	}
}

// cutLeaderOff takes the cable out of the leader's machine, where the supervisor runs on, for good.
func (f *farm) cutLeaderOff() {
	long := f.ann("qbsub", "-name", "long", "-range", "1-2", "-cpus", "2", "-max_cpus", "0", "/srv/item.sh", "150")
	f.until("the long items run", func() bool { return len(f.runs(long)) == 2 })
	short := f.ann("qbsub", "-name", "short", "-range", "1-100", "-cpus", "2", "-max_cpus", "0", "/srv/item.sh", "2")
	f.until("short items run", func() bool { return len(f.runs(short)) > 2 })
	must(f.t, f.s1.Cut(true))
	cut := uptime(f.t)
	f.until("s2 leads", func() bool { return f.leads(f.s2) })
	leads := uptime(f.t)
	f.until("an item is placed again", func() bool { return f.firstStart(short, leads-1) > 0 })
	placed := f.firstStart(short, leads-1) // the look itself takes a moment
	f.t.Logf("the leader's machine cut off: the standby leads after %.1f s, the first item is placed after %.1f s", leads-cut, placed-cut)
	before := uptime(f.t)
	later := f.ann("qbsub", "-name", "later", "-range", "1-4", "/srv/item.sh", "0")
	f.t.Logf("a submission from the workstation, whose list begins with the machine that is gone: %.1f s", uptime(f.t)-before)
	for _, job := range []string{short, later, long} {
		f.complete(job)
	}
	f.checkTruth(short, 100)
	f.checkTruth(later, 4)
	f.checkTruth(long, 2)
	if n := len(f.runs(long)); n != 2 {
		f.t.Errorf("the two items that ran across the change of leader had %d runs", n)
	}
	if !f.leader.up() || f.leads(f.s1) {
		f.t.Errorf("the supervisor that is cut off: runs %t, leads %t; want it to run and not to lead", f.leader.up(), f.leads(f.s1))
	}
	f.t.Logf("on s2: qb audit: %s", f.on(f.s2, "qb", "audit"))
	f.t.Logf("on s2: qb audit -workers: %s", f.on(f.s2, "qb", "audit", "-workers"))
}

// complete waits until a job is complete.
func (f *farm) complete(job string) {
	f.t.Helper()
	f.until("job "+job+" is complete", func() bool {
		var jobs []struct {
			Status string `json:"status"`
		}
		must(f.t, json.Unmarshal([]byte(f.ann("qbjobs", "-json", job)), &jobs))
		if len(jobs) != 1 || jobs[0].Status == "failed" || jobs[0].Status == "killed" {
			f.t.Fatalf("job %s is %+v", job, jobs)
		}
		return jobs[0].Status == "complete"
	})
}
