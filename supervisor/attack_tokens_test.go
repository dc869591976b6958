package supervisor

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
)

// TestAttackUnknownTokens: guesses cost the database nothing, and good tokens go on meanwhile.
func TestAttackUnknownTokens(t *testing.T) {
	r := startRig(t)
	good := r.token("ann", api.User)
	if got := r.raw("GET", "/v1/ping", good, "", nil).StatusCode; got != http.StatusOK {
		t.Fatal(got)
	}
	before := r.store.tokenReads.Load()
	refused := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for k := range 100 {
				guess := fmt.Sprintf("qb_admin_%016x_%s", n<<20+k, strings.Repeat("A", 43))
				resp := r.raw("GET", "/v1/jobs", guess, "", nil)
				resp.Body.Close()
				mu.Lock()
				refused[resp.StatusCode]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if reads := r.store.tokenReads.Load() - before; reads > tokenReads+10 {
		t.Errorf("800 guesses cost %d reads", reads)
	}
	if refused[http.StatusUnauthorized]+refused[http.StatusTooManyRequests] != 800 || refused[http.StatusTooManyRequests] < 600 {
		t.Errorf("guesses were answered %v", refused)
	}
	if got := r.raw("GET", "/v1/ping", good, "", nil).StatusCode; got != http.StatusOK {
		t.Errorf("a good token beside them: %d", got)
	}
}

// TestAttackStreamOutlivesToken: streams of events and of logs end within a minute of their token's revocation.
func TestAttackStreamOutlivesToken(t *testing.T) {
	r := startRig(t)
	token := r.token("mallory", api.User)
	c, err := api.NewClient(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	job := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Range: "1-9", Status: "blocked"}).Job.ID
	events := r.raw("GET", "/v1/events", token, "", nil)
	log := r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/1/log?follow=true", job), token, "", nil)
	if _, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || log.StatusCode != http.StatusOK {
		t.Fatal(err, log.StatusCode)
	}
	parts, _ := parseToken(token)
	must[api.RevokeReply](t, r.client("boss", api.Admin), api.RevokeToken, params("token", parts.id), nil)
	revoked := time.Now()
	for name, resp := range map[string]*http.Response{"events": events, "log": log} {
		_, _ = io.Copy(io.Discard, resp.Body)
		if took := time.Since(revoked); took > 2*streamHeartbeat {
			t.Errorf("%s went on for %s", name, took)
		}
	}
	if got := r.raw("GET", "/v1/ping", token, "", nil).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("a new request: %d", got)
	}
}

// A token that another process made, revoked or let expire is known here soon, without a restart.
func TestTokensOfOthers(t *testing.T) {
	r := startRig(t)
	for n := range 40 { // more than are read at once
		if got := r.raw("GET", "/v1/ping", r.token(fmt.Sprint("u", n), api.User), "", nil).StatusCode; got != http.StatusOK {
			t.Fatalf("token %d: %d", n, got)
		}
	}
}
