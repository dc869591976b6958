package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A pause takes its time, or ends with its context.
func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		began := time.Now()
		if err := For(ctx, time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 90*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
