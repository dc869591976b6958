package api

import (
	"context"
	"net"
	"time"
)

// Folders that only root can have given to the service: who owns them is the account that the supervisor runs under.
const (
	RunFolder   = "/run/qb"     // its socket, and where it is
	StateFolder = "/var/lib/qb" // its own files
)

// guard checks who answers a client on this machine: any local user can bind a free port. Nothing is
// sent before the kernel has named the account at the other end, and that account may be the supervisor.
type guard struct {
	shown   string   // the address, for messages
	trusted []uint32 // beside root, the own account and the service's
	secure  bool     // TLS proves the identity of the peer
}

// dial connects and checks the account at the other end.
func (g guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := g.mayDial(); err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{Timeout: 4 * time.Second, KeepAlive: 15 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := g.admit(ctx, c); err != nil {
		_ = c.Close() // nothing was sent
		return nil, err
	}
	return c, nil
}
