package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// TestJobFromEndToEnd: a job is submitted, a worker takes its items, one fails and is retried by order.
func TestJobFromEndToEnd(t *testing.T) {
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 2)
	worker.beat(0)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{
		Name: "beauty", Command: []string{"render", "QB_FRAME_NUMBER"}, Env: map[string]string{"A": "b"}, Range: "1-4",
		CPUs: ptr(1), MaxCPUs: ptr(500), Priority: ptr(5),
	})
	id := job.Job
	if len(job.Remarks) != 1 ||
		!strings.Contains(job.Remarks[0], "max_cpus 500 is capped at supervisor_max_cpus_limit = 100") {
		t.Errorf("remarks: %q", job.Remarks)
	}
	worker.until("two items run", func() bool { return len(worker.running) == 2 })
	spec := worker.heardSpec(id)
	if spec == nil || spec.User != "u1" || spec.Env["A"] != "b" || !spec.Agenda || spec.Command[0] != "render" {
		t.Errorf("specification %+v", spec)
	}
	if l := worker.heard.LeaseSeconds; l <= 880 || l > 900 {
		t.Errorf("lease %v", l)
	}
	worker.finish(0)
	worker.until("the next two run", func() bool { return len(worker.running) == 2 })
	worker.finish(3)
	worker.beat(0)
	eventually(t, "the job has failed", func() bool {
		return must[api.Job](t, u1, api.GetJob, params("job", id), nil).Status == "failed"
	})
	done := must[api.Job](t, u1, api.GetJob, params("job", id), nil)
	if done.Items != (api.ItemCounts{Total: 4, Complete: 2, Failed: 2}) || done.MeanItemSeconds == nil ||
		done.FinishedAt == nil || *done.MaxCPUs != 500 {
		t.Errorf("job %+v", done)
	}
	items := must[[]api.Item](t, u1, api.ListItems, params("job", id), nil)
	if len(items) != 4 || items[0].Status != "complete" || items[3].Status != "failed" || *items[3].ExitCode != 3 ||
		*items[3].Host != "h1" || items[3].Attempt != 1 {
		t.Errorf("items %+v", items)
	}
	reply := must[api.ActionReply](t, u1, api.OrderJob, params("job", id, "action", "retry"),
		api.ActionRequest{Items: "4"})
	if reply.Affected != 1 {
		t.Errorf("retry %+v", reply)
	}
	worker.until("item 4 runs again", func() bool {
		return worker.running[api.AttemptID{Job: id, Item: 3, Number: 2}].Job == id
	})
	worker.finish(0)
	worker.beat(0)
	attempts := must[[]api.Attempt](t, u1, api.Attempts, params("job", id, "after", "2.1"), nil)
	if len(attempts) != 2 || attempts[0].Attempt != 1 || attempts[1].Attempt != 2 || attempts[1].State != "done" ||
		attempts[1].Item != "4" {
		t.Errorf("attempts %+v", attempts)
	}
	history := must[[]api.Event](t, u1, api.History, params("job", id), nil)
	if len(history) == 0 {
		t.Error("the history is empty")
	}
	hosts := must[[]api.Host](t, u1, api.ListHosts, nil, nil)
	if len(hosts) != 1 || hosts[0].Name != "h1" || hosts[0].State != "up" || hosts[0].Slots.Total != 2 ||
		hosts[0].Groups == nil {
		t.Errorf("hosts %+v", hosts)
	}
	explained := must[api.Explanation](t, u1, api.Explain, params("job", id), nil)
	if explained.Job != id || len(explained.Facts) == 0 {
		t.Errorf("explanation %+v", explained)
	}
}

func (a *agent) heardSpec(job int64) *api.JobSpec {
	for n := range a.heard.Jobs {
		if a.heard.Jobs[n].Job == job {
			return &a.heard.Jobs[n]
		}
	}
	return nil
}

// TestShapes: listings have every member of the contract, arrays are never null.
func TestShapes(t *testing.T) {
	r := startRig(t)
	token := r.token("u1", api.User)
	if got := text(t, r.raw("GET", "/v1/jobs", token, "", nil)); strings.TrimSpace(got) != "[]" {
		t.Errorf("no jobs: %s", got)
	}
	if got := text(t, r.raw("GET", "/v1/hosts", token, "", nil)); strings.TrimSpace(got) != "[]" {
		t.Errorf("no hosts: %s", got)
	}
	resp := r.raw("POST", "/v1/jobs", token, `{"command":["true"],"range":"1-2"}`, nil)
	body := text(t, resp)
	if resp.StatusCode != http.StatusCreated || strings.Contains(body, "$schema") ||
		strings.Contains(body, `"remarks":null`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.agent("h1", 0).beat(0)
	for path, members := range map[string]string{
		"/v1/jobs":         "id name user status reason priority cluster cpus max_cpus max_cpus_effective instances items submitted_at started_at finished_at mean_item_seconds version",
		"/v1/jobs/1/items": "name number status attempt kind host exit_code signal reason started_at finished_at cpu_seconds peak_memory instance",
		"/v1/hosts":        "name state slots memory cluster groups resources properties locked last_seen_at instances",
	} {
		var rows []map[string]any
		eventually(t, path+" shows something", func() bool { // a worker's report is shown with the next view
			rows = decode[[]map[string]any](t, text(t, r.raw("GET", path, token, "", nil)))
			return len(rows) > 0
		})
		for _, name := range strings.Fields(members) {
			if _, ok := rows[0][name]; !ok {
				t.Errorf("%s lacks %s: %v", path, name, rows[0])
			}
		}
	}
	items := text(t, r.raw("GET", "/v1/jobs/1/items", token, "", nil))
	if !strings.Contains(items, `"host":null`) || !strings.Contains(items, `"exit_code":null`) ||
		!strings.Contains(items, `"status":"pending"`) {
		t.Errorf("items %s", items)
	}
}

// TestHidden: the command of others' jobs is not shown, nor is any environment, to anybody but its owner in an archive.
func TestHidden(t *testing.T) {
	r := startRig(t)
	u1, u2, op := r.client("u1", api.User), r.client("u2", api.User), r.client("op", api.Operator)
	job := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render", "-password", "x1"}, Env: map[string]string{"KEY": "canary-value"},
			Range: "1-2"})
	if got := must[api.Job](t, u1, api.GetJob, params("job", job.Job), nil); len(got.Command) != 3 {
		t.Errorf("the owner sees %q", got.Command)
	}
	if got := must[api.Job](t, u2, api.GetJob, params("job", job.Job), nil); len(got.Command) != 0 || got.Command == nil {
		t.Errorf("a stranger sees %q", got.Command)
	}
	if got := must[[]api.Job](t, u2, api.ListJobs, nil, nil); len(got) != 1 || len(got[0].Command) != 0 {
		t.Errorf("a stranger lists %+v", got)
	}
	if got := must[api.Job](t, op, api.GetJob, params("job", job.Job), nil); len(got.Command) != 3 {
		t.Errorf("the operator sees %q", got.Command)
	}
	waits := []string{api.Events.ID, api.Watch.ID, api.ItemLog.ID, api.ReadEnds.ID}
	for who, token := range map[string]string{"the owner": r.token("u1", api.User), "a stranger": r.token("u2", api.User),
		"an admin": r.token("boss", api.Admin)} {
		for _, e := range api.Endpoints {
			if e.Method != http.MethodGet || slices.Contains(waits, e.ID) {
				continue
			}
			answer := text(t, r.raw("GET", pathFor(e, "1"), token, "", nil))
			own := who == "the owner" && e.ID == api.ArchiveJob.ID // so that it can be submitted again
			if strings.Contains(answer, "canary-value") && !own || who == "a stranger" && strings.Contains(answer, "-password") {
				t.Errorf("%s shows %s the environment or the command", e.ID, who)
			}
		}
	}
	if strings.Contains(r.log.String(), "canary-value") {
		t.Error("the environment is in the log")
	}
}

func TestPages(t *testing.T) {
	r := startRig(t)
	u1, u2 := r.client("u1", api.User), r.client("u2", api.User)
	for n := range 7 {
		who := u1
		if n%2 == 1 {
			who = u2
		}
		must[api.SubmitReply](t, who, api.Submit, nil,
			api.SubmitRequest{Name: fmt.Sprint("j", n+1), Command: []string{"true"}, Range: "1-25",
				Status: map[bool]string{true: "blocked"}[n == 6]})
	}
	ids := func(p api.Params) string {
		t.Helper()
		var got []string
		for _, j := range must[[]api.Job](t, u1, api.ListJobs, p, nil) {
			got = append(got, fmt.Sprint(j.ID))
		}
		return strings.Join(got, " ")
	}
	for want, p := range map[string]api.Params{
		"7 6 5 4 3 2 1": nil, "7 6": params("limit", 2), "5 4": params("limit", 2, "before", 6),
		"6 4 2": params("user", "u2"),
		"3 1":   params("ids", "1,3,99"), "7": params("status", "blocked"), "6 5": params("status", "pending", "limit", 2),
		"7 6 5": params("status", "active", "limit", 3), "": params("status", "done"),
		"4 3 2": params("status", "pending,failed", "before", 5, "limit", 3),
	} {
		if got := ids(p); got != want {
			t.Errorf("%v: got %s, want %s", p, got, want)
		}
	}
	token := r.token("u1", api.User)
	resp := r.raw("GET", "/v1/jobs?limit=3&status=active", token, "", nil)
	if link := resp.Header.Get("Link"); link != `</v1/jobs?before=5&limit=3&status=active>; rel="next"` {
		t.Errorf("link %s", link)
	}
	resp = r.raw("GET", "/v1/jobs/1/items?limit=10", token, "", nil)
	first := decode[[]api.Item](t, text(t, resp))
	second := must[[]api.Item](t, u1, api.ListItems, params("job", 1, "after", 9, "limit", 100), nil)
	if len(first) != 10 || len(second) != 15 || second[0].Number != 10 || second[0].Name != "11" ||
		!strings.Contains(resp.Header.Get("Link"), "after=9&limit=10") {
		t.Errorf("pages of %d and %d items, link %s", len(first), len(second), resp.Header.Get("Link"))
	}
	refused(t, api.KindInvalid, u1, api.ListJobs, params("limit", 1001), nil)
	refused(t, api.KindInvalid, u1, api.ListJobs, params("status", "sleeping"), nil)
	refused(t, api.KindInvalid, u1, api.ListJobs, params("stauts", "done"), nil)
	refused(t, api.KindInvalid, u1, api.Attempts, params("job", 1, "after", "x"), nil)
}

// TestBadInput names the field, the value and the way out.
func TestBadInput(t *testing.T) {
	r := startRig(t)
	u1 := r.client("u1", api.User)
	for name, c := range map[string]struct {
		request any
		words   string
	}{
		"no command":    {map[string]any{"range": "1-2"}, "command"},
		"empty command": {api.SubmitRequest{Command: []string{}}, "command it is empty"},
		"blank command": {api.SubmitRequest{Command: []string{" "}}, "command it is empty"},
		"huge range": {api.SubmitRequest{Command: []string{"x"}, Range: "1-1000000000"},
			"1,000,000,000 supervisor_max_items"},
		"step 0":     {api.SubmitRequest{Command: []string{"x"}, Range: "1-10x0"}, "1-10x0"},
		"open range": {api.SubmitRequest{Command: []string{"x"}, Range: "5-"}, "5-"},
		"cpus 0":     {api.SubmitRequest{Command: []string{"x"}, CPUs: ptr(0)}, "cpus 0; use 1"},
		"priority 0": {api.SubmitRequest{Command: []string{"x"}, Priority: ptr(0)}, "priority 0; use 1"},
		"max_cpus 1.5": {map[string]any{"command": []string{"x"}, "max_cpus": 1.5},
			`max_cpus expected a whole number or "*"`},
		"max_cpus x": {map[string]any{"command": []string{"x"}, "max_cpus": "x"},
			`max_cpus expected a whole number or "*"`},
		"wrong shape":     {map[string]any{"command": "x"}, "command array"},
		"unknown field":   {map[string]any{"command": []string{"x"}, "prioritee": 5}, "prioritee"},
		"NUL":             {api.SubmitRequest{Command: []string{"x"}, Name: "a\x00b"}, "name NUL"},
		"long name":       {api.SubmitRequest{Command: []string{"x"}, Name: strings.Repeat("ä", 256)}, "name 255"},
		"depends on none": {api.SubmitRequest{Command: []string{"x"}, Dependency: "4711"}, "4711 no such job"},
		"depends on junk": {api.SubmitRequest{Command: []string{"x"}, Dependency: "link-complete-frame-1"},
			"dependency link-complete-frame-1"},
		"relative cluster": {api.SubmitRequest{Command: []string{"x"}, Cluster: "show"}, "cluster show slash"},
		"bad order":        {api.SubmitRequest{Command: []string{"x"}, Range: "1-2", Order: "random"}, "order"},
		"bad variable":     {api.SubmitRequest{Command: []string{"x"}, Env: map[string]string{"a=b": "secret"}}, "env a=b"},
		"long command":     {api.SubmitRequest{Command: []string{strings.Repeat("x", api.MaxCommand+1)}}, "command 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			got := refused(t, api.KindInvalid, u1, api.Submit, nil, c.request)
			for _, word := range strings.Fields(c.words) {
				if !strings.Contains(got, word) {
					t.Errorf("%q does not say %q", got, word)
				}
			}
			if len(got) > 1000 || strings.Contains(got, "secret") {
				t.Errorf("%d bytes: %.200s", len(got), got)
			}
		})
	}
	odd := "a\nb\x1b[31m"
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Name: odd})
	if got := must[api.Job](t, u1, api.GetJob, params("job", job.Job), nil); got.Name != odd {
		t.Errorf("name %q", got.Name)
	}
	refused(t, api.KindNotFound, u1, api.GetJob, params("job", 4711), nil)
	refused(t, api.KindInvalid, u1, api.GetJob, params("job", "x"), nil)
	refused(t, api.KindInvalid, u1, api.OrderJob, params("job", 1, "action", "explode"), nil)
	refused(t, api.KindInvalid, u1, api.OrderJob, params("job", 1, "action", "kill"), api.ActionRequest{Items: "77"})
	refused(t, api.KindInvalid, u1, api.Modify, params("job", 1), api.ModifyRequest{})
	refused(t, api.KindForbidden, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, User: "root"})
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	token := r.token("u1", api.User)
	for path, size := range map[string]int{"/v1/jobs": maxBody + 1,
		"/v1/jobs/1/orders/kill": maxSmallBody + facts.MaxRange + 1} {
		resp := r.raw("POST", path, token, `{"name":"`+strings.Repeat("x", size)+`"}`, nil)
		body := text(t, resp)
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "urn:qb:error:limit") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	resp := r.raw("POST", "/v1/jobs", token, `{"command":`, nil)
	if body := text(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "urn:qb:error:invalid") {
		t.Errorf("half a body: %d %s", resp.StatusCode, body)
	}
	resp = r.raw("POST", "/v1/jobs", token, `name=x`, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		t.Errorf("a form: %d", resp.StatusCode)
	}
}

func TestEntityTags(t *testing.T) {
	r := startRig(t)
	u1, token := r.client("u1", api.User), r.token("u1", api.User)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-9"})
	tag := r.raw("GET", "/v1/jobs/1", token, "", nil).Header.Get("ETag")
	change := func(match, body string) *http.Response {
		return r.raw("PATCH", "/v1/jobs/1", token, body, http.Header{"If-Match": {match}})
	}
	resp := change(tag, `{"priority":5}`)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("ETag") == tag {
		t.Fatalf("%d, tag %s after %s", resp.StatusCode, resp.Header.Get("ETag"), tag)
	}
	stale := change(tag, `{"priority":6}`)
	if body := text(t, stale); stale.StatusCode != http.StatusPreconditionFailed ||
		!strings.Contains(body, "urn:qb:error:stale") {
		t.Errorf("%d %s", stale.StatusCode, body)
	}
	if got := r.raw("GET", "/v1/jobs/1", token, "", nil).Header.Get("ETag"); got != resp.Header.Get("ETag") {
		t.Errorf("tag %s, want %s", got, resp.Header.Get("ETag"))
	}
	if ok := change("*", `{"max_cpus":"*","name":"new"}`); ok.StatusCode != http.StatusOK {
		t.Errorf("any version: %d", ok.StatusCode)
	}
	order := func(match, action, body string) string {
		return text(t, r.raw("POST", "/v1/jobs/1/orders/"+action, token, body,
			http.Header{"If-Match": {match}, "Content-Type": {"application/json"}}))
	}
	if killed := order("", "kill", `{"items":"2-4"}`); !strings.Contains(killed, `"version":4,"items":"2-4"`) {
		t.Errorf("kill: %s", killed)
	}
	if stale, undone := order(`"3"`, "retry", `{"items":"2-4"}`), order(`"4"`, "retry",
		`{"items":"2-4"}`); !strings.Contains(stale, "urn:qb:error:stale") || !strings.Contains(undone, `"items":"2-4"`) {
		t.Errorf("undo: %s, %s", stale, undone)
	}
	if bad := change("xyz", `{"priority":6}`); bad.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("no version: %d", bad.StatusCode)
	}
	job := must[api.Job](t, u1, api.GetJob, params("job", 1), nil)
	if job.Priority != 5 || job.Name != "new" || *job.MaxCPUs != -1 {
		t.Errorf("job %+v", job)
	}
}

// TestFilters: lists hold what was asked for, page by page, on both stores.
func TestFilters(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() *rig{
		"memory":   func() *rig { return startRig(t) },
		"postgres": func() *rig { return startOn(t, startCluster(t).URL()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start()
			c := r.client("u1", api.User)
			for _, job := range []api.SubmitRequest{
				{Name: "a", Cluster: "/show/x", Tags: map[string]string{"prod_show": "heron", "prod_seq": "1"}},
				{Name: "b", Cluster: "/show", Tags: map[string]string{"prod_show": "heron"}},
				{Name: "a", Cluster: "/shower"},
			} {
				job.Command, job.Range = []string{"x"}, "1-9"
				must[api.SubmitReply](t, c, api.Submit, nil, job)
			}
			for query, want := range map[string]string{
				"name=a": "31", "cluster=/show": "21", "cluster=/show/": "21", "cluster=/": "321", "tags=prod_show=heron": "21",
				"tags=prod_show=heron,prod_seq=1": "1",
				"name=a&cluster=/show":            "1", "name=none": "", "status=failed": "", "name=a&limit=1": "3",
				"name=a&limit=1&before=3": "1",
			} {
				got := ""
				for _, job := range decode[[]api.Job](t,
					text(t, r.raw("GET", "/v1/jobs?"+query, r.token("u1", api.User), "", nil))) {
					got += fmt.Sprint(job.ID)
				}
				if got != want {
					t.Errorf("%s lists %q, want %q", query, got, want)
				}
			}
			refused(t, api.KindInvalid, c, api.ListJobs, params("tags", "prod_show"), nil)
			refused(t, api.KindInvalid, c, api.ListJobs, params("tags", "show=x"), nil)
			must[api.ActionReply](t, c, api.OrderJob, params("job", 1, "action", "kill"), api.ActionRequest{Items: "2,5,9"})
			items := func(query string) (got, link string) {
				resp := r.raw("GET", "/v1/jobs/1/items?"+query, r.token("u1", api.User), "", nil)
				for _, item := range decode[[]api.Item](t, text(t, resp)) {
					got += item.Name
				}
				return got, resp.Header.Get("Link")
			}
			if got, link := items("status=killed&limit=2"); got != "25" ||
				link != `</v1/jobs/1/items?after=4&limit=2&status=killed>; rel="next"` {
				t.Errorf("killed items: %s, %s", got, link)
			}
			if got, link := items("status=killed&limit=2&after=4"); got != "9" || link != "" {
				t.Errorf("further killed items: %s, %s", got, link)
			}
			if got, _ := items("status=pending,blocked"); got != "134678" {
				t.Errorf("pending items: %s", got)
			}
			refused(t, api.KindInvalid, c, api.ListItems, params("job", 1, "status", "done"), nil)
		})
	}
}

// TestRareItemsOfALongJob: one request looks at a part of a long agenda, and names where the next goes on.
func TestRareItemsOfALongJob(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.User)
	must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Name: "long", Command: []string{"x"}, Range: "1-150000"})
	must[api.ActionReply](t, c, api.OrderJob, params("job", 1, "action", "kill"), api.ActionRequest{Items: "120000"})
	for after, want := range map[int]string{-1: `[] </v1/jobs/1/items?after=99999&limit=1000&status=killed>; rel="next"`,
		99999: "[120000] "} {
		resp := r.raw("GET", fmt.Sprintf("/v1/jobs/1/items?status=killed&limit=1000&after=%d", after),
			r.token("u1", api.User), "", nil)
		names := []string{}
		for _, item := range decode[[]api.Item](t, text(t, resp)) {
			names = append(names, item.Name)
		}
		if got := fmt.Sprint(names, " ", resp.Header.Get("Link")); got != want {
			t.Errorf("after %d: %s", after, got)
		}
	}
}

// TestIdempotency: a repeated call does nothing twice, across a restart of the term too.
func TestIdempotency(t *testing.T) {
	r := startRig(t)
	token, other := r.token("u1", api.User), r.token("u2", api.User)
	key := http.Header{"Idempotency-Key": {"k1"}}
	submit := func(token, body string) (int, api.SubmitReply) {
		t.Helper()
		resp := r.raw("POST", "/v1/jobs", token, body, key)
		return resp.StatusCode, decode[api.SubmitReply](t, text(t, resp))
	}
	_, first := submit(token, `{"command":["x"],"range":"1-3"}`)
	_, again := submit(token, `{"command":["x"],"range":"1-3"}`)
	if first.Job != 1 || again.Job != 1 {
		t.Errorf("jobs %d and %d", first.Job, again.Job)
	}
	if code, _ := submit(token, `{"command":["y"],"range":"1-3"}`); code != http.StatusConflict {
		t.Errorf("another body: %d", code)
	}
	if _, theirs := submit(other, `{"command":["x"],"range":"1-3"}`); theirs.Job != 2 {
		t.Errorf("another user's job is %d", theirs.Job)
	}
	kill := func() api.ActionReply {
		t.Helper()
		return decode[api.ActionReply](t,
			text(t, r.raw("POST", "/v1/jobs/1/orders/kill", token, `{"items":"1"}`, http.Header{"Idempotency-Key": {"k2"}})))
	}
	if a, b := kill(), kill(); a.Affected != 1 || b.Affected != 1 {
		t.Errorf("kill: %+v, again %+v", a, b)
	}
	if resp := r.raw("POST", "/v1/jobs/1/orders/kill", token, `{"items":"2"}`,
		http.Header{"Idempotency-Key": {"k2"}}); resp.StatusCode != http.StatusConflict {
		t.Errorf("another body under the key: %d", resp.StatusCode)
	}
	r.endTerm()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	second := startRig(t, func(_ *settings.Config, o *Options) { o.Store = r.store })
	resp := second.raw("POST", "/v1/jobs", token, `{"command":["x"],"range":"1-3"}`, key)
	if got := decode[api.SubmitReply](t, text(t, resp)); got.Job != 1 || got.Version != 1 {
		t.Errorf("another process gives job %d", got.Job)
	}
}
