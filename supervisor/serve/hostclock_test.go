package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// TestHostsClockIsNotCharged: a host whose wall clock jumps by years, forth and back, while its items run, and which
// says so with each sync, is charged what one is whose clock is right: the seconds that its worker measured since boot.
func TestHostsClockIsNotCharged(t *testing.T) {
	r := startRig(t)
	jumps := []time.Duration{0, 10 * 365 * settings.Day, -30 * 365 * settings.Day, time.Hour, -time.Hour,
		290 * 365 * settings.Day, 0}
	for _, host := range []string{"steady", "jumping"} { // the second has the whole farm too: the first is gone then
		a, clock := r.agent(host, 1), time.Now
		target, err := url.Parse(r.url)
		if err != nil {
			t.Fatal(err)
		}
		line := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			tellTime(t, p.Out, clock())
		}})
		defer line.Close()
		if a.client, err = api.NewClient(line.URL, r.token("agent", api.Worker)); err != nil {
			t.Fatal(err)
		}
		must[api.SubmitReply](t, r.client(host, api.User), api.Submit, nil,
			api.SubmitRequest{Command: []string{"x"}, Range: fmt.Sprintf("1-%d", len(jumps)), CPUs: ptr(1),
				Hosts: []string{host}})
		for _, jump := range jumps {
			a.until("an item runs", func() bool { return len(a.running) == 1 })
			if host == "jumping" {
				clock = func() time.Time { return time.Now().Add(jump) }
			}
			a.finish(0)
		}
		a.beat(0)
	}
	paid := map[string]float64{}
	for _, row := range must[api.Stats](t, r.client("boss", api.Admin), api.GetStats, params("by", "user"), nil).Rows {
		if want := 1.5 * float64(len(jumps)); row.Attempts != int64(len(jumps)) || math.Abs(row.Slots*3600/want-1) > 1e-12 {
			t.Errorf("%s had %d attempts of %v slot seconds, want %d of %v", row.User, row.Attempts, row.Slots*3600,
				len(jumps), want)
		}
		paid[row.User] = row.Charged
	}
	if one, other := paid["steady"], paid["jumping"]; len(paid) != 2 || !(one > 0) || math.Abs(one/other-1) > 1e-12 {
		t.Errorf("paid are %v", paid)
	}
}

// tellTime adds what a host takes the time to be, to the request's head, to the sync and to each end.
func tellTime(t *testing.T, req *http.Request, now time.Time) {
	var sync map[string]any
	if err := json.NewDecoder(req.Body).Decode(&sync); err != nil {
		t.Error(err)
		return
	}
	sync["now"], sync["sent_at"] = now, now
	ended, _ := sync["finished"].([]any)
	for _, one := range ended {
		end := one.(map[string]any)
		end["started"], end["started_at"], end["ended"], end["ended_at"] = now.Add(-time.Hour), now.Add(-time.Hour), now, now
	}
	body, err := json.Marshal(sync)
	if err != nil {
		t.Error(err)
	}
	req.Header.Set("Date", now.UTC().Format(http.TimeFormat))
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}
