package serve

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/credentials"
)

// pageClient signs requests as session.js does.
type pageClient struct {
	t        *testing.T
	r        *rig
	host, id string
	key      []byte
	code     bool
	run      string
	number   uint64
	change   func(*http.Request) // of a request that is signed
}

// openPage begins a session by a code of the caller's.
func openPage(t *testing.T, r *rig, c *api.Client) *pageClient {
	t.Helper()
	p := pageOfCode(t, r, must[api.CodeReply](t, c, api.MakeCode, nil, nil))
	status, body := p.do("POST", "/v1/sessions", "")
	if status != http.StatusCreated {
		t.Fatalf("beginning a session: %d %s", status, body)
	}
	return p.entered(body)
}

func pageOfCode(t *testing.T, r *rig, code api.CodeReply) *pageClient {
	t.Helper()
	at, err := url.Parse(code.URL)
	parts, ok := credentials.Parse(code.Token)
	if err != nil || !ok || at.Hostname() != code.ID+".localhost" {
		t.Fatalf("the code is %+v: %v", code, err)
	}
	p := &pageClient{t: t, r: r, host: at.Host, id: parts.ID, key: decoded(t, parts.Secret), code: true}
	return p
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// entered has the key of the session that the answer has.
func (p *pageClient) entered(body string) *pageClient {
	p.t.Helper()
	var made api.SessionReply
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		p.t.Fatal(err)
	}
	block, err := aes.NewCipher(credentials.MAC(p.key, "qb wrap 1", made.ID))
	if err != nil {
		p.t.Fatal(err)
	}
	opener, err := cipher.NewGCM(block)
	if err != nil {
		p.t.Fatal(err)
	}
	sealed := decoded(p.t, made.Key)
	key, err := opener.Open(nil, sealed[:opener.NonceSize()], sealed[opener.NonceSize():], nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &pageClient{t: p.t, r: p.r, host: p.host, id: made.ID, key: key}
}

// request is a request to the address of the page.
func (p *pageClient) request(method, path, body string) *http.Request {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.r.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Host = p.host
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (p *pageClient) send(req *http.Request) (int, string) {
	p.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // the status says it
	return resp.StatusCode, string(text)
}

// proved asks for the proof; false: it is none.
func (p *pageClient) proved() bool {
	p.t.Helper()
	const nonce = "nonce-of-16-chars-or-more"
	status, body := p.send(p.request("GET", "/v1/sessions/"+p.id+"/proof?nonce="+nonce+"&code="+
		strconv.FormatBool(p.code), ""))
	var told api.Proof
	if status != http.StatusOK || json.Unmarshal([]byte(body), &told) != nil {
		return false
	}
	p.run = told.Process
	return told.Proof == base64.RawURLEncoding.EncodeToString(credentials.MAC(p.key, "qb server 1", nonce, told.Process,
		"http://"+p.host))
}

// signed is a request with its signature.
func (p *pageClient) signed(method, path, body string) *http.Request {
	p.t.Helper()
	p.number++
	sum := sha256.Sum256([]byte(body))
	hash, number := hex.EncodeToString(sum[:]), strconv.FormatUint(p.number, 10)
	mac := credentials.MAC(p.key, "qb request 1", p.run, number, method, "http://"+p.host, path, "", "", hash)
	req := p.request(method, path, body)
	req.Header.Set("Authorization",
		strings.Join([]string{"QB-Signed", p.id, p.run, number, hash, base64.RawURLEncoding.EncodeToString(mac)}, " "))
	return req
}

// do proves the supervisor and sends a request.
func (p *pageClient) do(method, path, body string) (int, string) {
	p.t.Helper()
	if !p.proved() {
		p.t.Fatalf("the supervisor does not prove itself to session %s", p.id)
	}
	req := p.signed(method, path, body)
	if p.change != nil {
		p.change(req)
	}
	return p.send(req)
}

// is wants a status.
func (p *pageClient) is(want int, what, method, path, body string) {
	p.t.Helper()
	if status, text := p.do(method, path, body); status != want {
		p.t.Errorf("%s: %s %s: status %d, want %d: %s", what, method, path, status, want, text)
	}
}
