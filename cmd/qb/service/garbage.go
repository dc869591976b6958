package service

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Go's runtime collects garbage when the heap has doubled. With a farm of 15 MB that took a fifth of the supervisor's
// processor time, so a heap may grow by smallRoom, but not to more than five times its size. Where much memory is in
// use, hundreds of megabytes would be garbage, so beyond largeRoom a heap grows by less, but by half of its size at
// least: with 2,000 hosts the supervisor had 315 MB resident in place of 408, and the collector took 22 % of the
// processor time in place of 14 %.
const (
	smallRoom    = 64 << 20
	largeRoom    = 256 << 20
	mostPercent  = 400
	leastPercent = 50
)

// collectLess sets the heap's room after each collection. A GOGC in the environment counts instead.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		setRoom()
	}
}

// setRoom sets the room by the size of the heap now, and does it again after the next collection.
func setRoom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(roomPercent(live[0].Value.Uint64()))
	next := new(*byte) // nothing refers to it, so the next collection finds it
	runtime.AddCleanup(next, func(struct{}) { setRoom() }, struct{}{})
}

// roomPercent is by how much a heap of so many bytes may grow.
func roomPercent(live uint64) int {
	live = max(live, 1)
	switch {
	case live < smallRoom:
		return int(min(smallRoom*100/live, mostPercent))
	case live > largeRoom:
		return int(max(largeRoom*100/live, leastPercent))
	}
	return 100
}
