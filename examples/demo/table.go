package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/api"
)

const (
	drawEvery  = 400 * time.Millisecond
	plainEvery = 2 * time.Second // between lines when no one watches
	barWidth   = 24
	failedTail = 6       // lines of a failed attempt's output
	logMax     = 1 << 20 // bytes of it that are read
)

// state is the farm as the table shows it.
type state struct {
	jobs  []api.Job // by id
	hosts []api.Host
}

func (s state) job(id int64) api.Job {
	for _, j := range s.jobs {
		if j.ID == id {
			return j
		}
	}
	return api.Job{ID: id}
}

// screen draws the farm until a condition holds.
type screen struct {
	farm      *farm
	begin     time.Time
	live      bool  // redraw in place
	drawn     int   // lines to go up before the next drawing
	suspect   int64 // the job whose first failure is shown
	shown     bool  // it was
	last      string
	lastPlain time.Time
}

func newScreen(f *farm, suspect int64) *screen {
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "" && os.Getenv("TERM") != "dumb"
	return &screen{farm: f, begin: time.Now(), live: terminal, suspect: suspect}
}

// watch draws until done says so; the last drawing is of the state that done saw.
func (s *screen) watch(ctx context.Context, done func(state) bool) error {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		now, err := s.farm.look(ctx)
		if err != nil {
			return err
		}
		if err := s.maybeShowFailure(ctx, now); err != nil {
			return err
		}
		finished := done(now)
		s.draw(now, finished)
		if finished {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-s.farm.exited:
			s.farm.exited <- err // for stop
			return fmt.Errorf("the farm ended in the middle: %v%s", err, s.farm.logLines())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave says something below the table, which stays where it is.
func (s *screen) leave(words string) {
	s.drawn = 0
	fmt.Println("\n" + words)
}

func (f *farm) look(ctx context.Context) (state, error) {
	var s state
	if err := f.client.Call(ctx, api.ListJobs, nil, nil, &s.jobs); err != nil {
		return s, err
	}
	if err := f.client.Call(ctx, api.ListHosts, nil, nil, &s.hosts); err != nil {
		return s, err
	}
	slices.SortFunc(s.jobs, func(a, b api.Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.hosts, func(a, b api.Host) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func (s *screen) draw(now state, force bool) {
	if s.live {
		text := s.table(now)
		if s.drawn > 0 {
			fmt.Printf("\x1b[%dA\x1b[J", s.drawn)
		}
		fmt.Print(text)
		s.drawn = strings.Count(text, "\n")
		return
	}
	line := plainLine(now)
	if line != s.last && (force || time.Since(s.lastPlain) >= plainEvery) {
		fmt.Printf("%5.1fs  %s\n", time.Since(s.begin).Seconds(), line)
		s.last, s.lastPlain = line, time.Now()
	}
}

// table is the drawing for a terminal.
func (s *screen) table(now state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %-3s %-10s %-9s %7s %9s  %-*s %8s\n", "job", "name", "status", "primary", "secondary", barWidth,
		"items", "done")
	for _, j := range now.jobs {
		fmt.Fprintf(&b, "  %-3d %-10s %-9s %7d %9d  %s %4d/%d\n", j.ID, j.Name, j.Status,
			j.Instances.Primary, j.Instances.Secondary, bar(j.Items), j.Items.Complete, j.Items.Total)
	}
	fmt.Fprintf(&b, "\n  %-14s %-6s %s\n", "host", "slots", "items (+ on a secondary)")
	for _, h := range now.hosts {
		fmt.Fprintf(&b, "  %-14.14s %d/%-4d %s\n", h.Name, h.Slots.Used, h.Slots.Total, strings.Join(cells(now, h), ""))
	}
	fmt.Fprintf(&b, "\n  %.0f s\n", time.Since(s.begin).Seconds())
	return b.String()
}

// bar shows items done, running, failed or killed, and waiting.
func bar(items api.ItemCounts) string {
	total := max(items.Total, 1)
	done := items.Complete * barWidth / total
	running := min((items.Running*barWidth+total-1)/total, barWidth-done)
	bad := min(((items.Failed+items.Killed)*barWidth+total-1)/total, barWidth-done-running)
	return strings.Repeat("█", done) + strings.Repeat("▒", running) + strings.Repeat("×", bad) +
		strings.Repeat("·", barWidth-done-running-bad)
}

// cells are the items on a host, each in a column of its own.
func cells(now state, h api.Host) (out []string) {
	for _, in := range h.Instances {
		mark := " "
		if in.Kind == "secondary" {
			mark = "+"
		}
		name := now.job(in.Job).Name
		out = append(out, fmt.Sprintf("%s%-14s", mark, name[:min(len(name), 9)]+" "+in.Item))
	}
	return out
}

// plainLine says the same in one line, for logs.
func plainLine(now state) string {
	var parts []string
	for _, j := range now.jobs {
		part := fmt.Sprintf("%s %s", j.Name, j.Status)
		if j.Status == "running" {
			part = fmt.Sprintf("%s %d+%d", j.Name, j.Instances.Primary, j.Instances.Secondary)
			if j.Instances.Draining > 0 {
				part += fmt.Sprintf(" (%d leaving)", j.Instances.Draining)
			}
		}
		parts = append(parts, part+" "+strconv.Itoa(j.Items.Complete)+"/"+strconv.Itoa(j.Items.Total))
	}
	var hosts []string
	for _, h := range now.hosts {
		hosts = append(hosts, fmt.Sprintf("%s %d/%d", h.Name, h.Slots.Used, h.Slots.Total))
	}
	return strings.Join(parts, " | ") + " | slots " + strings.Join(hosts, ", ")
}

// maybeShowFailure shows the end of the output of the first attempt that failed, once.
func (s *screen) maybeShowFailure(ctx context.Context, now state) error {
	if s.shown || now.job(s.suspect).Items.Total == 0 {
		return nil
	}
	attempts, err := s.farm.attempts(ctx, s.suspect)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(attempts, func(a api.Attempt) bool { return a.State == "failed" })
	if at < 0 {
		return nil
	}
	text, err := s.farm.output(ctx, attempts[at])
	if err != nil || text == "" {
		return nil // the last of it may still be on its way; the next drawing asks again
	}
	s.shown = true
	a := attempts[at]
	s.leave(fmt.Sprintf("Item %s of job %d failed, as planned (%s), and is tried again. The end of its output:", a.Item,
		a.Job, ending(a)))
	for _, line := range tail(text, failedTail) {
		fmt.Println("  | " + line)
	}
	return nil
}

func ending(a api.Attempt) string {
	if a.ExitCode != nil {
		return fmt.Sprintf("attempt %d, exit %d", a.Attempt, *a.ExitCode)
	}
	return fmt.Sprintf("attempt %d, %s", a.Attempt, a.Reason)
}

func tail(text string, lines int) []string {
	var kept []string
	for line := range strings.Lines(text) {
		// A program that redraws its line means the last drawing of it.
		line = strings.TrimRight(line, "\r\n")
		line = strings.TrimRight(line[strings.LastIndexByte(line, '\r')+1:], " ")
		if line != "" {
			kept = append(kept, line)
		}
	}
	return kept[max(0, len(kept)-lines):]
}

// attempts are all tries at a job's items.
func (f *farm) attempts(ctx context.Context, job int64) (all []api.Attempt, err error) {
	err = f.client.Call(ctx, api.Attempts, api.Params{"job": strconv.FormatInt(job, 10), "limit": "10000"}, nil, &all)
	return all, err
}

// output is what an attempt wrote so far.
func (f *farm) output(ctx context.Context, a api.Attempt) (string, error) {
	resp, err := f.client.Open(ctx, api.ItemLog, api.Params{
		"job": strconv.FormatInt(a.Job, 10), "item": a.Item, "attempt": strconv.Itoa(a.Attempt),
	}, nil, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, logMax))
	return string(text), err
}
