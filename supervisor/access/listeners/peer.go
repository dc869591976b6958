package listeners

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"qb/api"
)

// peer is whose account a connection is on: that of an account of this machine, of an address, or of an enrolled host.
type peer struct {
	kind peerKind
	uid  uint32
	from netip.Prefix
	host string // its key
}

type peerKind int

const (
	unknown peerKind = iota // on this machine, and gone before the kernel could name it
	ofUID
	ofAddress
	ofHost
)

// peerOf is the account of a new connection. The kernel names that of a process on this machine, also by TCP: all of
// 127.0.0.0/8 is anybody's. Of IPv6 a network counts as one address.
func peerOf(c net.Conn) peer {
	uid, here, err := api.AccountOf(c)
	if here && err != nil {
		return peer{kind: unknown}
	}
	if here {
		return peer{kind: ofUID, uid: uid}
	}
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return peer{kind: unknown}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // as many as there are
	return peer{kind: ofAddress, from: prefix}
}

// trusted says whether places are reserved for the peer: for root, the service's own account, and enrolled hosts.
func (p peer) trusted() bool {
	return p.kind == ofHost || p.kind == ofUID && (p.uid == 0 || int(p.uid) == os.Geteuid())
}

// remote says whether the peer is on another machine and not known by a credential.
func (p peer) remote() bool { return p.kind == ofAddress }

// most is how many connections the peer may have; 0: as many as there are places.
func (p peer) most() int {
	switch {
	case p.kind == ofHost:
		return maxOfHost
	case p.trusted():
		return 0
	case p.kind == ofAddress:
		return maxOfAddress
	}
	return maxOfUID
}

func (p peer) String() string {
	switch p.kind {
	case ofUID:
		return "uid " + strconv.FormatUint(uint64(p.uid), 10)
	case ofAddress:
		return p.from.Addr().String()
	case ofHost:
		return "host"
	}
	return "local"
}
