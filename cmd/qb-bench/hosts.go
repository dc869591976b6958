package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/internal/units"
)

// benchHosts simulates hosts for `qb bench`: they speak the worker protocol over real HTTP and end each
// item after a drawn time, without a process. It runs apart from the supervisor, in a process of its own.
type benchHosts struct {
	hosts, slots   int
	seed           uint64
	address, token string

	mu       sync.Mutex
	duration time.Duration       // mean; 0: items take no time
	news     chan struct{}       // closed when it changes
	refills  []float64           // milliseconds from having a result to holding the slot's next item
	first    map[int64]time.Time // when a host had the first item of each job
}

// benchReport is what the simulated hosts print at their end.
type benchReport struct {
	RefillMS   map[string]float64  `json:"refill_ms"`
	CPUSeconds float64             `json:"cpu_seconds"` // of the simulated hosts themselves
	RSS        int64               `json:"rss"`         // their peak
	First      map[int64]time.Time `json:"first"`       // when a host had the first item of each job
}

// benchSpareFiles is how many files the simulated hosts may need besides one connection each: connections that are
// being closed while their successors are open already.
const benchSpareFiles = 1000

// newHostsCommand is qb-bench hosts, which simulates hosts.
func newHostsCommand() *cobra.Command {
	b := &benchHosts{token: os.Getenv("QB_TOKEN"), news: make(chan struct{}), first: map[int64]time.Time{}}
	cmd := &cobra.Command{
		Use: "hosts", Short: "Simulate the hosts of a farm until standard input ends", Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), os.Stdin, cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&b.address, "url", "", "supervisor's `URL`")
	cmd.Flags().IntVar(&b.hosts, "hosts", 1, "`N` hosts")
	cmd.Flags().IntVar(&b.slots, "slots", 1, "`N` slots per host")
	cmd.Flags().Var((*units.Span)(&b.duration), "duration", "mean run time of an item, a `DURATION`")
	cmd.Flags().Uint64Var(&b.seed, "seed", 1, "seed of the run times")
	return cmd
}

// run plays until its standard input is closed, then reports. Each line there is another mean run time.
func (b *benchHosts) run(ctx context.Context, until io.Reader, out io.Writer) error {
	if err := b.enoughFiles(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		for lines := bufio.NewScanner(until); lines.Scan(); {
			if mean, err := time.ParseDuration(lines.Text()); err == nil {
				b.change(mean)
			}
		}
	}()
	var playing sync.WaitGroup
	for n := range b.hosts {
		client, err := api.NewClient(b.address, b.token)
		if err != nil {
			return err
		}
		h := newBenchHost(b, client, n)
		playing.Go(func() { h.play(ctx) })
	}
	playing.Wait()
	slices.Sort(b.refills)
	refill := map[string]float64{"p50": quantile(b.refills, 0.5), "p99": quantile(b.refills, 0.99)}
	own := cpuOf(os.Getpid())
	return json.NewEncoder(out).Encode(benchReport{RefillMS: refill, CPUSeconds: own.Self, RSS: own.Peak, First: b.first})
}

// enoughFiles refuses more hosts than this process may have connections: a host that waits for one would be measured
// as a slow supervisor.
func (b *benchHosts) enoughFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if need := uint64(b.hosts + benchSpareFiles); limit.Cur < need { // Go has raised it to the hard limit
		return api.Errorf(api.KindUsage,
			"%d hosts need %d open files, the limit is %d; raise it (ulimit -n) or use fewer hosts", b.hosts, need, limit.Cur)
	}
	return nil
}

// drawn is how long the next item of a host takes.
func (b *benchHosts) drawn(random *rand.Rand) time.Duration {
	return time.Duration(random.ExpFloat64() * float64(b.mean()))
}

func (b *benchHosts) mean() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.duration
}

// changed is closed when the mean run time changes.
func (b *benchHosts) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

func (b *benchHosts) change(mean time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.duration = mean
	close(b.news)
	b.news = make(chan struct{})
}

// note adds a host's figures to those of all: how long slots waited, and which items it has begun.
func (b *benchHosts) note(refills []float64, started []instanceRef, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refills = append(b.refills, refills...)
	for _, ref := range started {
		if b.first[ref.job].IsZero() {
			b.first[ref.job] = now
		}
	}
}
