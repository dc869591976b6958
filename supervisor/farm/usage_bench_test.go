package farm

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// sharedFarm has 1,000 users in 200 accounts, all with a past, and 10,000 attempts that run.
func sharedFarm(b *testing.B) (*Farm, time.Time) {
	b.Helper()
	now := time.Unix(1_000_000, 0).UTC()
	rows := facts.Facts{NextJob: 1001}
	for h := range 100 {
		rows.Hosts = append(rows.Hosts, facts.HostFacts{ID: facts.HostID(fmt.Sprint("h", h)), Slots: 100, Memory: 1 << 38, Cluster: "/"})
	}
	for n := range 200 {
		show, shot := fmt.Sprint("show", n%20), fmt.Sprintf("show%d/shot%d", n%20, n)
		rows.Accounts = append(rows.Accounts, facts.AccountFacts{Path: show}, facts.AccountFacts{Path: shot})
	}
	for n := range 1000 {
		owner, account := fmt.Sprint("u", n), fmt.Sprintf("show%d/shot%d", n%20, n%200)
		rows.Usage = append(rows.Usage, facts.UsageFacts{Payer: facts.Payer{Account: account, Owner: owner}, Charge: facts.Charge{CPU: float64(n)}, At: now})
		r := facts.JobRecord{Job: facts.JobFacts{ID: facts.JobID(n + 1), Version: 1, User: owner, Account: account, Priority: 5, Cluster: "/", CPUs: 10, Agenda: agenda.Spec{Range: "1-100"},
			State: facts.Active, Command: []string{"true"}}}
		for i := range 10 {
			r.Attempts = append(r.Attempts, facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: facts.AttemptID{Job: r.Job.ID, Item: facts.ItemNo(i), Number: 1}, Host: facts.HostID(fmt.Sprint("h", n%100)), Instance: i, Owner: owner,
				Slots: 1, Memory: 1 << 30, State: facts.Running, StartedAt: now}})
		}
		rows.Jobs = append(rows.Jobs, r)
	}
	p := message.Policy{Fairshare: accounting.Policy{Order: true, PE: "sum", Rule: "tree", HalfLife: 100 * time.Hour}, MaxItems: 1000, DefaultCluster: "/",
		ExecutionLease: time.Hour, Liveness: time.Minute}
	f, err := Rebuild(p, rows, now)
	if err != nil {
		b.Fatal(err)
	}
	return f, now.Add(time.Minute)
}

// BenchmarkRanks tells processor time too: wall time says little on a machine that does other work.
func BenchmarkRanks(b *testing.B) {
	f, now := sharedFarm(b)
	runtime.GC() // what making the farm left behind is none of its cost
	before := cpuTime(b)
	for b.Loop() {
		if r := f.Shares(now); len(r.Owners) != 1000 {
			b.Fatal(len(r.Owners))
		}
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
}

// cpuTime is what this process has used of processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFinish tells what a finished item costs in the farm, and which part of it is the charge.
func BenchmarkFinish(b *testing.B) {
	f, now := sharedFarm(b)
	j := f.jobs.ByID[1]
	i := j.Instances[0]
	b.Run("charge", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			end := facts.EndAttempt{State: facts.Done, Wall: 10, EndedAt: now}
			f.usage.chargeEnd(now, i, &end)
			if n%100 == 99 { // as many ends in a commit
				f.usage.accounts.Charged(f.out.Write)
				f.out.Take()
			}
		}
	})
}
