package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
)

// onStores runs a test on a supervisor with each of the stores; audit checks the rows at the end.
func onStores(t *testing.T, test func(t *testing.T, r *rig, audit func())) {
	t.Run("memory", func(t *testing.T) { test(t, startRig(t), func() {}) })
	t.Run("postgres", func(t *testing.T) {
		url := startCluster(t).URL()
		test(t, startOn(t, url), func() { auditClean(t, url) })
	})
}

// many orders and tells the results in short: job, code, affected.
func many(t *testing.T, c *api.Client, action, key string, jobs api.ManyJobs) string {
	t.Helper()
	var reply api.ManyReply
	if err := c.CallWith(t.Context(), api.OrderJobs, params("action", action), jobs, &reply,
		http.Header{"Idempotency-Key": {key}}); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(reply.Affected)
	for _, r := range reply.Results {
		text += fmt.Sprintf(" %d:%s:%d", r.Job, r.Code, r.Affected)
		if (r.Detail == "") != (r.Code == "ok") || r.Remarks == nil {
			t.Errorf("%+v", r)
		}
	}
	return text
}

// TestOrdersOnManyJobs: each job has its own rights and result; a repeated call acts on the same jobs, once.
func TestOrdersOnManyJobs(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, r *rig, audit func()) {
		u1, u2, operator, admin := r.client("u1", api.User), r.client("u2", api.User), r.client("op", api.Operator),
			r.client("root", api.Admin)
		for n := range 6 {
			must[api.SubmitReply](t, []*api.Client{u1, u2}[n%2], api.Submit, nil,
				api.SubmitRequest{Command: []string{"x"}, Range: "1-3", Name: fmt.Sprint("n", n%3)})
		}
		if got, want := many(t, u1, "kill", "k1",
			api.ManyJobs{Jobs: []int64{3, 2, 1, 99}}), "6 3:ok:3 2:forbidden:0 1:ok:3 99:not-found:0"; got != want {
			t.Errorf("kill: %s, want %s", got, want)
		}
		if got, want := many(t, u1, "kill", "k1",
			api.ManyJobs{Jobs: []int64{3, 2, 1, 99}}), "6 3:ok:3 2:forbidden:0 1:ok:3 99:not-found:0"; got != want {
			t.Errorf("again: %s, want %s", got, want)
		}
		if got, want := many(t, u1, "kill", "", api.ManyJobs{Jobs: []int64{3, 1}}), "0 3:ok:0 1:ok:0"; got != want {
			t.Errorf("under no key: %s, want %s", got, want)
		}
		if got, want := many(t, u1, "block", "k1", api.ManyJobs{Jobs: []int64{3, 5}}), "3 3:conflict:0 5:ok:3"; got != want {
			t.Errorf("another order under the key: %s, want %s", got, want)
		}
		pending := api.ManyJobs{Filter: &api.JobFilter{Status: "pending"}}
		if got, want := many(t, operator, "kill", "k2", pending), "9 6:ok:3 4:ok:3 2:ok:3"; got != want {
			t.Errorf("by filter: %s, want %s", got, want)
		}
		must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
		r.endTerm()
		if got, want := many(t, operator, "kill", "k2", pending), "9 6:ok:3 4:ok:3 2:ok:3"; got != want {
			t.Errorf("by filter again, in another term: %s, want %s", got, want)
		}
		if got := must[api.Job](t, u1, api.GetJob, params("job", 7), nil).Status; got != "pending" {
			t.Errorf("a job that came later is %s", got)
		}
		for _, wrong := range []api.ManyJobs{{}, {Jobs: []int64{1}, Filter: &api.JobFilter{User: "u1"}},
			{Filter: &api.JobFilter{}}, {Filter: &api.JobFilter{Status: "odd"}}, {Jobs: make([]int64, 1001)}} {
			refused(t, api.KindInvalid, u1, api.OrderJobs, params("action", "kill"), wrong)
		}
		rows := 0
		for _, row := range must[[]api.AuditEntry](t, admin, api.AuditLog, nil, nil) {
			if row.Verb == api.OrderJobs.ID && row.Outcome == "done" && strings.HasPrefix(row.Object, "job ") {
				rows++
			}
		}
		if rows != 8 { // 2 + 2 without a key + 1 + 3
			t.Errorf("%d rows in the audit trail", rows)
		}
		audit()
	})
}

// TestRemoveJobs: what has ended goes, with its history and output; its charge stays; nothing else goes.
func TestRemoveJobs(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, r *rig, audit func()) {
		u1, u2, admin, worker := r.client("u1", api.User), r.client("u2", api.User), r.client("root", api.Admin), r.agent("h1", 4)
		worker.beat(0)
		must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-4", CPUs: ptr(4)})
		worker.until("it runs", func() bool { return len(worker.running) == 4 })
		for id := range worker.running {
			must[api.LogReply](t, worker.client, api.AppendLog, nil, api.LogChunk{Attempt: id, Data: chunkOf(1, "text"), Final: true})
		}
		refused(t, api.KindForbidden, u2, api.RemoveJob, params("job", 1), nil)
		if text := refused(t, api.KindConflict, u1, api.RemoveJob, params("job", 1), nil); !strings.Contains(text, "qbkill 1") {
			t.Errorf("of a running job: %s", text)
		}
		worker.finish(1)
		worker.beat(0)
		eventually(t, "its end is seen", func() bool { return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Status == "failed" })
		must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"y"}, Dependency: "link-complete-job-1"})
		if text := refused(t, api.KindConflict, u1, api.RemoveJob, params("job", 1), nil); !strings.Contains(text, "job 2 waits for job 1") {
			t.Errorf("of a job that is waited for: %s", text)
		}
		must[api.ActionReply](t, u1, api.OrderJob, params("job", 2, "action", "kill"), nil)
		before := must[api.Stats](t, u1, api.GetStats, params("by", "user"), nil)
		if reply := must[api.ActionReply](t, u1, api.RemoveJob, params("job", 1), nil); reply.Affected != 1 || reply.Job != 1 {
			t.Errorf("%+v", reply)
		}
		refused(t, api.KindNotFound, u1, api.GetJob, params("job", 1), nil)
		refused(t, api.KindNotFound, u1, api.History, params("job", 1), nil)
		if got := len(must[[]api.Job](t, u1, api.ListJobs, nil, nil)); got != 1 {
			t.Errorf("%d jobs are listed", got)
		}
		files := 0
		_ = filepath.WalkDir(filepath.Join(r.state, "logs"), func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files++
			}
			return nil
		})
		if files != 0 {
			t.Errorf("%d files of logs are left", files)
		}
		if after := must[api.Stats](t, u1, api.GetStats, params("by", "user"), nil); fmt.Sprint(after) != fmt.Sprint(before) || len(after.Rows) == 0 {
			t.Errorf("usage was %+v, is %+v", before, after)
		}
		must[api.ActionReply](t, u1, api.RemoveJob, params("job", 1), nil) // again
		if got, want := many(t, u1, "remove", "k", api.ManyJobs{Jobs: []int64{1, 2, 3}}), "2 1:ok:1 2:ok:1 3:not-found:0"; got != want {
			t.Errorf("many: %s, want %s", got, want)
		}
		if id := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}}).Job; id != 3 {
			t.Errorf("the next job is %d", id)
		}
		var told []string
		for _, row := range must[[]api.AuditEntry](t, admin, api.AuditLog, nil, nil) {
			if row.Outcome == "done" && (row.Verb == api.RemoveJob.ID || row.Verb == api.OrderJobs.ID) {
				told = append(told, row.Verb+" "+row.Object+" "+row.User)
			}
		}
		if got := strings.Join(told, ", "); got != "order-jobs job 2 u1, remove-job job 1 u1" {
			t.Errorf("the audit trail says %s", got)
		}
		r.endTerm()
		if got := len(must[[]api.Job](t, u1, api.ListJobs, nil, nil)); got != 1 {
			t.Errorf("the next term lists %d jobs", got)
		}
		audit()
	})
}

// TestVersionsOfManyJobs: where jobs are named with versions, jobs that were changed since are refused as stale.
func TestVersionsOfManyJobs(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.User)
	var versions []int64
	for range 3 {
		versions = append(versions,
			must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-3"}).Version)
	}
	must[api.SubmitReply](t, c, api.Modify, params("job", 2), api.ModifyRequest{Priority: new(7)})
	versions[2] = 0
	if got, want := many(t, c, "block", "",
		api.ManyJobs{Jobs: []int64{1, 2, 3}, Versions: versions}), "6 1:ok:3 2:stale:0 3:ok:3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, wrong := range []api.ManyJobs{{Jobs: []int64{1, 2}, Versions: []int64{1}},
		{Filter: &api.JobFilter{User: "u1"}, Versions: []int64{1}}} {
		refused(t, api.KindInvalid, c, api.OrderJobs, params("action", "block"), wrong)
	}
	refused(t, api.KindInvalid, c, api.OrderJobs, params("action", "remove"),
		api.ManyJobs{Jobs: []int64{1}, Versions: []int64{1}})
}

// TestOrdersThatChangeNothing: the answer says why, of one job and of many, and a repeated call says the same.
func TestOrdersThatChangeNothing(t *testing.T) {
	r := startRig(t)
	c := r.client("u1", api.User)
	for range 2 {
		must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	}
	must[api.ActionReply](t, c, api.OrderJob, params("job", 2, "action", "kill"), nil)
	for range 2 {
		reply := decode[api.ActionReply](t,
			text(t, r.raw("POST", "/v1/jobs/1/orders/unblock", r.token("u1", api.User), "",
				http.Header{"Idempotency-Key": {"k1"}})))
		if got, want := fmt.Sprint(reply.Affected,
			reply.Remarks), "0 [job 1 is pending; unblock needs a blocked job or blocked items]"; got != want {
			t.Errorf("one: %s, want %s", got, want)
		}
	}
	all := must[api.ManyReply](t, c, api.OrderJobs, params("action", "kill"), api.ManyJobs{Jobs: []int64{2, 1}})
	if got, want := fmt.Sprint(all.Results[0].Remarks,
		all.Results[1].Remarks), "[job 2 is killed; kill needs an unfinished job] []"; got != want {
		t.Errorf("many: %s, want %s", got, want)
	}
}
