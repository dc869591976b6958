package worker

import (
	"log/slog"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
)

// BenchmarkItemsOfOneShim is the agent's own speed: the supervisor of the test answers at once.
func BenchmarkItemsOfOneShim(b *testing.B) { benchmarkItems(b, 1, "true") }

// BenchmarkItemsOfFourShims shows what is shared.
func BenchmarkItemsOfFourShims(b *testing.B) { benchmarkItems(b, 4, "true") }

// BenchmarkItemsWithOutput ships a log for each item.
func BenchmarkItemsWithOutput(b *testing.B) { benchmarkItems(b, 1, "echo", "one line") }

func benchmarkItems(b *testing.B, instances int, command ...string) {
	f := newScriptedFarm(b)
	f.job(1, command...)
	runAgentLogging(b, testConfig(b, f), true, slog.DiscardHandler)
	f.await("the first sync", func() bool { return f.syncs > 0 })
	next, done := 0, 0
	began := time.Now()
	b.ResetTimer()
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			done++
			if next < b.N {
				f.wantLocked(core.Key{Job: 1, Instance: end.Instance}, attempt(1, next))
				next++
			}
		}
		for ; next < min(instances, b.N); next++ {
			f.wantLocked(core.Key{Job: 1, Instance: next}, attempt(1, next))
		}
	})
	f.await("all items", func() bool { return done == b.N })
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "items/s")
	b.ReportMetric(float64(f.syncs)/float64(b.N), "syncs/item")
}
