package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/limits"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// limitOf is the limit that a refusal names, "" if the call succeeded.
func limitOf(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Kind != api.KindLimit || refusal.Limit == "" {
		t.Fatalf("not the refusal of a limit: %v", err)
	}
	return refusal.Limit
}

// TestAttackSubmissions: one user's flood ends at his limits, each named, with the time to wait; others go on.
func TestAttackSubmissions(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) {
		c.UserBurst, c.UserSubmissions, c.UserJobs, c.UserBytes, c.JobBytes, c.UserSubmitted = 30, 60, 20, 64<<10,
			16<<10, 16<<10
	})
	mallory, ann := r.client("mallory", api.User), r.client("ann", api.User)
	submit := func(c *api.Client, bytes int) error {
		return c.Call(t.Context(), api.Submit, nil, api.SubmitRequest{Command: []string{"true", strings.Repeat("x", bytes)},
			Status: "blocked"}, nil)
	}
	if got := limitOf(t, submit(mallory, 17<<10)); got != limits.JobBytes {
		t.Errorf("a large job meets %q", got)
	}
	met := map[string]int{}
	for range 5 {
		met[limitOf(t, submit(mallory, 15<<10))]++
	}
	if met[""] != 4 || met["open-bytes"] != 1 {
		t.Errorf("five large jobs meet %v", met)
	}
	clear(met)
	for range 40 {
		met[limitOf(t, submit(mallory, 10))]++
	}
	if met["submissions"] < 10 || met["open-jobs"] == 0 || met[""] != 16 {
		t.Errorf("forty small jobs after that meet %v", met)
	}
	if err := submit(ann, 10); err != nil {
		t.Errorf("another user is refused: %v", err)
	}
	resp := r.raw("POST", "/v1/jobs", r.token("mallory", api.User), `{"command":["true"]}`, nil)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	text := text(t, r.raw("GET", "/metrics", r.token("ann", api.User), "", nil))
	for _, name := range limits.Names {
		if !strings.Contains(text, fmt.Sprintf("qb_limited_total{limit=%q}", name)) {
			t.Errorf("no metric of the limit %s", name)
		}
	}
	for _, name := range []string{limits.JobBytes, limits.Submissions, quota.LimitOpenJobs, quota.LimitOpenBytes} {
		if strings.Contains(text, fmt.Sprintf("qb_limited_total{limit=%q} 0", name)) {
			t.Errorf("no refusal by the limit %s is counted", name)
		}
	}
}

// list is names of so many different ones with that text before each.
func list(n int, before, between string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = before + strconv.Itoa(i)
	}
	return strings.Join(names, between)
}

// TestAttackLists: what each plan would ask of each host has a limit, named with the field and the number, in
// submissions and in changes alike.
func TestAttackLists(t *testing.T) {
	r := startRig(t)
	c := r.client("mallory", api.User)
	id := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"}).Job
	for field, text := range map[string]string{
		"hosts": list(facts.MaxNamed+1, "h", ","), "omithosts": list(facts.MaxNamed+1, "h", ","),
		"groups": list(facts.MaxNamed+1, "g", ","), "omitgroups": list(facts.MaxNamed+1, "g", ","),
		"restrictions": list(facts.MaxPatterns+1, "/c", "||"), "hostorder": strings.Repeat("+host.name,", facts.MaxOrdered) +
			"-host.name",
	} {
		for e, params := range map[api.Endpoint]api.Params{api.Submit: nil, api.Modify: params("job", id)} {
			body := map[string]any{field: text}
			if facts.AttributeNamed(field).Entries.Separator == "," && field != "hostorder" {
				body[field] = facts.SplitList(text)
			}
			if e == api.Submit {
				body["command"] = []string{"true"}
			}
			if said := refused(t, api.KindInvalid, c, e, params, body); !strings.HasPrefix(said, field+": ") ||
				!strings.Contains(said, "at most") {
				t.Errorf("%s with too long %s: %s", e.ID, field, said)
			}
		}
	}
	env := map[string]string{}
	for n := range api.MaxVariables + 1 {
		env[fmt.Sprint("V", n)] = ""
	}
	refused(t, api.KindInvalid, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Env: env})
	a := r.agent("large", api.MaxHostSlots+1)
	a.sync.Sequence = 1
	refused(t, api.KindInvalid, a.client, api.SyncWorker, nil, a.sync)
}

// TestAttackChoices: what each plan asks of each host for one user's jobs has a limit in all; the same lists in many
// jobs count once.
func TestAttackChoices(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) { c.UserChoices = 2000 })
	mallory, ann := r.client("mallory", api.User), r.client("ann", api.User)
	submit := func(c *api.Client, hosts string) (reply api.SubmitReply, err error) {
		request := api.SubmitRequest{Command: []string{"true"}, Hosts: facts.SplitList(list(499, hosts, ",")),
			Requirements: "host.os=linux", Status: "blocked"}
		return reply, c.Call(t.Context(), api.Submit, nil, request, &reply)
	}
	var last api.SubmitReply
	met := map[string]int{}
	for n := range 24 {
		reply, err := submit(mallory, string(rune('a'+n%6)))
		if met[limitOf(t, err)]++; err == nil {
			last = reply
		}
	}
	if met[""] != 16 || met[quota.LimitChoices] != 8 {
		t.Errorf("six lists of 500, each in four jobs, meet %v", met)
	}
	hosts := facts.SplitList(list(499, "z", ","))
	if got := limitOf(t, mallory.Call(t.Context(), api.Modify, params("job", last.Job),
		api.ModifyRequest{Hosts: &hosts}, nil)); got != quota.LimitChoices {
		t.Errorf("another list by a change meets %q", got)
	}
	if _, err := submit(ann, "z"); err != nil {
		t.Errorf("another user is refused: %v", err)
	}
	for id := range last.Job {
		if job := id + 1; (job-last.Job)%4 == 0 { // all that have the last list
			must[api.ActionReply](t, mallory, api.OrderJob, params("job", job, "action", "kill"), nil)
		}
	}
	if _, err := submit(mallory, "z"); err != nil {
		t.Errorf("with a list less: %v", err)
	}
	if got := limitOf(t, mallory.Call(t.Context(), api.OrderJob,
		params("job", last.Job, "action", "retry"), nil, nil)); got != quota.LimitChoices {
		t.Errorf("an ended job that is to run again meets %q", got)
	}
}

// TestAttackChanges: orders have an allowance, too.
func TestAttackChanges(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) { c.UserChanges = 6 })
	c := r.client("mallory", api.User)
	id := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"}).Job
	met := map[string]int{}
	for n := range 40 {
		action := []string{"unblock", "block"}[n%2]
		met[limitOf(t, c.Call(t.Context(), api.OrderJob, params("job", id, "action", action), nil, nil))]++
	}
	if met[limits.Changes] < 8 || met[""] < 30 {
		t.Errorf("forty orders meet %v", met)
	}
}

// TestAttackChangedBytes: what changes and orders store is taken from the allowance of submitted bytes, and a line of
// history has a bounded length.
func TestAttackChangedBytes(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) { c.UserSubmitted = 16 << 10 })
	c := r.client("mallory", api.User)
	id := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-10", Status: "blocked"}).Job
	met := map[string]int{}
	for n := range 20 {
		hosts := facts.SplitList(list(100, fmt.Sprint(strings.Repeat("h", 100), n, "-"), ","))
		met[limitOf(t, c.Call(t.Context(), api.Modify, params("job", id), api.ModifyRequest{Hosts: &hosts}, nil))]++
	}
	if met[limits.Submitted] < 5 || met[""] < 5 {
		t.Errorf("twenty changes of 12 kB meet %v", met)
	}
	items := strings.Repeat("1,", 20<<10) + "1"
	if got := limitOf(t, c.Call(t.Context(), api.OrderJob, params("job", id, "action", "kill"),
		api.ActionRequest{Items: items}, nil)); got != limits.Submitted {
		t.Errorf("an order of 40 kB after them meets %q", got)
	}
	events := must[[]api.Event](t, c, api.History, params("job", id), nil)
	modified := 0
	for _, e := range events {
		if len(e.Cause) > 2100 {
			t.Errorf("a line of history has %d bytes", len(e.Cause))
		}
		if e.Type == "modified" {
			modified++
		}
	}
	if modified != met[""] {
		t.Errorf("%d changes, %d in the history", met[""], modified)
	}
}

// TestAttackStreams: one credential cannot take the places of others, nor all users those of operators.
func TestAttackStreams(t *testing.T) {
	r := startRig(t)
	open := func(token string) int { return r.raw("GET", "/v1/events", token, "", nil).StatusCode }
	token := r.token("mallory", api.ReadOnly)
	for n := range 16 {
		if got := open(token); got != http.StatusOK {
			t.Fatalf("stream %d: %d", n, got)
		}
	}
	if got := open(token); got != http.StatusTooManyRequests {
		t.Errorf("the seventeenth stream: %d", got)
	}
	for n := range streamReaders/16 - 1 {
		other := r.token(fmt.Sprint("mallory", n), api.ReadOnly)
		for range 16 {
			open(other)
		}
	}
	if got := open(r.token("ann", api.User)); got != http.StatusTooManyRequests {
		t.Errorf("a user finds a place that is reserved: %d", got)
	}
	if got := open(r.token("boss", api.Operator)); got != http.StatusOK {
		t.Errorf("an operator finds no place: %d", got)
	}
}

// TestAttackFollowers: following logs has places of its own; they are given back.
func TestAttackFollowers(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) { c.TokenFollowed = 3 })
	token := r.token("mallory", api.User)
	c, err := api.NewClient(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	job := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-9", Status: "blocked"})
	path := fmt.Sprintf("/v1/jobs/%d/items/1/log?follow=true", job.Job)
	follow := func() *http.Response { return r.raw("GET", path, token, "", nil) }
	first := follow()
	for range 2 {
		if got := follow().StatusCode; got != http.StatusOK {
			t.Fatal(got)
		}
	}
	if got := follow().StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("the fourth follower: %d", got)
	}
	first.Body.Close()
	eventually(t, "a place is free again", func() bool {
		resp := follow()
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// TestAttackLargeCommands: a large command is neither in the row of an answer nor in a list, and a repetition is
// answered as the first call was.
func TestAttackLargeCommands(t *testing.T) {
	r := startRig(t)
	c := r.client("mallory", api.User)
	large := []string{"true", strings.Repeat("x", 100<<10)}
	header := http.Header{"Idempotency-Key": {"k"}}
	var first, again api.SubmitReply
	request := api.SubmitRequest{Command: large, Status: "blocked"}
	for _, reply := range []*api.SubmitReply{&first, &again} {
		if err := c.CallWith(t.Context(), api.Submit, nil, request, reply, header); err != nil {
			t.Fatal(err)
		}
	}
	if job := must[api.Job](t, c, api.GetJob, params("job", again.Job), nil); first.Job != again.Job ||
		len(job.Command) != 2 || len(job.Command[1]) != 100<<10 {
		t.Errorf("the repetition is answered job %d with %d words", again.Job, len(job.Command))
	}
	row, known, err := r.store.Answer(t.Context(), "mallory", "k")
	if err != nil || !known || len(row.Body) > 4<<10 {
		t.Errorf("the answer's row has %d bytes, %v", len(row.Body), err)
	}
	if list := must[[]api.Job](t, c, api.ListJobs, nil, nil); len(list) != 1 || len(list[0].Command) != 0 {
		t.Errorf("a list has the command: %d jobs", len(list))
	}
	if one := must[api.Job](t, c, api.GetJob, params("job", first.Job), nil); len(one.Command) != 2 {
		t.Errorf("the one job lacks it: %d words", len(one.Command))
	}
}

// TestAttackExtremes: numbers beyond what can be meant are refused with the field, the value and the range.
func TestAttackExtremes(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("mallory", api.User)
	id := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"}).Job
	for field, limits := range map[string][2]int{"priority": {1, settings.MaxPriority}, "cpus": {1, settings.MaxCPUs},
		"max_cpus": {-1 << 31, settings.MaxCPUs}} {
		for _, n := range []int{-1 << 40, limits[0] - 1, limits[0], limits[1], limits[1] + 1, 1<<31 - 1} {
			for _, path := range []string{"/v1/jobs", fmt.Sprintf("/v1/jobs/%d", id)} {
				method, body := http.MethodPost, map[string]any{field: n, "command": []string{"true"}, "status": "blocked"}
				if path != "/v1/jobs" {
					method, body = http.MethodPatch, map[string]any{field: n}
				}
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				resp := r.raw(method, path, r.token("mallory", api.User), string(data), nil)
				said := text(t, resp)
				meant := n >= limits[0] && n <= limits[1]
				bounds := fmt.Sprintf("%d; use %d to %d", n, limits[0], limits[1])
				if meant != (resp.StatusCode/100 == 2) ||
					!meant && (resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(said, field) ||
						!strings.Contains(said, bounds)) {
					t.Errorf("%s %s = %d: %d %s", method, field, n, resp.StatusCode, said)
				}
			}
		}
	}
}
