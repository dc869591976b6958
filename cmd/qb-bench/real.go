package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/worker/proc"
)

// launchesResult is what `qb bench -real` prints.
type launchesResult struct {
	Hosts int       `json:"hosts"`
	Slots int       `json:"slots"`
	Items int       `json:"items"` // that ended in the windows
	Load  benchLoad `json:"load"`
	// medians of the windows
	ItemsPerSecond float64 `json:"items_per_second"`
	BarePerSecond  float64 `json:"bare_per_second"` // of as many loops that start a program and wait for it
	OfBare         float64 `json:"of_bare"`         // the first of the second
	// milliseconds of processor time an item, the kernel's part included
	CPU     launchesCPU `json:"cpu_ms"`
	BareCPU float64     `json:"bare_cpu_ms"`
}

// launchesCPU is where the processor time of real items goes.
type launchesCPU struct {
	Shims      float64 `json:"shims"`
	Items      float64 `json:"items"` // the processes that the shims started
	Agents     float64 `json:"agents"`
	Supervisor float64 `json:"supervisor"`
	Postgres   float64 `json:"postgres"`
	All        float64 `json:"all"`
}

// Windows of launches: the farm's and the bare ones take turns.
const (
	realTurns   = 3
	realWindow  = 10 * time.Second
	realProgram = "/usr/bin/true"
	realWarm    = 5 // items of each slot before a window
	realWithin  = 2 * time.Minute
)

// launches lets real workers run real processes, in turns with loops that do nothing else than start them.
func (b *benchRun) launches(ctx context.Context, errOut io.Writer) (*launchesResult, error) {
	r := &launchesResult{Hosts: b.benchOptions.hosts, Slots: b.slots, Load: benchLoad{Before: loadAverage()}}
	window := b.limit
	if window <= 0 {
		window = realWindow
	}
	var farm, bare, ratio, load []float64
	var bareItems int
	var bareCPU float64
	for range realTurns {
		items, perSecond, err := b.realWindow(ctx, window, &r.CPU)
		if err != nil {
			return nil, err
		}
		before := ownCPU()
		n, barePerSecond, err := bareLaunches(b.benchOptions.hosts*b.slots, window)
		if err != nil {
			return nil, err
		}
		bareCPU += ownCPU() - before
		bareItems += n
		r.Items += items
		farm, bare = append(farm, perSecond), append(bare, barePerSecond)
		ratio = append(ratio, perSecond/barePerSecond)
		load = append(load, loadAverage())
		fmt.Fprintf(errOut, "%.0f items/s, %.0f bare\n", perSecond, barePerSecond)
	}
	r.ItemsPerSecond, r.BarePerSecond, r.OfBare = median(farm), median(bare), median(ratio)
	r.Load.During = mean(load)
	r.CPU.per(r.Items)
	r.BareCPU = 1e3 * bareCPU / float64(bareItems)
	return r, nil
}

// realWindow runs a job and adds what a part of it cost, between its first items and its end: the shims live on then.
func (b *benchRun) realWindow(ctx context.Context, window time.Duration, cost *launchesCPU) (int, float64, error) {
	one, all := 1, -1
	job := api.SubmitRequest{Name: "real", Command: []string{realProgram}, Range: fmt.Sprintf("1-%d", b.items), CPUs: &one,
		MaxCPUs: &all}
	if b.loadOnce {
		self, err := os.Executable()
		if err != nil {
			return 0, 0, err
		}
		job.Type, job.Command = "loadonce", []string{self, "loaded"}
	}
	var reply api.SubmitReply
	if err := b.client.Call(ctx, api.Submit, nil, job, &reply); err != nil {
		return 0, 0, err
	}
	ids := []int64{reply.Job}
	warm := realWarm * b.slots * b.benchOptions.hosts
	first, err := b.await(ctx, ids, func(c api.ItemCounts) bool { return c.Complete >= warm })
	if err != nil {
		return 0, 0, err
	}
	before, began := b.farmCPU(), time.Now()
	if err := pause.For(ctx, window); err != nil {
		return 0, 0, err
	}
	last, err := b.await(ctx, ids, func(api.ItemCounts) bool { return true })
	if err != nil {
		return 0, 0, err
	}
	cost.add(b.farmCPU(), before)
	items, seconds := last.Complete-first.Complete, time.Since(began).Seconds()
	if last.Complete >= b.items {
		return 0, 0, api.Errorf(api.KindUsage, "all %d items ended before the window did; run more", b.items)
	}
	if err := b.client.Call(ctx, api.OrderJob, api.Params{"job": fmt.Sprint(reply.Job), "action": "kill"},
		api.ActionRequest{}, nil); err != nil {
		return 0, 0, err
	}
	_, err = b.await(ctx, ids, func(c api.ItemCounts) bool { return c.Running == 0 })
	return items, float64(items) / seconds, err
}

// await looks at a job until its items are as they should be.
func (b *benchRun) await(ctx context.Context, ids []int64, so func(api.ItemCounts) bool) (c api.ItemCounts, err error) {
	for began := time.Now(); ; {
		if _, err := b.sum(ctx, ids, func(of api.ItemCounts) int { c = of; return 0 }); err != nil || so(c) {
			return c, err
		}
		if time.Since(began) > realWithin {
			return c, api.Errorf(api.KindUnavailable, "after %s %d items ended and %d run", realWithin, c.Complete, c.Running)
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return c, err
		}
	}
}

// farmCPU is what each part has used so far, in seconds. A process that ends hands what it used to its parent.
func (b *benchRun) farmCPU() (c launchesCPU) {
	farm, _ := proc.Read(b.farm.Process.Pid)
	c.Supervisor = own(farm)
	for _, p := range proc.Descendants(b.farm.Process.Pid) {
		words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)) // empty if it has just ended
		program, rest, _ := strings.Cut(string(words), "\x00")
		name, _, _ := strings.Cut(rest, "\x00")
		switch {
		case filepath.Base(program) == "qb" && name == "shim":
			c.Shims += own(p)
			c.Items += seconds(p) - own(p)
		case filepath.Base(program) == "qb" && name == "worker":
			c.Agents += own(p)
		case strings.Contains(program, "postgres"):
			c.Postgres += own(p)
		}
	}
	return c
}

func own(p proc.Process) float64 { return float64(p.Own) / ticksPerSecond }

// add adds what was used between two looks.
func (c *launchesCPU) add(after, before launchesCPU) {
	c.Shims += after.Shims - before.Shims
	c.Items += after.Items - before.Items
	c.Agents += after.Agents - before.Agents
	c.Supervisor += after.Supervisor - before.Supervisor
	c.Postgres += after.Postgres - before.Postgres
}

// per turns seconds of all items into milliseconds of one.
func (c *launchesCPU) per(items int) {
	c.All = c.Shims + c.Items + c.Agents + c.Supervisor + c.Postgres
	for _, part := range []*float64{&c.Shims, &c.Items, &c.Agents, &c.Supervisor, &c.Postgres, &c.All} {
		*part *= 1e3 / float64(items)
	}
}

// bareLaunches has so many loops start the program and wait for its end.
func bareLaunches(loops int, window time.Duration) (launched int, perSecond float64, err error) {
	var wait sync.WaitGroup
	var count atomic.Int64
	failed := make(chan error, loops)
	began := time.Now()
	for range loops {
		wait.Go(func() {
			for time.Since(began) < window {
				if err := exec.Command(realProgram).Run(); err != nil {
					failed <- err
					return
				}
				count.Add(1)
			}
		})
	}
	wait.Wait()
	select {
	case err = <-failed:
	default:
	}
	return int(count.Load()), float64(count.Load()) / time.Since(began).Seconds(), err
}

func median(of []float64) float64 { return quantile(slices.Sorted(slices.Values(of)), 0.5) }

func mean(of []float64) (m float64) {
	for _, v := range of {
		m += v / float64(len(of))
	}
	return m
}
