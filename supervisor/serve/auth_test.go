package serve

import (
	"context"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/credentials"
)

// isPlainRead says whether an endpoint is a GET without parameters in its path that every token for people may make. The
// tables of this package have no row for it, unless it is an exception.
func isPlainRead(e api.Endpoint) bool {
	return e.Method == http.MethodGet && e.Role == api.ReadOnly && !strings.Contains(e.Path, "{")
}

// rightsTo is the row of an endpoint in rights.
func rightsTo(e api.Endpoint) (row struct{ roles, others string }, known bool) {
	row, known = rights[e.ID]
	if !known && isPlainRead(e) {
		row.roles, known = "aolgur", true
	}
	return row, known
}

// rights says by hand what security.md says in words: which roles may call an endpoint (a admin, o operator, l a user
// who leads the group of the other's owner, g one who belongs to it, u any other user, r read-only, w worker, -
// anyone), and who may do so with what is another's: empty, all of them; *, as supervisor_log_access says.
var rights = map[string]struct{ roles, others string }{
	"submit": {"aolgu", ""}, "check-submission": {"aolgu", ""}, "submit-openjd": {"aolgu", ""}, "list-job-types": {"aolgur", ""}, "get-job-type": {"aolgur", ""}, "check-openjd": {"aolgu", ""}, "try-submission": {"aolgu", ""},
	"list-jobs": {"aolgur", ""}, "get-job": {"aolgur", ""}, "archive-job": {"aolgu", "ao"}, "job-order": {"aolgur", ""},
	"host-order": {"aolgur", ""}, "modify-job": {"aolgu", "aol"},
	"order-job": {"aolgu", "aol"}, "order-jobs": {"aolgu", ""}, "remove-job": {"aolgu", "ao"},
	"list-items": {"aolgur", ""}, "list-attempts": {"aolgur", ""}, "job-history": {"aolgur", ""},
	"explain-job": {"aolgur", ""}, "item-log": {"aolgu", "*"}, "session-log": {"aolgu", "*"}, "item-picture": {"aolgu", "*"},
	"list-hosts": {"aolgur", ""}, "list-resources": {"aolgur", ""}, "report-resource": {"ao", ""}, "lock-host": {"ao", ""},
	"unlock-host": {"ao", ""}, "confirm-dead": {"ao", ""}, "remove-host": {"a", ""}, "approve-host": {"a", ""},
	"restart-host": {"a", ""}, "release-brake": {"ao", ""}, "supervisor-configuration": {"ao", ""}, "reread": {"a", ""},
	"test-mail": {"a", ""}, "snapshot": {"aolgur", ""}, "events": {"aolgur", ""},
	"ping": {"aolgur", ""}, "create-token": {"a", ""}, "list-tokens": {"a", ""}, "rotate-token": {"a", ""},
	"audit-log": {"a", ""}, "revoke-token": {"a", ""},
	"sync": {"w", ""}, "enrol": {"w", ""}, "append-log": {"w", ""}, "append-picture": {"w", ""}, "ship-ends": {"w", ""},
	"read-ends": {"ao", ""}, "openapi": {"aolgurw-", ""}, "openapi-json": {"aolgurw-", ""}, "docs": {"aolgurw-", ""},
	"list-shares": {"aolgur", ""}, "explain-share": {"aolgur", ""}, "share-settings": {"aolgur", ""},
	"list-accounts": {"aolgur", ""}, "past-accounts": {"aolgur", ""}, "add-account": {"ao", ""},
	"add-accounts": {"ao", ""}, "remove-account": {"ao", ""},
	"list-budgets": {"aolgur", ""}, "set-budget": {"ao", ""}, "list-publications": {"aolgur", ""},
	"report-publication": {"aolgu", ""}, "decide-publication": {"ao", ""}, "add-credits": {"ao", ""},
	"list-profiles": {"aolgur", "ao"}, "set-profile": {"aolgu", "ao"}, "forget-profile": {"aolgu", "ao"},
	"set-share": {"ao", ""}, "list-credit": {"aolgur", ""}, "get-stats": {"aolgur", ""}, "add-credit": {"ao", ""},
	"list-users": {"a", ""}, "add-user": {"a", ""}, "get-user": {"aolgur", "a"}, "set-user": {"a", ""},
	"remove-user": {"a", ""}, "invite-user": {"a", ""},
	"login": {"", ""}, "list-own-tokens": {"aolgur", ""}, "revoke-own-token": {"aolgur", "-"},
	"sso-begin": {"aolgurw-", ""}, "sso-login": {"aolgurw-", ""},
	"page": {"aolgurw-", ""}, "asset": {"aolgurw-", ""}, "make-code": {"aolgur", ""}, "begin-session": {"", ""},
	"prove-server": {"aolgurw-", ""}, "watch": {"aolgur", ""}, "item-states": {"aolgur", ""},
	"item-values": {"aolgur", ""}, "get-item": {"aolgur", ""}, "timeline": {"aolgur", ""}, "history": {"ao", ""},
	"find-in-log": {"aolgu", "*"}, "what-if": {"aolgur", ""}, "slot-map": {"aolgur", ""}, "get-host": {"aolgur", ""},
	"host-configuration": {"aolgur", ""},
	"health":             {"aolgurw-", ""}, "metrics": {"aolgur", ""},
}

// logReaders lists, for each value of supervisor_log_access, the callers who may read another user's log.
var logReaders = map[string]string{"all": "aolgu", "group": "aolg", "owner": "ao"}

// TestForeignPages: a web page of another origin gets nothing, also after DNS rebinding.
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
	s := newStore(t)
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
