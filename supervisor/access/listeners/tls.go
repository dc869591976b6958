package listeners

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Limits of handshakes that are not done yet.
const (
	handshakeFor  = 5 * time.Second
	maxHandshakes = 2000 // at a time; beyond, the address that has most loses one
	maxFromOne    = 500  // from one address; further ones are closed
	sayEvery      = 10 * time.Second
)

// tlsListener does TLS handshakes concurrently, so that an unfinished handshake does not delay other peers.
type tlsListener struct {
	net.Listener
	config *tls.Config
	log    *slog.Logger
	done   chan accepted
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	failed int       // since said
	said   time.Time // when a failure was logged
}

type accepted struct {
	conn net.Conn
	err  error
}

// Accept waits for a connection whose handshake is done.
func (t *tlsListener) Accept() (net.Conn, error) {
	select {
	case a := <-t.done:
		return a.conn, a.err
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; handshakes that are not done end with their connections.
func (t *tlsListener) Close() error {
	t.once.Do(func() { close(t.closed) })
	return t.Listener.Close()
}

func (t *tlsListener) run() {
	for {
		c, err := t.Listener.Accept()
		if err != nil {
			if !t.hand(nil, err) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		go t.shake(c)
	}
}

// hand passes a connection to Accept; it returns false if the listener is closed.
func (t *tlsListener) hand(c net.Conn, err error) bool {
	select {
	case t.done <- accepted{c, err}:
		return true
	case <-t.closed:
		return false
	}
}

func (t *tlsListener) shake(c net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeFor)
	defer cancel()
	secure := tls.Server(c, t.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		var record tls.RecordHeaderError
		if errors.As(err, &record) && record.Conn != nil && isHTTP(record.RecordHeader) {
			_ = record.Conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(record.Conn, plainAnswer) // the peer may be gone
		}
		_ = c.Close()
		t.note(c, err)
		return
	}
	if placed := connOf(c); !placed.places.finished(placed) || !t.hand(secure, nil) {
		_ = c.Close()
	}
}

// plainAnswer refuses a request without TLS in the form of RFC 9457.
const plainAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: application/problem+json\r\n\r\n" +
	`{"type":"urn:qb:error:usage","title":"Bad Request","status":400,"detail":"the supervisor speaks TLS there: use https://"}` + "\n"

// isHTTP says whether a first record begins as a request without TLS does.
func isHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

// note logs a failure now and then.
func (t *tlsListener) note(c net.Conn, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed++
	if now := time.Now(); now.Sub(t.said) > sayEvery {
		t.log.Warn("TLS handshake failed", "remote", c.RemoteAddr().String(), "error", err, "failures", t.failed)
		t.said, t.failed = now, 0
	}
}
