package supervisor

import (
	"context"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

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
