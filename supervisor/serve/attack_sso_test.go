package serve

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"qb/api"
)

// unsigned is a token of the provider's claims with another header and signature.
func unsigned(p *provider, header, signature string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		payload, _ := json.Marshal(p.claims) // of texts and numbers
		part := base64.RawURLEncoding.EncodeToString
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"a","token_type":"bearer","id_token":"%s.%s.%s"}`, part([]byte(header)),
			part(payload), part([]byte(signature)))
	}
}

// signedWith is a token that is signed with the provider's public key as if it was a secret.
func signedWith(t *testing.T, p *provider) http.HandlerFunc {
	t.Helper()
	secret, err := json.Marshal(jose.JSONWebKey{Key: p.key.Public(), KeyID: "k"})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		payload, _ := json.Marshal(p.claims)
		signed, err := signer.Sign(payload)
		if err != nil {
			return
		}
		text, _ := signed.CompactSerialize()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"a","token_type":"bearer","id_token":%q}`, text)
	}
}

// drips sends a response that never ends and never pauses for long.
func drips(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		fmt.Fprint(w, " ")
		_ = http.NewResponseController(w).Flush() // the caller leaves sooner or later
		time.Sleep(100 * time.Millisecond)
	}
}

// bomb is a gigabyte of blanks in a megabyte.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	packed, blanks := gzip.NewWriter(w), slices.Repeat([]byte(" "), 1<<20)
	for range 1 << 10 {
		if _, err := packed.Write(blanks); err != nil {
			return
		}
	}
}

// TestAttackHostileProvider: a compromised provider, or one behind an untrusted network, cannot obtain a token that is
// accepted, receives no secret for another address, and costs bounded time and memory. Other users log in and work
// meanwhile.
func TestAttackHostileProvider(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		http.NotFound(w, r)
	}))
	defer other.Close()
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	const document = "/.well-known/openid-configuration"
	keys := func(w http.ResponseWriter, _ *http.Request) { // all of another's, and as many as fit
		fmt.Fprintf(w, `{"keys":[%s]}`,
			strings.TrimSuffix(strings.Repeat(`{"kty":"RSA","kid":"k","n":"AQAB","e":"AQAB"},`, 10_000), ","))
	}
	deep := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.Repeat(`{"a":`, 100_000))
	}
	attacks := map[string]func(p *provider) (path string, handler http.HandlerFunc){
		"alg none": func(p *provider) (string, http.HandlerFunc) { return "/token", unsigned(p, `{"alg":"none"}`, "") },
		"alg None, with a key": func(p *provider) (string, http.HandlerFunc) {
			return "/token", unsigned(p, `{"alg":"None","kid":"k"}`, "x")
		},
		"RS256 without one": func(p *provider) (string, http.HandlerFunc) {
			return "/token", unsigned(p, `{"alg":"RS256","kid":"k"}`, "")
		},
		"signed by public key": func(p *provider) (string, http.HandlerFunc) { return "/token", signedWith(t, p) },
		"its key in the header": func(p *provider) (string, http.HandlerFunc) {
			return "/token", unsigned(p, `{"alg":"RS256","jwk":{"kty":"RSA","n":"AQAB","e":"AQAB"}}`, "x")
		},
		"ten thousand keys":   func(*provider) (string, http.HandlerFunc) { return "/keys", keys },
		"keys that drip":      func(*provider) (string, http.HandlerFunc) { return "/keys", drips },
		"token that drips":    func(*provider) (string, http.HandlerFunc) { return "/token", drips },
		"device that drips":   func(*provider) (string, http.HandlerFunc) { return "/device", drips },
		"document that drips": func(*provider) (string, http.HandlerFunc) { return document, drips },
		"packed keys":         func(*provider) (string, http.HandlerFunc) { return "/keys", bomb },
		"packed token":        func(*provider) (string, http.HandlerFunc) { return "/token", bomb },
		"packed document":     func(*provider) (string, http.HandlerFunc) { return document, bomb },
		"deep document":       func(*provider) (string, http.HandlerFunc) { return document, deep },
		"deep token":          func(*provider) (string, http.HandlerFunc) { return "/token", deep },
		"keys elsewhere":      func(*provider) (string, http.HandlerFunc) { return "/keys", away },
		"token elsewhere":     func(*provider) (string, http.HandlerFunc) { return "/token", away },
		"device elsewhere":    func(*provider) (string, http.HandlerFunc) { return "/device", away },
		"document elsewhere":  func(*provider) (string, http.HandlerFunc) { return document, away },
	}
	t.Run("all", func(t *testing.T) {
		for what, attack := range attacks {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				attackedLogin(t, attack)
			})
		}
	})
	if elsewhere.Load() > 0 {
		t.Errorf("%d requests went to another host", elsewhere.Load())
	}
}

// attackedLogin wants a login by such a provider to be refused soon, for little.
func attackedLogin(t *testing.T, attack func(p *provider) (path string, handler http.HandlerFunc)) {
	t.Helper()
	p := startProvider(t)
	p.says(nil)
	r := ssoRig(t, p)
	admin := r.client("boss", api.Admin)
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "admin"})
	tokens := len(must[[]api.TokenInfo](t, admin, api.ListTokens, nil, nil))
	path, handler := attack(p)
	p.set(func() { p.instead[path] = handler })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	err := clientOf(t, r, "").Call(t.Context(), api.BeginSSO, nil, nil, nil)
	if err == nil {
		_, err = login(t, clientOf(t, r, ""))
	}
	runtime.ReadMemStats(&after)
	if kind := api.Refusal(err).Kind; kind != api.KindUnauthorized && kind != api.KindUnavailable {
		t.Errorf("it is answered %v", err)
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("it took %s", took)
	}
	if more := after.TotalAlloc - before.TotalAlloc; more > 768<<20 {
		t.Errorf("it took %d MiB of memory", more>>20)
	}
	if now := len(must[[]api.TokenInfo](t, admin, api.ListTokens, nil, nil)); now != tokens {
		t.Errorf("%d tokens more", now-tokens)
	}
}

// TestAttackLoginFlood: somebody who begins logins without end meets a limit of his address; the provider is asked a
// bounded number of times, and others work.
func TestAttackLoginFlood(t *testing.T) {
	p := startProvider(t)
	r := ssoRig(t, p)
	nobody, u1 := clientOf(t, r, ""), r.client("u1", api.User)
	refusals := 0
	for range 300 {
		err := nobody.Call(t.Context(), api.BeginSSO, nil, nil, nil)
		if kind := api.Refusal(err).Kind; kind == api.KindLimit {
			refusals++
		} else if err != nil && kind != api.KindUnavailable {
			t.Fatal(err)
		}
	}
	asked := 0
	p.set(func() { asked = p.asked["/device"] })
	if refusals < 200 || asked > 100 {
		t.Errorf("of 300 logins %d were refused, and the provider was asked %d times", refusals, asked)
	}
	must[api.Ping](t, u1, api.PingFarm, nil, nil)
}
