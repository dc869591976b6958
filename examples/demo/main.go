package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"qb/api"
)

// What is rendered. The flawed frame's first attempt fails by design.
const (
	beautyFrames    = 48
	turntableFrames = 24
	flawedFrame     = 7
	frameWidth      = 320
	frameHeight     = 180

	// turntable comes when beauty has grown wide and done some frames, or after this time at the latest.
	turntableAfterFrames = 10
	turntableDelayMax    = 20 * time.Second

	patience = 10 * time.Minute // a farm that is not done by then never will be
)

// The farm's death signal follows the thread that started it, so the story stays on one thread.
func init() { runtime.LockOSThread() }

func main() {
	bin := flag.String("bin", "bin", "folder with qb and its links")
	examples := flag.String("examples", "examples", "folder with the scenes and their scripts")
	out := flag.String("out", "demo-out", "folder for the pictures; it is emptied first")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the jobs were not done after %v", patience))
	defer cancel()

	err := run(ctx, *bin, *examples, *out)
	if err == nil {
		return
	}
	if errors.Is(err, errStopped) {
		fmt.Fprintln(os.Stderr, "demo: stopped; nothing of it runs any more")
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "demo: "+err.Error())
	os.Exit(1)
}

// run is the demo from start to end; whatever happens, the farm is stopped and looked for before it returns.
func run(ctx context.Context, bin, examples, out string) (err error) {
	for _, folder := range []*string{&bin, &examples, &out} {
		if *folder, err = filepath.Abs(*folder); err != nil {
			return err
		}
	}
	unlock, err := ownFolder(out)
	if err != nil {
		return err
	}
	defer unlock()
	if err := emptyFolder(out); err != nil {
		return err
	}
	f, err := startFarm(ctx, bin)
	if err != nil {
		return cause(ctx, err)
	}
	defer func() {
		stopErr := f.stop(out)
		if err == nil && ctx.Err() == nil {
			err = stopErr
		} else if stopErr != nil {
			fmt.Fprintln(os.Stderr, "demo: "+stopErr.Error())
		}
		f.clean(err == nil || errors.Is(err, errStopped))
	}()
	ready := time.Now()
	jobs, err := tell(ctx, f, examples, out)
	if err != nil {
		return cause(ctx, err)
	}
	if err := verify(ctx, f, jobs, out); err != nil {
		return cause(ctx, err)
	}
	fmt.Printf("\nAll of it took %.0f s from ready.\n  frames  %s\n  movie   %s\n",
		time.Since(ready).Seconds(), filepath.Join(out, "*.png"), filepath.Join(out, "beauty.gif"))
	return nil
}

// errStopped is the user's wish.
var errStopped = errors.New("stopped by a signal")

// cause prefers the reason why everything was stopped to the error that the stop made.
func cause(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errStopped
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// tell submits the jobs one after another and draws the table until all are done.
func tell(ctx context.Context, f *farm, examples, out string) ([]int64, error) {
	render, movie := filepath.Join(examples, "render.sh"), filepath.Join(examples, "movie.sh")
	frames := fmt.Sprint(beautyFrames)
	beauty, err := f.submit(ctx, "-name", "beauty", "-priority", "5", "-cpus", "2", "-max_cpus", "*", "-range",
		"1-"+frames,
		"-padding", "4", "-validate", filepath.Join(out, "beauty.QB_PADDED_FRAME_NUMBER.png"), "-retrywork", "1", render,
		"beauty", out, "QB_FRAME_NUMBER", frames, fmt.Sprint(flawedFrame))
	if err != nil {
		return nil, err
	}
	screen := newScreen(f, beauty)
	wide := func(s state) bool {
		job := s.job(beauty)
		return job.Items.Complete >= turntableAfterFrames || time.Since(screen.begin) > turntableDelayMax
	}
	if err := screen.watch(ctx, wide); err != nil {
		return nil, err
	}

	screen.leave("A second job arrives; beauty keeps its two primaries and shares the surplus.")
	turntable, err := f.submit(ctx, "-name", "turntable", "-cpus", "2", "-range", fmt.Sprintf("1-%d", turntableFrames),
		"-padding", "4", "-validate", filepath.Join(out, "turntable.QB_PADDED_FRAME_NUMBER.png"), render, "turntable", out,
		"QB_FRAME_NUMBER", fmt.Sprint(turntableFrames))
	if err != nil {
		return nil, err
	}
	last, err := f.submit(ctx, "-name", "movie", "-priority", "5", "-dependency",
		fmt.Sprintf("link-complete-job-%d", beauty),
		movie, "beauty", out, frames)
	if err != nil {
		return nil, err
	}
	jobs := []int64{beauty, turntable, last}
	done := func(s state) bool {
		for _, id := range jobs {
			if !final(s.job(id)) {
				return false
			}
		}
		return true
	}
	return jobs, screen.watch(ctx, done)
}

func final(job api.Job) bool {
	return job.Status == "complete" || job.Status == "failed" || job.Status == "killed"
}

// ownFolder makes the folder for the pictures and locks it, for two demos would count, and end, each
// other's items.
func ownFolder(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for the pictures: %w", err)
	}
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		return nil, fmt.Errorf("another demo renders into %s; wait for it, or name another folder with -out", folder)
	}
	return func() { dir.Close() }, nil
}

// emptyFolder removes the pictures of an earlier run. A folder that holds anything else is refused.
func emptyFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		match := func(pattern string) bool {
			is, _ := filepath.Match(pattern, e.Name()) // the patterns are well formed
			return is
		}
		if !slices.ContainsFunc([]string{"*.png", "*.gif", ".*.attempt*"}, match) {
			return fmt.Errorf("%s holds %s, which is no picture of the demo; name another folder with -out", folder, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
