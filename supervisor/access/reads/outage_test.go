package reads

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An outage has a line for its beginning and one for its end, and a call that works now and then does not end it.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		o := NewOutage(slog.New(slog.NewTextHandler(&told, nil)), "reading")
		lines := func(fails, works int) {
			t.Helper()
			if f, w := strings.Count(told.String(), "database calls fail"), strings.Count(told.String(),
				"work again"); f != fails || w != works {
				t.Errorf("%d lines of failures, %d of recoveries, want %d and %d:\n%s", f, w, fails, works, told.String())
			}
		}
		away := errors.New("away")
		o.Note("jobs", nil)
		lines(0, 0)
		for range 20 {
			o.Note("jobs", away)
			o.Note("hosts", nil)
			time.Sleep(settled / 2)
			o.Note("hosts", nil)
		}
		lines(1, 0)
		time.Sleep(settled / 2)
		o.Note("jobs", nil)
		o.Note("jobs", nil)
		lines(1, 1)
		o.Note("jobs", away)
		lines(2, 1)
	})
}
