package service

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A heap may grow by roomyHeap between two garbage collections, but not to more than five times its size. Go's runtime
// collects when the heap has doubled: with a farm of 15 MB that took a fifth of the supervisor's processor time.
const (
	roomyHeap   = 64 << 20
	mostPercent = 400
)

// collectLess sets the heap's room after each collection: a large farm keeps to Go's default, 100 %. A GOGC in the
// environment counts instead.
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
func roomPercent(live uint64) int { return int(min(max(roomyHeap*100/max(live, 1), 100), mostPercent)) }
