package worker

import (
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/certs"
	"qb/worker/settings"
)

// joinable answers enrolments by TLS, as a farm of its own CA does.
func joinable(t *testing.T, answer http.HandlerFunc) (url string, ca *certs.Own) {
	t.Helper()
	ca, err := certs.OpenOwn(t.TempDir(), []string{"127.0.0.1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return serveTLS(t, ca, answer), ca
}

func serveTLS(t *testing.T, ca *certs.Own, answer http.HandlerFunc) (url string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", ca.Config())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go server.Serve(l) // until it is closed
	t.Cleanup(func() { server.Close() })
	return "https://" + l.Addr().String()
}

// TestJoinAmongOtherFarms: of several addresses those of another CA are sent nothing. The worker joins at one of its
// own farm, and says what is wrong if there is none.
func TestJoinAmongOtherFarms(t *testing.T) {
	t.Parallel()
	others, ours := atomic.Int32{}, atomic.Int32{}
	strange, _ := joinable(t, func(http.ResponseWriter, *http.Request) { others.Add(1) })
	url, ca := joinable(t, func(w http.ResponseWriter, _ *http.Request) {
		ours.Add(1)
		_ = json.NewEncoder(w).Encode(api.EnrolReply{Token: "own", ExpiresAt: time.Now().Add(time.Hour)})
	})
	join := func(addresses ...string) error {
		config := settings.DefaultConfig()
		config.Name, config.CPUs, config.State, config.RunAs = "rn1", 1, filepath.Join(t.TempDir(), "w"), settings.RunAsAgent
		config.Supervisor = addresses
		return Join(t.Context(), config, pin.Join("qb_worker_0123456789abcdef_secret", ca.Fingerprint()))
	}
	for _, addresses := range [][]string{{strange, url}, {url, strange}} {
		if err := join(addresses...); err != nil {
			t.Errorf("%v: %v", addresses, err)
		}
	}
	err := join("https://127.0.0.1:1", strange)
	if err == nil || !strings.Contains(err.Error(), "of another authority") || !strings.Contains(err.Error(), strange) {
		t.Errorf("only a strange supervisor answers: %v", err)
	}
	if others.Load() != 0 || ours.Load() != 2 {
		t.Errorf("the other farm was asked %d times, ours %d", others.Load(), ours.Load())
	}
}

// A worker that joins sends its secret to the farm of the token's fingerprint alone, by TLS alone. Then the folder
// knows the farm; where joining fails it knows what it knew before.
func TestJoin(t *testing.T) {
	const secret = "qb_worker_0123456789abcdef_secret"
	var asked, refuse atomic.Int32
	url, ca := joinable(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var e api.Enrolment
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || e.Host != "rn1" || r.Header.Get("Authorization") != "Bearer "+secret || r.URL.Path != api.Enrol.Path {
			t.Errorf("%s %+v, %v", r.URL.Path, e, err)
		}
		if refuse.Load() > 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(api.EnrolReply{Token: "own", ExpiresAt: time.Now().Add(time.Hour)})
	})
	config := settings.DefaultConfig()
	config.Name, config.CPUs, config.State, config.RunAs = "rn1", 1, filepath.Join(t.TempDir(), "w"), settings.RunAsAgent
	join := func(at, token string) error {
		config.Supervisor = []string{at}
		return Join(t.Context(), config, token)
	}
	other := strings.Repeat("A", pin.Length)
	for _, bad := range []struct{ at, token, want string }{
		{"http" + strings.TrimPrefix(url, "https"), pin.Join(secret, ca.Fingerprint()), "write https://HOST:PORT"},
		{"unix:/x", pin.Join(secret, ca.Fingerprint()), "write https://HOST:PORT"},
		{url, pin.Join(secret, other), "of another authority"},
		{url, secret, "SSL_CERT_FILE"},
		{url, secret + ".cut", "copy the whole token"},
		{"https://127.0.0.1:1", pin.Join(secret, ca.Fingerprint()), "cannot be reached"},
	} {
		if err := join(bad.at, bad.token); err == nil || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if asked.Load() != 0 || len(Joined(config.State)) != 0 {
		t.Fatalf("asked %d times, joined %q", asked.Load(), Joined(config.State))
	}
	refuse.Store(1)
	if err := join(url, pin.Join(secret, ca.Fingerprint())); err == nil || !strings.Contains(err.Error(), "qbadmin worker token") || len(Joined(config.State)) != 0 {
		t.Errorf("a token that is refused: %v", err)
	}
	refuse.Store(0)
	if err := join(url, pin.Join(secret, ca.Fingerprint())); err != nil {
		t.Fatal(err)
	}
	own := (&stateFolder{root: config.State}).token()
	if got := Joined(config.State); len(got) != 1 || got[0] != url || own.Token != "own" || len(own.Pins) != 1 || own.Pins[0] != ca.Fingerprint() {
		t.Errorf("joined %q, %v", got, own.Pins)
	}
	if info, err := os.Stat(filepath.Join(config.State, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := join(url, pin.Join(secret, other)); err == nil || len(Joined(config.State)) != 1 {
		t.Errorf("after a join that failed: %v", err)
	}
}

// A worker that has joined learns the next CA of its farm from the CA that it knows, and keeps it.
func TestJoinedLearnsCA(t *testing.T) {
	state := t.TempDir()
	ca, err := certs.OpenOwn(state, []string{"127.0.0.1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	former := ca.Fingerprint()
	next, err := certs.Rotate(state, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	url := serveTLS(t, ca, http.NotFound)
	folder, err := openState(filepath.Join(t.TempDir(), "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.close()
	f, err := newSupervisorConn(&agent{state: folder, log: slog.New(slog.DiscardHandler)}, []string{url}, "token", []string{former})
	if err != nil {
		t.Fatal(err)
	}
	f.own = ownToken{Token: "own", Pins: []string{former}, Supervisor: []string{url}}
	_ = f.syncs[0].Healthy(t.Context()) // refused, after the handshake
	f.keepPins()
	if own := folder.token(); len(own.Pins) != 2 || own.Token != "own" || len(own.Supervisor) != 1 || !strings.Contains(strings.Join(own.Pins, " "), next) {
		t.Errorf("%v after %s, with %s next", own.Pins, former, next)
	}
}
