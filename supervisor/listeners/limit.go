package listeners

import (
	"net"
	"sync"
)

const maxConns = 20_000 // of one address

// limitConns accepts no more than maxConns connections at a time.
func limitConns(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, maxConns)}
}

type limitedListener struct {
	net.Listener
	free chan struct{}
}

// Accept waits for a connection, then for room; the kernel's queue holds those behind it.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.free <- struct{}{}
	return &limitedConn{Conn: c, give: sync.OnceFunc(func() { <-l.free })}, nil
}

type limitedConn struct {
	net.Conn
	give func()
}

func (c *limitedConn) Close() error {
	c.give()
	return c.Conn.Close()
}

// NetConn is the connection itself, as that of a tls.Conn.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }
