package farm_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// TestInvariant31OneOfTwoAdmissions: of two jobs each of which fits what a host may still promise, and which do not
// fit it together, exactly one starts: whether they come in one plan, or the second while the first one's commit is
// on its way, or after it, and whatever the host has promised before to items that have not touched it.
func TestInvariant31OneOfTwoAdmissions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const mb = int64(1) << 20
		megabytes := func(name string, least, most int64) int64 { return rapid.Int64Range(least, most).Draw(rt, name) }
		total := megabytes("total", 1000, 64_000)
		foreign, before := megabytes("foreign", 0, total/4), megabytes("promised before", 0, total/2)
		ledger := total - foreign - before
		first := megabytes("first", ledger/4+1, ledger)
		second := megabytes("second", ledger-first+1, ledger)
		p, now := testPolicy(), time.Unix(1_000_000, 0)
		p.Memory.Placement = rapid.SampledFrom([]string{"best_fit", "spread", "pack"}).Draw(rt, "placement")
		f := farm.New(p)
		for n := range uint64(2) {
			f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: n + 1, Total: total * mb, Available: (total - foreign) * mb, Foreign: foreign * mb,
				Host: facts.HostFacts{ID: "h", Boot: "b", StateID: "s", Slots: 4, Memory: total * mb, Cluster: "/"}})
		}
		var starts []int64
		plan := func() {
			f.Plan(now)
			for _, w := range f.Take(now).Writes {
				if w, ok := w.(facts.StartAttempt); ok {
					starts = append(starts, w.Attempt.Memory)
				}
			}
		}
		submit := func(need int64) {
			none := 0
			f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: "j", User: "u", Command: []string{"true"}, CPUs: 1, MaxCPUs: &none,
				Agenda: agenda.Spec{Range: "1"}, Reservations: fmt.Sprintf("host.memory=%dMB", need)}})
		}
		if before > 0 {
			submit(before)
			plan()
			if len(starts) != 1 || starts[0] != before*mb {
				rt.Fatalf("%d MB were to be promised, were %v", before, starts)
			}
		}
		starts = nil
		submit(first)
		when := rapid.SampledFrom([]string{"one plan", "commit on its way", "later"}).Draw(rt, "when")
		if when != "one plan" {
			plan()
		}
		if when == "later" {
			now = now.Add(time.Minute)
			f.Step(now, message.WorkerSynced{Ticket: 9, Incarnation: "i", Sequence: 3, Total: total * mb, Available: (total - foreign) * mb, Foreign: foreign * mb,
				Host: facts.HostFacts{ID: "h", Boot: "b", StateID: "s", Slots: 4, Memory: total * mb, Cluster: "/"}})
		}
		submit(second)
		plan()
		plan()
		if len(starts) != 1 || (starts[0] != first*mb && starts[0] != second*mb) {
			rt.Fatalf("%d and %d MB into %d MB: %v were admitted", first, second, ledger, starts)
		}
	})
}
