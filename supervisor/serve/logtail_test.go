package serve

import (
	"io"
	"strings"
	"testing"

	"qb/api"
)

// tail gives the end of one stream, and the size of that stream.
func TestLogTail(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("ada", api.User)
	worker := r.agent("h1", 1)
	worker.beat(0)
	job := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Range: "1"}).Job
	worker.until("it runs", func() bool { return len(worker.running) == 1 })
	data := append(chunkOf(1, "first line\nsecond line\n"),
		append(chunkOf(2, "an error\n"), chunkOf(1, "third line\n")...)...)
	for id := range worker.running {
		must[api.LogReply](t, worker.client, api.AppendLog, nil, api.LogChunk{Attempt: id, Data: data, Final: true})
	}
	worker.finish(0)
	worker.beat(0)
	for _, q := range []struct {
		stream     string
		tail       int
		text, size string
	}{
		{"stdout", 0, "first line\nsecond line\nthird line\n", ""}, {"stdout", 15, "ine\nthird line\n", "34"},
		{"stdout", 34, "first line\nsecond line\nthird line\n", "34"},
		{"both", 1000, "first line\nsecond line\nan error\nthird line\n", "43"}, {"stderr", 5, "rror\n", "9"},
		{"stderr", 9, "an error\n", "9"},
	} {
		resp, err := c.Open(t.Context(), api.ItemLog,
			params("job", job, "item", "1", "stream", q.stream, "tail", q.tail), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := strings.TrimSuffix(string(text), "\r"); err != nil || got != q.text ||
			resp.Header.Get(api.LogSizeHeader) != q.size {
			t.Errorf("%s, the last %d bytes: %q of %s bytes, %v", q.stream, q.tail, got, resp.Header.Get(api.LogSizeHeader), err)
		}
	}
}
