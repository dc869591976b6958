package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"qb/api"
)

// TestFindInLog: searches find lines of an attempt's output, with their stream, for users who may read it.
func TestFindInLog(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, worker, token := r.client("u1", api.User), r.agent("h1", 1), r.token("u1", api.User)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2"}).Job
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	data := append(chunkOf(1, strings.Repeat("x\n", 1000)+"a needle, a needle\n"), chunkOf(2, "needle\n")...)
	must[api.LogReply](t, worker.client, api.AppendLog, nil,
		api.LogChunk{Attempt: api.AttemptID{Job: job, Item: 0, Number: 1}, Data: data})
	where := fmt.Sprintf("/v1/jobs/%d/items/1/log/find?text=needle", job)
	for query, want := range map[string]string{
		"":               `[{"offset":2002,"line":1001,"line_offset":2000,"text":"needle, a needle"},{"offset":2019,"line":1002,"line_offset":2019,"text":"needle"}],"next":2026,"complete":true`,
		"&stream=stderr": `"line":1,"line_offset":0,"text":"needle"}],"next":7,"complete":true`,
		"&limit=1":       `"text":"needle, a needle"}],"next":2019,"complete":false`,
		"&offset=2019":   `[{"offset":2019,`,
	} {
		if got := text(t, r.raw("GET", where+query, token, "", nil)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := text(t, r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/1/log?offset=2002&limit=8", job),
		token, "", nil)); got != "needle, " {
		t.Errorf("a part of the output: %q", got)
	}
	if resp := r.raw("GET", strings.Replace(where, "items/1", "items/2", 1),
		token, "", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an item that has not run: %d", resp.StatusCode)
	}
}

// TestFarmHistory: what was done on the farm, the newest first, in pages, by who did it, host, type and job.
func TestFarmHistory(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, r *rig, audit func()) {
		u1, u2, op, worker := r.client("u1", api.User), r.client("u2", api.User), r.client("op", api.Operator),
			r.agent("h1", 1)
		worker.beat(0)
		for _, c := range []*api.Client{u1, u2} {
			id := must[api.SubmitReply](t, c, api.Submit, nil,
				api.SubmitRequest{Command: []string{"x"}, Range: "1-2", Status: "blocked"}).Job
			must[api.ActionReply](t, c, api.OrderJob, params("job", id, "action", "kill"), nil)
		}
		must[api.HostReply](t, op, api.LockHost, params("host", "h1"), nil)
		told := func(pairs ...any) (list []string) {
			next := int64(0)
			for page := 0; page == 0 || next > 0; page++ {
				reply := must[api.HistoryReply](t, op, api.FarmHistory, params(append(pairs, "limit", 2, "before", next)...), nil)
				for _, e := range reply.Events {
					line := e.Type
					if e.Job != nil {
						line += fmt.Sprint(" ", *e.Job)
					}
					list = append(list, strings.TrimSpace(line+" "+e.User))
				}
				next = reply.Next
			}
			return list
		}
		all := told()
		if !slices.Equal(told("type", "ordered-kill"), []string{"ordered-kill 2 u2", "ordered-kill 1 u1"}) ||
			!slices.Equal(told("host", "h1", "user", "op"), []string{"host-locked op"}) ||
			!slices.Contains(told("job", 1), "ordered-kill 1 u1") || slices.Contains(told("job", 1), "ordered-kill 2 u2") ||
			all[0] != "host-locked op" || len(told("user", "nobody")) != 0 {
			t.Errorf("%q, kills %q", all, told("type", "ordered-kill"))
		}
		refused(t, api.KindForbidden, u1, api.FarmHistory, nil, nil)
		audit()
	})
}

// TestTimelineEndpoint: samples of the view, also of a query that is left out; what is wrong is refused.
func TestTimelineEndpoint(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-9", CPUs: new(2)})
	worker.until("items run", func() bool { return len(worker.running) == 2 })
	worker.until("a sample", func() bool { // one is taken each 10 s
		reply := must[api.TimelineReply](t, u1, api.Timeline, params("by", "user"), nil)
		last := len(reply.Samples) - 1
		return reply.Samples[last] > 0 && reply.Samples[0] == 0 && len(reply.Series) == 1 && reply.Series[0].Key == "u1" &&
			reply.Series[0].Primary[last] > 0
	})
	refused(t, api.KindInvalid, u1, api.Timeline, params("from", "2030-01-01T00:00:00Z"), nil)
}
