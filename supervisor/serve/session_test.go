package serve

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// A code begins one session, with the caller's role, which ends with the caller's token and begins no other.
func TestSession(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	giver := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "ada", Role: "user"})
	with := func(token string) *api.Client { return clientOf(t, r, token) }
	code := must[api.CodeReply](t, with(giver.Token), api.MakeCode, nil, nil)
	if left := time.Until(code.ExpiresAt); left > codeLife || code.UsesLeft == nil || *code.UsesLeft != 1 ||
		code.Role != "user" || code.SessionOf != giver.ID {
		t.Errorf("the code is %+v", code.TokenInfo)
	}
	for _, e := range []api.Endpoint{api.PingFarm, api.BeginSession} { // it is no token
		refused(t, api.KindUnauthorized, with(code.Token), e, nil, nil)
	}
	byCode := pageOfCode(t, r, code)
	byCode.is(http.StatusForbidden, "a code", "GET", "/v1/ping", "")
	byCode.is(http.StatusForbidden, "a code", "POST", "/v1/login", `{"name":"x"}`)
	status, body := byCode.do("POST", "/v1/sessions", "")
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	page := byCode.entered(body)
	byCode.is(http.StatusUnauthorized, "a code that was used", "POST", "/v1/sessions", "")
	if status, body := page.do("GET", "/v1/ping", ""); status != http.StatusOK ||
		!strings.Contains(body, `"user":"ada"`) || !strings.Contains(body, `"role":"user"`) {
		t.Errorf("the session is of %d %s", status, body)
	}
	page.is(http.StatusForbidden, "a session", "POST", "/v1/sessions", "")
	page.is(http.StatusForbidden, "a session", "POST", "/v1/codes", "")
	page.is(http.StatusForbidden, "a session", "GET", "/v1/tokens", "")
	page.is(http.StatusCreated, "a session with a body", "POST", "/v1/jobs", `{"name":"from the page","command":["true"]}`)
	refused(t, api.KindForbidden, with(giver.Token), api.BeginSession, nil, nil) // a token begins none
	mine := must[[]api.TokenInfo](t, with(giver.Token), api.OwnTokens, nil, nil)
	if len(mine) != 3 || !slices.ContainsFunc(mine, func(t api.TokenInfo) bool {
		return t.ID == page.id && t.UsesLeft == nil && time.Until(t.ExpiresAt) > sessionLife-time.Minute
	}) {
		t.Errorf("%+v", mine)
	}
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", giver.ID), nil)
	page.is(http.StatusUnauthorized, "a session whose token was revoked", "GET", "/v1/ping", "")
}

// The codes of invitations and of joining hosts begin no session.
func TestSessionByOtherCodes(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user"})
	invited := must[api.TokenReply](t, admin, api.Invite, params("user", "ada"), api.InviteRequest{})
	refused(t, api.KindForbidden, clientOf(t, r, invited.Token), api.BeginSession, nil, nil)
	join, _ := r.joinToken(2)
	refused(t, api.KindForbidden, join, api.BeginSession, nil, nil)
	// A session of a login ends when its user is removed, as the login does.
	login := must[api.TokenReply](t, clientOf(t, r, invited.Token), api.Login, nil, api.LoginRequest{Name: "ada@ws"})
	session := openPage(t, r, clientOf(t, r, login.Token))
	session.is(http.StatusOK, "a session of a login", "GET", "/v1/ping", "")
	must[api.PersonReply](t, admin, api.RemovePerson, params("user", "ada"), nil)
	session.is(http.StatusUnauthorized, "a session of a user who was removed", "GET", "/v1/ping", "")
}

// TestAttackChangedRequests: a request of a page is refused with other words, at another address or port, and its key
// is no token.
func TestAttackChangedRequests(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	page := openPage(t, r, admin)
	unused := pageOfCode(t, r, must[api.CodeReply](t, admin, api.MakeCode, nil, nil))
	job := `{"name":"signed","command":["true"]}`
	for what, change := range map[string]func(*http.Request){
		"another body": func(req *http.Request) {
			req.Body = io.NopCloser(strings.NewReader(strings.Replace(job, "true", "fals", 1)))
		},
		"a shorter body": func(req *http.Request) {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(job[:9])), 9
		},
		"no body":         func(req *http.Request) { req.Body, req.ContentLength = http.NoBody, 0 },
		"another path":    func(req *http.Request) { req.URL.Path = "/v1/submissions/check" },
		"another query":   func(req *http.Request) { req.URL.RawQuery = "fields=job" },
		"another method":  func(req *http.Request) { req.Method = "PUT" },
		"another key":     func(req *http.Request) { req.Header.Set("Idempotency-Key", "x") },
		"another version": func(req *http.Request) { req.Header.Set("If-Match", `"1"`) },
		"another number": func(req *http.Request) {
			words := strings.Fields(req.Header.Get("Authorization"))
			words[3] = "99"
			req.Header.Set("Authorization", strings.Join(words, " "))
		},
		"another session": func(req *http.Request) {
			words := strings.Fields(req.Header.Get("Authorization"))
			words[1] = unused.id
			req.Header.Set("Authorization", strings.Join(words, " "))
		},
		"another page":   func(req *http.Request) { req.Host = unused.host },
		"another port":   func(req *http.Request) { req.Host = page.id + ".localhost:1" },
		"the usual name": func(req *http.Request) { req.Host = strings.TrimPrefix(r.url, "http://") },
		"twice":          func(req *http.Request) { req.Header.Add("Authorization", req.Header.Get("Authorization")) },
		"cut":            func(req *http.Request) { req.Header.Set("Authorization", req.Header.Get("Authorization")[:40]) },
		"a bearer": func(req *http.Request) {
			req.Header.Set("Authorization", "Bearer qb_admin_"+page.id+"_"+base64.RawURLEncoding.EncodeToString(page.key))
		},
	} {
		page.change = change
		status, body := page.do("POST", "/v1/jobs", job)
		if status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	page.change = nil
	page.is(http.StatusCreated, "as it was signed", "POST", "/v1/jobs", job)
	if jobs := must[[]api.Job](t, admin, api.ListJobs, nil, nil); len(jobs) != 1 {
		t.Errorf("there are the jobs %+v", jobs)
	}
}

// TestAttackSignedRequests: a recorded request of a page is useless to an attacker: it is refused if repeated, at the
// socket, and by another run of the supervisor. A login code ends with the run that made it.
func TestAttackSignedRequests(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	page := openPage(t, r, admin)
	unused := pageOfCode(t, r, must[api.CodeReply](t, admin, api.MakeCode, nil, nil))
	page.is(http.StatusOK, "a session", "GET", "/v1/jobs", "")
	req := page.signed("GET", "/v1/jobs", "")
	if status, body := page.send(req.Clone(t.Context())); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if status, body := page.send(req.Clone(t.Context())); status != http.StatusUnauthorized ||
		!strings.Contains(body, "came before") {
		t.Errorf("a request that is sent again: %d %s", status, body)
	}
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context,
		_, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	}}}
	for _, path := range []string{"/v1/ping", "/v1/sessions/" + page.id + "/proof?nonce=nonce-of-16-chars-or-more"} {
		resp, err := socket.Do(page.signed("GET", path, ""))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("at the socket %s answers %d", path, resp.StatusCode)
		}
	}
	if !unused.proved() {
		t.Error("no proof for a code")
	}
	kept, old := page.signed("GET", "/v1/jobs", ""), page.run
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	again := startRig(t, func(cfg *settings.Config, o *Options) {
		cfg.Listen, o.Store = strings.TrimPrefix(r.url, "http://"), r.store
	})
	if again.url != r.url {
		t.Fatalf("the supervisor is at %s, was at %s", again.url, r.url)
	}
	if status, body := page.send(kept); status != http.StatusUnauthorized || !strings.Contains(body, api.CodeOtherRun) {
		t.Errorf("a request that was signed for another run: %d %s", status, body)
	}
	if unused.proved() {
		t.Error("a code outlives the supervisor that made it")
	}
	page.is(http.StatusOK, "after a restart", "GET", "/v1/jobs", "")
	if page.run == old {
		t.Error("two runs have one name")
	}
}

// TestAttackServiceWorker: the supervisor serves no script that a browser would accept as a service worker between page
// and supervisor.
func TestAttackServiceWorker(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	for _, path := range []string{"/", "/assets/" + pageHash() + "/app.js", "/v1/openapi.json", "/none"} {
		resp := r.raw("GET", path, "", "", http.Header{"Service-Worker": {"script"}, "Sec-Fetch-Site": {"same-origin"}})
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
}

// watch sends all first, then what a commit has made durable of the items of the job; item-states and get-item say the
// same.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("ada", api.User)
	worker := r.agent("h1", 2)
	worker.beat(0)
	job := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Name: "beauty", Command: []string{"true"}, Range: "1-3"}).Job
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := c.Open(ctx, api.Watch, params("job", job), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	until := func(event, text string) {
		t.Helper()
		name := ""
		for lines.Scan() {
			if after, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = after
			} else if name == event && strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("no event %s with %s: %v", event, text, lines.Err())
	}
	until("hello", `"jobs":["id",`)
	until("farm", `"slots":{`)
	until("jobs", `"beauty"`)
	worker.until("items run", func() bool { return len(worker.running) == 2 })
	worker.finish(0)
	worker.beat(0)
	until("items", `"states":"`)
	eventually(t, "the letters", func() bool {
		states := must[api.ItemStatesReply](t, c, api.ItemStates, params("job", job), nil).States
		return len(states) == 3 && strings.HasPrefix(states, "cc")
	})
	item := must[api.ItemReply](t, c, api.GetItem, params("job", job, "item", "2"), nil)
	if item.Item.Status != "complete" || len(item.Attempts) != 1 || item.Attempts[0].Host != "h1" {
		t.Errorf("%+v", item)
	}
	refused(t, api.KindNotFound, c, api.GetItem, params("job", job, "item", "4"), nil)
	hosts := must[api.ItemValuesReply](t, c, api.ItemValues, params("job", job, "of", "host"), nil)
	if !slices.Equal(hosts.Hosts, []string{"h1"}) || len(hosts.Values) < 2 || hosts.Values[0] != 1 ||
		hosts.Values[1] != 1 {
		t.Errorf("two complete items of h1: %+v", hosts)
	}
	if tries := must[api.ItemValuesReply](t, c, api.ItemValues,
		params("job", job, "of", "attempts"), nil); tries.Spread == nil || tries.Spread.Count < 2 || tries.Spread.Most != 1 {
		t.Errorf("two complete items, once each: %+v", tries)
	}
	refused(t, api.KindInvalid, c, api.ItemValues, params("job", job, "of", "love"), nil)
	refused(t, api.KindNotFound, c, api.ItemValues, params("job", int64(99)), nil)
}

// A link of another site leads to the page and to nothing else, and the page cannot be put into another.
func TestLinkFromElsewhere(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	follow := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	inside := follow.Clone()
	inside.Set("Sec-Fetch-Dest", "iframe")
	for _, c := range []struct {
		method, path string
		header       http.Header
		want         int
	}{
		{"GET", "/", follow, 200}, {"GET", "/", inside, 403}, {"POST", "/", follow, 403}, {"GET", "/v1/jobs", follow, 403},
		{"GET", "/docs", follow, 403},
		{"GET", "/assets/" + pageHash() + "/app.js", follow, 403}, {"GET", "/assets/" + pageHash() + "/app.js", nil, 200},
		{"GET", "/assets/x/app.js", nil, 404}, {"GET", "/", nil, 200},
	} {
		resp := r.raw(c.method, c.path, "", "", c.header)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s with %v: status %d, want %d", c.method, c.path, c.header, resp.StatusCode, c.want)
		}
	}
}
