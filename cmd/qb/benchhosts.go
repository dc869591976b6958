package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
)

// benchHosts simulates hosts for `qb bench`: they speak the worker protocol over real HTTP and end each
// item after a fixed time, without a process. It runs apart from the supervisor, in a process of its own.
type benchHosts struct {
	client   *api.Client
	slots    int
	duration time.Duration

	mu      sync.Mutex
	refills []float64 // milliseconds from having a result to holding the slot's next item
	done    int
}

// benchReport is what the simulated hosts print at their end.
type benchReport struct {
	Done    int       `json:"done"`
	Refills []float64 `json:"refills"` // sorted sample, milliseconds
}

func newBenchHostsCommand() *cobra.Command {
	var address string
	var hosts, slots int
	var duration time.Duration
	cmd := &cobra.Command{
		Use: "bench-hosts", Short: "Simulated hosts of qb bench", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := api.NewClient(address, os.Getenv("QB_TOKEN"))
			if err != nil {
				return err
			}
			b := &benchHosts{client: client, slots: slots, duration: duration}
			return b.run(cmd.Context(), hosts, os.Stdin, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "supervisor's `URL`")
	cmd.Flags().IntVar(&hosts, "hosts", 1, "how many")
	cmd.Flags().IntVar(&slots, "slots", 1, "slots of each")
	cmd.Flags().DurationVar(&duration, "duration", 0, "how long an item takes")
	return cmd
}

// run plays until its standard input is closed, then reports.
func (b *benchHosts) run(ctx context.Context, hosts int, until io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, until)
		stop()
	}()
	var playing sync.WaitGroup
	for n := range hosts {
		playing.Go(func() { b.play(ctx, fmt.Sprintf("sim-%d", n)) })
	}
	playing.Wait()
	slices.Sort(b.refills)
	return json.NewEncoder(out).Encode(benchReport{Done: b.done, Refills: thin(b.refills, 10_000)})
}

// thin keeps at most n of sorted figures, evenly.
func thin(sorted []float64, n int) []float64 {
	if len(sorted) <= n {
		return sorted
	}
	kept := make([]float64, n)
	for k := range kept {
		kept[k] = sorted[k*(len(sorted)-1)/(n-1)]
	}
	return kept
}

// benchHost is one simulated host between two syncs.
type benchHost struct {
	sync    api.Sync
	running map[int64]map[int]simulated // by job and instance
	freed   map[instanceRef]time.Time   // when an instance got its last result
}

type instanceRef struct {
	job      int64
	instance int
}

type simulated struct {
	attempt api.AttemptID
	ends    time.Time
	wall    float64 // seconds that the host says it took: what takes no time would be charged to nobody
}

func (b *benchHosts) play(ctx context.Context, name string) {
	h := &benchHost{running: map[int64]map[int]simulated{}, freed: map[instanceRef]time.Time{}}
	h.sync = api.Sync{
		Host: name, MachineID: name, BootID: "bench", StateID: name, Incarnation: fmt.Sprint(time.Now().UnixNano()),
		Slots: b.slots, Cluster: "/", HoldSeconds: 5, Memory: api.SyncMemory{Total: 64 << 30, Available: 64 << 30},
	}
	for ctx.Err() == nil {
		wait := h.collect(time.Now())
		h.sync.Sequence++
		h.sync.HoldSeconds = min(5, wait.Seconds())
		var reply api.SyncReply
		if err := b.client.Call(ctx, api.SyncWorker, nil, h.sync, &reply); err != nil {
			pause(ctx, 100*time.Millisecond)
			continue
		}
		b.take(h, reply, time.Now())
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// collect moves what has ended into the sync and returns how long nothing else will end.
func (h *benchHost) collect(now time.Time) time.Duration {
	wait := 5 * time.Second
	h.sync.Instances = h.sync.Instances[:0]
	for job, instances := range h.running {
		for n, s := range instances {
			state := "running"
			if !now.Before(s.ends) {
				state = "idle"
				h.end(job, n, s, now)
			} else {
				wait = min(wait, s.ends.Sub(now))
			}
			h.sync.Instances = append(h.sync.Instances, api.SyncInstance{Job: job, Instance: n, Attempt: s.attempt, State: state})
		}
	}
	if len(h.sync.Finished) > 0 {
		return 0
	}
	return wait
}

func (h *benchHost) end(job int64, instance int, s simulated, now time.Time) {
	if slices.ContainsFunc(h.sync.Finished, func(f api.Finished) bool { return f.Attempt == s.attempt }) {
		return
	}
	zero := 0
	h.sync.Finished = append(h.sync.Finished, api.Finished{Attempt: s.attempt, Instance: instance, Outcome: "exit", ExitCode: &zero, Wall: s.wall})
	h.freed[instanceRef{job, instance}] = now
}

// take makes the supervisor's list true and notes how long freed slots waited.
func (b *benchHosts) take(h *benchHost, reply api.SyncReply, now time.Time) {
	desired := map[api.AttemptID]bool{}
	next := map[int64]map[int]simulated{}
	var refills []float64
	for _, d := range reply.Instances {
		desired[d.Attempt] = true
		if next[d.Attempt.Job] == nil {
			next[d.Attempt.Job] = map[int]simulated{}
		}
		s, ok := h.running[d.Attempt.Job][d.Instance]
		if !ok || s.attempt != d.Attempt {
			s = simulated{d.Attempt, now.Add(b.duration), max(1, b.duration.Seconds())}
			ref := instanceRef{d.Attempt.Job, d.Instance}
			if since, ok := h.freed[ref]; ok {
				refills = append(refills, float64(now.Sub(since))/1e6)
				delete(h.freed, ref)
			}
		}
		next[d.Attempt.Job][d.Instance] = s
	}
	known := len(h.sync.Finished)
	h.sync.Finished = slices.DeleteFunc(h.sync.Finished, func(f api.Finished) bool { return !desired[f.Attempt] })
	h.running, h.sync.Epoch, h.sync.Heard = next, reply.Epoch, reply.Sequence
	h.sync.Jobs = h.sync.Jobs[:0]
	for _, d := range reply.Instances {
		if !slices.ContainsFunc(h.sync.Jobs, func(v api.JobVersion) bool { return v.Job == d.Attempt.Job }) {
			h.sync.Jobs = append(h.sync.Jobs, api.JobVersion{Job: d.Attempt.Job, Version: d.Version})
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += known - len(h.sync.Finished)
	b.refills = append(b.refills, refills...)
}
