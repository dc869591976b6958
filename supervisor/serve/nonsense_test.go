package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// report is what an agent says of memory, and what people are shown of it.
type report struct {
	memory   api.SyncMemory
	resident int64
	want     string
}

// nonsense ends with a report that can be.
func nonsense(good api.SyncMemory) []report {
	return []report{
		{api.SyncMemory{Total: 8 << 30, Available: -5}, 0, "-5 B available of 8 GiB"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 60}, 0, "available of 8 GiB"},
		{api.SyncMemory{Total: -1, Available: 1}, 0, "-1 B of memory"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 30, Reserve: -7}, 0, "-7 B in reserve"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 30, Reserve: 9 << 30}, 0,
			"9 GiB in reserve of 8 GiB, which leaves nothing for items"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 30, Foreign: -3}, 0, "-3 B in use by others of 8 GiB"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 30, Foreign: 99 << 30}, 0, "99 GiB in use by others of 8 GiB"},
		{api.SyncMemory{Total: 8 << 30, Available: 1 << 30, Cap: -2}, 0, "that it offers -2 B"},
		{good, 16 << 30, "16 GiB resident of 8 GiB"},
		{good, -1, "-1 B resident of 8 GiB"},
		{good, 1 << 30, ""},
	}
}

// An agent that reports what cannot be does no harm: its numbers are clamped, and the host is marked where
// people look.
func TestNonsenseOfAnAgentIsClampedAndShown(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 2)
	worker.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Range: "1-4", CPUs: ptr(2)}).Job
	worker.until("two items run", func() bool { return len(worker.running) == 2 })
	shown := func(want string) {
		t.Helper()
		var last api.Host
		eventually(t, "the host is shown with: "+want, func() bool {
			last = must[[]api.Host](t, u1, api.ListHosts, nil, nil)[0]
			m := last.Memory
			if m.Available < 0 || m.Available > m.Total || m.Promised < 0 || m.PerIdle < 0 || m.Total < 0 {
				t.Fatalf("memory %+v", m)
			}
			return strings.Contains(last.Remark, want) && (want != "") == (last.Remark != "") &&
				(want != "") == (last.Code != "")
		})
	}
	for _, c := range nonsense(worker.sync.Memory) {
		worker.sync.Memory = c.memory
		for key, i := range worker.running {
			i.Memory = c.resident
			worker.running[key] = i
		}
		worker.beat(0)
		shown(c.want)
	}
	impossibleEnds(t, r, worker, u1, id)
}

// Swap and processors that cannot be are clamped, too, and shown; what can be ends the remark.
func TestNonsenseOfSwapAndProcessors(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 2)
	worker.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Range: "1-4", CPUs: ptr(2)}).Job
	worker.until("two items run", func() bool { return len(worker.running) == 2 })
	for _, c := range []struct {
		swap    api.SyncSwap
		foreign int
		remark  string
	}{
		{api.SyncSwap{Total: 1 << 30, Used: -1, Rate: -1}, 0, "of swap in use"},
		{api.SyncSwap{Total: -1 << 40, Used: 1 << 62, Rate: 1 << 62}, 0, "of swap"},
		{api.SyncSwap{}, 1_000_000_000, "1000000000 of 2 slots in use by others"},
		{api.SyncSwap{}, -3, "-3 of 2 slots in use by others"},
		{api.SyncSwap{Total: 1 << 30, Used: 1 << 20, Rate: 5}, 1, "programs outside the farm use its processors"},
		{api.SyncSwap{Total: 1 << 30}, 0, ""},
	} {
		worker.sync.Swap, worker.sync.ForeignSlots = c.swap, c.foreign
		worker.beat(0)
		eventually(t, "the host is shown with: "+c.remark, func() bool {
			h := must[[]api.Host](t, u1, api.ListHosts, nil, nil)[0]
			if h.Swap.Total < 0 || h.Swap.Used < 0 || h.Swap.Used > h.Swap.Total || h.Swap.Rate < 0 || h.Slots.Foreign < 0 ||
				h.Slots.Foreign > 2 {
				t.Fatalf("swap %+v, slots %+v", h.Swap, h.Slots)
			}
			return strings.Contains(h.Remark, c.remark) && (c.remark != "") == (h.Remark != "")
		})
		if n := must[api.Job](t, u1, api.GetJob, params("job", id), nil).Items.Running; n != 2 {
			t.Fatalf("%d items run after %+v", n, c)
		}
	}
}

// impossibleEnds reports NaN, for which JSON has no word, so that such a report is refused whole; then ends
// that cannot be, which are clamped. The farm goes on.
func impossibleEnds(t *testing.T, r *rig, worker *agent, u1 *api.Client, id int64) {
	t.Helper()
	body, err := json.Marshal(worker.sync)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := strings.Replace(string(body), `"available":8589934592`, `"available":NaN`, 1)
	if resp := r.raw(http.MethodPost, api.SyncWorker.Path, r.token("agent", api.Worker),
		spoilt, nil); resp.StatusCode/100 != 4 {
		t.Errorf("a report with NaN is answered %s", resp.Status)
	}
	for key, i := range worker.running {
		worker.finished = append(worker.finished,
			api.Finished{Attempt: key, Instance: i.Instance, Outcome: "exit", ExitCode: ptr(0), Wall: -3, CPU: -1,
				PeakMemory: 1 << 50})
		delete(worker.running, key)
	}
	worker.beat(0)
	for _, a := range must[[]api.Attempt](t, u1, api.Attempts, params("job", id), nil)[:2] {
		if a.State != "done" || a.CPUSeconds != 0 || a.PeakMemory != 8<<30 {
			t.Errorf("attempt %+v", a)
		}
	}
	for range 2 { // an item is taken to need the whole host now
		worker.until("the next runs", func() bool { return len(worker.running) == 1 })
		worker.finish(0)
		worker.beat(0)
	}
	eventually(t, "the job is complete", func() bool {
		return must[api.Job](t, u1, api.GetJob, params("job", id), nil).Status == "complete"
	})
}

// A host that keeps more in reserve than its machine has offers nothing: it is not one whose memory is unknown.
func TestAHostThatReservesAllIsPromisedNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory api.SyncMemory
		want   int64
	}{
		{api.SyncMemory{}, 0}, {api.SyncMemory{Total: 8}, 8}, {api.SyncMemory{Total: 8, Reserve: 3}, 5},
		{api.SyncMemory{Total: 8, Cap: 2}, 2},
		{api.SyncMemory{Total: 8, Reserve: 8}, 1}, {api.SyncMemory{Total: 8, Reserve: 9, Cap: 2}, 1},
		{api.SyncMemory{Total: 8, Reserve: -9}, 8},
	} {
		if got := settings.Offered(c.memory); got != c.want {
			t.Errorf("%+v offers %d bytes, want %d", c.memory, got, c.want)
		}
	}
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 2)
	worker.sync.Memory = api.SyncMemory{Total: 8 << 30, Available: 8 << 30, Reserve: 9 << 30}
	worker.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Reservations: "host.memory=1GB"}).Job
	eventually(t, "the job waits for memory", func() bool {
		return strings.Contains(must[api.Job](t, u1, api.GetJob, params("job", id), nil).Reason, "an instance takes 1 GiB")
	})
	worker.sync.Memory.Reserve = 1 << 30
	worker.beat(0)
	worker.until("it runs", func() bool { return len(worker.running) == 1 })
}
