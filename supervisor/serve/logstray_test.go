package serve

import (
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// Output that is shipped when its job is gone is refused, and what came while the job went is removed; that of jobs
// which this database does not know, or still has, stays.
func TestLateOutputOfRemovedJobs(t *testing.T) {
	b := newStore(t)
	livePast(t, b, time.Now().Add(-100*settings.Day), pastJob("ada", "", "1-3"))
	livePast(t, b, time.Now().Add(-2*settings.Day), pastJob("ada", "", "1-2"))
	r, d := agingRig(t, b, func(*Options) {})
	boss, worker := r.client("boss", api.Admin), r.client("agent", api.Worker)
	late := api.LogChunk{Attempt: api.AttemptID{Job: 1, Item: 1, Number: 1}, Data: chunkOf(1, "late")}
	refused(t, api.KindConflict, worker, api.AppendLog, nil, late) // it ended more than an hour ago
	kept := []string{r.writeLog(facts.AttemptID{Job: 2, Item: 1, Number: 1}, "kept"),
		r.writeLog(facts.AttemptID{Job: 1234, Item: 1, Number: 1}, "restored")}
	d.put(func(c *settings.Config) { c.HistoryDays, c.JobRetention = 90, settings.Duration(90*settings.Day) }, nil)
	must[api.RereadReply](t, boss, api.Reread, nil, nil)
	eventually(t, "job 1 is removed", func() bool {
		return strings.Contains(r.metrics(), "\nqb_history_removed_jobs_total 1\n")
	})
	late.Offset = int64(len(late.Data))
	if why := refused(t, api.KindNotFound, worker, api.AppendLog, nil, late); !strings.Contains(why, "never given out") {
		t.Errorf("refused: %s", why)
	}
	stray := r.writeLog(facts.AttemptID{Job: 1, Item: 2, Number: 1}, "came in between")
	eventually(t, "what came late is removed", func() bool { return !there(stray) })
	for _, file := range kept {
		if !there(file) {
			t.Errorf("%s is gone", file)
		}
	}
}
