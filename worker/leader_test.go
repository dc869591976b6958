package worker

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
)

// A sync that a stopped leader holds is given up as soon as another supervisor says that it leads.
func TestLeavesForLeader(t *testing.T) {
	stopped := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stopped:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(stopped)
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != api.Health.Path {
			t.Errorf("%s is asked of the standby", r.URL.Path)
		}
		if asked.Add(1) == 1 {
			w.Header().Set(api.StandbyHeader, "unknown")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer other.Close()
	f, err := newSupervisorConn(&agent{}, []string{silent.URL, other.URL}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var reply api.SyncReply
	if err := f.call(ctx, 0, api.Sync{}, &reply); !errors.Is(err, context.Canceled) || ctx.Err() != nil {
		t.Errorf("the call ends with %v", err)
	}
	if got := f.at.Load(); got != 1 || asked.Load() != 2 {
		t.Errorf("the address is now %d, after %d questions", got, asked.Load())
	}
	f.wait.Wait()
}
