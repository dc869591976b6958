package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A call that is given up may take its connection from under another, which then gets "context canceled" too
// (golang/go#41600; once in some 500 calls beside ones given up at random). Only who gave up reads that he did.
func TestCallsBesideOnesGivenUp(t *testing.T) {
	c, err := NewClient("http://farm:50001", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	told := &url.Error{Op: "Get", URL: "http://farm:50001/healthz", Err: context.Canceled}

	var refusal *Error
	if err := c.unreachable(ctx, told); errors.Is(err, context.Canceled) || !errors.As(err, &refusal) ||
		refusal.Kind != KindUnavailable {
		t.Errorf("a call that was not given up failed with %v", err)
	}
	giveUp()
	if err := c.unreachable(ctx, told); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up failed with %v", err)
	}
}

// Calls one after another, such as for the pages of a list, have one connection, however long the answers are. On a unix
// socket they come as they are.
func TestCallsKeepTheirConnection(t *testing.T) {
	var opened, packed atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			packed.Add(1)
		}
		size := len(r.URL.Query().Get("name")) << 10
		_, _ = w.Write([]byte(`["` + strings.Repeat("x", size)))
		w.(http.Flusher).Flush()
		_, _ = w.Write([]byte(`"]`))
		w.(http.Flusher).Flush()
		_, _ = w.Write([]byte("\n"))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	path := filepath.Join(t.TempDir(), "s")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	defer server.Close()
	go server.Config.Serve(socket)
	for address, wantPacked := range map[string]int64{server.URL: 20, "unix:" + path: 0} {
		opened.Store(0)
		packed.Store(0)
		c, err := NewClient(address, "")
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			var out []string
			err := c.Call(t.Context(), ListJobs, Params{"name": strings.Repeat("n", n)}, nil, &out)
			if err != nil || len(out) != 1 || len(out[0]) != n<<10 {
				t.Fatalf("call %d: %d texts, %v", n, len(out), err)
			}
		}
		c.CloseIdle()
		if opened.Load() != 1 || packed.Load() != wantPacked {
			t.Errorf("%s: 20 calls opened %d connections, %d asked for compression; want 1 and %d", address, opened.Load(),
				packed.Load(), wantPacked)
		}
	}
}
