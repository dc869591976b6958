package shim

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// mostGarbage is how many bytes are allocated before memory is collected.
const mostGarbage = 2 << 20

// garbage collects memory in place of Go's runtime, at moments when no process is being forked. A thread that forks
// cannot be stopped before its child has reached its program, and a collection must stop or reach every thread: while
// a file system does not answer, it would hold up the lease and every order. debug.SetGCPercent alone is not enough
// around a fork: it returns while a collection that runs still has to reach every thread.
type garbage struct {
	allocated [1]metrics.Sample
	collected uint64 // bytes that were allocated by the end of the last collection
}

// takeOver ends the runtime's own collections. It returns when none runs.
func (g *garbage) takeOver() {
	debug.SetGCPercent(-1)
	runtime.GC()
	g.allocated[0].Name = "/gc/heap/allocs:bytes"
}

// collect is called while no process is being forked. It returns when its collection, if one is due, has ended.
func (g *garbage) collect() {
	metrics.Read(g.allocated[:])
	if now := g.allocated[0].Value.Uint64(); now-g.collected >= mostGarbage {
		runtime.GC()
		g.collected = now
	}
}
