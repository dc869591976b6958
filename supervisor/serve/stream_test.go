package serve

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qb/api"
)

type sseEvent struct {
	topic, id string
	event     api.Event
}

// nextEvent reads the stream up to the end of an event.
func nextEvent(t *testing.T, r *bufio.Reader) (e sseEvent) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "event":
			e.topic = value
		case "id":
			e.id = value
		case "data":
			e.event = decode[api.Event](t, value)
			hasMembers(t, e)
		case "":
			if e.topic != "" {
				return e
			}
		}
	}
}

// hasMembers wants an event to be of a type that is documented, under its topic and with its members.
func hasMembers(t *testing.T, e sseEvent) {
	t.Helper()
	at := slices.IndexFunc(api.EventKinds, func(k api.EventKind) bool { return k.Type == e.event.Type })
	if at < 0 || api.EventKinds[at].Topic != e.topic || e.event.At.IsZero() {
		t.Errorf("event %s: %+v is not documented", e.topic, e.event)
		return
	}
	var members []string
	for _, m := range []struct {
		name string
		has  bool
	}{{"job", e.event.Job != nil}, {"item", e.event.Item != nil && *e.event.Item != ""},
		{"instance", e.event.Instance != nil}, {"host", e.event.Host != nil}, {"status", e.event.Status != ""}} {
		if m.has {
			members = append(members, m.name)
		}
	}
	if e.event.Type == "item-failed" && (e.event.Cause == "" || e.event.Code == "") {
		t.Errorf("an end without a cause: %+v", e.event)
	}
	if got := strings.Join(members, ", "); got != api.EventKinds[at].Members {
		t.Errorf("event %s has the members %s, documented are %s", e.event.Type, got, api.EventKinds[at].Members)
	}
}

// follow reads the stream from now on.
func (r *rig) follow() *bufio.Reader {
	return bufio.NewReader(r.raw("GET", "/v1/events", r.token("follower", api.Admin), "", nil).Body)
}

// wantEvent reads the stream until an event of the type comes.
func wantEvent(t *testing.T, events *bufio.Reader, kind string) api.Event {
	t.Helper()
	for {
		if e := nextEvent(t, events); e.event.Type == kind {
			return e.event
		}
	}
}

// TestEventTypesAreListed: every type that the farm records is documented.
func TestEventTypesAreListed(t *testing.T) {
	files, err := filepath.Glob("../farm/*.go")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), err)
	}
	types := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`EventFacts\{Type: "([a-z-]+[a-z])"`).FindAllStringSubmatch(string(text),
			-1) {
			types++
			if !slices.ContainsFunc(api.EventKinds, func(k api.EventKind) bool { return k.Type == found[1] }) {
				t.Errorf("%s records the type %s, which is not in api.EventKinds", name, found[1])
			}
		}
	}
	if types < 20 {
		t.Errorf("found only %d types", types)
	}
}

func TestEvents(t *testing.T) {
	r := startRig(t)
	u1, token := r.client("u1", api.User), r.token("u1", api.User)
	resp := r.raw("GET", "/v1/events", token, "", nil)
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("content type %s", resp.Header.Get("Content-Type"))
	}
	events := bufio.NewReader(resp.Body)
	worker := r.agent("h1", 1)
	worker.beat(0)
	if e := nextEvent(t, events); e.topic != "host" || *e.event.Host != "h1" || e.event.Type != "host-registered" ||
		e.event.Job != nil {
		t.Errorf("first event %+v", e)
	}
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "7"})
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	worker.finish(0)
	worker.beat(0)
	seen := map[string]string{}
	var order []string
	for seen["job-complete"] == "" || seen["item-done"] == "" {
		e := nextEvent(t, events)
		if seen[e.event.Type] != "" && e.event.Type != "job-changed" && e.event.Type != "host-changed" {
			t.Errorf("%s comes twice", e.event.Type)
		}
		if seen[e.event.Type] == "" {
			order = append(order, e.event.Type)
		}
		seen[e.event.Type] = e.id
		if e.topic == "item" && (*e.event.Job != 1 || *e.event.Item != "7") {
			t.Errorf("event %+v", e.event)
		}
	}
	order = slices.DeleteFunc(order, func(kind string) bool { return strings.HasSuffix(kind, "-changed") })
	if want := []string{"job-submitted", "item-started", "item-done", "job-complete"}; !slices.Equal(order, want) {
		t.Errorf("events in the order %v, want %v", order, want)
	}
	for _, line := range must[[]api.Event](t, u1, api.History, params("job", 1), nil) {
		if seen[line.Type] == "" {
			t.Errorf("the history has %s, the stream %v", line.Type, order)
		}
	}
	again := r.raw("GET", "/v1/events", token, "", http.Header{"Last-Event-Id": {seen["item-started"]}})
	if e := nextEvent(t, bufio.NewReader(again.Body)); e.topic == "reset" {
		t.Errorf("resuming gives %+v", e)
	}
	lost := r.raw("GET", "/v1/events", token, "", http.Header{"Last-Event-Id": {"other-5"}})
	if e := nextEvent(t, bufio.NewReader(lost.Body)); e.topic != "reset" || e.id == "" {
		t.Errorf("another process's id gives %+v", e)
	}
}

// TestCausesComeFirst: what happens in one step of the farm comes in the order of causes, with its reasons.
func TestCausesComeFirst(t *testing.T) {
	r := startRig(t)
	u1, worker, events := r.client("u1", api.User), r.agent("h1", 1), r.follow()
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"y"}, Dependency: "link-failed-job-1"})
	worker.until("the first runs", func() bool { return len(worker.running) == 1 })
	worker.finish(3)
	worker.beat(0)
	var got []string
	for len(got) < 3 {
		switch e := nextEvent(t, events).event; e.Type {
		case "item-failed":
			got = append(got, fmt.Sprintf("%s: %s, %s %d", e.Type, e.Cause, e.Code, e.Params.ExitCode))
		case "job-failed":
			got = append(got, fmt.Sprintf("%s: %s, %s", e.Type, e.Cause, e.Code))
		case "unblocked":
			got = append(got, fmt.Sprintf("%s %d: %s, %s %d", e.Type, *e.Job, e.Cause, e.Code, e.Params.Job))
		}
	}
	want := []string{"item-failed: exit status 3, exit 3",
		"job-failed: 1 of 1 item failed, exit 3; see qberr 1, items_failed",
		"unblocked 2: job 1 is failed, dependency_ended 1"}
	if !slices.Equal(got, want) {
		t.Errorf("the stream says %q, want %q", got, want)
	}
}

func TestMetrics(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-5"})
	worker.until("two run", func() bool { return len(worker.running) == 2 })
	eventually(t, "the view shows them", func() bool {
		return strings.Contains(r.metrics(), `qb_items{state="running"} 2`)
	})
	all := r.metrics()
	for _, line := range []string{`qb_jobs{state="running"} 1`, `qb_items{state="pending"} 3`, "qb_slots 2",
		"qb_slots_used 2", `qb_instances{kind="primary"} 1`,
		`qb_hosts{state="up"} 1`, "qb_brake_engaged 0", "qb_commit_seconds_count", "qb_commits_total", "qb_commit_writes_sum",
		"qb_syncs_total", "qb_term_epoch 1",
		`qb_http_requests_total{code="201",endpoint="submit"} 1`, "go_goroutines"} {
		if !strings.Contains(all, line) {
			t.Errorf("no %s in\n%s", line, all)
		}
	}
}
