package credentials

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"qb/api"
)

// OverflowUID is the uid that the kernel reports for users that have none in this user namespace. It must never be
// mapped to a user.
const OverflowUID = 65534

// Peer is the process at the other end of a unix socket, as the kernel vouches for it.
type Peer struct {
	Uid uint32
	err error
}

type peerKey struct{}

// PeerOf is the peer of the connection that a request came by, if that is a unix socket.
func PeerOf(ctx context.Context) (p Peer, ok bool) {
	p, ok = ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// WithPeer notes the peer's credentials when a connection begins.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = wrapped.NetConn()
	}
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	var credentials *unix.Ucred
	var failed error
	raw, err := unixConn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		})
	}
	p := Peer{err: cmp.Or(err, failed)}
	if p.err == nil {
		p.Uid = credentials.Uid
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// Principal maps the uid to a user. Root and the service's own account are admins.
func (p Peer) Principal() (Principal, error) {
	if p.err != nil {
		return Principal{}, fmt.Errorf("asking who is at the other end of the socket: %w", p.err)
	}
	if p.Uid == OverflowUID {
		return Principal{}, api.Errorf(api.KindUnauthorized,
			"uid %d cannot be told apart from others here; use a token", p.Uid)
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(p.Uid), 10))
	if err != nil {
		return Principal{}, api.Errorf(api.KindUnauthorized, "uid %d has no name on this host; use a token", p.Uid)
	}
	role := api.User
	if p.Uid == 0 || int(p.Uid) == os.Geteuid() {
		role = api.Admin
	}
	return Principal{User: u.Username, Role: role}, nil
}
