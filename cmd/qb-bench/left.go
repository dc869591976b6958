package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"qb/api"
	"qb/internal/units"
)

// benchLevel is what a supervisor at rest keeps.
type benchLevel struct {
	RSS        int64 `json:"rss"`  // bytes
	Heap       int64 `json:"heap"` // bytes, right after a garbage collection
	Goroutines int   `json:"goroutines"`
}

// Slack of leaked: what the farm rightly keeps of ended jobs and their items, and connections that are idle and not
// closed yet.
const (
	benchMoreHeap       = 64 << 20
	benchHeapOfItem     = 256
	benchMoreGoroutines = 60
	benchRestFor        = 30 * time.Second
)

// level waits for two collections, which the questions themselves bring about, and takes the least of what it saw: the
// heap as the second left it.
func (b *benchRun) level(ctx context.Context) (benchLevel, error) {
	least := benchLevel{}
	collections := 0.0
	for began := time.Now(); time.Since(began) < benchRestFor; {
		m, err := b.metrics(ctx)
		if err != nil {
			return least, err
		}
		now := benchLevel{int64(m["process_resident_memory_bytes"]), int64(m["go_memstats_heap_alloc_bytes"]),
			int(m["go_goroutines"])}
		if least == (benchLevel{}) {
			least, collections = now, m["go_gc_duration_seconds_count"]
		}
		least.RSS = now.RSS
		least.Heap = min(least.Heap, now.Heap)
		least.Goroutines = min(least.Goroutines, now.Goroutines)
		if m["go_gc_duration_seconds_count"] >= collections+2 {
			break
		}
	}
	return least, nil
}

// metrics are the supervisor's metrics that have no labels.
func (b *benchRun) metrics(ctx context.Context) (map[string]float64, error) {
	resp, err := b.client.Open(ctx, api.Metrics, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var value float64
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(rest, &value); err == nil {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// leaked is an error if the supervisor ended so many items and keeps clearly more than before.
func leaked(start, end benchLevel, items int) error {
	heap, goroutines := end.Heap-start.Heap, end.Goroutines-start.Goroutines
	if most := int64(benchMoreHeap + benchHeapOfItem*items); heap > most {
		return api.Errorf(api.KindInternal,
			"the supervisor leaks: its heap has %s more at rest than before %d items; at most %s are right",
			units.Size(heap), items, units.Size(most))
	}
	if goroutines > benchMoreGoroutines {
		return api.Errorf(api.KindInternal,
			"the supervisor leaks: it has %d goroutines more at rest than before %d items; at most %d are right",
			goroutines, items, benchMoreGoroutines)
	}
	return nil
}
