package serve

import (
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/limits"
	"qb/supervisor/farm/quota"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

// TestLimitsAreShown: ping shows a user the limits that are reached, and the limits that refused a call,
// before the next call.
func TestLimitsAreShown(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) {
		c.UserJobs, c.UserStored, c.UserBytes, c.UserBurst, c.UserSubmissions, c.UserChanges = 3, 30<<10, 0, 6, 1, 1
	})
	mallory, ann, boss := r.client("mallory", api.User), r.client("ann", api.User), r.client("boss", api.Admin)
	shown := func(c *api.Client) map[string]api.Limit {
		byName := map[string]api.Limit{}
		for _, l := range must[api.Ping](t, c, api.PingFarm, nil, nil).Limits {
			byName[l.Limit] = l
		}
		return byName
	}
	submit := func(c *api.Client, r api.SubmitRequest) error {
		r.Command, r.Status = append([]string{"true"}, r.Command...), "blocked"
		return c.Call(t.Context(), api.Submit, nil, r, nil)
	}
	for range 3 {
		if err := submit(mallory, api.SubmitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the limit of jobs is shown", func() bool { return len(shown(mallory)) > 0 })
	if got, want := shown(mallory)[quota.LimitOpenJobs], (api.Limit{Limit: "open-jobs", Used: 3, Most: 3,
		Text: "mallory has 3 of 3 unfinished jobs (supervisor_user_jobs): submissions beyond that are refused until some end"}); got != want {
		t.Errorf("shown %+v", got)
	}
	if err := submit(boss, api.SubmitRequest{User: "mallory"}); limitOf(t, err) != quota.LimitOpenJobs {
		t.Errorf("a job for him: %v", err)
	}
	if got := shown(mallory)[quota.LimitOpenJobs]; got.Refused != 1 ||
		!strings.HasSuffix(got.Text, "some end; calls refused in the last minutes: 1") {
		t.Errorf("after a refusal: %+v", got)
	}
	if got := limitOf(t, submit(mallory,
		api.SubmitRequest{Command: []string{strings.Repeat("x", 30<<10)}})); got != problem.LimitStored {
		t.Errorf("a large job meets %q", got)
	}
	for range 3 {
		_ = submit(mallory, api.SubmitRequest{})
	}
	if got := shown(mallory); got[problem.LimitStored].Refused != 1 || got[problem.LimitStored].Used < 3000 ||
		got[limits.Submissions].Refused != 2 || len(got) != 3 ||
		got[limits.Submissions].Text != "mallory may submit 1 jobs a minute (supervisor_user_submissions); calls refused in the last minutes: 2" {
		t.Errorf("after more of them: %+v", got)
	}
	if got := shown(ann); len(got) > 0 {
		t.Errorf("others are shown %+v", got)
	}
	if got := shown(boss); len(got) > 0 {
		t.Errorf("who submitted for him is shown %+v", got)
	}
}
