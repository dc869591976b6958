package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
)

// submissionsResult is what `qb bench -submitters N` prints: how fast small jobs are submitted. There are no hosts.
type submissionsResult struct {
	Jobs                 int                `json:"jobs"`
	Submitters           int                `json:"submitters"`
	Seconds              float64            `json:"seconds"`
	JobsPerSecond        float64            `json:"jobs_per_second"`
	SubmitMS             map[string]float64 `json:"submit_ms"` // p50, p99
	SupervisorCPUSeconds float64            `json:"supervisor_cpu_seconds"`
	PostgresCPUSeconds   float64            `json:"postgres_cpu_seconds"`
	Commits              int64              `json:"commits"`
	RowsWritten          int64              `json:"rows_written"`
	Plans                benchPlans         `json:"plans"`
}

// submissions lets clients, each with a connection of its own, submit jobs of one item one after another.
func (b *benchRun) submissions(ctx context.Context) (*submissionsResult, error) {
	token, err := b.token(b.file.TokenFile)
	if err != nil {
		return nil, err
	}
	before, err := b.metrics(ctx)
	if err != nil {
		return nil, err
	}
	var left atomic.Int64
	left.Store(int64(b.jobs))
	took, errs := make([][]float64, b.submitters), make([]error, b.submitters)
	cpu, began := cpuOf(b.farm.Process.Pid), time.Now()
	var all sync.WaitGroup
	for n := range b.submitters {
		all.Go(func() { took[n], errs[n] = b.submitSmall(ctx, token, &left) })
	}
	all.Wait()
	r := &submissionsResult{Submitters: b.submitters, Seconds: time.Since(began).Seconds()}
	used := cpuOf(b.farm.Process.Pid)
	r.SupervisorCPUSeconds, r.PostgresCPUSeconds = used.Self-cpu.Self, used.Children-cpu.Children
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("submitting: %w", err)
		}
	}
	ms := slices.Sorted(slices.Values(slices.Concat(took...)))
	r.Jobs = len(ms)
	r.JobsPerSecond = float64(r.Jobs) / r.Seconds
	r.SubmitMS = map[string]float64{"p50": quantile(ms, 0.5), "p99": quantile(ms, 0.99)}
	m, err := b.metrics(ctx)
	r.Commits = int64(m["qb_commits_total"] - before["qb_commits_total"])
	r.RowsWritten = int64(m["qb_commit_writes_sum"] - before["qb_commit_writes_sum"])
	r.Plans.Whole = int64(m[`qb_plans_total{kind="whole"}`] - before[`qb_plans_total{kind="whole"}`])
	return r, err
}

// submitSmall submits jobs until none is left, and returns the milliseconds that each took.
func (b *benchRun) submitSmall(ctx context.Context, token string, left *atomic.Int64) (took []float64, err error) {
	client, err := api.NewClient(b.file.URL, strings.TrimSpace(token))
	if err != nil {
		return nil, err
	}
	one := 1
	for left.Add(-1) >= 0 {
		began := time.Now()
		request := api.SubmitRequest{Name: "small", Command: []string{"true"}, Range: "1", CPUs: &one}
		key := http.Header{"Idempotency-Key": {rand.Text()}} // as qbsub does
		if err := client.CallWith(ctx, api.Submit, nil, request, nil, key); err != nil {
			return took, err
		}
		took = append(took, float64(time.Since(began))/1e6)
	}
	return took, nil
}
