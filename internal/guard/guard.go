// Package guard runs work that others must not die of: a panic in a goroutine of its own would end the process.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"qb/internal/pause"
)

// The waits before work that panicked is begun again.
const (
	waitLeast = time.Second
	waitMost  = time.Minute
)

// ErrPanic is what a panic becomes.
var ErrPanic = errors.New("panic")

// Once runs work. A panic of it comes back as an error that has the stack.
func Once(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return work()
}

// Keeper keeps work going that goes on beside something else.
type Keeper struct {
	Log    *slog.Logger
	Panics func() // is called for each panic; may be nil
}

// Keep runs work until it returns. If it panics it is begun again after a wait that grows, unless ctx has ended.
func (k Keeper) Keep(ctx context.Context, what string, work func(context.Context)) {
	for wait := waitLeast; ; {
		began := time.Now()
		err := Once(func() error {
			work(ctx)
			return nil
		})
		if err == nil {
			return
		}
		if time.Since(began) > waitMost {
			wait = waitLeast
		}
		k.Log.Error("work failed; beginning it again", "work", what, "error", err, "in", wait)
		if k.Panics != nil {
			k.Panics()
		}
		if pause.For(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, waitMost)
	}
}
