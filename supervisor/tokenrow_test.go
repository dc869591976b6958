package supervisor

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
	"qb/supervisor/credentials"
	"qb/supervisor/farmkey"
	"qb/supervisor/settings"
	"qb/supervisor/store"
)

// TestRowMakesNoCredential: whoever can write to table token, or reads it in a dump, gets no credential by it: neither by a
// row of his own, by another role or owner in one he has the secret of, nor by a row of another farm. What an earlier
// qb wrote is good once it is sealed.
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
		t.Seal = credentials.Seals(testKey).Row(*t)
	}
	try("a true token", http.StatusOK, good)
	try("the hash of the secret", http.StatusUnauthorized, func(t *store.Token) { t.MAC = hashOf(secret) })
	try("another's MAC", http.StatusUnauthorized, func(*store.Token) {})
	try("the role raised", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Role = string(api.Admin) })
	try("another owner", http.StatusUnauthorized, func(t *store.Token) { good(t); t.User = "root" })
	try("another id", http.StatusUnauthorized, func(t *store.Token) { good(t); t.ID = strings.Replace(t.ID, "a", "b", 1) })
	try("another day", http.StatusUnauthorized, func(t *store.Token) { good(t); t.CreatedAt = t.CreatedAt.Add(time.Hour) })
	try("another farm's key", http.StatusUnauthorized, func(t *store.Token) { t.MAC = macOf(farmkey.New(), *t, secret) })
	try("an earlier qb's, sealed", http.StatusOK, func(t *store.Token) {
		t.MAC = hashOf(secret)
		t.MAC = credentials.Seals(testKey).Secret(*t)
		t.Seal = credentials.Seals(testKey).Row(*t)
	})
	try("another end", http.StatusUnauthorized, func(t *store.Token) { good(t); t.ExpiresAt = t.ExpiresAt.Add(time.Hour) })
	try("without a seal", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Seal = []byte{} })
	counted := func(t *store.Token) { t.UsesLeft = new(int); good(t) }
	try("a counted token", http.StatusForbidden, counted)
	try("uses raised", http.StatusUnauthorized, func(t *store.Token) { counted(t); t.UsesLeft = &n })
	try("uses no longer counted", http.StatusUnauthorized, func(t *store.Token) { counted(t); t.UsesLeft = nil })
	try("another's seal", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Seal = row.Seal })
	try("another farm's seal", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Seal = credentials.Seals(farmkey.New()).Row(*t) })
}

// TestAttackEndedTokenRevived: whoever can write to table token does not make a token good again that has ended, nor a
// good one live longer; whoever tries to use it is named in the log and in the audit trail, and nothing signs the row anew.
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
		must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "x", Role: "user"}) // so that the rows are read again
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
		if err := credentials.Shorten(t.Context(), testKey, r.store, parts.ID, time.Now().Add(settings.Day)); err != nil || ping(token) != http.StatusUnauthorized {
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
	t.MAC = hashOf(secret)
	return credentials.Seals(key).Secret(t)
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
