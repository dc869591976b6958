package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

// TestAttackStoredBytes: the bytes that one user's jobs take in the database are limited, whether the jobs have ended
// or not, and after a change of leader. The refusal asks for no retry, and a repeated call still gets its answer.
func TestAttackStoredBytes(t *testing.T) {
	shared := newStore(t)
	begin := func() *rig {
		return startRig(t, func(c *settings.Config, o *Options) {
			c.UserStored, o.Store.(*faultyStore).Backing = 100<<10, shared
		})
	}
	r := begin()
	header := http.Header{"Idempotency-Key": {"first"}}
	request := api.SubmitRequest{Command: []string{"true", strings.Repeat("x", 20<<10)}, Status: "blocked"}
	submit := func(c *api.Client) (reply api.SubmitReply, err error) {
		return reply, c.CallWith(t.Context(), api.Submit, nil, request, &reply, header)
	}
	mallory := r.client("mallory", api.User)
	first, err := submit(mallory)
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	for n := range 8 {
		header.Set("Idempotency-Key", fmt.Sprint(n))
		job, err := submit(mallory)
		if met[limitOf(t, err)]++; err == nil {
			must[api.ActionReply](t, mallory, api.OrderJob, params("job", job.Job, "action", "kill"), nil)
		}
	}
	if met[""] != 3 || met[problem.LimitStored] != 5 {
		t.Errorf("eight more jobs of 20 kB meet %v", met)
	}
	hosts := facts.SplitList(list(500, strings.Repeat("h", 60), ","))
	if got := limitOf(t, mallory.Call(t.Context(), api.Modify, params("job", first.Job),
		api.ModifyRequest{Hosts: &hosts}, nil)); got != problem.LimitStored {
		t.Errorf("a change of 30 kB meets %q", got)
	}
	must[api.SubmitReply](t, mallory, api.Modify, params("job", first.Job), api.ModifyRequest{Priority: new(7)})
	header.Set("Idempotency-Key", "first")
	if again, err := submit(mallory); err != nil || again.Job != first.Job {
		t.Errorf("a repeated call gives job %d: %v", again.Job, err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	r = begin()
	resp := r.raw("POST", "/v1/jobs", r.token("mallory", api.User),
		`{"command":["true","`+strings.Repeat("x", 20<<10)+`"]}`, nil)
	said := text(t, resp)
	if resp.StatusCode != http.StatusConflict || resp.Header.Get("Retry-After") != "" ||
		!strings.Contains(said, `"limit":"stored-bytes"`) ||
		!strings.Contains(said, "supervisor_user_stored = 100KiB") {
		t.Errorf("the next leader answers status %d, Retry-After %q: %s", resp.StatusCode,
			resp.Header.Get("Retry-After"), said)
	}
	header.Set("Idempotency-Key", "ann")
	if _, err := submit(r.client("ann", api.User)); err != nil {
		t.Errorf("another user is refused: %v", err)
	}
}
