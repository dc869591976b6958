package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/wire/settings"
)

// TestBodyTime: the limit on a body's arrival ends with the body; a held answer is not cut off by it. By TLS too.
func TestBodyTime(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { bodyTime(t, httptest.NewServer) })
	t.Run("TLS", func(t *testing.T) { bodyTime(t, httptest.NewTLSServer) })
}

func bodyTime(t *testing.T, serve func(http.Handler) *httptest.Server) {
	const limit = time.Second
	server := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gate.LimitBodyTime(w, r, limit)
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(3 * limit / 2):
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	resp, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("a held answer has status %d", resp.StatusCode)
	}
	slow, never := io.Pipe()
	defer never.Close()
	resp, err = server.Client().Post(server.URL, "text/plain", slow)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that never ends has status %d", resp.StatusCode)
	}
}

// TestAddressInUse: the second supervisor says so and ends.
func TestAddressInUse(t *testing.T) {
	r := startRig(t)
	cfg := settings.DefaultConfig()
	cfg.Listen, cfg.State = strings.TrimPrefix(r.url, "http://"), t.TempDir()
	if err := Run(t.Context(), cfg, Options{Store: r.store, Key: testKey}); err == nil ||
		!strings.Contains(err.Error(), "supervisor_listen") {
		t.Errorf("got %v", err)
	}
	cfg.Listen, cfg.State, cfg.LogPath = "0.0.0.0:0", "", t.TempDir() // there is no folder for a key
	if err := Run(t.Context(), cfg, Options{Store: r.store, Key: testKey}); err == nil ||
		!strings.Contains(err.Error(), "needs TLS") {
		t.Errorf("got %v", err)
	}
}

// TestHostOrders: a locked host keeps what runs and takes nothing new.
func TestHostOrders(t *testing.T) {
	r := startRig(t)
	u1, op, worker := r.client("u1", api.User), r.client("op", api.Operator), r.agent("h1", 1)
	worker.beat(0)
	if got := must[api.HostReply](t, op, api.LockHost, params("host", "h1"), nil); got.Affected != 1 {
		t.Errorf("lock: %+v", got)
	}
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2"})
	worker.beat(0.2)
	if len(worker.running) != 0 {
		t.Error("a locked host was given an item")
	}
	if hosts := must[[]api.Host](t, u1, api.ListHosts, nil, nil); !hosts[0].Locked || hosts[0].State != "locked" {
		t.Errorf("hosts %+v", hosts)
	}
	if job := must[api.Job](t, u1, api.GetJob, params("job", 1), nil); !strings.Contains(job.Reason, "locked") {
		t.Errorf("reason %q", job.Reason)
	}
	if resp := r.raw("POST", "/v1/hosts/h1/unlock?locked_by=u1",
		r.token("op", api.Operator), "", nil); resp.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("unlocking what another has locked: %d", resp.StatusCode)
	}
	must[api.HostReply](t, op, api.UnlockHost, params("host", "h1"), nil)
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	if text := refused(t, api.KindConflict, op, api.ConfirmDead, params("host", "h1"), nil); !strings.Contains(text,
		"was heard") {
		t.Errorf("a host that speaks was confirmed dead: %s", text)
	}
	for _, e := range []api.Endpoint{api.LockHost, api.UnlockHost, api.ConfirmDead} {
		refused(t, api.KindNotFound, op, e, params("host", "h404"), nil)
	}
}

// TestForgottenJob: a farm that holds an ended job no more takes it up again from its record.
func TestForgottenJob(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2", CPUs: ptr(2)})
	worker.until("both run", func() bool { return len(worker.running) == 2 })
	worker.finish(1)
	worker.beat(0)
	r.endTerm()
	job := must[api.Job](t, u1, api.GetJob, params("job", 1), nil)
	if job.Status != "failed" || job.Items.Failed != 2 {
		t.Errorf("job %+v", job)
	}
	if text := refused(t, api.KindConflict, u1, api.Modify, params("job", 1),
		api.ModifyRequest{Priority: ptr(3)}); !strings.Contains(text, "ended") {
		t.Errorf("modifying says %q", text)
	}
	if e := must[api.Explanation](t, u1, api.Explain,
		params("job", 1), nil); e.Reason != "2 of 2 items failed, exit 1; see qberr 1" || e.Facts == nil {
		t.Errorf("explanation %+v", e)
	}
	if reply := must[api.ActionReply](t, u1, api.OrderJob, params("job", 1, "action", "retry"), nil); reply.Affected != 2 {
		t.Errorf("retry %+v", reply)
	}
	worker.until("both run again", func() bool { return len(worker.running) == 2 })
	child := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"y"}, Dependency: "link-complete-job-1"})
	if must[api.Job](t, u1, api.GetJob, params("job", child.Job), nil).Status != "blocked" {
		t.Errorf("child %+v", child.Job)
	}
	worker.finish(0)
	worker.until("the child runs", func() bool {
		for id := range worker.running {
			return id.Job == child.Job
		}
		return false
	})
}

func TestItemStates(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-4", Status: "blocked"})
	states := func() string {
		t.Helper()
		var all []string
		for _, i := range must[[]api.Item](t, u1, api.ListItems, params("job", 1), nil) {
			all = append(all, i.Status)
		}
		return strings.Join(all, " ")
	}
	if got := states(); got != "blocked blocked blocked blocked" {
		t.Errorf("a blocked job: %s", got)
	}
	must[api.ActionReply](t, u1, api.OrderJob, params("job", 1, "action", "kill"), api.ActionRequest{Items: "3"})
	must[api.ActionReply](t, u1, api.OrderJob, params("job", 1, "action", "unblock"), nil)
	if got := states(); got != "pending pending killed pending" {
		t.Errorf("unblocked, 3 killed: %s", got)
	}
	worker.until("the first runs", func() bool { return len(worker.running) == 1 })
	if got := states(); got != "running pending killed pending" {
		t.Errorf("while 1 runs: %s", got)
	}
	must[api.ActionReply](t, u1, api.OrderJob, params("job", 1, "action", "kill"), nil)
	worker.until("nothing runs", func() bool { return len(worker.running) == 0 })
	worker.beat(0)
	if got := states(); got != "killed killed killed killed" {
		t.Errorf("all killed: %s", got)
	}
	eventually(t, "the job is killed", func() bool {
		return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Status == "killed"
	})
}
