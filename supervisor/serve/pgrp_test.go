package serve

import (
	"fmt"
	"strings"
	"testing"

	"qb/api"
)

// TestProcessGroups: a job joins groups that its owner leads, or that the caller may change; it names jobs that exist.
func TestProcessGroups(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	ann, ben, operator := r.client("ann", api.User), r.client("ben", api.User), r.client("ops", api.Operator)
	submit := func(c *api.Client, request api.SubmitRequest) int {
		t.Helper()
		request.Command = []string{"x"}
		return int(must[api.SubmitReply](t, c, api.Submit, nil, request).Job)
	}
	first := submit(ann, api.SubmitRequest{})
	bens := submit(ben, api.SubmitRequest{PID: first}) // which lets a job belong to any other
	member := submit(ann, api.SubmitRequest{PGrp: first, PID: bens})
	group := func(job, want int) {
		t.Helper()
		if j := must[api.Job](t, ann, api.GetJob, params("job", job), nil); j.PGrp != int64(want) {
			t.Errorf("job %d is in the group %d, want %d", job, j.PGrp, want)
		}
	}
	group(first, first)
	group(bens, bens)
	group(member, first)
	change := func(pgrp int) api.ModifyRequest { return api.ModifyRequest{PGrp: &pgrp} }
	for n, c := range []struct {
		kind   api.Kind
		by     *api.Client
		job    int // 0: a submission
		pgrp   int
		answer string
	}{
		{api.KindForbidden, ben, 0, first, "belongs to ann, and ben may not change it; write the id of a job of ben"},
		{api.KindForbidden, ben, bens, first, "belongs to ann"},
		{api.KindForbidden, ben, member, 0, ""}, // as any change of another's job
		{api.KindInvalid, ann, 0, member, fmt.Sprintf("in the process group %d", first)},
		{api.KindInvalid, ann, member, 999, "there is no job 999"},
		{api.KindInvalid, ann, 0, -1, "pgrp: -1"},
		{api.KindInvalid, ann, first, -1, "pgrp: -1"},
	} {
		endpoint, at, body := api.Submit, api.Params(nil), any(api.SubmitRequest{Command: []string{"x"}, PGrp: c.pgrp})
		if c.job != 0 {
			endpoint, at, body = api.Modify, params("job", c.job), change(c.pgrp)
		}
		if text := refused(t, c.kind, c.by, endpoint, at, body); !strings.Contains(text, c.answer) {
			t.Errorf("%d: %s, want %q", n, text, c.answer)
		}
	}
	group(bens, bens)
	group(member, first)
	for _, request := range []api.SubmitRequest{{PID: 999}, {PID: -1}, {Label: strings.Repeat("x", 10_000)},
		{Label: "a\nb"}, {Label: "a,b"}, {Notes: strings.Repeat("x", 4097)}, {Notes: "a\x00"}} {
		request.Command = []string{"x"}
		refused(t, api.KindInvalid, ann, api.Submit, nil, request)
	}
	must[api.SubmitReply](t, operator, api.Modify, params("job", bens), change(first))
	group(bens, first)
	must[api.SubmitReply](t, ben, api.Modify, params("job", bens), change(0))
	group(bens, bens)
	must[api.ActionReply](t, ann, api.OrderJob, params("job", first, "action", "kill"), nil)
	group(submit(ann, api.SubmitRequest{PGrp: first}), first) // which has ended
}
