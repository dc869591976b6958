package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/credentials"
	"qb/supervisor/store/storetest"
)

// rights says by hand what security.md says in words: which roles may call an endpoint (a admin, o operator,
// u user, r read-only, w worker, - anyone), and whether users may do so with their own jobs only.
var rights = map[string]struct {
	roles   string
	ownOnly bool
}{
	"submit": {"aou", false}, "list-jobs": {"aour", false}, "get-job": {"aour", false}, "modify-job": {"aou", true},
	"order-job": {"aou", true}, "order-jobs": {"aou", false}, "remove-job": {"aou", true}, "list-items": {"aour", false}, "list-attempts": {"aour", false}, "job-history": {"aour", false},
	"explain-job": {"aour", false}, "item-log": {"aou", true}, "list-hosts": {"aour", false}, "lock-host": {"ao", false},
	"unlock-host": {"ao", false}, "confirm-dead": {"ao", false}, "remove-host": {"a", false}, "release-brake": {"ao", false}, "reread": {"a", false}, "snapshot": {"aour", false}, "events": {"aour", false},
	"ping": {"aour", false}, "create-token": {"a", false}, "list-tokens": {"a", false}, "rotate-token": {"a", false}, "audit-log": {"a", false}, "revoke-token": {"a", false},
	"sync": {"w", false}, "enrol": {"w", false}, "append-log": {"w", false}, "ship-ends": {"w", false}, "read-ends": {"ao", false}, "openapi": {"aourw-", false}, "openapi-json": {"aourw-", false}, "docs": {"aourw-", false},
	"list-shares": {"aour", false}, "explain-share": {"aour", false}, "share-settings": {"aour", false},
	"set-share": {"ao", false}, "list-credit": {"aour", false}, "get-stats": {"aour", false}, "add-credit": {"ao", false},
	"health": {"aourw-", false}, "metrics": {"aour", false},
}

var bodies = map[string]string{
	"set-share": `{"path":"user-u","shares":2}`, "add-credit": `{"user":"user-u","amount":1,"source":"a shot"}`,
	"submit": `{"command":["true"],"range":"1-2","status":"blocked"}`, "modify-job": `{"priority":7}`,
	"order-jobs": `{"jobs":[1,99999]}`, "create-token": `{"user":"x","role":"user"}`, "rotate-token": `{"overlap_seconds":60}`,
	"sync":       `{"host":"h9","machine_id":"m","boot_id":"b","state_id":"s","incarnation":"i","sequence":%d,"epoch":0,"slots":0,"memory":{"total":1,"available":1}}`,
	"append-log": `{"attempt":{"job":1,"item":0,"number":1},"offset":0,"data":""}`,
}

func pathFor(e api.Endpoint, job string) string {
	return strings.NewReplacer("{job}", job, "{action}", "block", "{item}", "1", "{host}", "h1", "{user}", "user-u", "{token}", "0000000000000000").Replace(e.Path)
}

// TestRights walks every endpoint with every role and own, others' and missing jobs.
func TestRights(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	r.agent("h1", 0).beat(0)
	roles := map[byte]api.Role{'a': api.Admin, 'o': api.Operator, 'u': api.User, 'r': api.ReadOnly, 'w': api.Worker}
	tokens, own := map[byte]string{}, map[byte]string{}
	for letter, role := range roles {
		name := "user-" + string(letter)
		tokens[letter] = r.token(name, role)
		job := must[api.SubmitReply](t, admin, api.Submit, nil, api.SubmitRequest{User: name, Command: []string{"true"}, Range: "1-2", Status: "blocked"})
		own[letter] = fmt.Sprint(job.Job)
	}
	stranger := must[api.SubmitReply](t, admin, api.Submit, nil, api.SubmitRequest{User: "stranger", Command: []string{"true"}, Range: "1-2", Status: "blocked"})
	sequence := 0
	for _, e := range api.Endpoints {
		right, ok := rights[e.ID]
		if !ok {
			t.Errorf("endpoint %s has no line in the table of rights", e.ID)
			continue
		}
		for letter := range roles {
			for whose, job := range map[string]string{"own": own[letter], "other's": fmt.Sprint(stranger.Job), "missing": "99999"} {
				body := bodies[e.ID]
				if e.ID == "sync" {
					sequence++
					body = fmt.Sprintf(body, sequence)
				}
				resp := r.raw(e.Method, pathFor(e, job), tokens[letter], body, nil)
				allowed := strings.IndexByte(right.roles, letter) >= 0
				mine := whose != "other's" || !right.ownOnly || letter == 'a' || letter == 'o'
				switch {
				case !allowed || (!mine && strings.Contains(e.Path, "{job}")):
					if resp.StatusCode != http.StatusForbidden {
						t.Errorf("%s as %s on %s job: status %d, want 403", e.ID, roles[letter], whose, resp.StatusCode)
					}
				case whose == "missing" && strings.Contains(e.Path, "{job}"):
					if resp.StatusCode != http.StatusNotFound {
						t.Errorf("%s as %s on a missing job: status %d, want 404", e.ID, roles[letter], resp.StatusCode)
					}
				case resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode >= 500:
					t.Errorf("%s as %s on %s job: status %d", e.ID, roles[letter], whose, resp.StatusCode)
				case e.ID != "events" && e.ID != "read-ends":
					fits(t, e, resp)
				}
				resp.Body.Close()
			}
		}
	}
}

// TestNobody: without a good credential nothing but health and the document answers, whatever the method and the path.
func TestNobody(t *testing.T) {
	r := startRig(t)
	good := r.token("u1", api.User)
	open := map[string]bool{"health": true, "openapi": true, "openapi-json": true, "docs": true}
	parts, _ := credentials.Parse(good)
	revoked := r.token("u1", api.User)
	revokedParts, _ := credentials.Parse(revoked)
	if ok, err := r.store.RevokeToken(t.Context(), revokedParts.ID); err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, expired, err := credentials.Make(t.Context(), testKey, r.store, credentials.Request{User: "u1", Role: api.User, Days: 1})
	if err != nil {
		t.Fatal(err)
	}
	expired.ID, expired.ExpiresAt = "00000000000000ee", time.Now().Add(-time.Minute)
	expired.MAC = macOf(testKey, expired, parts.Secret)
	if err := r.store.CreateToken(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	credentials := map[string]string{
		"none": "", "broken": "qb_user_x", "revoked": revoked, "expired": "qb_user_00000000000000ee_" + parts.Secret,
		"role raised": "qb_admin_" + parts.ID + "_" + parts.Secret, "secret of another": "qb_user_" + parts.ID + "_" + revokedParts.Secret,
	}
	paths := map[string]string{"/": "", "/nothing": "", "/v1": "", "/v1/jobs/../tokens": ""}
	for _, e := range api.Endpoints {
		paths[pathFor(e, "1")] = e.ID
	}
	for what, token := range credentials {
		for path, id := range paths {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
				resp := r.raw(method, path, token, "", nil)
				resp.Body.Close()
				if open[id] && (method == "GET" || method == "HEAD") {
					if resp.StatusCode != http.StatusOK {
						t.Errorf("%s answers %s with %d", id, method, resp.StatusCode)
					}
				} else if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusTooManyRequests {
					t.Errorf("%s %s with credential %q: status %d", method, path, what, resp.StatusCode)
				}
			}
		}
	}
	if resp := r.raw("GET", "/v1/ping", good, "", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a good token is refused (%d) since bad ones were tried", resp.StatusCode)
	}
	if strings.Contains(r.log.String(), parts.Secret) {
		t.Error("the log holds a secret")
	}
}

// TestForeignPages: a web page of another origin, or one that rebinds its name, gets nothing.
func TestForeignPages(t *testing.T) {
	r := startRig(t)
	token := r.token("u1", api.User)
	for _, e := range api.Endpoints {
		for name, value := range map[string]string{
			"Host": "evil.example:50001", "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site",
		} {
			resp := r.raw(e.Method, pathFor(e, "1"), token, "", http.Header{name: {value}})
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %s: %s answers %d", e.ID, name, value, resp.StatusCode)
			}
			resp.Body.Close()
		}
	}
	for _, header := range []http.Header{{"Origin": {"null"}}, {"Sec-Fetch-Site": {"same-site"}}} {
		if resp := r.raw("GET", "/v1/ping", token, "", header); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%v answers %d", header, resp.StatusCode)
		}
	}
	own := http.Header{"Origin": {r.url}, "Sec-Fetch-Site": {"same-origin"}}
	if resp := r.raw("GET", "/v1/ping", token, "", own); resp.StatusCode != http.StatusOK {
		t.Errorf("the own origin is refused: %d", resp.StatusCode)
	}
}

func TestSocketPeers(t *testing.T) {
	r := startRig(t)
	c, err := api.NewClient("unix:"+r.socket, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ping := must[api.Ping](t, c, api.PingFarm, nil, nil)
	if ping.User != me.Username || ping.Role != string(api.Admin) || !ping.Leader || ping.Epoch < 1 {
		t.Errorf("the service's own account is %+v", ping)
	}
	if _, err := (credentials.Peer{Uid: credentials.OverflowUID}).Principal(); err == nil {
		t.Error("the overflow uid has become somebody")
	}
	if _, err := (credentials.Peer{Uid: 4_000_000_001}).Principal(); err == nil {
		t.Error("an unknown uid has become somebody")
	}
	if p, err := (credentials.Peer{Uid: 1}).Principal(); err == nil && p.Role != api.User {
		t.Errorf("uid 1 is %+v", p)
	}
}

func TestEnsureToken(t *testing.T) {
	s := storetest.NewMemory()
	file := filepath.Join(t.TempDir(), "token")
	read := func() string {
		t.Helper()
		if err := credentials.Ensure(context.Background(), testKey, s, file, "me", "admin", 90); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	first := read()
	if read() != first {
		t.Error("a good token was replaced")
	}
	parts, ok := credentials.Parse(first)
	if !ok || parts.Role != api.Admin {
		t.Fatalf("token %q", first)
	}
	if _, err := s.RevokeToken(context.Background(), parts.ID); err != nil {
		t.Fatal(err)
	}
	second := read()
	if second == first {
		t.Error("a revoked token was kept")
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if third := read(); third == second || third == "nonsense" {
		t.Errorf("nonsense became %q", third)
	}
	if err := credentials.Ensure(context.Background(), testKey, s, file, "me", "king", 90); err == nil {
		t.Error("an unknown role was accepted")
	}
}

// TestTokenLife: made, listed without its secret, revoked, and refused at once.
func TestTokenLife(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	made := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "u7", Role: "user"})
	c, err := api.NewClient(r.url, made.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	if ping := must[api.Ping](t, c, api.PingFarm, nil, nil); ping.User != "u7" || ping.Role != "user" {
		t.Errorf("ping says %+v", ping)
	}
	list := text(t, r.raw("GET", "/v1/tokens", r.token("boss", api.Admin), "", nil))
	parts, _ := credentials.Parse(made.Token)
	if !strings.Contains(list, made.ID) || strings.Contains(list, parts.Secret) {
		t.Errorf("list: %s", list)
	}
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", made.ID), nil)
	refused(t, api.KindUnauthorized, c, api.PingFarm, nil, nil)
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", made.ID), nil)
	refused(t, api.KindNotFound, admin, api.RevokeToken, params("token", "0000000000000000"), nil)
	refused(t, api.KindInvalid, admin, api.CreateToken, nil, api.TokenRequest{User: "a b", Role: "user"})
	refused(t, api.KindInvalid, admin, api.CreateToken, nil, map[string]any{"user": "a", "role": "king"})
}
