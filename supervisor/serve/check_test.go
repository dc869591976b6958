package serve

import (
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/limits"
	"qb/supervisor/wire/settings"
)

// TestCheckSubmission: a check says what submit says to the same body, in the same words, and makes no job.
func TestCheckSubmission(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) {
		c.HighestUser, c.MaxItems, c.JobBytes, c.UserJobs, c.UserStored = 5, 1000, 64<<10, 2, 300<<10
	})
	r.agent("h1", 8).beat(0)
	u1 := r.client("u1", api.User)
	check := func(body api.SubmitRequest) api.SubmissionCheck {
		t.Helper()
		return must[api.SubmissionCheck](t, u1, api.CheckSubmission, nil, body)
	}
	plain := func(change func(*api.SubmitRequest)) api.SubmitRequest {
		body := api.SubmitRequest{Command: []string{"true"}, Range: "1-9", Status: "blocked"}
		change(&body)
		return body
	}
	for member, body := range map[string]api.SubmitRequest{
		"command":      plain(func(r *api.SubmitRequest) { r.Command = []string{" "} }),
		"range":        plain(func(r *api.SubmitRequest) { r.Range = "5-" }),
		"priority":     plain(func(r *api.SubmitRequest) { r.Priority = ptr(4) }),
		"cpus":         plain(func(r *api.SubmitRequest) { r.CPUs = ptr(-1) }),
		"tags":         plain(func(r *api.SubmitRequest) { r.Tags = map[string]string{"love": "x"} }),
		"dependency":   plain(func(r *api.SubmitRequest) { r.Dependency = "4711" }),
		"requirements": plain(func(r *api.SubmitRequest) { r.Requirements = "host.memroy > 4" }),
		"reservations": plain(func(r *api.SubmitRequest) { r.Reservations = "license.none=1" }),
		"restrictions": plain(func(r *api.SubmitRequest) { r.Restrictions = "show" }),
		"hostorder":    plain(func(r *api.SubmitRequest) { r.HostOrder = "love" }),
		"flags":        plain(func(r *api.SubmitRequest) { r.Flags = []string{"513"} }), // elite
		"account":      plain(func(r *api.SubmitRequest) { r.Account = "nobody's" }),
		"":             plain(func(r *api.SubmitRequest) { r.Env = map[string]string{"A": strings.Repeat("x", 65<<10)} }),
	} {
		got := check(body)
		if len(got.Refusals) != 1 || got.Refusals[0].Member != member {
			t.Errorf("%s: %+v", member, got.Refusals)
			continue
		}
		if told := refused(t, got.Refusals[0].Kind, u1, api.Submit, nil, body); !strings.Contains(told,
			got.Refusals[0].Message) {
			t.Errorf("%s: submit says %q, its check %q", member, told, got.Refusals[0].Message)
		}
		if want := member != "range"; (got.Items != nil) != want {
			t.Errorf("%s: the items are %v", member, got.Items)
		}
	}
	if both := check(plain(func(r *api.SubmitRequest) {
		r.Command, r.Range = []string{}, "1-5000"
	})); len(both.Refusals) != 2 || both.Refusals[0].Member != "command" || both.Refusals[1].Member != "range" {
		t.Errorf("%+v", both.Refusals)
	}
	refused(t, api.KindForbidden, u1, api.CheckSubmission, nil, plain(func(r *api.SubmitRequest) { r.User = "u2" }))
	if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 0 {
		t.Errorf("checks made %d jobs", len(jobs))
	}
	body := plain(func(r *api.SubmitRequest) { r.MaxCPUs, r.Hosts = ptr(3), []string{"none"} })
	got, made := check(body), must[api.SubmitReply](t, u1, api.Submit, nil, body)
	if made.Job != 1 || len(made.Remarks) == 0 || !slices.Equal(got.Remarks, made.Remarks) {
		t.Errorf("the check remarks %q, submit %q", got.Remarks, made.Remarks)
	}
	must[api.SubmitReply](t, u1, api.Submit, nil, body)
	if full := check(body).Refusals; len(full) != 1 || full[0].Kind != api.KindLimit || full[0].Limit != "open-jobs" {
		t.Errorf("with all jobs that one may have: %+v", full)
	}
}

// TestCheckedItems: the preview has the items as the job would run them.
func TestCheckedItems(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	for _, c := range []struct {
		body  api.SubmitRequest
		count int
		order string
		names string
	}{
		{api.SubmitRequest{Range: "1-100x5,200"}, 21, "ascend", "1 6 11 … 96 200"},
		{api.SubmitRequest{Range: "1-5"}, 5, "ascend", "1 2 3 4 5"},
		{api.SubmitRequest{Range: "1-6"}, 6, "ascend", "1 2 3 … 5 6"},
		{api.SubmitRequest{Range: "1-9", Order: "reverse"}, 9, "reverse", "9 8 7 … 2 1"},
		{api.SubmitRequest{Range: "a,b", Order: "ascend"}, 2, "ascend", "a b"},
		{api.SubmitRequest{Range: "1-100", Chunk: 50, Padding: 4}, 2, "ascend", "1-50 51-100"},
	} {
		c.body.Command = []string{}
		got := must[api.SubmissionCheck](t, u1, api.CheckSubmission, nil, c.body).Items
		names := strings.Join(got.First, " ")
		if len(got.Last) > 0 {
			names += " … " + strings.Join(got.Last, " ")
		}
		if got.Count != c.count || got.Order != c.order || names != c.names {
			t.Errorf("%+v: %+v", c.body, got)
		}
	}
	if got := must[api.SubmissionCheck](t, u1, api.CheckSubmission, nil,
		api.SubmitRequest{Command: []string{"true"}}); got.Items != nil || len(got.Refusals) != 0 {
		t.Errorf("without a range: %+v", got)
	}
}

// TestCheckLimits: checks take nothing from the allowance of submissions, have one of their own, and say when that of
// submissions is used up.
func TestCheckLimits(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.UserSubmissions, c.UserBurst = 1, 3 })
	u1 := r.client("u1", api.User)
	body := api.SubmitRequest{Command: []string{"true"}, Status: "blocked"}
	check := func() (reply api.SubmissionCheck, err error) {
		return reply, u1.Call(t.Context(), api.CheckSubmission, nil, body, &reply)
	}
	for range 2 {
		if got := must[api.SubmissionCheck](t, u1, api.CheckSubmission, nil, body); len(got.Refusals) != 0 {
			t.Errorf("%+v", got)
		}
	}
	for range 3 {
		must[api.SubmitReply](t, u1, api.Submit, nil, body)
	}
	if got := must[api.SubmissionCheck](t, u1, api.CheckSubmission, nil, body).Refusals; len(got) != 1 ||
		got[0].Limit != limits.Submissions {
		t.Errorf("with the allowance used up: %+v", got)
	}
	if _, err := check(); limitOf(t, err) != limits.Checks {
		t.Errorf("a check too many: %v", err)
	}
}
