package listeners

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/supervisor/wire/settings"
)

var silent = slog.New(slog.DiscardHandler)

func uncounted() {}

// TestSocketFile: a socket file without a listener is taken over; a socket in use, or another file, is not touched.
func TestSocketFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "qb")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	l, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := listenUnix(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a socket in use: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(file); err == nil {
		t.Error("a file was taken for a socket")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// What other machines can reach is served by TLS alone, and loopback is not; both starts make the CA.
func TestTLSBeyondLoopback(t *testing.T) {
	for listen, secure := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false,
		"0.0.0.0:0": true, ":0": true} {
		cfg := settings.DefaultConfig()
		cfg.Listen, cfg.State, cfg.Names = listen, t.TempDir(), "render.test"
		l, err := Open(cfg, &Inherited{}, silent, uncounted)
		if err != nil {
			t.Logf("%s: %v", listen, err) // a machine without IPv6
			continue
		}
		t.Cleanup(func() { l.All[0].Close() })
		go func() {
			if c, err := l.All[0].Accept(); err == nil {
				defer c.Close()
				_, _ = io.WriteString(c, "hello") // for the client that reads it
			}
		}()
		if want := map[bool]string{true: "https://render.test:", false: "http://"}[secure]; !strings.HasPrefix(l.URL, want) ||
			(l.Fingerprint() != "") != secure {
			t.Errorf("%s: %s, fingerprint %q", listen, l.URL, l.Fingerprint())
		}
		_, port, _ := net.SplitHostPort(l.All[0].Addr().String())
		at := net.JoinHostPort(strings.Trim(strings.TrimSuffix(listen, ":0"), "[]"), port)
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", at, &tls.Config{InsecureSkipVerify: true})
		if (err == nil) != secure {
			t.Errorf("%s: TLS: %v", listen, err)
		}
		if err == nil {
			c.Close()
		}
		if _, err := os.Stat(filepath.Join(cfg.State, "tls", "ca.pem")); err != nil {
			t.Error(err)
		}
	}
}

// TestNames: a supervisor that listens beyond loopback accepts its host name, the configured names, and its addresses.
func TestNames(t *testing.T) {
	cfg := settings.DefaultConfig()
	if got := Names(cfg); !slices.Equal(got, []string{"localhost", "127.0.0.1", "::1"}) {
		t.Errorf("%q", got)
	}
	cfg.Listen, cfg.Names = "0.0.0.0:1", "Farm.Example, 192.0.2.7"
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"farm.example", "192.0.2.7", "localhost", strings.ToLower(host)} {
		if !slices.Contains(Names(cfg), name) {
			t.Errorf("%q lacks %s", Names(cfg), name)
		}
	}
	if calledName(cfg) != "Farm.Example" {
		t.Error(calledName(cfg))
	}
	for listen, want := range map[string]string{"192.0.2.1:1": "192.0.2.1", "farm:1": "farm",
		":1": strings.ToLower(host)} {
		if cfg.Listen, cfg.Names = listen, ""; calledName(cfg) != want {
			t.Errorf("%s is called %s", listen, calledName(cfg))
		}
	}
}

// TestUnfinishedHandshakes: unfinished TLS handshakes do not delay other peers, are closed in time, and are limited in
// number per address.
func TestUnfinishedHandshakes(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.Listen, cfg.State, cfg.Names = "0.0.0.0:0", t.TempDir(), "127.0.0.1"
	l, err := Open(cfg, &Inherited{}, silent, uncounted)
	if err != nil {
		t.Fatal(err)
	}
	defer l.All[0].Close()
	address := strings.TrimPrefix(l.URL, "https://")
	open := func() net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ended := func(c net.Conn, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := c.Read(make([]byte, 1))
		return err != nil && !os.IsTimeout(err)
	}
	began := time.Now()
	first := open()
	for range maxFromOne - 1 - 1 {
		open()
	}
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // the last that has room
	if err != nil {
		t.Fatalf("beside unfinished handshakes: %v", err)
	}
	served, err := l.All[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	c.Close()
	open()
	if !ended(open(), 3*time.Second) {
		t.Error("there is no limit on unfinished handshakes from one address")
	}
	if !ended(first, handshakeFor+2*time.Second) || time.Since(began) < handshakeFor-time.Second {
		t.Errorf("an unfinished handshake ended after %s", time.Since(began))
	}
	if c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Errorf("after the flood: %v", err)
	} else {
		c.Close()
	}
}

// TestPlainRequest: a plain HTTP request to a TLS port gets an answer that says so.
func TestPlainRequest(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.Listen, cfg.State, cfg.Names = "0.0.0.0:0", t.TempDir(), "127.0.0.1"
	l, err := Open(cfg, &Inherited{}, silent, uncounted)
	if err != nil {
		t.Fatal(err)
	}
	defer l.All[0].Close()
	c, err := net.Dial("tcp", strings.TrimPrefix(l.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, err = io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(c); !strings.Contains(string(text), "use https://") {
		t.Errorf("%q", text)
	}
}
