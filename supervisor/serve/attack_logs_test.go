package serve

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// TestAttackLogFlood: when the disk is short, the young output of one who floods goes before the old output of others.
func TestAttackLogFlood(t *testing.T) {
	b := newStore(t)
	livePast(t, b, time.Now().Add(-settings.Day), pastJob("ann", "", "1-2"))
	livePast(t, b, time.Now().Add(-3*time.Minute), pastJob("mallory", "", "1-2"))
	var his atomic.Pointer[string] // the disk has room as soon as this is gone
	r := startRig(t, func(c *settings.Config, o *Options) {
		c.HistoryDays, c.LogMinFree, o.ageEvery, o.Store.(*faultyStore).Backing = 0, 10<<30, 5*time.Millisecond, b
		o.room = func(string) (int64, int64, error) {
			if file := his.Load(); file != nil && there(*file) {
				return 1 << 30, 1000 << 30, nil
			}
			return 100 << 30, 1000 << 30, nil
		}
	})
	hers := r.writeLog(facts.AttemptID{Job: 1, Item: 1, Number: 1}, "output")
	file := r.writeLog(facts.AttemptID{Job: 2, Item: 1, Number: 1}, strings.Repeat("x", 1<<20))
	his.Store(&file)
	eventually(t, "his output goes", func() bool { return !there(file) })
	if !there(hers) {
		t.Error("the output of another went, too")
	}
	eventually(t, "the log says why", func() bool { return strings.Contains(r.log.String(), "used more than half") })
}
