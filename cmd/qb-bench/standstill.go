package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"qb/api"
	"qb/internal/pause"
)

// standResult is what `qb bench -standstill` prints: what others wait for while much moves at once.
type standResult struct {
	Hosts                int       `json:"hosts"`
	Slots                int       `json:"slots"`
	Fill                 standPart `json:"fill"` // from no host to an item in each slot
	Lose                 standPart `json:"lose"` // from the end of the leases of all hosts to no item that runs
	TermEnds             int64     `json:"term_ends"`
	Load                 benchLoad `json:"load"`
	SupervisorCPUSeconds float64   `json:"supervisor_cpu_seconds"`
	PostgresCPUSeconds   float64   `json:"postgres_cpu_seconds"`
	SupervisorRSS        int64     `json:"supervisor_rss"`
}

// standPart is one of the two.
type standPart struct {
	Seconds       float64            `json:"seconds"`
	Commits       int64              `json:"commits"`
	RowsWritten   int64              `json:"rows_written"`
	RowsPerCommit float64            `json:"rows_per_commit"`
	SubmitMS      map[string]float64 `json:"submit_ms"` // of submissions one after another: p50, p99, max
	ListMS        map[string]float64 `json:"list_ms"`   // the same of the list of all jobs
}

const (
	standLease  = 30 * time.Second // execution lease of the run; the brake doubles it
	standWithin = 10 * time.Minute // bounds each part
	standPause  = 50 * time.Millisecond
	standItem   = 10_000 * time.Hour // an item's mean, so that none ends
)

// stand measures what others wait for while all slots are filled and while all hosts are lost. No item ends.
func (b *benchRun) stand(ctx context.Context, errOut io.Writer) (*standResult, error) {
	r := &standResult{Hosts: b.benchOptions.hosts, Slots: b.slots, Load: benchLoad{Before: loadAverage()}}
	ids, err := b.submit(ctx, &benchResult{})
	if err != nil {
		return nil, err
	}
	all := min(b.benchOptions.hosts*b.slots, b.items)
	if err := b.startHosts(errOut); err != nil {
		return nil, err
	}
	if r.Fill, err = b.part(ctx, ids, func(running int) bool { return running >= all }); err != nil {
		return nil, fmt.Errorf("filling: %w", err)
	}
	if _, err := b.collect(&benchResult{}); err != nil { // they fall silent
		return nil, err
	}
	if r.Lose, err = b.part(ctx, ids, func(running int) bool { return running == 0 }); err != nil {
		return nil, fmt.Errorf("losing: %w", err)
	}
	r.Load.During = loadAverage()
	m, err := b.metrics(ctx)
	r.TermEnds = int64(m["qb_term_ends_total"])
	used := cpuOf(b.farm.Process.Pid)
	r.SupervisorCPUSeconds = used.Self
	r.PostgresCPUSeconds = used.Children
	r.SupervisorRSS = used.Peak
	return r, err
}

// part submits and lists, one after the other, until what runs is as it should be.
func (b *benchRun) part(ctx context.Context, ids []int64, over func(running int) bool) (p standPart, err error) {
	before, err := b.metrics(ctx)
	if err != nil {
		return p, err
	}
	var submits, lists []float64
	began, moved, one := time.Now(), false, 1
	probe := api.SubmitRequest{Name: "probe", Command: []string{"true"}, Range: "1", Status: "blocked", CPUs: &one}
	for ; ; _ = pause.For(ctx, standPause) {
		at := time.Now()
		running, err := b.running(ctx, ids)
		if err != nil {
			return p, err
		}
		listed := time.Since(at)
		if !moved && running > 0 && running < b.benchOptions.hosts*b.slots {
			moved, began, submits = true, at, nil // leases take their time to end
		}
		if moved {
			lists = append(lists, listed.Seconds()*1e3)
		}
		if over(running) {
			break
		}
		if time.Since(began) > standWithin {
			return p, api.Errorf(api.KindUnavailable, "after %s %d items run", standWithin, running)
		}
		at = time.Now()
		if err := b.client.Call(ctx, api.Submit, nil, probe, nil); err != nil {
			return p, fmt.Errorf("another user's submission: %w", err)
		}
		submits = append(submits, time.Since(at).Seconds()*1e3)
	}
	p.Seconds = time.Since(began).Seconds()
	after, err := b.metrics(ctx)
	p.Commits = int64(after["qb_commits_total"] - before["qb_commits_total"])
	p.RowsWritten = int64(after["qb_commit_writes_sum"] - before["qb_commit_writes_sum"])
	p.RowsPerCommit = float64(p.RowsWritten) / float64(max(1, p.Commits))
	p.SubmitMS, p.ListMS = waits(submits), waits(lists)
	return p, err
}

// running is how many items of the jobs run.
func (b *benchRun) running(ctx context.Context, ids []int64) (n int, err error) {
	return b.sum(ctx, ids, func(c api.ItemCounts) int { return c.Running })
}

func waits(ms []float64) map[string]float64 {
	slices.Sort(ms)
	return map[string]float64{"p50": quantile(ms, 0.5), "p99": quantile(ms, 0.99), "max": quantile(ms, 1)}
}
