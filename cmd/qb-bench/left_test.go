package main

import (
	"strings"
	"testing"
)

// A supervisor that keeps more than a farm at rest has reason to is named, a supervisor that keeps a bit is not.
func TestBenchLeak(t *testing.T) {
	start := benchLevel{RSS: 50 << 20, Heap: 10 << 20, Goroutines: 30}
	for _, c := range []struct {
		end  benchLevel
		want string
	}{
		{benchLevel{Heap: 60 << 20, Goroutines: 80}, ""},
		{benchLevel{Heap: 10<<20 + benchMoreHeap + benchHeapOfItem*200_000, Goroutines: 90}, ""},
		{benchLevel{Heap: 200 << 20, Goroutines: 30}, "190 MiB more"},
		{benchLevel{Heap: 9 << 20, Goroutines: 91}, "61 goroutines more"},
	} {
		err := leaked(start, c.end, 200_000)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.end, err, c.want)
		}
	}
}
