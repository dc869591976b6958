// Package pause waits, in the one way of all that waits.
//
// It must never outlive its context.
package pause

import (
	"context"
	"time"
)

// For waits so long; when ctx ends it returns its error at once.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
