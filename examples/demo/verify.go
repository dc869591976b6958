package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"

	"qb/api"
)

// count is what attempts of one kind have cost.
type count struct {
	attempts int
	seconds  float64
}

// verify proves what the table showed: pictures, attempts and the farm's own accounts.
func verify(ctx context.Context, f *farm, jobs []int64, out string) error {
	fmt.Println("\nChecks:")
	errs := []error{
		checkPictures(out, "beauty", beautyFrames), checkPictures(out, "turntable", turntableFrames),
		checkMovie(filepath.Join(out, "beauty.gif")), checkLeavings(out),
	}
	spent := map[string]count{}
	for i, expected := range []int{beautyFrames, turntableFrames, 1} {
		attempts, err := f.attempts(ctx, jobs[i])
		if err != nil {
			return err
		}
		errs = append(errs, checkAttempts(jobs[i], attempts, expected, spent))
	}
	if spent["failed"].attempts != 1 {
		errs = append(errs, fmt.Errorf("%d attempts failed, expected the one of frame %d", spent["failed"].attempts,
			flawedFrame))
	}
	_, err := f.run(ctx, "qb", "audit")
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	done := beautyFrames + turntableFrames + 1
	fmt.Printf("  %d pictures of %dx%d and a movie of %d are whole\n", beautyFrames+turntableFrames, frameWidth,
		frameHeight, beautyFrames)
	fmt.Printf("  %d items, each with exactly one done attempt (%.0f s of rendering)\n", done, spent["done"].seconds)
	for _, end := range []string{"failed", "preempted", "lost", "killed"} {
		if c := spent[end]; c.attempts > 0 || end == "preempted" {
			fmt.Printf("  besides them %d %s, which cost %.1f s\n", c.attempts, end, c.seconds)
		}
	}
	fmt.Println("  qb audit counted every item in the database and found nothing amiss")
	return nil
}

// checkAttempts wants one done attempt for each of the items, none that still runs, and adds up what each
// kind of end has cost.
func checkAttempts(job int64, attempts []api.Attempt, items int, spent map[string]count) error {
	done := map[int]int{}
	var errs []error
	for _, a := range attempts {
		if a.FinishedAt == nil {
			errs = append(errs, fmt.Errorf("job %d item %s: attempt %d has no end, its state is %s", job, a.Item, a.Attempt,
				a.State))
			continue
		}
		c := spent[a.State]
		spent[a.State] = count{c.attempts + 1, c.seconds + a.FinishedAt.Sub(a.StartedAt).Seconds()}
		if a.State == "done" {
			done[a.Number]++
		}
	}
	for item := range items {
		if done[item] != 1 {
			errs = append(errs, fmt.Errorf("job %d item number %d has %d done attempts instead of one", job, item, done[item]))
		}
	}
	if len(done) > items {
		errs = append(errs, fmt.Errorf("job %d has done attempts of %d items, expected %d", job, len(done), items))
	}
	return errors.Join(errs...)
}

func checkPictures(folder, scene string, frames int) error {
	var errs []error
	for frame := 1; frame <= frames; frame++ {
		errs = append(errs, checkPicture(filepath.Join(folder, fmt.Sprintf("%s.%04d.png", scene, frame))))
	}
	return errors.Join(errs...)
}

func checkPicture(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if size := picture.Bounds().Size(); size.X != frameWidth || size.Y != frameHeight {
		return fmt.Errorf("%s is %dx%d, expected %dx%d", name, size.X, size.Y, frameWidth, frameHeight)
	}
	return nil
}

func checkMovie(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	movie, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(movie.Image) != beautyFrames {
		return fmt.Errorf("%s has %d pictures, expected %d", name, len(movie.Image), beautyFrames)
	}
	return nil
}

// checkLeavings: attempts that were stopped half-way have cleaned up after themselves, or their half
// pictures are removed here; under a final name there are only whole ones.
func checkLeavings(folder string) error {
	halves, err := filepath.Glob(filepath.Join(folder, ".*.attempt*"))
	if err != nil {
		return err
	}
	for _, half := range halves {
		if err := os.RemoveAll(half); err != nil {
			return err
		}
	}
	all, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if expected := beautyFrames + turntableFrames + 1; len(all) != expected {
		return fmt.Errorf("%s holds %d files, expected %d: %v", folder, len(all), expected, all)
	}
	return nil
}
