package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPeerOf: the kernel names the account at the other end, on each family, and no one before
// the connection is accepted.
func TestPeerOf(t *testing.T) {
	for _, listen := range []struct{ network, address, dial string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp6", "[::1]:0", "::1"}, {"tcp", "[::]:0", "127.0.0.1"}, {"tcp", "[::]:0", "::1"},
	} {
		l, err := net.Listen(listen.network, listen.address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		c, err := net.Dial("tcp", net.JoinHostPort(listen.dial, port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		pair := socketPair{local: c.RemoteAddr().(*net.TCPAddr).AddrPort(), remote: c.LocalAddr().(*net.TCPAddr).AddrPort()}
		if owner, err := pair.owner(); err != nil || owner.inode != 0 {
			t.Errorf("%v, not accepted: %+v, %v", listen, owner, err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		for name, ask := range map[string]func(socketPair) (socketOwner, error){"asked": socketPair.owner, "for this one": socketPair.diagnosed, "in the lists": socketPair.listed} {
			if owner, err := ask(pair.unmapped()); err != nil || owner.inode == 0 || int(owner.uid) != os.Geteuid() {
				t.Errorf("%v, %s: %+v, %v", listen, name, owner, err)
			}
		}
		if uid, here, err := peerOf(t.Context(), c); err != nil || !here || int(uid) != os.Geteuid() {
			t.Errorf("%v: uid %d, here %v, %v", listen, uid, here, err)
		}
		if got, want := HolderOf(l.Addr().String()), accountName(uint32(os.Geteuid())); got != want || HolderOf("127.0.0.1:1") != "" {
			t.Errorf("%v is held by %q, want %q; port 1 by %q", listen, got, want, HolderOf("127.0.0.1:1"))
		}
		gone := socketPair{local: pair.remote, remote: pair.remote}
		if _, err := gone.owner(); !errors.Is(err, errNoSocket) {
			t.Errorf("%v: a socket that is not there: %v", listen, err)
		}
		stranger := socketPair{local: pair.local, remote: netip.AddrPortFrom(pair.remote.Addr(), 1)}
		if owner, err := stranger.unmapped().diagnosed(); err == nil { // the kernel then answers for who listens there
			t.Errorf("%v: the socket that listens is taken for one of a connection: %+v", listen, owner)
		}
	}
}

// TestPeerNotAccepted: who binds the port and does not accept is not taken for anybody, and is sent nothing.
func TestPeerNotAccepted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := NewClient("http://"+l.Addr().String(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	err = c.Call(ctx, PingFarm, nil, nil, nil)
	if !Undone(err) || ExitCode(err) != 3 || !strings.Contains(err.Error(), "not accepted") {
		t.Errorf("%v", err)
	}
	late, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := io.ReadAll(late); len(sent) > 0 {
		t.Errorf("sent %q, %v", sent, err)
	}
}

// TestLoopbackCases: who on this machine is sent anything, by the cases that the client for Python is tested with, too.
func TestLoopbackCases(t *testing.T) {
	var cases struct {
		Here []struct {
			Local, Remote string
			Here          bool
		}
		Admitted []struct {
			UID      string
			Admitted bool
		}
		Listed []struct {
			Address string
			Port    uint16
			Wide    bool
			Words   []uint32
			Text    string
		}
	}
	data, err := os.ReadFile("testdata/loopback.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases.Here) < 8 || len(cases.Admitted) < 4 || len(cases.Listed) < 3 {
		t.Fatalf("%+v, %v", cases, err)
	}
	for _, c := range cases.Here {
		if got := isHere(net.ParseIP(c.Local), net.ParseIP(c.Remote)); got != c.Here {
			t.Errorf("%+v: %v", c, got)
		}
	}
	own := uint32(os.Geteuid())
	uids := map[string]uint32{"root": 0, "own": own, "another": own + 31, "unknown to the kernel": overflowUID}
	for _, c := range cases.Admitted {
		if got := (guard{}).admits(uids[c.UID]); got != c.Admitted {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range cases.Listed {
		want := ""
		for _, word := range c.Words {
			want += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(binary.BigEndian.AppendUint32(nil, word)))
		}
		if got := asListed(netip.AddrPortFrom(netip.MustParseAddr(c.Address), c.Port), c.Wide); got != want+c.Text {
			t.Errorf("%+v: %s, want %s%s", c, got, want, c.Text)
		}
	}
}

func TestGuard(t *testing.T) {
	g := guard{trusted: []uint32{77}}
	for uid, want := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, 77: true, 78: false, overflowUID: false} {
		if got := g.admits(uid); got != want {
			t.Errorf("uid %d is admitted: %v", uid, got)
		}
	}
	if (guard{trusted: []uint32{overflowUID}}).admits(overflowUID) {
		t.Error("a user whom the kernel cannot name is admitted")
	}
	dir := t.TempDir()
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"/etc": true, "/etc/passwd": false, "/tmp/x": false, "/none": false, filepath.Join(dir, "link"): false} {
		if _, ok := appointed(name); ok != want {
			t.Errorf("%s counts as a folder that root gave away: %v", name, ok)
		}
	}
}

// TestRedirectIsNotFollowed: neither token nor body go where an answer points.
func TestRedirectIsNotFollowed(t *testing.T) {
	var reached atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer elsewhere.Close()
	for _, to := range []string{elsewhere.URL, "/v1/elsewhere"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/elsewhere" {
				reached.Add(1)
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}))
		c, err := NewClient(server.URL, "secret")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Call(t.Context(), Submit, nil, SubmitRequest{}, nil); err == nil || !strings.Contains(err.Error(), "307") {
			t.Errorf("to %s: %v", to, err)
		}
		server.Close()
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("followed %d times", n)
	}
}
