package planner

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// benchFarm makes jobs with the usual wish, one primary and as much more as there is, on hosts of equal
// size. With classes, each job may use a random half of them.
func benchFarm(jobs, hosts, slots, classes int) Snapshot {
	d := dice(1)
	s := Snapshot{Now: 100_000, Cluster: "/", Policy: SharePolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1,
		MaxCPUsLimit: slots * hosts, ShareUnit: "slots", Promote: true, Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	for h := range hosts {
		s.Hosts = append(s.Hosts, SnapHost{Name: fmt.Sprintf("h%05d", h), Slots: slots, Memory: -1, Cluster: "/", Up: true})
	}
	for j := range jobs {
		job := SnapJob{ID: fmt.Sprint(j), Num: int64(j), Priority: d.roll(1, 3) * 100, Submit: int64(j), Cluster: "/",
			CPUs: d.roll(1, 3), Remaining: d.roll(1, 2000), Agenda: true, Slots: 1, Weight: 1, Fairshare: float64(d.roll(0, 100)) / 100}
		if classes > 0 {
			job.Eligible = []int{}
			use := make([]bool, classes)
			for c := range use {
				use[c] = d.roll(0, 1) == 0
			}
			for h := range hosts {
				if use[h%classes] {
					job.Eligible = append(job.Eligible, h)
				}
			}
		}
		s.Jobs = append(s.Jobs, job)
	}
	return s
}

// BenchmarkBalanceByUser measures the same farms with the surplus divided by job and by user, 20 jobs each.
func BenchmarkBalanceByUser(b *testing.B) {
	for _, classes := range []int{0, 50} {
		for _, mode := range []string{"jobs", "users"} {
			s := benchFarm(500, 625, 16, classes)
			s.Policy.Mode = mode
			for j := range s.Jobs {
				s.Jobs[j].User = fmt.Sprint("u", j/20)
			}
			s = applied(s, Balance(s))
			b.Run(fmt.Sprintf("classes-%d/%s", classes, mode), func(b *testing.B) { benchBalance(b, s) })
		}
	}
}

// without leaves some jobs, and what they run, out of a snapshot.
func without(s Snapshot, leave func(job int) bool) Snapshot {
	after := s
	after.Running = nil
	for _, r := range s.Running {
		if !leave(r.Job) {
			after.Running = append(after.Running, r)
		}
	}
	after.Jobs = slices.Clone(s.Jobs)
	for j := range after.Jobs {
		if leave(j) {
			after.Jobs[j].Remaining = 0
		}
	}
	return after
}

func benchBalance(b *testing.B, s Snapshot) {
	b.ReportAllocs()
	p := Balance(s)
	b.ReportMetric(float64(len(p.Starts)), "starts")
	b.ReportMetric(float64(len(p.Stop)), "stops")
	used := processorTime()
	for b.Loop() {
		Balance(s)
	}
	b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkBalance measures an empty farm, a settled one, one where every other job has just ended, and
// one where every other job has just arrived.
func BenchmarkBalance(b *testing.B) {
	for _, size := range []struct {
		name                        string
		jobs, hosts, slots, classes int
	}{
		{"pool-10000x100000", 10_000, 1, 100_000, 0},
		{"hosts-10000x100000", 10_000, 6_250, 16, 0},
		{"classes-500x10000x50", 500, 625, 16, 50},
	} {
		empty := benchFarm(size.jobs, size.hosts, size.slots, size.classes)
		half := without(empty, func(j int) bool { return j%2 == 1 })
		settled := applied(empty, Balance(empty))
		ended := without(settled, func(j int) bool { return j%2 == 1 })
		arrived := applied(half, Balance(half))
		arrived.Jobs = empty.Jobs
		b.Run(size.name+"/empty", func(b *testing.B) { benchBalance(b, empty) })
		b.Run(size.name+"/settled", func(b *testing.B) { benchBalance(b, settled) })
		b.Run(size.name+"/ended", func(b *testing.B) { benchBalance(b, ended) })
		b.Run(size.name+"/arrived", func(b *testing.B) { benchBalance(b, arrived) })
	}
}

// processorTime is what this process has had of the processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
