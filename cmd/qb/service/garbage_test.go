package service

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A small heap has more room than by Go's default, a large one less.
func TestRoomPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 16 << 20: 400, 32 << 20: 200, 64 << 20: 100, 256 << 20: 100, 384 << 20: 66, 1 << 30: 50} {
		if got := roomPercent(live); got != want {
			t.Errorf("%d bytes may grow by %d %%, not %d %%", live, got, want)
		}
	}
}

// The room follows the heap from collection to collection.
func TestRoomFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	collectLess()
	large := make([]byte, 100<<20)
	awaitPercent(t, 100)
	runtime.KeepAlive(large)
	large = nil
	awaitPercent(t, 400)
}

// awaitPercent collects until that room is set.
func awaitPercent(t *testing.T, want int) {
	t.Helper()
	got := 0
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		runtime.GC()
		got = debug.SetGCPercent(want)
		debug.SetGCPercent(got)
		if got == want {
			return
		}
	}
	t.Fatalf("the heap may grow by %d %%, not %d %%", got, want)
}
