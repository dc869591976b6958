package postgres

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// benchUsers are the owners of the benchmark, with a job each and ten attempts that run.
const (
	benchUsers = 1000
	benchBatch = 100 // items that end in one commit
)

// BenchmarkCharge compares, commit by commit in one run on one database, the cost of finished items with and without
// fairshare: a charge on each attempt, the usage of the payers, and every 200 or 1000 commits the transfer of
// usage_news, for which it must run 1000 times. The cost is processor time of the server's backend and of this process.
func BenchmarkCharge(b *testing.B) {
	for _, payers := range []int{1, 10, benchBatch} {
		b.Run(fmt.Sprintf("payers=%d", payers), func(b *testing.B) { benchCharge(b, payers) })
	}
}

func benchCharge(b *testing.B, payers int) {
	leading := lead(b, openPostgres(b, emptied(b)))
	backend := int(leading.(*term).conn.PgConn().PID())
	sides := [2]*chargeSide{newChargeSide(b, leading, 0, 0), newChargeSide(b, leading, benchUsers, payers)}
	for range 20 { // caches and plans
		sides[0].commit(b, leading, backend)
		sides[1].commit(b, leading, backend)
	}
	for _, s := range sides {
		s.cost, s.wall, s.commits = 0, 0, 0
	}
	for n := 0; b.Loop(); n++ {
		sides[n%2].commit(b, leading, backend)
		sides[1-n%2].commit(b, leading, backend)
	}
	each := func(s *chargeSide) float64 { return s.cost.Seconds() * 1e6 / float64(s.commits*benchBatch) }
	b.ReportMetric(each(sides[0]), "plain-cpu-us/item")
	b.ReportMetric(each(sides[1]), "charged-cpu-us/item")
	b.ReportMetric((each(sides[1])/each(sides[0])-1)*100, "added-cpu-%")
	b.ReportMetric((sides[1].wall.Seconds()/sides[0].wall.Seconds()-1)*100, "added-wall-%")
}

// chargeSide are the jobs of one of the two, and what their items have cost.
type chargeSide struct {
	first   facts.JobID
	payers  int // in a commit; 0: nothing is charged
	at      int // the next job
	item    facts.ItemNo
	usage   map[facts.JobID]*facts.UsageFacts
	cost    time.Duration
	wall    time.Duration
	commits int
}

func newChargeSide(b *testing.B, leading store.Term, first facts.JobID, payers int) *chargeSide {
	s := &chargeSide{first: first + 1, payers: payers, usage: map[facts.JobID]*facts.UsageFacts{}}
	for n := range facts.JobID(benchUsers) {
		user := fmt.Sprint("user", n)
		s.usage[s.first+n] = &facts.UsageFacts{Payer: facts.Payer{Account: fmt.Sprintf("show%d/shot%d", n%20, n%200),
			Owner: user}, At: at(1)}
		writes := []facts.Write{facts.PutJob{Job: changed(sampleJob(s.first+n), func(j *facts.JobFacts) {
			j.User, j.Agenda = user, agenda.Spec{Range: "1-1000000"}
		})}}
		for item := range facts.ItemNo(10) {
			writes = append(writes, start(s.first+n, item, 1))
		}
		if payers > 0 {
			writes = append(writes, facts.ChargeUsage{Usage: *s.usage[s.first+n]})
		}
		commit(b, leading, writes...)
	}
	return s
}

// commit ends an item of each of the next jobs and starts another.
func (s *chargeSide) commit(b *testing.B, leading store.Term, backend int) {
	writes := make([]facts.Write, 0, 3*benchBatch)
	for range benchBatch {
		job := s.first + facts.JobID(s.at)
		end := ended(job, s.item, 1, facts.Done, facts.Never)
		if s.payers > 0 {
			end.Charge, end.Charged = facts.Charge{CPU: 10, RAM: 2.5}, true
		}
		writes = append(writes, end, start(job, s.item+10, 1))
		if s.at++; s.at == benchUsers {
			s.at = 0
			s.item++
		}
	}
	for n := range s.payers { // who pays for several jobs has one row
		u := s.usage[s.first+facts.JobID((s.at+n)%benchUsers)]
		u.CPU, u.RAM = u.CPU*0.999+10, u.RAM*0.999+2.5
		writes = append(writes, facts.ChargeUsage{Usage: *u})
	}
	began, before := time.Now(), busy(b, backend)
	commit(b, leading, writes...)
	s.cost += busy(b, backend) - before
	s.wall += time.Since(began)
	s.commits++
}

// busy is the time that a process of one thread and this one have had of processors, to the nanosecond.
func busy(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	var ran int64
	if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &ran); err != nil {
		b.Fatal(err)
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ran + own.Utime.Nano() + own.Stime.Nano())
}
