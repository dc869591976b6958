package supervisor

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/farmkey"
	"qb/supervisor/store"
)

// TestRowMakesNoCredential: whoever can write to table token, or reads it in a dump, gets no credential by it: neither by a
// row of his own, by another role or owner in one he has the secret of, nor by a row of another farm. What an earlier
// qb wrote is good once it is sealed.
func TestRowMakesNoCredential(t *testing.T) {
	r := startRig(t)
	mine := r.token("mallory", api.User)
	parts, _ := parseToken(mine)
	row, found, err := r.store.Token(t.Context(), parts.id)
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
	good := func(t *store.Token) { t.MAC = tokenMAC(testKey, *t, hashSecret(secret)) }
	try("a true token", http.StatusOK, good)
	try("the hash of the secret", http.StatusUnauthorized, func(t *store.Token) { t.MAC = hashSecret(secret) })
	try("another's MAC", http.StatusUnauthorized, func(*store.Token) {})
	try("the role raised", http.StatusUnauthorized, func(t *store.Token) { good(t); t.Role = string(api.Admin) })
	try("another owner", http.StatusUnauthorized, func(t *store.Token) { good(t); t.User = "root" })
	try("another id", http.StatusUnauthorized, func(t *store.Token) { good(t); t.ID = strings.Replace(t.ID, "a", "b", 1) })
	try("another day", http.StatusUnauthorized, func(t *store.Token) { good(t); t.CreatedAt = t.CreatedAt.Add(time.Hour) })
	try("another farm's key", http.StatusUnauthorized, func(t *store.Token) { t.MAC = tokenMAC(farmkey.New(), *t, hashSecret(secret)) })
	try("an earlier qb's, sealed", http.StatusOK, func(t *store.Token) {
		t.MAC = hashSecret(secret)
		t.MAC = SealTokens(testKey)(*t)
	})
}
