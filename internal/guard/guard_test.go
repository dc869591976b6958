package guard

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeep: work that panics is begun again, each time later, and is left when it returns or its context ends.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		panics := 0
		k := Keeper{slog.New(slog.NewTextHandler(&log, nil)), func() { panics++ }}
		began := time.Now()
		var at []time.Duration
		k.Keep(t.Context(), "mail", func(context.Context) {
			if at = append(at, time.Since(began)); len(at) < 9 {
				panic("no mail")
			}
		})
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183}
		for n := range want {
			if at[n] != want[n]*time.Second {
				t.Errorf("begun at %v, want %v seconds", at, want)
				break
			}
		}
		if panics != 8 || strings.Count(log.String(), "no mail") != 8 || !strings.Contains(log.String(), "guard_test.go") {
			t.Errorf("%d panics counted, the log says %s", panics, log.String())
		}
		ctx, cancel := context.WithCancel(t.Context())
		k.Keep(ctx, "mail", func(context.Context) {
			cancel()
			panic("at the end")
		})
	})
}

// TestOnce: a panic is an error, and an error stays one.
func TestOnce(t *testing.T) {
	if err := Once(func() error { panic("x") }); !errors.Is(err, ErrPanic) || !strings.Contains(err.Error(), "guard_test.go") {
		t.Errorf("a panic became %v", err)
	}
	if err := Once(func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("an error became %v", err)
	}
}
