package shim

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var piece []byte // escapes, so that each is the collector's

// TestNoCollectionWhileForking: a fork onto a file system that does not answer holds its thread as this poll does, and
// the shim goes on, however much it allocated before and allocates meanwhile.
func TestNoCollectionWhileForking(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // a shim's
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	g := garbage{}
	g.takeOver()
	for range 60 {
		allocate(200)
		g.collect()
		ran := 0
		whileForking(t, func() {
			time.Sleep(time.Millisecond)
			allocate(20)
			ran++
		})
		if ran < 3 {
			t.Fatalf("the shim ran %d times during a fork of %s", ran, longestFork)
		}
	}
}

const longestFork = 5 * time.Second

// whileForking repeats f while a thread is held by the kernel, until f has run three times or longestFork is over.
func whileForking(t *testing.T, f func()) {
	end, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(end)
	endIn(t, end, longestFork)
	began := make(chan bool)
	ended := make(chan bool)
	go func() {
		var expired [8]byte
		close(began)
		unix.RawSyscall(unix.SYS_READ, uintptr(end), uintptr(unsafe.Pointer(&expired)), 8)
		close(ended)
	}()
	<-began
	for n := 1; ; n++ {
		select {
		case <-ended:
			return
		default:
			f()
		}
		if n == 3 {
			endIn(t, end, time.Nanosecond)
		}
	}
}

func endIn(t *testing.T, timer int, d time.Duration) {
	if err := unix.TimerfdSettime(timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
		t.Error(err)
	}
}

// TestGarbageIsCollected: a shim of a long item keeps its memory small.
func TestGarbageIsCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	g := garbage{}
	g.takeOver()
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(objects)
	before := objects[0].Value.Uint64()
	for range 2000 {
		allocate(10)
		g.collect()
		metrics.Read(objects)
		if now := objects[0].Value.Uint64(); now > before+2*mostGarbage {
			t.Fatalf("%d bytes in use, %d at first", now, before)
		}
	}
}

func allocate(pieces int) {
	for range pieces {
		piece = make([]byte, 64<<10)
	}
}
