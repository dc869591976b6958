package serve

import (
	"strings"
	"testing"

	"qb/api"
)

// A worker whose release is too far from the supervisor's joins nothing and is heard no more. What it runs is its own
// until its lease ends: when it is back in another release, nothing of it is lost.
func TestWorkerOfAFarRelease(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	client := r.client("mara", api.User)
	join, id := r.joinToken(1)
	far := enrolment("h1", newKey())
	for protocol, way := range map[int]string{0: "upgrade qb on that host",
		api.Protocol + 2: "upgrade the supervisors first"} {
		far.Protocol = protocol
		err := join.Call(t.Context(), api.Enrol, nil, far, nil)
		if refusal := api.Refusal(err); !strings.HasPrefix(refusal.Code, "worker-too-") ||
			!strings.Contains(refusal.Text, way) {
			t.Errorf("enrolment by protocol %d: %v", protocol, err)
		}
	}
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("refused enrolments left %d uses of one", left)
	}
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1"})
	h := r.agent("h1", 1)
	h.sync.Protocol = api.Protocol + 1
	h.until("an item to start", func() bool { return len(h.running) == 1 })
	for protocol, code := range map[int]string{0: api.CodeWorkerTooOld, api.Protocol + 2: api.CodeWorkerTooNew} {
		later := h.sync
		later.Sequence, later.Protocol, later.Version = later.Sequence+1, protocol, "v9.0.0"
		err := h.client.Call(t.Context(), api.SyncWorker, nil, later, nil)
		if refusal := api.Refusal(err); refusal.Code != code || !strings.Contains(refusal.Text, `"h1" (v9.0.0)`) {
			t.Errorf("a sync of protocol %d: %v", protocol, err)
		}
	}
	h.sync.Sequence++
	h.sync.Protocol = api.Protocol
	if reply := h.beat(0); len(reply.Instances) != 1 {
		t.Errorf("back in this release, it is to run %+v", reply.Instances)
	}
	list := must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil)
	if len(list) != 1 || list[0].State != "running" {
		t.Errorf("attempts %+v", list)
	}
}
