package supervisor

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/facts"
)

func frameOf(stream byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{stream}, uint32(len(text))), text...)
}

// TestLogProtocol: whatever pieces come, doubled, early or late, the log is the worker's.
func TestLogProtocol(t *testing.T) {
	logs, err := openLogs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.close()
	id := facts.AttemptID{Job: 1234, Item: 7, Number: 2}
	steps := []struct {
		offset int64
		data   string
		size   int64
	}{
		{0, "abc", 3}, {0, "abc", 3}, {3, "def", 6}, {2, "cdefgh", 8}, {20, "early", 8}, {0, "abcdefghij", 10}, {4, "ef", 10}, {10, "", 10},
	}
	for n, s := range steps {
		if size, err := logs.append(id, s.offset, []byte(s.data), false); err != nil || size != s.size {
			t.Errorf("step %d: size %d, want %d (%v)", n, size, s.size, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(logs.path, "1000", "1234", "7.2.log"))
	if err != nil || string(data) != "abcdefghij" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if logs.complete(id) || !logs.partial(id) {
		t.Error("complete without a last chunk")
	}
	if _, err := logs.append(id, 10, nil, true); err != nil || !logs.complete(id) || logs.partial(id) {
		t.Errorf("not complete after the last chunk, %v", err)
	}
}

// TestLogThatIsNotWhole: output of an item that has ended says so as long as its last chunk is not here.
func TestLogThatIsNotWhole(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	token := r.token("u1", api.User)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1"}).Job.ID
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	chunk := api.LogChunk{Attempt: api.AttemptID{Job: job, Item: 0, Number: 1}}
	ship := func(text string, final bool) {
		t.Helper()
		chunk.Data, chunk.Final = frameOf(1, text), final
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

// TestLogCap: beyond the limit bytes are dropped and the worker goes on.
func TestLogCap(t *testing.T) {
	logs, err := openLogs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.close()
	id := facts.AttemptID{Job: 1, Number: 1}
	if _, err := logs.append(id, 0, []byte("x"), false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(logs.path, logName(id))
	if err := os.Truncate(file, maxLog-2); err != nil { // sparse: no disk is filled
		t.Fatal(err)
	}
	for n, want := range []int64{maxLog + 2, maxLog + 6} {
		if size, err := logs.append(id, maxLog-2+int64(4*n), []byte("abcd"), false); err != nil || size != want {
			t.Errorf("chunk %d: size %d, want %d (%v)", n, size, want, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() != maxLog {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// TestLogsStayInside: a link in the log folder leads nowhere.
func TestLogsStayInside(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "0")); err != nil {
		t.Fatal(err)
	}
	logs, err := openLogs(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.close()
	if _, err := logs.append(facts.AttemptID{Job: 5, Number: 1}, 0, []byte("x"), false); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside lies %v", left)
	}
}

func TestDemux(t *testing.T) {
	whole := append(append(append(frameOf(1, "one "), frameOf(2, "ERR ")...), frameOf(1, "")...), frameOf(1, "two")...)
	for cut := 1; cut <= len(whole); cut++ {
		for _, c := range []struct {
			want byte
			skip int64
			text string
		}{{streamBoth, 0, "one ERR two"}, {streamOut, 0, "one two"}, {streamErr, 0, "ERR "}, {streamOut, 5, "wo"}, {streamBoth, 4, "ERR two"}, {streamErr, 9, ""}} {
			d := demux{want: c.want, skip: c.skip}
			var out []byte
			for rest := whole; len(rest) > 0; {
				n := min(cut, len(rest))
				var err error
				if out, err = d.feed(out, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if string(out) != c.text {
				t.Errorf("cut at %d, stream %d from %d: %q, want %q", cut, c.want, c.skip, out, c.text)
			}
		}
	}
	d := demux{}
	if _, err := d.feed(nil, []byte("this is no log")); err == nil {
		t.Error("garbage passed for a frame")
	}
}

// TestItemLog: output is shipped in pieces and read as text, told apart, from an offset, by attempt, while it grows.
func TestItemLog(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	token := r.token("u1", api.User)
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "a b,c"})
	const item = "/v1/jobs/1/items/a%20b/log"
	if resp := r.raw("GET", item, token, "", nil); resp.StatusCode != http.StatusNotFound || !strings.Contains(text(t, resp), "has not run yet") {
		t.Errorf("before the first attempt: %d", resp.StatusCode)
	}
	worker.until("the first item runs", func() bool { return len(worker.running) == 1 })
	id := api.AttemptID{Job: 1, Item: 0, Number: 1}
	ship := func(offset int, data []byte, final bool) int64 {
		t.Helper()
		return must[api.LogReply](t, worker.client, api.AppendLog, nil, api.LogChunk{Attempt: id, Offset: int64(offset), Data: data, Final: final}).Size
	}
	follow := r.raw("GET", item+"?follow=true", token, "", nil)
	if got := follow.Header.Get(api.AttemptHeader); got != "1" {
		t.Errorf("attempt %q", got)
	}
	lines := bufio.NewReader(follow.Body)
	first, second := frameOf(1, "hello\n"), append(frameOf(2, "oops\n"), frameOf(1, "bye\n")...)
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
	for query, want := range map[string]string{"": "hello\noops\nbye\n", "?stream=stdout": "hello\nbye\n", "?stream=stderr": "oops\n", "?stream=stdout&offset=6&attempt=1": "bye\n"} {
		resp := r.raw("GET", item+query, token, "", nil)
		if got := text(t, resp); got != want || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q %v", query, got, resp.Header)
		}
	}
	for path, want := range map[string]int{item + "?attempt=2": 404, "/v1/jobs/1/items/zz/log": 404, item + "?stream=all": 422} {
		if resp := r.raw("GET", path, token, "", nil); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	refused(t, api.KindForbidden, r.client("u2", api.User), api.ItemLog, params("job", 1, "item", "a b"), nil)
	refused(t, api.KindNotFound, worker.client, api.AppendLog, nil, api.LogChunk{Attempt: api.AttemptID{Job: 1, Item: 0, Number: 9}, Data: []byte("x")})
	refused(t, api.KindNotFound, worker.client, api.AppendLog, nil, api.LogChunk{Attempt: api.AttemptID{Job: 99, Item: 0, Number: 1}, Data: []byte("x")})
	refused(t, api.KindForbidden, u1, api.AppendLog, nil, api.LogChunk{Attempt: id})
}
