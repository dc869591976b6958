package supervisor

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
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
		case "":
			if e.topic != "" {
				return e
			}
		}
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
	if e := nextEvent(t, events); e.topic != "host" || *e.event.Host != "h1" || e.event.Type != "registered" || e.event.Job != nil {
		t.Errorf("first event %+v", e)
	}
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "7"})
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	worker.finish(0)
	worker.beat(0)
	seen := map[string]string{}
	for seen["job complete"] == "" || seen["item done"] == "" {
		e := nextEvent(t, events)
		seen[e.topic+" "+e.event.Type] = e.id
		if e.topic == "item" && (*e.event.Job != 1 || *e.event.Item != "7") {
			t.Errorf("event %+v", e.event)
		}
	}
	for _, want := range []string{"job submitted", "item started", "item done", "job complete"} {
		if seen[want] == "" {
			t.Errorf("no event %q among %v", want, seen)
		}
	}
	again := r.raw("GET", "/v1/events", token, "", http.Header{"Last-Event-Id": {seen["item started"]}})
	if e := nextEvent(t, bufio.NewReader(again.Body)); e.topic == "reset" {
		t.Errorf("resuming gives %+v", e)
	}
	lost := r.raw("GET", "/v1/events", token, "", http.Header{"Last-Event-Id": {"other-5"}})
	if e := nextEvent(t, bufio.NewReader(lost.Body)); e.topic != "reset" || e.id == "" {
		t.Errorf("another process's id gives %+v", e)
	}
}

// TestSlowReader: one who is overtaken is told so, and the ring never grows.
func TestSlowReader(t *testing.T) {
	s := newStream()
	place := s.now()
	if place != 1 {
		t.Fatal(place)
	}
	s.put(make([]streamEvent, 10))
	got, next, _, ok := s.after(place, make([]streamEvent, 0, 4))
	if len(got) != 4 || next != 5 || !ok {
		t.Errorf("%d events, next %d, %v", len(got), next, ok)
	}
	s.put(make([]streamEvent, streamRing))
	if _, _, _, ok := s.after(next, make([]streamEvent, 0, 4)); ok {
		t.Error("an overtaken reader was not told")
	}
	if place, reset := s.resume(s.nonce+"-5", s.next); !reset || place != s.next {
		t.Errorf("resuming far behind: place %d, reset %v", place, reset)
	}
}

func TestNewsOfViews(t *testing.T) {
	before := &farm.View{Jobs: []facts.JobView{{JobFacts: facts.JobFacts{ID: 1, Version: 1}, Status: "pending"}, {JobFacts: facts.JobFacts{ID: 2, Version: 1}, Status: "running"}},
		Hosts: []farm.HostView{{HostFacts: facts.HostFacts{ID: "h"}, State: "up"}}}
	after := &farm.View{Jobs: []facts.JobView{{JobFacts: facts.JobFacts{ID: 1, Version: 2}, Status: "pending"}, {JobFacts: facts.JobFacts{ID: 2, Version: 2}, Status: "complete"}, {JobFacts: facts.JobFacts{ID: 3}, Status: "pending"}},
		Hosts: []farm.HostView{{HostFacts: facts.HostFacts{ID: "h"}, State: "lost"}}}
	var got []string
	for _, e := range eventsOfViews(before, after) {
		got = append(got, e.topic+" "+e.kind)
	}
	if want := "job modified, job complete, job submitted, host lost"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if len(eventsOfViews(after, after)) != 0 || len(eventsOfViews(nil, after)) != 0 {
		t.Error("no change is news")
	}
}

func TestMetrics(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-5"})
	worker.until("two run", func() bool { return len(worker.running) == 2 })
	eventually(t, "the view shows them", func() bool { return strings.Contains(r.metrics(), `qb_items{state="running"} 2`) })
	all := r.metrics()
	for _, line := range []string{`qb_jobs{state="running"} 1`, `qb_items{state="pending"} 3`, "qb_slots 2", "qb_slots_used 2", `qb_instances{kind="primary"} 1`,
		`qb_hosts{state="up"} 1`, "qb_brake_engaged 0", "qb_commit_seconds_count", "qb_commits_total", "qb_commit_writes_sum", "qb_syncs_total", "qb_term_epoch 1",
		`qb_http_requests_total{code="201",endpoint="submit"} 1`, "go_goroutines"} {
		if !strings.Contains(all, line) {
			t.Errorf("no %s in\n%s", line, all)
		}
	}
}
