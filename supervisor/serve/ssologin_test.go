package serve

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/wire/settings"
)

// provider answers as a provider of OpenID Connect does whose person has just logged in, or as a test wants it.
type provider struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu      sync.Mutex
	claims  map[string]any  // of the next token; nil: the person has not logged in
	err     string          // of the token endpoint
	signer  *rsa.PrivateKey // nil: key
	instead map[string]http.HandlerFunc
	asked   map[string]int
}

const clientID = "qb-of-the-studio"

func startProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, instead: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[r.URL.Path]++
	if instead := p.instead[r.URL.Path]; instead != nil {
		instead(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		reply(map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			"device_authorization_endpoint": p.URL + "/device",
			"jwks_uri":                      p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	case "/keys":
		reply(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	case "/device":
		reply(map[string]any{"device_code": "device-secret", "user_code": "ABCD-EFGH", "verification_uri": p.URL + "/enter",
			"expires_in": 300, "interval": 1})
	case "/token":
		name, secret, basic := r.BasicAuth()
		if basic && (name != clientID || secret != "client-secret") || r.FormValue("device_code") != "device-secret" ||
			p.err != "" || p.claims == nil {
			w.WriteHeader(http.StatusBadRequest)
			code := "invalid_grant"
			if r.FormValue("device_code") == "device-secret" {
				code = "authorization_pending"
			}
			if p.err != "" {
				code = p.err
			}
			reply(map[string]any{"error": code, "error_description": "device-secret"})
			return
		}
		reply(map[string]any{"access_token": "access-secret", "token_type": "bearer", "expires_in": 60,
			"id_token": p.token()})
	default:
		http.NotFound(w, r)
	}
}

func (p *provider) token() string {
	key := p.key
	if p.signer != nil {
		key = p.signer
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		return ""
	}
	payload, _ := json.Marshal(p.claims)
	signed, err := signer.Sign(payload)
	if err != nil {
		return ""
	}
	text, _ := signed.CompactSerialize()
	return text
}

// says lets the next token have the claims of a good one, with these in their place.
func (p *provider) says(other map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = map[string]any{"iss": p.URL, "aud": clientID, "sub": "1", "exp": time.Now().Add(time.Minute).Unix(),
		"iat": time.Now().Unix(), "preferred_username": "ada"}
	for name, value := range other {
		p.claims[name] = value
	}
}

func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func ssoRig(t *testing.T, p *provider, more ...rigOption) *rig {
	t.Helper()
	return startRig(t, append([]rigOption{func(c *settings.Config, _ *Options) {
		c.OIDCIssuer, c.OIDCClientID = p.URL, clientID
	}}, more...)...)
}

func login(t *testing.T, c *api.Client) (*api.TokenReply, error) {
	t.Helper()
	var reply api.SSOReply
	err := c.Call(t.Context(), api.FinishSSO, nil, api.SSORequest{DeviceCode: "device-secret", Name: "ada@ws12"}, &reply)
	return reply.Token, err
}

// TestSSO: whom the provider names and an admin has added gets a token as by a code: with a name, listed, ending with
// the user; the trail has logins and refusals, and no secret is in the log.
func TestSSO(t *testing.T) {
	p := startProvider(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("client-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := ssoRig(t, p, func(c *settings.Config, _ *Options) { c.OIDCSecretFile = secret })
	admin, nobody := r.client("boss", api.Admin), clientOf(t, r, "")
	begun := must[api.SSOBegun](t, nobody, api.BeginSSO, nil, nil)
	if begun.UserCode != "ABCD-EFGH" || begun.IntervalSeconds != 1 || begun.URL != p.URL+"/enter" ||
		time.Until(begun.ExpiresAt) > 5*time.Minute {
		t.Errorf("begun as %+v", begun)
	}
	if got := must[api.SSOReply](t, nobody, api.FinishSSO, nil,
		api.SSORequest{DeviceCode: begun.DeviceCode, Name: "x"}); !got.Pending || got.SlowDown || got.Token != nil {
		t.Errorf("before the person is there: %+v", got)
	}
	p.set(func() { p.err = "slow_down" })
	if got := must[api.SSOReply](t, nobody, api.FinishSSO, nil,
		api.SSORequest{DeviceCode: begun.DeviceCode, Name: "x"}); !got.Pending || !got.SlowDown {
		t.Errorf("asked too often: %+v", got)
	}
	p.set(func() { p.err = "" })
	p.says(nil)
	if _, err := login(t, nobody); api.Refusal(err).Kind != api.KindForbidden ||
		!strings.Contains(err.Error(), "qbadmin user add ada") {
		t.Errorf("a person who is no user: %v", err)
	}
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "operator"})
	refused(t, api.KindInvalid, nobody, api.FinishSSO, nil,
		api.SSORequest{DeviceCode: "device-secret", Name: "x", Days: 8})
	made, err := login(t, nobody)
	if err != nil || made.Role != "operator" || made.Name != "ada@ws12" || time.Until(made.ExpiresAt) > 7*24*time.Hour {
		t.Fatalf("logged in with %+v, %v", made, err)
	}
	ada := clientOf(t, r, made.Token)
	if who := must[api.Ping](t, ada, api.PingFarm, nil, nil); who.User != "ada" || who.Role != "operator" {
		t.Errorf("logged in as %+v", who)
	}
	must[api.Person](t, admin, api.ChangePerson, params("user", "ada"), api.PersonChange{Disabled: ptr(true)})
	if _, err := login(t, nobody); api.Refusal(err).Kind != api.KindForbidden ||
		!strings.Contains(err.Error(), "disabled") {
		t.Errorf("a disabled user: %v", err)
	}
	must[api.PersonReply](t, admin, api.RemovePerson, params("user", "ada"), nil)
	refused(t, api.KindUnauthorized, ada, api.PingFarm, nil, nil)
	if _, err := login(t, nobody); api.Refusal(err).Kind != api.KindForbidden {
		t.Errorf("a removed user: %v", err)
	}
	outcomes := ""
	eventually(t, "the trail has the refusals", func() bool {
		outcomes = ""
		for _, row := range must[[]api.AuditEntry](t, admin, api.AuditLog, params("user", "ada"), nil) {
			if row.Verb == "sso-login" {
				outcomes = row.Outcome + " " + outcomes
			}
		}
		return strings.Count(outcomes, "refused") == 3
	})
	if strings.Count(outcomes, "done") != 1 {
		t.Errorf("the trail tells %q", outcomes)
	}
	parts := strings.SplitN(made.Token, "_", 4) // the secret may have a _, too
	for what, text := range map[string]string{"token": parts[3], "device code": "device-secret",
		"access token": "access-secret", "client secret": "client-secret", "user code": "ABCD-EFGH"} {
		if strings.Contains(r.log.String(), text) {
			t.Errorf("the log holds a %s", what)
		}
	}
}

// TestAttackSSO: tokens that do not hold, and persons whom the provider does not vouch for, get nothing.
func TestAttackSSO(t *testing.T) {
	p := startProvider(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r := ssoRig(t, p, func(c *settings.Config, _ *Options) { c.OIDCAdmit = "staff=user" })
	admin, nobody := r.client("boss", api.Admin), clientOf(t, r, "")
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "admin"})
	before := len(must[[]api.TokenInfo](t, admin, api.ListTokens, nil, nil))
	for what, c := range map[string]struct {
		claims map[string]any
		signer *rsa.PrivateKey
		kind   api.Kind
	}{
		"for another client":     {map[string]any{"aud": "other"}, nil, api.KindUnauthorized},
		"for several clients":    {map[string]any{"aud": []string{"other", clientID}}, nil, api.KindUnauthorized},
		"by another client":      {map[string]any{"azp": "other"}, nil, api.KindUnauthorized},
		"of another issuer":      {map[string]any{"iss": "https://evil.example"}, nil, api.KindUnauthorized},
		"expired":                {map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, nil, api.KindUnauthorized},
		"without an end":         {map[string]any{"exp": 0}, nil, api.KindUnauthorized},
		"forged":                 {nil, stranger, api.KindUnauthorized},
		"without a name":         {map[string]any{"preferred_username": ""}, nil, api.KindUnauthorized},
		"with a number for name": {map[string]any{"preferred_username": 7}, nil, api.KindUnauthorized},
		"a name in odd letters":  {map[string]any{"preferred_username": "ada\nroot"}, nil, api.KindForbidden},
		"root":                   {map[string]any{"preferred_username": "root", "groups": "staff"}, nil, api.KindInvalid},
		"worker": {map[string]any{"preferred_username": "worker", "groups": []string{"staff"}}, nil,
			api.KindInvalid},
		"of no group": {map[string]any{"preferred_username": "bob", "groups": []string{"guests"}}, nil,
			api.KindForbidden},
	} {
		p.says(c.claims)
		p.set(func() { p.signer = c.signer })
		if _, err := login(t, nobody); api.Refusal(err).Kind != c.kind {
			t.Errorf("a token %s: %v", what, err)
		}
	}
	p.set(func() { p.signer = nil })
	for said, kind := range map[string]api.Kind{"access_denied": api.KindUnauthorized,
		"expired_token": api.KindUnauthorized, "invalid_grant": api.KindUnauthorized, "teapot": api.KindUnavailable} {
		p.set(func() { p.err = said })
		if _, err := login(t, nobody); api.Refusal(err).Kind != kind || strings.Contains(err.Error(), "device-secret") {
			t.Errorf("%s: %v", said, err)
		}
	}
	p.set(func() { p.err = "" })
	if after := len(must[[]api.TokenInfo](t, admin, api.ListTokens, nil, nil)); after != before {
		t.Errorf("%d tokens more", after-before)
	}
	p.says(map[string]any{"preferred_username": "bob", "groups": []string{"guests", "staff"}})
	if made, err := login(t, nobody); err != nil || made.User != "bob" || made.Role != "user" {
		t.Errorf("of an admitted group: %+v, %v", made, err)
	}
	if bob := must[api.Person](t, admin, api.GetPerson, params("user", "bob"), nil); bob.CreatedBy != "single sign-on" ||
		bob.Role != "user" {
		t.Errorf("bob was added as %+v", bob)
	}
	must[api.Person](t, admin, api.ChangePerson, params("user", "bob"), api.PersonChange{Disabled: ptr(true)})
	if _, err := login(t, nobody); api.Refusal(err).Kind != api.KindForbidden {
		t.Errorf("a group lets a disabled user in: %v", err)
	}
}

// TestAttackProvider: a provider that is silent, endless or elsewhere costs a login alone, in bounded time and memory.
func TestAttackProvider(t *testing.T) {
	const document = "/.well-known/openid-configuration"
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 10 << 10 {
			if _, err := w.Write(slices.Repeat([]byte(" "), 1<<10)); err != nil {
				return
			}
		}
		fmt.Fprint(w, "{}")
	}
	for what, c := range map[string]struct {
		path    string
		handler http.HandlerFunc
		want    string
	}{
		"silent": {document, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, "no answer in"},
		"endless document":      {document, endless, "too long"},
		"endless device answer": {"/device", endless, "too long"},
		"endless token answer":  {"/token", endless, "too long"},
		"endless keys":          {"/keys", endless, "too long"},
		"redirects": {"/token", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "307"},
		"names another issuer": {document, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"issuer":"https://evil.example"}`)
		}, "issuer"},
		"has no device flow": {document, nil, "device flow"},
		"plain http":         {document, nil, "neither https nor on loopback"},
		"no ID token": {"/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"a","token_type":"bearer"}`)
		}, "no ID token"},
		"sends the person to a script": {"/device", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)"}`)
		}, "no device code, user code and address"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t)
			p.says(nil)
			elsewhere := map[string]string{"has no device flow": "", "plain http": "http://provider.example/device"}
			if address, named := elsewhere[what]; named {
				c.handler = func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprintf(
						w, `{"issuer":%q,"token_endpoint":"%[1]s/token","jwks_uri":"%[1]s/keys","device_authorization_endpoint":%q}`,
						p.URL, address)
				}
			}
			p.set(func() { p.instead[c.path] = c.handler })
			r := ssoRig(t, p)
			must[api.Person](t, r.client("boss", api.Admin), api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user"})
			nobody, began := clientOf(t, r, ""), time.Now()
			err := nobody.Call(t.Context(), api.BeginSSO, nil, nil, nil)
			if err == nil {
				_, err = login(t, nobody)
			}
			if err == nil || time.Since(began) > 20*time.Second || !strings.Contains(err.Error()+r.log.String(), c.want) ||
				strings.Contains(err.Error(), "://") {
				t.Errorf("after %s: %v\n%s", time.Since(began), err, r.log)
			}
		})
	}
}

// TestSSOLimits: one address may try so often; other commands of it go on. A farm without single sign-on says so.
func TestSSOLimits(t *testing.T) {
	r := startRig(t)
	nobody := clientOf(t, r, "")
	if text := refused(t, api.KindConflict, nobody, api.BeginSSO, nil, nil); !strings.Contains(text,
		"qbadmin user invite") {
		t.Errorf("the way out is missing: %s", text)
	}
	for range gate.OpenCalls {
		_ = nobody.Call(t.Context(), api.BeginSSO, nil, nil, nil)
	}
	err := nobody.Call(t.Context(), api.BeginSSO, nil, nil, nil)
	if refusal := api.Refusal(err); refusal.Kind != api.KindLimit || refusal.RetryAfter == 0 {
		t.Errorf("try number %d: %v", gate.OpenCalls+2, err)
	}
	must[api.Ping](t, r.client("u1", api.User), api.PingFarm, nil, nil)
	long := r.raw(http.MethodPost, api.FinishSSO.Path, "", `{"name":"x","device_code":"`+
		strings.Repeat("x", maxOpenBody)+`"}`, nil)
	if long.StatusCode != http.StatusTooManyRequests && long.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body is answered %d", long.StatusCode)
	}
}
