package serve

import (
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// TestTermKeepsTheDatabasesTime: what the farm notes has the database's time, in this term and in the next, however far
// that is from this machine's; so an attempt that begins in one term and is lost in the other is not charged the
// difference.
func TestTermKeepsTheDatabasesTime(t *testing.T) {
	const ahead = 3 * time.Hour
	r := startRig(t, func(_ *settings.Config, o *Options) { o.Store.(*faultyStore).ahead.Store(int64(ahead)) })
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}}).Job
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	r.endTerm()
	for id, i := range worker.running { // its shim was killed: the worker does not know how long it ran
		worker.finished = append(worker.finished, api.Finished{Attempt: id, Instance: i.Instance, Outcome: "lost"})
		delete(worker.running, id)
	}
	worker.beat(0)
	worker.until("its next attempt runs", func() bool { return len(worker.running) == 1 })
	history := must[[]api.Attempt](t, u1, api.Attempts, params("job", job), nil)
	if len(history) != 2 || history[0].State != "lost" || history[0].FinishedAt == nil {
		t.Fatalf("attempts %+v", history)
	}
	lost := history[0]
	for what, at := range map[string]time.Time{"begun": lost.StartedAt, "lost": *lost.FinishedAt} {
		if off := time.Until(at) - ahead; off.Abs() > time.Minute {
			t.Errorf("it was %s at %s, %s off the database's clock", what, at, off)
		}
	}
	if held := lost.FinishedAt.Sub(lost.StartedAt); held < 0 || held > time.Minute {
		t.Errorf("from one term to the next it was held for %s", held)
	}
}
