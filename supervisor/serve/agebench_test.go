package serve

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// watched is a store that tells whether a chunk of history is being moved.
type watched struct {
	Backing
	begun, moving atomic.Int64
}

func (w *watched) Compact(ctx context.Context, c store.Compaction) (int64, error) {
	w.begun.Add(1)
	w.moving.Add(1)
	defer w.moving.Add(-1)
	return w.Backing.Compact(ctx, c)
}

// BenchmarkDispatchBesideCompaction measures how long a host that ends eight items waits for the next eight, over HTTP
// and on a durable Postgres, while 60,000 old attempts are compacted into daily sums at the usual pace: one chunk, then
// a rest of nine times its duration. Waits during which a chunk was moved are counted separately from other waits of
// the same seconds.
//
//	go test ./supervisor -run '^$' -bench DispatchBesideCompaction -benchtime 3000x -timeout 30m
func BenchmarkDispatchBesideCompaction(b *testing.B) {
	w := &watched{Backing: durablePast(b, 100, 600)}
	r := startRig(b, func(c *settings.Config, o *Options) {
		c.HistoryDays, o.ageEvery, o.Store.(*faultyStore).Backing = 90, 100*time.Millisecond, w
	})
	u1, worker := r.client("u1", api.User), r.agent("h1", 8)
	worker.beat(0)
	if err := u1.Call(b.Context(), api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-1000000", CPUs: ptr(8)}, nil); err != nil {
		b.Fatal(err)
	}
	worker.until("all slots are taken", func() bool { return len(worker.running) == 8 })
	var waits [2][]float64 // without and with, in milliseconds
	for b.Loop() {
		worker.finish(0)
		side, chunks, began := 0, w.begun.Load(), time.Now()
		if w.moving.Load() > 0 {
			side = 1
		}
		worker.beat(0)
		took := time.Since(began).Seconds() * 1000
		if w.begun.Load() != chunks {
			side = 1
		}
		waits[side] = append(waits[side], took)
	}
	if b.N > 100 && len(waits[1]) == 0 {
		b.Fatal("no chunk was moved meanwhile")
	}
	for side, name := range []string{"alone", "beside"} {
		slices.Sort(waits[side])
		b.ReportMetric(float64(len(waits[side])), name)
		for _, q := range []float64{0.5, 0.99} {
			if n := len(waits[side]); n > 0 {
				b.ReportMetric(waits[side][int(q*float64(n-1))], fmt.Sprintf("%s-p%.0f-ms", name, q*100))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// durablePast is a store on a Postgres that syncs, with jobs that ended long ago.
func durablePast(b *testing.B, jobs, items int) Backing {
	b.Helper()
	cluster := runCluster(b, pgcluster.Config{State: openDir(b)})
	db, err := postgres.Open(b.Context(), cluster.URL(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	past := make([]facts.JobFacts, jobs)
	for n := range past {
		past[n] = pastJob(fmt.Sprint("user", n), "", fmt.Sprintf("1-%d", items))
	}
	livePast(b, db, time.Now().Add(-200*settings.Day), past...)
	return db
}
