package limits

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// Allowances fill up again, and a change of the settings acts at once.
func TestAllowance(t *testing.T) { synctest.Test(t, fillsUpAgain) }

func fillsUpAgain(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.UserSubmissions, cfg.UserBurst = 600, 5
	l := newRates(func() *settings.Config { return &cfg })
	took := 0
	for l.Submit("ann", 10) == nil {
		took++
	}
	if took != 5 && took != 6 {
		t.Errorf("%d at once", took)
	}
	var refusal *api.Error
	if err := l.Submit("ann", 10); !errors.As(err, &refusal) || refusal.RetryAfter <= 0 ||
		refusal.RetryAfter > 200*time.Millisecond {
		t.Errorf("%+v", err)
	}
	time.Sleep(refusal.RetryAfter + 10*time.Millisecond)
	if err := l.Submit("ann", 10); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	cfg.UserSubmissions = 0
	for range 1000 {
		if err := l.Submit("ann", 10); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 * maxUsers {
		_ = l.Change(fmt.Sprint(n), 0)
	}
	if len(l.byUser) > maxUsers {
		t.Errorf("%d users are remembered", len(l.byUser))
	}
}
