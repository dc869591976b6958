package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/wire/settings"
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
	if reads := r.store.tokenReads.Load() - before; reads > credentials.TokenReads+10 {
		t.Errorf("800 guesses cost %d reads", reads)
	}
	if refused[http.StatusUnauthorized]+refused[http.StatusTooManyRequests] != 800 ||
		refused[http.StatusTooManyRequests] < 600 {
		t.Errorf("guesses were answered %v", refused)
	}
	if got := r.raw("GET", "/v1/ping", good, "", nil).StatusCode; got != http.StatusOK {
		t.Errorf("a good token beside them: %d", got)
	}
}

// TestAttackStreamOutlivesToken: streams of events and of logs end within a minute of their token's revocation.
func TestAttackStreamOutlivesToken(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	token := r.token("mallory", api.User)
	c, err := api.NewClient(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	job := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-9", Status: "blocked"}).Job
	events := r.raw("GET", "/v1/events", token, "", nil)
	log := r.raw("GET", fmt.Sprintf("/v1/jobs/%d/items/1/log?follow=true", job), token, "", nil)
	if _, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || log.StatusCode != http.StatusOK {
		t.Fatal(err, log.StatusCode)
	}
	parts, _ := credentials.Parse(token)
	must[api.RevokeReply](t, r.client("boss", api.Admin), api.RevokeToken, params("token", parts.ID), nil)
	revoked := time.Now()
	for name, resp := range map[string]*http.Response{"events": events, "log": log} {
		if _, err := io.Copy(io.Discard, resp.Body); name == "log" && err == nil {
			t.Error("a log that was cut off looks like its end")
		}
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
	t.Parallel()
	r := startRig(t)
	for n := range 40 { // more than are read at once
		if got := r.raw("GET", "/v1/ping", r.token(fmt.Sprint("u", n), api.User), "", nil).StatusCode; got != http.StatusOK {
			t.Fatalf("token %d: %d", n, got)
		}
	}
}

// TestAttackTokenForYears: tokens of an upgraded farm remain valid until a day that the log names, and token files are
// renewed before, so that no client is locked out.
func TestAttackTokenForYears(t *testing.T) {
	memory := newStore(t)
	file := filepath.Join(t.TempDir(), "admin.token")
	old, row, err := credentials.Make(t.Context(), testKey, memory,
		credentials.Request{User: "boss", Role: api.Admin, Days: settings.TokenDaysMost})
	if err != nil || os.WriteFile(file, []byte(old+"\n"), 0o600) != nil {
		t.Fatal(err)
	}
	_, other, err := credentials.Make(t.Context(), testKey, memory,
		credentials.Request{User: "robot", Role: api.User, Days: 3000})
	if err != nil {
		t.Fatal(err)
	}
	r := startRig(t, func(_ *settings.Config, o *Options) {
		o.Store.(*faultyStore).Backing = memory
		o.RenewTokens = func(ctx context.Context) error {
			return credentials.Ensure(ctx, testKey, memory, file, "boss", "admin", 90)
		}
	})
	lives := func(id string) time.Duration {
		token, _, err := memory.Token(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(token.ExpiresAt)
	}
	eventually(t, "the old tokens end in time", func() bool {
		return lives(row.ID) < credentials.TokenOverlap+settings.Day && lives(other.ID) < 91*settings.Day &&
			strings.Contains(r.log.String(), "token lifetime shortened")
	})
	text, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(text)) == old {
		t.Errorf("the file has the old token still, %v", err)
	}
	for _, token := range []string{old, strings.TrimSpace(string(text))} {
		if got := r.raw("GET", "/v1/tokens", token, "", nil).StatusCode; got != http.StatusOK {
			t.Errorf("a token of the file: %d", got)
		}
	}
	refused(t, api.KindInvalid, r.client("root", api.Admin), api.CreateToken, nil,
		api.TokenRequest{User: "x", Role: "user", Days: 91})
}

// A rotated token goes on for its overlap, and no longer.
func TestRotate(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	old := r.token("ann", api.User)
	parts, _ := credentials.Parse(old)
	ping := func(token string) int { return r.raw("GET", "/v1/ping", token, "", nil).StatusCode }
	reply := must[api.TokenReply](t, admin, api.RotateToken, params("token", parts.ID),
		api.RotateRequest{OverlapSeconds: 60})
	if reply.User != "ann" || reply.Role != "user" || ping(old) != http.StatusOK || ping(reply.Token) != http.StatusOK {
		t.Errorf("rotated to %+v, the old one is answered %d", reply.TokenInfo, ping(old))
	}
	next := must[api.TokenReply](t, admin, api.RotateToken, params("token", reply.ID), api.RotateRequest{})
	if ping(reply.Token) != http.StatusUnauthorized || ping(next.Token) != http.StatusOK {
		t.Error("without an overlap the token before goes on")
	}
	refused(t, api.KindNotFound, admin, api.RotateToken, params("token", reply.ID), api.RotateRequest{})
}

// Who uses a token that ends soon finds that in the log, unless it was made for hours.
func TestTokenEndsSoon(t *testing.T) {
	memory := newStore(t)
	_, row, err := credentials.Make(t.Context(), testKey, memory,
		credentials.Request{User: "robot", Role: api.User, Days: 3})
	if err != nil {
		t.Fatal(err)
	}
	// It is newer, so that the supervisor looks at it first.
	_, short, err := credentials.Make(t.Context(), testKey, memory,
		credentials.Request{User: "worker", Role: api.Worker, Life: time.Hour})
	if err != nil || memory.TouchTokens(t.Context(),
		map[string]time.Time{row.ID: time.Now(), short.ID: time.Now()}) != nil {
		t.Fatal(err)
	}
	r := startRig(t, func(_ *settings.Config, o *Options) { o.Store.(*faultyStore).Backing = memory })
	eventually(t, "the warning", func() bool {
		return strings.Contains(r.log.String(), "a token in use expires soon") && strings.Contains(r.log.String(), row.ID)
	})
	if strings.Contains(r.log.String(), short.ID) {
		t.Error("it warns of a token that was made for an hour")
	}
}
