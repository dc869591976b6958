package serve

import (
	"fmt"
	"net/http"
	"testing"

	"qb/api"
)

// TestWhatIf: anybody who may read may try; what is shown comes true if it is done with the version that was shown, and
// is refused once somebody changed the job.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, reader := r.client("ana", api.User), r.client("cy", api.ReadOnly)
	host := r.agent("h1", 8)
	for range 2 {
		must[api.SubmitReply](t, c, api.Submit, nil,
			api.SubmitRequest{Command: []string{"x"}, Range: "1-100", MaxCPUs: new(-1)})
	}
	instances := func(job int) int {
		j := must[api.Job](t, c, api.GetJob, params("job", job), nil)
		return j.Instances.Primary + j.Instances.Secondary
	}
	host.until("a full host", func() bool { return instances(1)+instances(2) == 8 })
	reply := must[api.WhatIfReply](t, reader, api.WhatIf, params("job", 1, "max_cpus", 1), nil)
	version := must[api.Job](t, c, api.GetJob, params("job", 1), nil).Version
	if reply.Version != version || reply.Moved != 2 || reply.Epoch == 0 || reply.Jobs[0].After.Primary != 1 ||
		reply.Jobs[0].After.Secondary != 0 || reply.Stopped == 0 || reply.Stops[0].Item == "" {
		t.Fatalf("%+v, the job's version is %d", reply, version)
	}
	doc := must[api.SnapshotDoc](t, c, api.GetSnapshot, nil, nil)
	if len(doc.Running) != 8 || doc.Jobs[0].MaxCPUs == nil || *doc.Jobs[0].MaxCPUs != -1 {
		t.Errorf("trying changed the farm: %+v", doc)
	}
	token := r.token("ana", api.User)
	change := func() int {
		resp := r.raw("PATCH", "/v1/jobs/1", token, `{"max_cpus": 1}`,
			http.Header{"If-Match": {fmt.Sprintf("%q", fmt.Sprint(version))}})
		text(t, resp)
		return resp.StatusCode
	}
	if status := change(); status != http.StatusOK {
		t.Errorf("the change that was shown is answered %d", status)
	}
	host.until("what was shown", func() bool { return instances(1) == 1 })
	if status := change(); status != http.StatusPreconditionFailed {
		t.Errorf("a change of a job that was changed meanwhile is answered %d", status)
	}
	refused(t, api.KindNotFound, reader, api.WhatIf, params("job", 9, "cpus", 1), nil)
	refused(t, api.KindInvalid, reader, api.WhatIf, params("job", 1, "priority", -1), nil)
	must[api.WhatIfReply](t, reader, api.WhatIf, params("lock", "h1"), nil)
}

// TestTrySubmission: what is said of a submission comes true when it is submitted, and trying makes no job; a refusal
// is that of submit.
func TestTrySubmission(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("ana", api.User)
	host := r.agent("h1", 8)
	must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-100", MaxCPUs: new(-1)})
	instances := func(job int) int {
		j := must[api.Job](t, c, api.GetJob, params("job", job), nil)
		return j.Instances.Primary + j.Instances.Secondary
	}
	host.until("a full host", func() bool { return instances(1) == 8 })
	body := api.SubmitRequest{Command: []string{"x"}, Range: "1-100", CPUs: new(2), MaxCPUs: new(-1)}
	reply := must[api.TrialReply](t, c, api.TrySubmission, nil, body)
	sub := reply.Submission
	if sub.Items != 100 || sub.Start != "after-stops" || sub.Stopped == 0 || reply.Stopped != sub.Stopped ||
		reply.Stops[0].Item == "" || reply.Epoch == 0 {
		t.Fatalf("%+v", reply)
	}
	blocked := body
	blocked.Status = "blocked"
	if reply := must[api.TrialReply](t, c, api.TrySubmission, nil, blocked); reply.Submission.Start != "later" ||
		reply.Submission.Code != "blocked" || reply.Moved != 0 {
		t.Errorf("blocked: %+v", reply)
	}
	if jobs := must[[]api.Job](t, c, api.ListJobs, nil, nil); len(jobs) != 1 {
		t.Errorf("trying made %d jobs", len(jobs)-1)
	}
	must[api.SubmitReply](t, c, api.Submit, nil, body)
	host.until("what was shown", func() bool { return instances(2) == sub.Stopped })
	body.Range = "5-"
	refused(t, api.KindInvalid, c, api.TrySubmission, nil, body)
	body.Range, body.User = "1-5", "ben"
	refused(t, api.KindForbidden, c, api.TrySubmission, nil, body)
}
