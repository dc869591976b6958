package serve

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// spoiltStore cannot make sums of one job.
type spoiltStore struct {
	Backing
	job facts.JobID
}

func (s *spoiltStore) Compact(ctx context.Context, c store.Compaction) (int64, error) {
	if slices.Contains(c.Jobs, s.job) {
		return 0, store.ErrRows
	}
	return s.Backing.Compact(ctx, c)
}

// TestAttackOneJobStopsHistory: a job whose rows cannot become sums keeps back no other's.
func TestAttackOneJobStopsHistory(t *testing.T) {
	b := &spoiltStore{Backing: newStore(t), job: 2}
	livePast(t, b, time.Now().AddDate(0, 0, -200), pastJob("ada", "", "1-9"), pastJob("mallory", "", "1-9"),
		pastJob("bob", "", "1-9"), pastJob("cy", "", "1-9"))
	r := startRig(t, func(c *settings.Config, o *Options) {
		c.HistoryDays, o.ageEvery, o.Store.(*faultyStore).Backing = 90, 5*time.Millisecond, b
	})
	eventually(t, "the others are sums", func() bool {
		left, err := b.Closed(t.Context(), time.Now(), 10)
		return err == nil && slices.Equal(left, []facts.JobID{2})
	})
	if !strings.Contains(r.log.String(), "job=2") {
		t.Error("the log does not name the job")
	}
}

// TestAttackTags: what reports divide by stays short.
func TestAttackTags(t *testing.T) {
	r := startRig(t)
	c := r.client("mallory", api.User)
	request := api.SubmitRequest{Command: []string{"true"},
		Tags: map[string]string{"prod_show": strings.Repeat("長", facts.MaxTag+1)}}
	refused(t, api.KindInvalid, c, api.Submit, nil, request)
	request.Tags["prod_show"] = strings.Repeat("長", facts.MaxTag)
	id := must[api.SubmitReply](t, c, api.Submit, nil, request).Job
	refused(t, api.KindInvalid, c, api.Modify, params("job", id),
		api.ModifyRequest{Tags: map[string]string{"prod_shot": strings.Repeat("x", facts.MaxTag+1)}})
}
