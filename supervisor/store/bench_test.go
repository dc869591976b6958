package store

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/farm"
)

// BenchmarkCommit is the farm's steady state: each of so many slots ends an item and starts the next.
func BenchmarkCommit(b *testing.B) {
	for _, slots := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			leading := lead(b, openPostgres(b, emptied(b)))
			job := changed(sampleJob(1), func(j *farm.JobFacts) { j.Agenda = agenda.Spec{Range: "1-10000000"} })
			writes := []farm.Write{farm.PutJob{Job: job}}
			for slot := range slots {
				writes = append(writes, start(1, farm.ItemNo(slot), 1))
			}
			commit(b, leading, writes...)
			next := farm.ItemNo(slots)
			backend := int(leading.(*term).conn.PgConn().PID())
			before := cpuSeconds(b, backend)
			for b.Loop() {
				writes = writes[:0]
				for range slots {
					writes = append(writes, ended(1, next-farm.ItemNo(slots), 1, farm.Done, farm.Never), start(1, next, 1))
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

// BenchmarkLoad is a takeover of a job with 100,000 touched items beside 900,000 of a finished one.
func BenchmarkLoad(b *testing.B) {
	url := emptied(b)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	p := openPostgres(b, url)
	term := lead(b, p)
	done := changed(sampleJob(2), func(j *farm.JobFacts) { j.Version, j.State, j.FinishedAt = 2, farm.Complete, at(9) })
	commit(b, term, farm.PutJob{Job: sampleJob(1)}, farm.PutJob{Job: sampleJob(2)}, start(1, 0, 1), ended(1, 0, 1, farm.Done, farm.Never), farm.PutJob{Job: done})
	_, err = conn.Exec(ctx, `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state,
		again, cause, wall, cpu, peak, started_at, ended_at)
		SELECT CASE WHEN n <= 100000 THEN 1 ELSE 2 END, n, 1, host, boot, state_id, instance, kind, owner, slots, memory, state,
		again, cause, wall, cpu, peak, started_at, ended_at FROM attempt, generate_series(1, 1000000) AS n`)
	if err != nil {
		b.Fatal(err)
	}
	term.Close(ctx) // it may have timed out
	term = lead(b, p)
	for b.Loop() {
		load(b, term)
	}
}
