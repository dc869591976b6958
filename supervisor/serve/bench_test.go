package serve

import (
	"testing"

	"qb/api"
)

// BenchmarkSync is one sync of a worker that ends eight items and gets eight others, over real HTTP on a
// memory store; the worker's own part is in it.
func BenchmarkSync(b *testing.B) {
	r := startRig(b)
	u1, worker := r.client("u1", api.User), r.agent("h1", 8)
	worker.beat(0)
	if err := u1.Call(b.Context(), api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-1000000", CPUs: ptr(8)}, nil); err != nil {
		b.Fatal(err)
	}
	worker.until("all slots are taken", func() bool { return len(worker.running) == 8 })
	b.ReportAllocs()
	for b.Loop() {
		worker.finish(0)
		worker.beat(0)
	}
}
