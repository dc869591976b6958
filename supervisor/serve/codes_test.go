package serve

import (
	"testing"

	"qb/api"
	"qb/supervisor/job/facts"
)

// TestEndsByCode: a worker's outcome and code decide, never its words; a code may be missing, and one of a
// newer release may not be known here.
func TestEndsByCode(t *testing.T) {
	r := startRig(t)
	client := r.client("mara", api.User)
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1-100"})
	h := r.agent("h1", 1)
	h.sync.Memory.Total = 64 << 30
	for _, tc := range []struct {
		end   api.Finished
		state string
		code  facts.Reason
	}{
		{api.Finished{Outcome: "stopped", Reason: "the worker was stopped"}, "preempted", facts.ReasonWorkerStopped},
		{api.Finished{Outcome: "stopped", Code: "host_memory_low"}, "preempted", facts.ReasonHostMemoryLow},
		{api.Finished{Outcome: "stopped", Code: "not_wanted"}, "preempted", facts.ReasonNotWanted},
		{api.Finished{Outcome: "stopped", Code: "comet"}, "preempted", facts.ReasonWorkerStopped},
		{api.Finished{Outcome: "stopped", Code: "killed", Reason: "killed by ann"}, "preempted", facts.ReasonWorkerStopped},
		{api.Finished{Outcome: "launch", Reason: "memory: the item reached its limit of 3 GB"}, "failed",
			facts.ReasonLaunchFailed},
		{api.Finished{Outcome: "lost", Reason: "its worker, of another release, calls the end odd"}, "lost",
			facts.ReasonNoRecord},
		{api.Finished{Outcome: "memory", Reason: "the kernel killed the item"}, "failed", facts.ReasonOutOfMemory},
	} {
		var id api.AttemptID
		h.until("an item to start", func() bool {
			for was := range h.running {
				id = was
			}
			return len(h.running) == 1
		})
		tc.end.Attempt, tc.end.Instance = id, h.running[id].Instance
		delete(h.running, id)
		h.finished = []api.Finished{tc.end}
		h.until("the next item", func() bool { return len(h.running) == 1 })
		seen := false
		for _, a := range must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil) {
			seen = seen || a.Number == id.Item && a.Attempt == id.Number && a.State == tc.state && a.Code == string(tc.code)
		}
		if !seen {
			t.Errorf("%+v: no attempt is %s with code %s", tc.end, tc.state, tc.code)
		}
	}
}
