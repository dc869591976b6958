package term

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// Events that come in while a commit is full wait for the next one, and none is lost: a slow database makes commits
// later, not longer.
func TestFullCommitLetsEventsWait(t *testing.T) {
	const rows, submissions, perEvent = 20, 300, 3
	policy := settings.DefaultConfig().Policy()
	policy.CommitRows = rows
	l := NewLoop(farm.New(policy), 1, nil, NewClock(time.Now(), SinceBoot()), func(Display, []facts.Write) {})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	go func() {
		for n := range submissions {
			select {
			case l.inbox <- message.JobSubmitted{Facts: facts.JobFacts{Name: fmt.Sprint(n), User: "u", Command: []string{"true"},
				CPUs: 1, Agenda: agenda.Spec{Range: "1"}}}:
			case <-ctx.Done():
			}
		}
	}()
	jobs, commits := 0, 0
	for deadline := time.After(2 * time.Minute); jobs < submissions; commits++ {
		select {
		case b := <-l.commits:
			time.Sleep(2 * time.Millisecond) // meanwhile more comes in than there is room for
			if n := len(b.Writes); n > rows+perEvent {
				t.Fatalf("commit %d has %d rows, at most %d are right", commits, n, rows+perEvent)
			}
			for _, w := range b.Writes {
				if _, isJob := w.(facts.PutJob); isJob {
					jobs++
				}
			}
			l.done <- b
		case <-deadline:
			t.Fatalf("%d of %d jobs in %d commits", jobs, submissions, commits)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if commits < submissions*2/rows {
		t.Errorf("%d jobs in %d commits: the loop did not wait", submissions, commits)
	}
}
