package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"qb/api"
	"qb/internal/pause"
)

// benchArrivals is how jobs fared that arrived during the run.
type benchArrivals struct {
	Jobs         int                `json:"jobs"`
	PerSecond    float64            `json:"per_second"`     // of the jobs, over the time of the run
	SubmitMS     map[string]float64 `json:"submit_ms"`      // from when a job was due to its reply: p50, p99, max
	Started      int                `json:"started"`        // jobs of which a host had an item before the end
	FirstStartMS map[string]float64 `json:"first_start_ms"` // of these, to its first item on a host
	JobCPUMS     float64            `json:"job_cpu_ms"`     // of the supervisor and Postgres, if there were no other jobs
}

const (
	arrivalItems = 4   // of each job
	arrivalsOpen = 256 // submissions under way at a time; what waits for one of them counts as waiting
)

// arrivals submits jobs at a rate until it is stopped.
type arrivals struct {
	client *api.Client
	open   chan struct{}
	wait   sync.WaitGroup

	mu      sync.Mutex
	due     map[int64]time.Time // by job
	submits []float64           // milliseconds
	err     error               // the first
}

// arrive begins to submit; a job is due at its time whether or not earlier ones have their reply.
func (b *benchRun) arrive(ctx context.Context) (a *arrivals, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	a = &arrivals{client: b.client, open: make(chan struct{}, arrivalsOpen), due: map[int64]time.Time{}}
	if b.benchOptions.arrivals > 0 {
		a.wait.Go(func() { a.run(ctx, b.benchOptions.arrivals) })
	}
	return a, func() { cancel(); a.wait.Wait() }
}

func (a *arrivals) run(ctx context.Context, perSecond float64) {
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
		if pause.For(ctx, time.Until(due)) != nil {
			return
		}
		select {
		case a.open <- struct{}{}:
		case <-ctx.Done():
			return
		}
		a.wait.Go(func() {
			defer func() { <-a.open }()
			a.submit(context.WithoutCancel(ctx), n, due)
		})
	}
}

func (a *arrivals) submit(ctx context.Context, n int, due time.Time) {
	one, all := 1, -1
	var reply api.SubmitReply
	err := a.client.Call(ctx, api.Submit, nil, api.SubmitRequest{Name: fmt.Sprintf("arrival-%d", n),
		Command: []string{"true"}, Range: fmt.Sprintf("1-%d", arrivalItems), CPUs: &one, MaxCPUs: &all}, &reply)
	took := time.Since(due)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if a.err == nil {
			a.err = fmt.Errorf("submission %d: %w", n, err)
		}
		return
	}
	a.due[reply.Job] = due
	a.submits = append(a.submits, took.Seconds()*1e3)
}

// result needs to know when hosts had the first item of each job, and is asked for after the stop.
func (a *arrivals) result(r *benchResult, first map[int64]time.Time) (*benchArrivals, error) {
	if a.err != nil || len(a.due) == 0 {
		return nil, a.err
	}
	var starts []float64
	for job, due := range a.due {
		if at, started := first[job]; started {
			starts = append(starts, at.Sub(due).Seconds()*1e3)
		}
	}
	of := &benchArrivals{Jobs: len(a.due), Started: len(starts), PerSecond: float64(len(a.due)) / r.Seconds,
		SubmitMS: waits(a.submits), FirstStartMS: waits(starts)}
	if r.Items == 0 {
		of.JobCPUMS = 1e3 * (r.SupervisorCPUSeconds + r.PostgresCPUSeconds) / float64(len(a.due))
	}
	return of, nil
}
