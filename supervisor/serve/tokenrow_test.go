package serve

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// TestRowMakesNoCredential: access to table token, or to a dump of it, gives no credential: not by an added row, not by
// a row of known secret with another role or owner, and not by a row of another farm. Rows written by an older qb are
// valid once they are sealed.
func TestRowMakesNoCredential(t *testing.T) {
	r := startRig(t)
	mine := r.token("mallory", api.User)
	parts, _ := credentials.Parse(mine)
	row, found, err := r.store.Token(t.Context(), parts.ID)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	const secret = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	n := 0
	try := func(what string, want int, change func(*store.Token)) {
		t.Helper()
		n++
		forged := row
		forged.ID = "00000000000000a" + string(rune('a'+n))
		change(&forged)
		if err := r.store.CreateToken(t.Context(), forged); err != nil {
			t.Fatal(err)
		}
		text := "qb_" + forged.Role + "_" + forged.ID + "_" + secret
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/ping", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+text)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", what, resp.StatusCode)
		}
	}
	good := func(t *store.Token) {
		t.MAC = macOf(testKey, *t, secret)
		t.Seal = credentials.TokenSeal(testKey, *t)
	}
	try("a true token", http.StatusOK, good)
	try("the hash of the secret", http.StatusUnauthorized, func(t *store.Token) { t.MAC = hashOf(secret) })
	try("another's MAC", http.StatusUnauthorized, func(*store.Token) {})
	try("the role raised", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Role = string(api.Admin) })
	try("another owner", http.StatusUnauthorized, func(t *store.Token) { good(t); t.User = "root" })
	try("another id", http.StatusUnauthorized, func(t *store.Token) { good(t); t.ID = strings.Replace(t.ID, "a", "b", 1) })
	try("another day", http.StatusUnauthorized, func(t *store.Token) { good(t); t.CreatedAt = t.CreatedAt.Add(time.Hour) })
	try("another farm's key", http.StatusUnauthorized, func(t *store.Token) { t.MAC = macOf(farmkey.New(), *t, secret) })
	try("another end", http.StatusUnauthorized, func(t *store.Token) { good(t); t.ExpiresAt = t.ExpiresAt.Add(time.Hour) })
	try("without a seal", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Seal = []byte{} })
	counted := func(t *store.Token) { t.UsesLeft = new(int); good(t) }
	try("a counted token", http.StatusForbidden, counted)
	try("uses raised", http.StatusUnauthorized, func(t *store.Token) { counted(t); t.UsesLeft = &n })
	try("uses no longer counted", http.StatusUnauthorized, func(t *store.Token) { counted(t); t.UsesLeft = nil })
	try("another's seal", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Seal = row.Seal })
	try("another farm's seal", http.StatusUnauthorized, func(t *store.Token) {
		good(t)
		t.Seal = credentials.TokenSeal(farmkey.New(), *t)
	})
}

// TestAttackEndedTokenRevived: write access to table token cannot make an ended token valid again or extend the life of
// a valid one. Each attempt to use such a token is named in the log and in the audit trail, and the row is never signed
// again.
func TestAttackEndedTokenRevived(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := startOn(t, cluster.URL())
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	admin := r.client("boss", api.Admin)
	ping := func(token string) int { return r.raw("GET", "/v1/ping", token, "", nil).StatusCode }
	edit := func(id, set string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "UPDATE token SET "+set+" WHERE id = $1", id); err != nil {
			t.Fatal(err)
		}
		// so that the rows are read again
		must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "x", Role: "user"})
	}
	end := map[string]func(id string){
		"revoked": func(id string) { must[api.RevokeReply](t, admin, api.RevokeToken, params("token", id), nil) },
		"ended": func(id string) {
			must[api.TokenReply](t, admin, api.RotateToken, params("token", id), api.RotateRequest{})
		},
		"good": func(string) {},
	}
	for name, end := range end {
		token := r.token(name, api.User)
		parts, _ := credentials.Parse(token)
		if got := ping(token); got != http.StatusOK {
			t.Fatalf("%s: %d at first", name, got)
		}
		end(parts.ID)
		edit(parts.ID, "revoked = false, expires_at = now() + interval '80 days'")
		if got := ping(token); got != http.StatusUnauthorized {
			t.Errorf("%s: %d once its row was changed", name, got)
		}
		refused(t, api.KindNotFound, admin, api.RotateToken, params("token", parts.ID), api.RotateRequest{})
		if err := credentials.Shorten(t.Context(), testKey, r.store, parts.ID, time.Now().Add(settings.Day)); err != nil ||
			ping(token) != http.StatusUnauthorized {
			t.Errorf("%s: the changed row was signed: %v", name, err)
		}
		eventually(t, "the trail tells who used a "+name+" token", func() bool {
			rows := must[[]api.AuditEntry](t, admin, api.AuditLog, params("user", name), nil)
			return slices.ContainsFunc(rows, func(e api.AuditEntry) bool {
				return e.Token == parts.ID && e.Outcome == "refused" && e.Code == "unauthorized"
			})
		})
		if !strings.Contains(r.log.String(), "token "+parts.ID+" was changed in the database") {
			t.Errorf("%s: nothing in the log", name)
		}
	}
}

// macOf is the MAC that a farm with that key stores of a token.
func macOf(key farmkey.Key, t store.Token, secret string) []byte {
	return credentials.TokenMAC(key, t, hashOf(secret))
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
