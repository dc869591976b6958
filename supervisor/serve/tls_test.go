package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/certs"
	"qb/supervisor/wire/settings"
)

func onTheNetwork(cfg *settings.Config, _ *Options) { cfg.Listen, cfg.Names = "0.0.0.0:0", "127.0.0.1" }

// secureRig is a supervisor that other machines can reach, and the fingerprint of its CA.
func secureRig(t *testing.T) (r *rig, fingerprint string) {
	t.Helper()
	r = startRig(t, onTheNetwork)
	return r, fingerprintOf(t, r)
}

func fingerprintOf(t *testing.T, r *rig) string {
	t.Helper()
	ca, err := certs.Look(r.state)
	if err != nil {
		t.Fatal(err)
	}
	return ca.Fingerprint
}

// Beyond loopback all goes by TLS: a token that the supervisor makes carries the fingerprint by which its certificate
// is known, and works by TLS and at the socket; without the fingerprint, or with another one, nothing is sent.
func TestOverTLS(t *testing.T) {
	r, fingerprint := secureRig(t)
	if !strings.HasPrefix(r.url, "https://127.0.0.1:") {
		t.Fatal(r.url)
	}
	bare := r.token("root", api.Admin)
	admin, err := api.NewClient(r.url, pin.Join(bare, fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	made := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "ada", Role: "user"})
	if _, carried := pin.Cut(made.Token); carried != fingerprint {
		t.Errorf("a token for the network carries the fingerprint %q", carried)
	}
	for _, address := range []string{r.url, "unix:" + r.socket} {
		ada, err := api.NewClient(address, made.Token)
		if err != nil {
			t.Fatal(err)
		}
		if got := must[api.Ping](t, ada, api.PingFarm, nil, nil); got.User != "ada" {
			t.Errorf("%s: %+v", address, got)
		}
	}
	for token, want := range map[string]string{
		bare: "SSL_CERT_FILE",
		pin.Join(bare, strings.Repeat("A", pin.Length)): "another authority",
	} {
		c, err := api.NewClient(r.url, token)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Call(t.Context(), api.PingFarm, nil, nil, nil)
		var refused *api.Error
		if !errors.As(err, &refused) || !refused.Unsent || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "qb_admin") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := api.NewClient(r.url, bare+".short"); err == nil ||
		!strings.Contains(err.Error(), "copy the whole token") {
		t.Errorf("%v", err)
	}
	plain, err := api.NewClient("http"+strings.TrimPrefix(r.url, "https"), bare)
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Call(t.Context(), api.PingFarm, nil, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "use https://") {
		t.Errorf("without TLS: %v", err)
	}
}

// The checks of a request's origin hold by TLS too, with its scheme; an address that is called by number needs no name.
func TestForeignOverTLS(t *testing.T) {
	r, fingerprint := secureRig(t)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: pin.NewSet([]string{fingerprint}, nil).Config()}}
	defer client.CloseIdleConnections()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, header, value string
		want                int
	}{
		{"127.0.0.1:" + port, "", "", http.StatusOK},
		{"192.0.2.55:" + port, "", "", http.StatusOK},
		{"evil.example:" + port, "", "", http.StatusForbidden},
		{"127.0.0.1:" + port, "Origin", "https://127.0.0.1:" + port, http.StatusOK},
		{"127.0.0.1:" + port, "Origin", "http://127.0.0.1:" + port, http.StatusForbidden},
		{"127.0.0.1:" + port, "Origin", "https://evil.example", http.StatusForbidden},
		{"127.0.0.1:" + port, "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want || resp.ProtoMajor != 1 {
			t.Errorf("%+v: %s %s", c, resp.Proto, resp.Status)
		}
	}
}

// The limits on headers hold by TLS, and on a connection that asks nothing after its handshake.
func TestTimesOverTLS(t *testing.T) {
	t.Parallel()
	r, fingerprint := secureRig(t)
	for name, sent := range map[string]string{
		"no request":      "",
		"half a header":   "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX",
		"a header of 1MB": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
	} {
		c, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), pin.NewSet([]string{fingerprint}, nil).Config())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.WriteString(c, sent) // it may be cut off
		_ = c.SetReadDeadline(time.Now().Add(headerTimeout + 5*time.Second))
		text, err := io.ReadAll(c)
		var late net.Error
		if strings.Contains(string(text), "200 OK") || errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A worker works by TLS as by other ways, with its syncs held.
func TestWorkerOverTLS(t *testing.T) {
	r, fingerprint := secureRig(t)
	c, err := api.NewClient(r.url, pin.Join(r.token("worker", api.Worker), fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	w := r.agent("h1", 2)
	w.client = c
	w.beat(0)
	must[api.SubmitReply](t, r.client("root", api.Admin), api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-2"})
	w.beat(0.5)
	if len(w.running) != 2 {
		t.Errorf("%d items run", len(w.running))
	}
}

// A token may live for less than a day, and not longer than any other.
func TestTokenInSeconds(t *testing.T) {
	r := startRig(t)
	admin := r.client("root", api.Admin)
	made := must[api.TokenReply](t, admin, api.CreateToken, nil,
		api.TokenRequest{User: "worker", Role: "worker", TTLSeconds: 3600})
	if life := time.Until(made.ExpiresAt); life > time.Hour || life < 59*time.Minute {
		t.Errorf("it lives for %s", life)
	}
	for _, bad := range []api.TokenRequest{{TTLSeconds: 91 * 86400}, {TTLSeconds: -1}, {TTLSeconds: 60, Days: 1}} {
		bad.User, bad.Role = "worker", "worker"
		if err := admin.Call(t.Context(), api.CreateToken, nil, bad, nil); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
