package serve

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// otherClock is a database whose clock goes behind, or ahead if it is negative.
type otherClock struct {
	Backing
	behind atomic.Int64
}

func (o *otherClock) Clock(context.Context) (time.Time, error) {
	return time.Now().Add(-time.Duration(o.behind.Load())), nil
}

// Where this machine's clock is not the database's nothing is old: not a sum is made until they agree.
func TestNothingAgesByAWrongClock(t *testing.T) {
	b := &otherClock{Backing: newStore(t)}
	livePast(t, b, time.Now().Add(-100*settings.Day), pastJob("ada", "", "1-9"))
	r, d := agingRig(t, b, func(*Options) {})
	c := r.client("boss", api.Admin)
	refused := func() string {
		for line := range strings.Lines(r.metrics()) {
			if rest, ok := strings.CutPrefix(line, "qb_history_errors_total "); ok {
				return rest
			}
		}
		return ""
	}
	for n, behind := range []time.Duration{100 * settings.Day, -2 * time.Hour} {
		b.behind.Store(int64(behind))
		if n == 0 {
			d.put(func(c *settings.Config) { c.HistoryDays = 90 }, nil)
			must[api.RereadReply](t, c, api.Reread, nil, nil)
		}
		for range 2 { // the first look may have begun before
			was := refused()
			eventually(t, "aging is refused", func() bool { return refused() != was })
		}
		if !strings.Contains(r.metrics(), "\nqb_history_compacted_attempts_total 0\n") {
			t.Errorf("attempts became sums while the clocks differed by %s", behind)
		}
	}
	b.behind.Store(int64(-time.Minute))
	eventually(t, "old attempts are sums", func() bool {
		return strings.Contains(r.metrics(), "\nqb_history_compacted_attempts_total 9\n")
	})
}
