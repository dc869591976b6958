package history

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestAWrongClockIsToldOnceALook: each round logs a wrong clock once, whatever the round would have done.
func TestAWrongClockIsToldOnceALook(t *testing.T) {
	log := &lockedLog{}
	a := Ager{Store: slowClock{}, Limits: func() Limits {
		return Limits{HistoryDays: 90}
	}, Metrics: Metrics{Failed: &counted{}}, Log: slog.New(slog.NewTextHandler(log, nil)), Every: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.Run(ctx)
		for look := 1; look <= 3; look++ {
			synctest.Wait()
			if told := strings.Count(log.String(), "cannot compact history"); told != look {
				t.Fatalf("after %d looks it was told %d times:\n%s", look, told, log)
			}
			time.Sleep(time.Hour)
		}
	})
}

// lockedLog is read while a goroutine writes it.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// slowClock is a database whose clock is a hundred days behind.
type slowClock struct{ Store }

func (slowClock) Clock(context.Context) (time.Time, error) {
	return time.Now().Add(-100 * day), nil
}

type counted struct{ sum float64 }

func (c *counted) Add(n float64) { c.sum += n }
