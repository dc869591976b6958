package listeners

import (
	"container/list"
	"io"
	"net"
	"time"
)

// limitedListener accepts connections for which there is a place, and refuses others. It never waits for a place:
// behind one peer without a place others would wait, too.
type limitedListener struct {
	net.Listener
	places *connections
	begins phase // of its connections
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if placed := l.places.enter(c, l.begins); placed != nil {
			return placed, nil
		}
		if l.begins != shaking {
			_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // the kernel has room for it at once
			_, _ = io.WriteString(c, fullAnswer)                          // the peer may be gone
		}
		_ = c.Close()
	}
}

// fullAnswer refuses a connection in the form of RFC 9457.
const fullAnswer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" +
	`{"type":"urn:qb:error:unavailable","title":"Service Unavailable","status":503,"limit":"connections",` +
	`"detail":"too many connections of this account or address are open, or of all; close some, or try again in a moment"}` +
	"\n"

// conn is a connection that has a place. Its members are guarded by the mutex of places.
type conn struct {
	net.Conn
	places *connections
	peer   peer
	place  *list.Element // nil: it is closed
	ready  *list.Element // nil: it does not wait for a request
	phase  phase
	shown  bool      // a credential came by it
	waits  bool      // the server has set a deadline for the next request
	since  time.Time // of a new connection, or of the last answer
}

// Close gives the place back.
func (c *conn) Close() error {
	c.places.mu.Lock()
	c.places.remove(c)
	c.places.mu.Unlock()
	return c.Conn.Close()
}

// SetReadDeadline shortens the time for which the server waits for the next request.
func (c *conn) SetReadDeadline(at time.Time) error {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	c.waits = c.phase == idle && !at.IsZero()
	if within := c.places.idleFor(c); c.waits && within > 0 && at.After(c.since.Add(within)) {
		at = c.since.Add(within)
	}
	return c.Conn.SetReadDeadline(at)
}

// Write gives the peer a time limit for each part, after which a peer that does not read loses its connection and its
// buffers are freed.
func (c *conn) Write(data []byte) (sent int, err error) {
	for {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(writeFor)); err != nil {
			return sent, err
		}
		n, err := c.Conn.Write(data[sent:min(sent+writePart, len(data))])
		if sent += n; err != nil || sent == len(data) {
			return sent, err
		}
	}
}

// idles says whether a connection waits for a request and may be closed.
func (c *conn) idles(now time.Time) bool {
	return c.phase == idle || c.phase == fresh && now.Sub(c.since) > freshFor
}

// NetConn is the connection itself, as that of a tls.Conn.
func (c *conn) NetConn() net.Conn { return c.Conn }

// connOf is the connection that the server has, below TLS.
func connOf(c net.Conn) *conn {
	for c != nil {
		if found, ok := c.(*conn); ok {
			return found
		}
		below, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = below.NetConn()
	}
	return nil
}
