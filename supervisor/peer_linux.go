package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"qb/api"
)

// overflowUID stands for users that the kernel cannot name here; it must never become anybody.
const overflowUID = 65534

// peer is the process at the other end of a unix socket, as the kernel vouches for it.
type peer struct {
	uid uint32
	err error
}

type peerKey struct{}

// withPeer notes the peer's credentials when a connection begins.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if limited, ok := c.(*limitedConn); ok {
		c = limited.Conn
	}
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	var p peer
	raw, err := unixConn.SyscallConn()
	if err != nil {
		p.err = err
		return context.WithValue(ctx, peerKey{}, p)
	}
	failed := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			p.err = err
			return
		}
		p.uid = cred.Uid
	})
	if failed != nil {
		p.err = failed
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// principal maps the uid to a user. Root and the service's own account are admins.
func (p peer) principal() (Principal, error) {
	if p.err != nil {
		return Principal{}, fmt.Errorf("asking who is at the other end of the socket: %w", p.err)
	}
	if p.uid == overflowUID {
		return Principal{}, api.Errorf(api.KindUnauthorized, "uid %d cannot be told apart from others here; use a token", p.uid)
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(p.uid), 10))
	if err != nil {
		return Principal{}, api.Errorf(api.KindUnauthorized, "uid %d has no name on this host; use a token", p.uid)
	}
	role := api.User
	if p.uid == 0 || int(p.uid) == os.Geteuid() {
		role = api.Admin
	}
	return Principal{User: u.Username, Role: role}, nil
}
