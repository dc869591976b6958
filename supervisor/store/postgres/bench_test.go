package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
)

// BenchmarkCommit is the farm's steady state: each of so many slots ends an item and starts the next.
func BenchmarkCommit(b *testing.B) {
	for _, slots := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			leading := lead(b, openPostgres(b, emptied(b)))
			job := changed(sampleJob(1), func(j *facts.JobFacts) { j.Agenda = agenda.Spec{Range: "1-10000000"} })
			writes := []facts.Write{facts.PutJob{Job: job}}
			for slot := range slots {
				writes = append(writes, start(1, facts.ItemNo(slot), 1))
			}
			commit(b, leading, writes...)
			next := facts.ItemNo(slots)
			backend := int(leading.(*term).conn.PgConn().PID())
			before := cpuSeconds(b, backend)
			for b.Loop() {
				writes = writes[:0]
				for range slots {
					writes = append(writes, ended(1, next-facts.ItemNo(slots), 1, facts.Done, facts.Never), start(1, next, 1))
					next++
				}
				commit(b, leading, writes...)
			}
			b.ReportMetric((cpuSeconds(b, backend)-before)*1000/float64(b.N), "backend-cpu-ms/op")
		})
	}
}

// cpuSeconds is what a process has used; wall time says little on a machine that does other work.
func cpuSeconds(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100 // the kernel counts hundredths for everybody
}

// BenchmarkLoad is a takeover with 1,000,000 attempts: 100,000 of one unfinished job beside finished ones, and all of
// them in 900 unfinished ones.
func BenchmarkLoad(b *testing.B) {
	for _, open := range []int{100, 900} {
		b.Run(fmt.Sprintf("open=%d/900", open), func(b *testing.B) {
			p := manyAttempts(b, 900, open, 1_000_000)
			leading := lead(b, p)
			backend := int(leading.(*term).conn.PgConn().PID())
			before, mine := cpuSeconds(b, backend), cpuSeconds(b, os.Getpid())
			for b.Loop() {
				load(b, leading)
			}
			b.ReportMetric((cpuSeconds(b, backend)-before)*1000/float64(b.N), "backend-cpu-ms/op")
			b.ReportMetric((cpuSeconds(b, os.Getpid())-mine)*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkLoadInOrder is a takeover in the middle of a retry of 200,000 failed items.
func BenchmarkLoadInOrder(b *testing.B) {
	const items = 200_000
	p := manyAttempts(b, 1, 1, items)
	leading := lead(b, p)
	commit(b, leading, facts.PutAction{Order: facts.ActionFacts{Job: 1, Number: 1, Action: facts.Retry, By: "u", At: at(1),
		Begun: at(1), Next: items / 2,
		Affected: items, Done: items / 2}, Fresh: true})
	conn, err := pgx.Connect(ctx, p.lead.ConnString())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx,
		`UPDATE attempt SET state = 'failed', exit_code = 1, again = CASE WHEN item < $1 / 2 THEN 2 ELSE 0 END WHERE item < $1`,
		items); err != nil {
		b.Fatal(err)
	}
	leading.Close(ctx) // it may have timed out
	leading = lead(b, p)
	backend := int(leading.(*term).conn.PgConn().PID())
	before, mine := cpuSeconds(b, backend), cpuSeconds(b, os.Getpid())
	for b.Loop() {
		load(b, leading)
	}
	b.ReportMetric((cpuSeconds(b, backend)-before)*1000/float64(b.N), "backend-cpu-ms/op")
	b.ReportMetric((cpuSeconds(b, os.Getpid())-mine)*1000/float64(b.N), "cpu-ms/op")
	rows := load(b, leading)
	began := time.Now()
	mine = cpuSeconds(b, os.Getpid())
	prepare(b, rows)
	b.ReportMetric((cpuSeconds(b, os.Getpid())-mine)*1000, "prepare-cpu-ms")
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "prepare-ms")
}

// BenchmarkPrepare is what becomes of the same rows before the farm takes them.
func BenchmarkPrepare(b *testing.B) {
	rows := load(b, lead(b, manyAttempts(b, 900, 900, 1_000_000)))
	before := cpuSeconds(b, os.Getpid())
	for b.Loop() {
		prepare(b, rows)
	}
	b.ReportMetric((cpuSeconds(b, os.Getpid())-before)*1000/float64(b.N), "cpu-ms/op")
}

func prepare(b *testing.B, rows facts.Facts) {
	for _, r := range rows.Jobs {
		if _, err := items.Prepare(r); err != nil {
			b.Fatal(err)
		}
	}
}

// manyAttempts is a store with so many done attempts spread evenly over jobs, of which the first ones are open.
func manyAttempts(b *testing.B, jobs, open, attempts int) *Store {
	url := emptied(b)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	p := openPostgres(b, url)
	term := lead(b, p)
	each := attempts / jobs
	for id := facts.JobID(1); int(id) <= jobs; id++ {
		job := changed(sampleJob(id), func(j *facts.JobFacts) { j.Agenda = agenda.Spec{Range: fmt.Sprintf("0-%d", 2*each)} })
		commit(b, term, facts.PutJob{Job: job})
		if int(id) > open {
			commit(b, term, facts.PutJob{Job: changed(job, func(j *facts.JobFacts) {
				j.Version, j.State, j.FinishedAt = 2, facts.Complete, at(9)
			})})
		}
	}
	commit(b, term, start(1, facts.ItemNo(each), 1), ended(1, facts.ItemNo(each), 1, facts.Done, facts.Never))
	_, err = conn.Exec(
		ctx, `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state,
		again, reason, cause, exit_code, wall, cpu, peak, started_at, ended_at)
		SELECT j, n, 1, host || n % 50, boot, state_id, instance, kind, owner, slots, memory, state,
		again, reason, cause, exit_code, wall, cpu, peak, started_at, ended_at
		FROM attempt, generate_series(1, $1::int) AS j, generate_series(0, $2::int) AS n`, jobs, each-1)
	if err != nil {
		b.Fatal(err)
	}
	term.Close(ctx) // it may have timed out
	return p
}
