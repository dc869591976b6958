package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The benchmark measures the product and not itself: one slot that runs items of 5 ms loses a few milliseconds between
// two of them, not the time for which a sync is held. A quiet machine makes 100 a second; one with ten times as much to do as
// it has cores still makes 30, and a busier one does once in a few tries.
func TestBenchHostsDoNotWait(t *testing.T) {
	var r benchResult
	for range 5 {
		r = benchOneSlot(t)
		if r.ItemsPerSecond >= 15 && r.RefillMS["p50"] <= 80 {
			break
		}
	}
	if r.ItemsPerSecond < 15 || r.RefillMS["p50"] > 80 {
		t.Errorf("%.0f items/s with a refill of %.1f ms at the median; a held sync makes 10 items/s and 100 ms", r.ItemsPerSecond, r.RefillMS["p50"])
	}
	if r.HostsCPUSeconds <= 0 || r.HostsCPUShare <= 0 || r.HostsCPUShare >= 1 {
		t.Errorf("simulated hosts used %.2f s of CPU, a share of %.2f", r.HostsCPUSeconds, r.HostsCPUShare)
	}
	if r.SupervisorCPUSeconds <= 0 || r.PostgresCPUSeconds <= 0 || r.BenchCPUSeconds <= 0 || r.HostsRSS < 1<<20 {
		t.Errorf("supervisor %.2f s of CPU, Postgres %.2f s, this program %.3f s; hosts have %d bytes", r.SupervisorCPUSeconds,
			r.PostgresCPUSeconds, r.BenchCPUSeconds, r.HostsRSS)
	}
	if l := r.Limit; l == nil || l.ItemsPerCommit < 1 || l.ItemsPerSecond <= 0 || l.OfLimit <= 0 || r.Arrivals != nil {
		t.Errorf("limit %+v, arrivals %+v", r.Limit, r.Arrivals)
	}
}

// Jobs arrive at their rate, alone in the farm or beside others, are given to hosts, and leave.
func TestArrivals(t *testing.T) {
	heap := filepath.Join(t.TempDir(), "heap")
	alone := bench(t, "-hosts", "2", "-slots", "4", "-jobs", "0", "-arrivals", "10", "-seconds", "4", "-heap", heap)
	a := alone.Arrivals
	if a == nil || a.Jobs < 30 || a.Jobs > 60 || a.Started < a.Jobs/2 || a.JobCPUMS <= 0 || alone.Limit != nil {
		t.Fatalf("%+v, limit %+v", a, alone.Limit)
	}
	if a.SubmitMS["p50"] <= 0 || a.FirstStartMS["p50"] < a.SubmitMS["p50"]/2 || a.FirstStartMS["p99"] < a.FirstStartMS["p50"] {
		t.Errorf("%+v", a)
	}
	if file, err := os.Stat(heap); err != nil || file.Size() == 0 {
		t.Errorf("no profile of the heap: %v", err)
	}
	beside := bench(t, "-hosts", "2", "-slots", "4", "-jobs", "1", "-items", "2000", "-arrivals", "5", "-seconds", "4")
	if a := beside.Arrivals; a == nil || a.Jobs == 0 || a.JobCPUMS != 0 || beside.Items == 0 || beside.Limit == nil {
		t.Errorf("%+v beside %d items, limit %+v", a, beside.Items, beside.Limit)
	}
}

// A run that cannot be measured is refused with a way out.
func TestBenchOptions(t *testing.T) {
	for _, c := range []struct {
		o    benchOptions
		want string
	}{
		{benchOptions{hosts: 1, slots: 1, jobs: 1, items: 1}, ""},
		{benchOptions{hosts: 1, slots: 1, arrivals: 1, limit: time.Second}, ""},
		{benchOptions{hosts: 1, slots: 1, arrivals: 1}, "-arrivals and -seconds"},
		{benchOptions{hosts: 1, slots: 1, jobs: 2, items: 1}, "at least as many as jobs"},
		{benchOptions{hosts: 1, slots: 1, jobs: 1, items: 1, arrivals: -1}, "-arrivals -1"},
		{benchOptions{hosts: 1, slots: 1, jobs: 1, items: 1, arrivals: 1, real: true}, "without -standstill, -overload, -real and -restart"},
		{benchOptions{hosts: 1, slots: 1, jobs: 1, items: 10, ended: 1}, "with -restart"},
		{benchOptions{hosts: 1, slots: 1, jobs: 1, items: 10, ended: 6, restart: true}, "-ended 6"},
	} {
		err := c.o.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func benchOneSlot(t *testing.T) (r benchResult) {
	t.Helper()
	return bench(t, "-hosts", "1", "-slots", "1", "-jobs", "1", "-items", "100", "-duration", "5ms")
}

func bench(t *testing.T, options ...string) (r benchResult) {
	t.Helper()
	benchInto(t, &r, options...)
	return r
}

func benchInto(t *testing.T, result any, options ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(built(t), "qb"), append([]string{"bench"}, options...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatal(err)
	}
}

// built has this program and the qb that it measures, as `make build` makes them.
func built(t testing.TB) (dir string) {
	t.Helper()
	programs.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "qb-bench-built-"); programs.err != nil {
			return
		}
		build := exec.Command("go", "build", "-trimpath", "-o", programs.dir+"/", ".", "../qb")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			programs.err = fmt.Errorf("building qb and qb-bench: %w\n%s", err, out)
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.dir
}

var programs struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(programs.dir)
	os.Exit(code)
}

func TestFull(t *testing.T) {
	var f benchFull
	before := 0.0
	for _, look := range []struct {
		at, share float64
		waiting   bool
	}{{1, 0.5, true}, {2, 0.92, true}, {3, 0.98, true}, {4, 1, true}, {8, 0.95, true}, {9, 0.1, false}} {
		f.note(look.share, look.at, before, look.waiting)
		before = look.at
	}
	if f.After90 != 2 || f.After97 != 3 || f.Least != 0.95 || math.Abs(f.Mean-(1+4*0.95)/5) > 1e-9 {
		t.Errorf("%+v", f)
	}
}
