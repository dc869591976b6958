package listeners

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"qb/supervisor/access/certs"
	"qb/supervisor/wire/settings"
)

// site is a server with places for so many, whose peers are named by the test.
type site struct {
	t      *testing.T
	places *connections
	at     string
	next   chan peer // who connects next
	secure bool
}

func from(address string) peer {
	return peer{kind: ofAddress, from: netip.MustParsePrefix(address + "/32")}
}

func uidPeer(uid uint32) peer { return peer{kind: ofUID, uid: uid} }

func serve(t *testing.T, most, reserved int, secure bool) *site {
	t.Helper()
	s := &site{t: t, next: make(chan peer, 1), secure: secure, places: newPlaces(silent, uncounted)}
	s.places.most, s.places.reserved, s.places.whose = most, reserved, func(net.Conn) peer { return <-s.next }
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.at = tcp.Addr().String()
	var l net.Listener = &limitedListener{tcp, s.places, fresh}
	if secure {
		cfg := settings.DefaultConfig()
		source, err := certs.OpenOwn(t.TempDir(), Names(cfg), silent)
		if err != nil {
			t.Fatal(err)
		}
		l = newTLSListener(&limitedListener{tcp, s.places, shaking}, source.Config(), silent)
	}
	server := &http.Server{ConnContext: WithConn, ConnState: Note, IdleTimeout: time.Minute,
		ReadHeaderTimeout: handshakeFor,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if host := r.Header.Get("Token"); host != "" {
				Shown(r.Context(), host[1:])
			}
			fmt.Fprint(w, "ok")
		})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// dial opens a connection of a peer.
func (s *site) dial(who peer) net.Conn {
	s.t.Helper()
	s.next <- who
	c, err := net.Dial("tcp", s.at)
	if err == nil && s.secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a request with a token, of a host if the token has more than a letter; false: the connection is closed.
func (s *site) ask(c net.Conn, token string) bool {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nToken: "+token+"\r\n\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && resp.StatusCode == http.StatusOK
}

// count reads numbers of the places.
func (s *site) count(of func(*connections) int) int {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	return of(s.places)
}

func closed(c net.Conn, within time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := c.Read(make([]byte, 1))
	return err != nil && !os.IsTimeout(err)
}

// TestAttackAllPlaces: peers with many connections lose some to peers with few, the places reserved for root and for
// enrolled hosts remain theirs, and busy connections remain open.
func TestAttackAllPlaces(t *testing.T) {
	s := serve(t, 40, 10, false)
	var hers []net.Conn
	for range 40 {
		c := s.dial(from("192.0.2.1"))
		s.ask(c, "u")
		hers = append(hers, c)
	}
	taken := s.count(func(p *connections) int { return p.ordinary })
	if taken > 30 || closed(hers[39], 50*time.Millisecond) || !closed(hers[0], 10*time.Second) {
		t.Errorf("%d places are taken", taken)
	}
	for n := range 10 {
		if c := s.dial(from(fmt.Sprint("192.0.2.", 10+n))); !s.ask(c, "u") {
			t.Errorf("peer %d gets no place", n)
		}
	}
	host := s.dial(from("192.0.2.77"))
	asHost := peer{kind: ofHost, host: "key"}
	if !s.ask(host, "hkey") || s.count(func(p *connections) int { return p.of[asHost].conns.Len() }) != 1 {
		t.Error("a host is not told from an address")
	}
	for range 12 {
		if c := s.dial(uidPeer(0)); !s.ask(c, "u") {
			t.Error("root gets no place")
		}
	}
	if !s.ask(host, "hkey") {
		t.Error("a host lost its place to others")
	}
	if open := s.count(func(p *connections) int { return p.open }); open > 40 {
		t.Errorf("%d connections are open", open)
	}
}

// TestAttackOneAccount: beyond its limit an account loses its own oldest connection; what is new has a second for its
// request.
func TestAttackOneAccount(t *testing.T) {
	s := serve(t, 2000, 100, false)
	first := s.dial(uidPeer(61001))
	s.ask(first, "u")
	for range maxOfUID - 1 {
		s.dial(uidPeer(61001))
	}
	if c := s.dial(uidPeer(61001)); !s.ask(c, "u") || !closed(first, time.Second) {
		t.Error("the oldest idle connection stays")
	}
	time.Sleep(freshFor + 100*time.Millisecond)
	if c := s.dial(uidPeer(61001)); !s.ask(c, "u") {
		t.Error("connections without a request hold their places")
	}
	if c := s.dial(uidPeer(61002)); !s.ask(c, "u") {
		t.Error("another account gets no place")
	}
	if n := s.count(func(p *connections) int { return p.of[uidPeer(61001)].conns.Len() }); n != maxOfUID {
		t.Errorf("%d connections", n)
	}
}

// TestAttackUnshown: without a credential an address has few connections by TLS, each for a few seconds; with one they
// stay.
func TestAttackUnshown(t *testing.T) {
	s := serve(t, 2000, 100, true)
	known := s.dial(from("192.0.2.1"))
	if !s.ask(known, "u") {
		t.Fatal("no answer")
	}
	var others []net.Conn
	for range maxUnshown + 20 {
		c := s.dial(from("192.0.2.1"))
		if !s.ask(c, "") {
			t.Fatal("no answer")
		}
		others = append(others, c)
	}
	unshown := s.count(func(p *connections) int { return p.of[from("192.0.2.1")].unshown })
	if unshown > maxUnshown || !closed(others[0], time.Second) {
		t.Errorf("%d connections without a credential", unshown)
	}
	if !closed(others[len(others)-1], unshownIdle+2*time.Second) {
		t.Error("one of them waits for longer")
	}
	if !s.ask(known, "u") {
		t.Error("one with a credential was closed")
	}
}

// TestRoomFor: connections leave open files for the rest, and places for root and hosts.
func TestRoomFor(t *testing.T) {
	for files, want := range map[uint64][2]int{1024: {512, 128}, 4096: {2048, 512}, 20_000: {15_904, 1000},
		65_536: {maxConns, 1000}, 1 << 40: {maxConns, 1000}} {
		if most, reserved := roomFor(files); [2]int{most, reserved} != want {
			t.Errorf("%d files: %d connections, %d reserved", files, most, reserved)
		}
	}
}

// BenchmarkEnter gives a new connection the place of an idle one, of a peer with so many that are being served.
func BenchmarkEnter(b *testing.B) {
	for _, serving := range []int{100, 10_000} {
		b.Run(fmt.Sprint(serving), func(b *testing.B) {
			p := &connections{
				log: slog.New(slog.DiscardHandler), whose: func(net.Conn) peer { return peer{kind: ofUID} },
				limited: func() {}, most: serving + 1, of: map[peer]*account{},
			}
			last := (*conn)(nil)
			for n := range serving + 1 {
				mine, _ := net.Pipe()
				if last = p.enter(mine, fresh); n < serving {
					p.note(last, http.StateActive)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p.note(last, http.StateActive)
				p.note(last, http.StateIdle)
				if last = p.enter(last.Conn, fresh); last == nil {
					b.Fatal("no place")
				}
			}
		})
	}
}
