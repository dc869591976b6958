package serve

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"qb/api"
)

// TestRecordedWorker plays what a worker said of two items, word for word except for the names of the host and the time
// to hold answers. There is a record of each protocol that a worker may speak with this supervisor: a release that
// raises the number adds one, and keeps that of the number before.
func TestRecordedWorker(t *testing.T) {
	record, err := os.ReadFile("testdata/protocol1/worker.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := startRig(t)
	client, token := r.client("render", api.User), r.token("agent", api.Worker)
	var last api.SyncReply
	for n, line := range strings.Split(strings.TrimSpace(string(record)), "\n") {
		path, body, _ := strings.Cut(line, " ")
		resp := r.raw(http.MethodPost, path, token, body, nil)
		answer := text(t, resp)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("line %d is answered %d: %s", n+1, resp.StatusCode, answer)
		}
		if path == api.SyncWorker.Path {
			last = decode[api.SyncReply](t, answer)
			if last.LeaseSeconds <= 0 {
				t.Errorf("line %d is granted no lease: %s", n+1, answer)
			}
		}
		if n == 0 {
			must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1-2"})
		}
	}
	if len(last.Instances) > 0 {
		t.Errorf("after all has ended it is to run %+v", last.Instances)
	}
	list := must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil)
	if len(list) != 2 || list[0].State != "done" || list[1].State != "done" || list[0].PeakMemory == 0 {
		t.Errorf("attempts %+v", list)
	}
	for _, item := range []string{"1", "2"} {
		log := text(t, r.raw(http.MethodGet, "/v1/jobs/1/items/"+item+"/log?stream=stdout",
			r.token("render", api.User), "", nil))
		if log != "item\n" {
			t.Errorf("the output of item %s is %q", item, log)
		}
	}
	eventually(t, "the host is listed", func() bool { // the next view has it
		host := must[[]api.Host](t, client, api.ListHosts, nil, nil)
		return len(host) == 1 && host[0].Name == "recorded" && host[0].State == "up"
	})
}
