package gate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

// A page signs its requests with the key of its session, which is never sent. The header reads "Authorization:
// QB-Signed ID PROCESS NUMBER BODY MAC": the session, the run of the supervisor, the number of the request, the hash of
// its body, and the MAC over these and what is asked for.
const (
	signedScheme = "QB-Signed "
	maxNumber    = 1 << 53 // which a page can count
)

// pageHost is the name of the origin that one session of the page has for itself where there is no TLS. Browsers lead
// it to loopback by themselves. No other document has it, nor a service worker that somebody left while he had the
// port.
var pageHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{16}\.localhost$`)
})

var errStopping = &api.Error{Kind: api.KindUnavailable, Text: "the supervisor is stopping"}

// pageOrigin returns the origin of the page that sends a request. Only this supervisor may serve that origin: over TLS,
// or at the port of the connection. Requests that were forwarded from another port, or came over the unix socket, are
// refused.
func pageOrigin(r *http.Request) (string, error) {
	if r.TLS != nil {
		return "https://" + r.Host, nil
	}
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := at.(*net.TCPAddr)
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = r.Host, "80"
	}
	if !ok || !pageHost().MatchString(host) || port != strconv.Itoa(tcp.Port) {
		return "", api.Errorf(api.KindForbidden,
			"a session of the page is good at the address that qb open printed alone, with the supervisor's own port")
	}
	return "http://" + r.Host, nil
}

// pageKey finds the row of a session, or of a code for one, and what the page signs with.
func (g *Gate) pageKey(ctx context.Context, id string) (store.Token, []byte, error) {
	if g.Stopping.Err() != nil { // the port may be another's by now
		return store.Token{}, nil, errStopping
	}
	t, found, err := g.Tokens.Get(ctx, id, true)
	if err != nil {
		return store.Token{}, nil, err
	}
	var key []byte
	if found && t.Holds(g.Key, time.Now()) {
		key = g.process.PageKey(g.Key, t.Token)
	}
	if key == nil {
		return store.Token{}, nil, api.Errorf(api.KindUnauthorized, "session %s is unknown, expired or revoked; run qb open",
			problem.Clip(id))
	}
	return t.Token, key, nil
}

// Prove lets a page know that this supervisor has the key of its session, or of its code, before the page sends
// anything else. It proves that for a session that has ended, too: what refuses the page's requests then is the
// supervisor.
func (g *Gate) Prove(w http.ResponseWriter, r *http.Request, id, nonce string, code bool) error {
	origin, err := pageOrigin(r)
	if err != nil {
		return err
	}
	if g.Stopping.Err() != nil { // the port may be another's by now
		return errStopping
	}
	key := g.Key.SessionKey(id)
	if code {
		key = g.process.KeyOfCode(id)
	}
	proof := credentials.MAC(key, "qb server 1", nonce, g.process.ID, origin)
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(api.Proof{Process: g.process.ID, Proof: base64.RawURLEncoding.EncodeToString(proof)})
}

// CodeText is the text of a code that was just made.
func (g *Gate) CodeText(t store.Token) string { return g.process.CodeText(t) }

// WrapKey encrypts the key of a session for the page that has the code.
func (g *Gate) WrapKey(code, session string) string {
	return base64.RawURLEncoding.EncodeToString(g.process.WrapKey(g.Key, code, session))
}

// signer finds who signed the request.
func (g *Gate) signer(r *http.Request, text string) (credentials.Principal, error) {
	words := strings.Split(text, " ")
	if len(words) != 5 {
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized, "the credential is not of the form QB-Signed ID PROCESS NUMBER BODY MAC")
	}
	id := words[0]
	process := words[1]
	body := words[3]
	number, errNumber := strconv.ParseUint(words[2], 10, 64)
	mac, errMAC := base64.RawURLEncoding.Strict().DecodeString(words[4])
	if errors.Join(errNumber, errMAC) != nil || number > maxNumber {
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized, "the credential is not of the form QB-Signed ID PROCESS NUMBER BODY MAC")
	}
	origin, err := pageOrigin(r)
	if err != nil {
		return credentials.Principal{}, err
	}
	t, key, err := g.pageKey(r.Context(), id)
	if err != nil {
		return credentials.Principal{}, err
	}
	want := credentials.MAC(key, "qb request 1", process, words[2], r.Method, origin, r.RequestURI,
		r.Header.Get("If-Match"), r.Header.Get("Idempotency-Key"), body)
	if !hmac.Equal(mac, want) {
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized, "the request is not signed with the key of session %s; run qb open", t.ID)
	}
	if process != g.process.ID {
		return credentials.Principal{},
			&api.Error{Kind: api.KindUnauthorized, Code: api.CodeOtherRun,
				Text: "the request was signed for another run of the supervisor"}
	}
	if !g.counts.Take(t, number) {
		return credentials.Principal{}, api.Errorf(api.KindUnauthorized, "request %d of session %s came before", number, t.ID)
	}
	if r.Body, err = signedBody(r.Body, body); err != nil {
		return credentials.Principal{}, err
	}
	return g.holder(r.Context(), t)
}

// ErrOtherBody is the error of reading a body that differs from the signed body.
var ErrOtherBody = &api.Error{Kind: api.KindUnauthorized, Text: "the body is not the one that was signed"}

// signedBody ends with an error in place of its end if it is not what was signed.
func signedBody(body io.ReadCloser, signed string) (io.ReadCloser, error) {
	sum, err := hex.DecodeString(signed)
	if err != nil {
		return body, api.Errorf(api.KindUnauthorized, "the hash of the body is not hexadecimal")
	}
	b := &checkedBody{ReadCloser: body, sum: sum, hash: sha256.New()}
	switch {
	case body != nil && body != http.NoBody:
		return b, nil
	case !hmac.Equal(b.hash.Sum(nil), sum):
		return body, ErrOtherBody
	}
	return body, nil
}

type checkedBody struct {
	io.ReadCloser
	sum  []byte
	hash hash.Hash
}

func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && !hmac.Equal(b.hash.Sum(nil), b.sum) {
		return n, ErrOtherBody
	}
	return n, err
}
