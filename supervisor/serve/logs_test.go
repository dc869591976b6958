package serve

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"qb/api"
)

// TestLogThatIsNotWhole: output of an item that has ended says so as long as its last chunk is not here.
func TestLogThatIsNotWhole(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	token := r.token("u1", api.User)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1"}).Job
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	chunk := api.LogChunk{Attempt: api.AttemptID{Job: job, Item: 0, Number: 1}}
	ship := func(text string, final bool) {
		t.Helper()
		chunk.Data, chunk.Final = chunkOf(1, text), final
		chunk.Offset = must[api.LogReply](t, worker.client, api.AppendLog, nil, chunk).Size
	}
	shows := func(when, want string) {
		t.Helper()
		for _, query := range []string{"", "?follow=true"} {
			if query != "" && len(worker.running) > 0 {
				continue // it would wait for the end
			}
			if got := text(t, r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/1/log%s", job, query), token, "", nil)); got != want {
				t.Errorf("%s, %q shows %q, want %q", when, query, got, want)
			}
		}
	}
	const rest = "\n[qb: the item has ended, and the rest of its output has not arrived from its host]\n"
	ship("one ", false)
	shows("while it runs", "one ")
	worker.finish(0)
	worker.beat(0)
	shows("ended", "one "+rest)
	ship("two ", false)
	shows("with another chunk", "one two "+rest)
	ship("three", true)
	shows("with all of it", "one two three")
}

// TestItemLog: output is sent in chunks and read as text, by stream, from an offset and by attempt, while it grows.
func TestItemLog(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	token := r.token("u1", api.User)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "a b,c"})
	const item = "/v1/jobs/1/items/a%20b/log"
	if resp := r.raw("GET", item, token, "", nil); resp.StatusCode != http.StatusNotFound ||
		!strings.Contains(text(t, resp), "has not run yet") {
		t.Errorf("before the first attempt: %d", resp.StatusCode)
	}
	worker.until("the first item runs", func() bool { return len(worker.running) == 1 })
	id := api.AttemptID{Job: 1, Item: 0, Number: 1}
	ship := func(offset int, data []byte, final bool) int64 {
		t.Helper()
		return must[api.LogReply](t, worker.client, api.AppendLog, nil,
			api.LogChunk{Attempt: id, Offset: int64(offset), Data: data, Final: final}).Size
	}
	follow := r.raw("GET", item+"?follow=true", token, "", nil)
	if got := follow.Header.Get(api.AttemptHeader); got != "1" {
		t.Errorf("attempt %q", got)
	}
	lines := bufio.NewReader(follow.Body)
	first, second := chunkOf(1, "hello\n"), append(chunkOf(2, "oops\n"), chunkOf(1, "bye\n")...)
	if size := ship(0, first, false); size != int64(len(first)) {
		t.Errorf("size %d", size)
	}
	if line, err := lines.ReadString('\n'); line != "hello\n" {
		t.Fatalf("followed %q, %v", line, err)
	}
	ship(len(first), second, true)
	rest := ""
	for {
		line, err := lines.ReadString('\n')
		if rest += line; err != nil {
			break
		}
	}
	if rest != "oops\nbye\n" {
		t.Errorf("followed %q", rest)
	}
	for query, want := range map[string]string{"": "hello\noops\nbye\n", "?stream=stdout": "hello\nbye\n",
		"?stream=stderr": "oops\n", "?stream=stdout&offset=6&attempt=1": "bye\n"} {
		resp := r.raw("GET", item+query, token, "", nil)
		if got := text(t, resp); got != want || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") ||
			resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q %v", query, got, resp.Header)
		}
	}
	for path, want := range map[string]int{item + "?attempt=2": 404, "/v1/jobs/1/items/zz/log": 404,
		item + "?stream=all": 422} {
		if resp := r.raw("GET", path, token, "", nil); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	refused(t, api.KindNotFound, worker.client, api.AppendLog, nil,
		api.LogChunk{Attempt: api.AttemptID{Job: 1, Item: 0, Number: 9}, Data: []byte("x")})
	refused(t, api.KindNotFound, worker.client, api.AppendLog, nil,
		api.LogChunk{Attempt: api.AttemptID{Job: 99, Item: 0, Number: 1}, Data: []byte("x")})
	refused(t, api.KindForbidden, u1, api.AppendLog, nil, api.LogChunk{Attempt: id})
}

// TestSessionLog: what a load-once program writes between two items is read by instance, with the right to the job's output.
// Of jobs of other types none is taken.
func TestSessionLog(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	loaded := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "a,b,c,d", Type: "loadonce", CPUs: new(2), MaxCPUs: new(2)}).Job
	worker.until("two items run", func() bool { return len(worker.running) == 2 })
	sizes := map[int]int64{}
	ship := func(item int, stream byte, text string) {
		t.Helper()
		sizes[item] = must[api.LogReply](t, worker.client, api.AppendLog, nil, api.LogChunk{Session: true,
			Attempt: api.AttemptID{Job: loaded, Item: item, Number: 1}, Offset: sizes[item], Data: chunkOf(stream, text)}).Size
	}
	token := r.token("u1", api.User)
	shows := func(path, want string) {
		t.Helper()
		if got := text(t, r.raw("GET", fmt.Sprintf("/v1/jobs/%d/instances/%s", loaded, path), token, "", nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	shows("0/log", "")
	ship(0, 1, "one\n")
	ship(1, 1, "of the other\n")
	ship(0, 2, "two\n")
	shows("0/log", "one\ntwo\n")
	shows("0/log?stream=stderr", "two\n")
	shows("1/log", "of the other\n")
	worker.finish(0)
	runs := func(id api.AttemptID) func() bool {
		return func() bool { _, is := worker.running[id]; return is }
	}
	third := api.AttemptID{Job: loaded, Item: 2, Number: 1}
	worker.until("a third item runs", runs(third))
	ship(2, 1, "three\n")                // another shim of the instance
	at := worker.running[third].Instance // both ended
	shows(fmt.Sprint(at, "/log"), []string{"one\ntwo\n", "of the other\n"}[at]+"three\n")
	if got := text(t, r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/a/log", loaded), token, "", nil)); got != "" {
		t.Errorf("the item's own log has %q", got)
	}
	must[api.SubmitReply](t, u1, api.Modify, params("job", loaded), api.ModifyRequest{Security: new("group=,others=")})
	refused(t, api.KindForbidden, r.client("u2", api.User), api.SessionLog, params("job", loaded, "instance", 0), nil)
	refused(t, api.KindNotFound, u1, api.SessionLog, params("job", 99, "instance", 0), nil)
	refused(t, api.KindInvalid, u1, api.SessionLog, params("job", loaded, "instance", -1), nil)
	must[api.ActionReply](t, u1, api.OrderJob, params("job", loaded, "action", "kill"), nil)
	plain := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1"}).Job
	worker.until("the plain job runs", runs(api.AttemptID{Job: plain, Item: 0, Number: 1}))
	refused(t, api.KindConflict, worker.client, api.AppendLog, nil, api.LogChunk{Session: true,
		Attempt: api.AttemptID{Job: plain, Item: 0, Number: 1}, Data: chunkOf(1, "x")})
}

func chunkOf(stream byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{stream}, uint32(len(text))), text...)
}
