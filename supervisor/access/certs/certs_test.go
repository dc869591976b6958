package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qb/api/pin"
)

var silent = slog.New(slog.DiscardHandler)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, state string, names ...string) *Own {
	t.Helper()
	o, err := OpenOwn(state, append(names, "farm.test", "127.0.0.1"), silent)
	must(t, err)
	return o
}

// shake makes one connection and returns what the client says of it.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, tls.Server(c, server)) // the handshake, then nothing
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return tls.Client(c, client).Handshake()
}

// The first start makes private files; later ones use the same CA and the same certificate.
func TestOpenOwn(t *testing.T) {
	state := t.TempDir()
	first := open(t, state)
	for name, mode := range map[string]os.FileMode{"": 0o700, "ca.pem": 0o600, "ca.crt": 0o600, "server.pem": 0o600} {
		if info, err := os.Stat(filepath.Join(state, "tls", name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
	second := open(t, state)
	if first.Fingerprint() != second.Fingerprint() || !bytes.Equal(first.leaf.Certificate[0], second.leaf.Certificate[0]) {
		t.Error("a second start has another certificate")
	}
	if third := open(t, state, "other.test"); bytes.Equal(first.leaf.Certificate[0], third.leaf.Certificate[0]) ||
		third.leaf.Leaf.VerifyHostname("other.test") != nil {
		t.Error("the certificate lacks a name that was added")
	}
	if left, _ := filepath.Glob(filepath.Join(state, "tls", ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Who knows the fingerprint connects by TLS 1.3; who knows another one, or another clock, learns what to do.
func TestPinned(t *testing.T) {
	o := open(t, t.TempDir())
	set := pin.NewSet([]string{o.Fingerprint()}, nil)
	client := set.Config()
	client.MinVersion = tls.VersionTLS13
	must(t, shake(t, o.Config(), client))
	old := set.Config()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if shake(t, o.Config(), old) == nil {
		t.Error("TLS 1.1 was accepted")
	}
	other := open(t, t.TempDir())
	err := shake(t, other.Config(), set.Config())
	var refused *pin.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), other.Fingerprint()) ||
		!strings.Contains(err.Error(), "ask the farm's administrator for a new token") {
		t.Errorf("another CA: %v", err)
	}
	for _, off := range []time.Duration{-25 * time.Hour, 31 * 24 * time.Hour} {
		o.now = func() time.Time { return time.Now().Add(-off) }
		must(t, o.renew())
		if err := shake(t, o.Config(), set.Config()); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "set the clock") {
			t.Errorf("clock off by %s: %v", off, err)
		}
	}
}

// A certificate that a stranger made for his own key is refused though he shows the true CA's beside it.
func TestBorrowedCA(t *testing.T) {
	o, thief := open(t, t.TempDir()), open(t, t.TempDir())
	pair := *thief.leaf
	pair.Certificate = [][]byte{thief.leaf.Certificate[0], o.ca.cert.Raw}
	server := &tls.Config{Certificates: []tls.Certificate{pair}}
	if err := shake(t, server, pin.NewSet([]string{o.Fingerprint()}, nil).Config()); err == nil {
		t.Error("a certificate of another CA was accepted")
	}
	pair.Certificate = [][]byte{o.leaf.Certificate[0], o.ca.cert.Raw, thief.ca.cert.Raw}
	pair.PrivateKey = o.leaf.PrivateKey
	server = &tls.Config{Certificates: []tls.Certificate{pair}}
	set := pin.NewSet([]string{o.Fingerprint()}, nil)
	must(t, shake(t, server, set.Config()))
	if pins := set.Pins(); len(pins) != 1 || pins[0] != o.Fingerprint() {
		t.Errorf("a CA was learned that nobody known had signed: %v", pins)
	}
}

// TestRenews: the certificate is renewed at half of its life, without a restart.
func TestRenews(t *testing.T) {
	o := open(t, t.TempDir())
	before, err := o.certificate(nil)
	must(t, err)
	o.now = func() time.Time { return time.Now().Add(serverLife/2 + time.Hour) }
	after, err := o.certificate(nil)
	must(t, err)
	if bytes.Equal(before.Certificate[0], after.Certificate[0]) || !after.Leaf.NotAfter.After(before.Leaf.NotAfter) {
		t.Error("the certificate was not renewed")
	}
}

// During the overlap of a rotation, clients of the former CA and of the new one connect to the running supervisor. The
// former ones learn the new CA; after the overlap the former CA counts no more.
func TestRotate(t *testing.T) {
	state := t.TempDir()
	o := open(t, state)
	old := o.Fingerprint()
	var saved []string
	worker := pin.NewSet([]string{old}, func(pins []string) { saved = pins })
	must(t, shake(t, o.Config(), worker.Config()))
	if saved != nil {
		t.Errorf("saved without a change: %v", saved)
	}
	now, err := Rotate(state, 48*time.Hour)
	must(t, err)
	o.looked = time.Time{}
	must(t, shake(t, o.Config(), worker.Config()))
	if o.Fingerprint() != now || now == old || len(saved) != 2 {
		t.Fatalf("CA %s after %s, rotated to %s; learned %v", o.Fingerprint(), old, now, saved)
	}
	must(t, shake(t, o.Config(), pin.NewSet([]string{old}, nil).Config()))
	must(t, shake(t, o.Config(), pin.NewSet([]string{now}, nil).Config()))
	if f, err := Look(state); err != nil || f.Fingerprint != now || f.Former[old].Before(time.Now().Add(47*time.Hour)) {
		t.Errorf("%+v, %v", f, err)
	}
	// A second rotation within the overlap: the first CA still leads to the third.
	third, err := Rotate(state, 24*time.Hour)
	must(t, err)
	o.looked = time.Time{}
	must(t, shake(t, o.Config(), pin.NewSet([]string{old}, nil).Config()))
	must(t, shake(t, o.Config(), worker.Config()))
	if len(saved) != 3 {
		t.Errorf("learned %v", saved)
	}
	o.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	must(t, shake(t, o.Config(), worker.Config()))
	if len(saved) != 1 || saved[0] != third {
		t.Errorf("after the overlap %v is trusted, the CA is %s", saved, third)
	}
	if err := shake(t, o.Config(), pin.NewSet([]string{old}, nil).Config()); err == nil {
		t.Error("the first CA still counts after the overlap")
	}
}

// Without an overlap, as after a theft, the former CA counts no more at once.
func TestRotateAtOnce(t *testing.T) {
	state := t.TempDir()
	o := open(t, state)
	old := o.Fingerprint()
	_, err := Rotate(state, 0)
	must(t, err)
	o.looked = time.Time{}
	if err := shake(t, o.Config(), pin.NewSet([]string{old}, nil).Config()); err == nil {
		t.Error("the former CA still counts")
	}
}

// What cannot be used is refused in words.
func TestRefuses(t *testing.T) {
	if _, err := Rotate(t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "has no CA") {
		t.Errorf("%v", err)
	}
	for want, spoil := range map[string]func(file string) error{
		"chmod 600":     func(file string) error { return os.Chmod(file, 0o640) },
		"from a backup": func(file string) error { return os.WriteFile(file, []byte("x"), 0o600) },
		"symbolic link": func(file string) error {
			return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file))
		},
		"set the clock,": func(file string) error { return expire(file) },
	} {
		state := t.TempDir()
		open(t, state)
		must(t, spoil(filepath.Join(state, "tls", "ca.pem")))
		if _, err := OpenOwn(state, nil, silent); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	// The server's certificate is made again, whatever became of it.
	state := t.TempDir()
	open(t, state)
	must(t, os.WriteFile(filepath.Join(state, "tls", "server.pem"), []byte("x"), 0o600))
	open(t, state)
}

func expire(file string) error {
	ca, err := newAuthority(time.Now().Add(-authorityLife - 48*time.Hour))
	if err != nil {
		return err
	}
	return writeCA(filepath.Dir(file), ca)
}

// A given certificate is checked by the authorities that the client trusts, by name too, and read again when it is
// replaced.
func TestGiven(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	put := func(state string) *Own {
		o := open(t, state)
		text, err := os.ReadFile(filepath.Join(state, "tls", "server.pem"))
		must(t, err)
		must(t, errors.Join(os.WriteFile(cert, text, 0o600), os.WriteFile(key, text, 0o600)))
		return o
	}
	if _, err := OpenGiven(cert, key, silent); err == nil ||
		!strings.Contains(err.Error(), "PEM files of one key pair that this user can read") {
		t.Errorf("%v", err)
	}
	o := put(t.TempDir())
	g, err := OpenGiven(cert, key, silent)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(o.ca.cert)
	must(t, shake(t, g.Config(), &tls.Config{RootCAs: roots, ServerName: "farm.test"}))
	err = shake(t, g.Config(), &tls.Config{RootCAs: roots, ServerName: "wrong.test"})
	if text := pin.Explain(err, time.Now()); !strings.Contains(text, "not for the name wrong.test") {
		t.Errorf("%v: %q", err, text)
	}
	err = shake(t, g.Config(), &tls.Config{ServerName: "farm.test"})
	if text := pin.Explain(err, time.Now()); !strings.Contains(text, "SSL_CERT_FILE") {
		t.Errorf("%v: %q", err, text)
	}
	must(t, os.WriteFile(key, []byte("x"), 0o600)) // spoilt: the former goes on
	g.looked = time.Time{}
	must(t, shake(t, g.Config(), &tls.Config{RootCAs: roots, ServerName: "farm.test"}))
	second := put(t.TempDir())
	g.looked = time.Time{}
	roots = x509.NewCertPool()
	roots.AddCert(second.ca.cert)
	must(t, shake(t, g.Config(), &tls.Config{RootCAs: roots, ServerName: "farm.test"}))
}
