package store

import (
	"testing"

	"qb/agenda"
	"qb/supervisor/farm"
)

// BenchmarkCharge compares commits of a hundred finished items without and with what fairshare adds.
func BenchmarkCharge(b *testing.B) {
	const slots = 100
	for _, name := range []string{"plain", "charged"} {
		b.Run(name, func(b *testing.B) {
			leading := lead(b, openPostgres(b, emptied(b)))
			job := changed(sampleJob(1), func(j *farm.JobFacts) { j.Agenda = agenda.Spec{Range: "1-10000000"} })
			writes := []farm.Write{farm.PutJob{Job: job}}
			for slot := range slots {
				writes = append(writes, start(1, farm.ItemNo(slot), 1))
			}
			commit(b, leading, writes...)
			next, usage := farm.ItemNo(slots), farm.UsageFacts{Payer: farm.Payer{Owner: "ann"}, At: at(1)}
			backend := int(leading.(*term).conn.PgConn().PID())
			before := cpuSeconds(b, backend)
			for b.Loop() {
				writes = writes[:0]
				for range slots {
					end := ended(1, next-slots, 1, farm.Done, farm.Never)
					if name == "charged" {
						end.Charge, end.Charged = farm.Charge{CPU: 10, RAM: 2.5}, true
						usage.CPU += 10
					}
					writes = append(writes, end, start(1, next, 1))
					next++
				}
				if name == "charged" {
					writes = append(writes, farm.ChargeUsage{Usage: usage})
				}
				commit(b, leading, writes...)
			}
			b.ReportMetric((cpuSeconds(b, backend)-before)*1000/float64(b.N), "backend-cpu-ms/op")
		})
	}
}
