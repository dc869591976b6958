package api

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Lengths and places in the question for one TCP socket and in its answer, see linux/inet_diag.h.
const (
	diagQuestion = unix.NLMSG_HDRLEN + 8 + diagSocket // header, family and so on, the socket
	diagAnswer   = unix.NLMSG_HDRLEN + 4 + diagSocket + 5*4
	diagSocket   = 48 // ports, addresses, interface, cookie
	diagUID      = 4 + diagSocket + 3*4
	diagInode    = diagUID + 4

	diagWithin = time.Second
)

// errNoDiag is for a kernel that does not answer for one socket, or knows none: its lists decide then.
var errNoDiag = errors.New("the kernel does not answer for one socket")

// diagnosed asks the kernel for the owner of this one socket, which costs the same however many sockets there are.
func (p socketPair) diagnosed() (socketOwner, error) {
	conn, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socketOwner{}, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	defer func() { _ = unix.Close(conn) }()
	within := unix.NsecToTimeval(int64(diagWithin))
	if err := unix.SetsockoptTimeval(conn, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &within); err != nil {
		return socketOwner{}, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	if err := unix.Sendto(conn, p.question(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socketOwner{}, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	answer := make([]byte, 4096)
	n, from, err := unix.Recvfrom(conn, answer, 0)
	if err != nil {
		return socketOwner{}, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
		return socketOwner{}, fmt.Errorf("%w: another process answered", errNoDiag)
	}
	return p.read(answer[:n])
}

// question is for exactly this socket, in any state.
func (p socketPair) question() []byte {
	q := make([]byte, diagQuestion)
	binary.NativeEndian.PutUint32(q, diagQuestion)
	binary.NativeEndian.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	body := q[unix.NLMSG_HDRLEN:]
	body[0], body[1] = p.family(), unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], ^uint32(0))
	copy(body[8:], p.ends())
	for at := 8 + diagSocket - 8; at < len(body); at++ { // no cookie
		body[at] = 0xff
	}
	return q
}

func (p socketPair) family() byte {
	if p.local.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// ends are the ports and addresses as the kernel writes them.
func (p socketPair) ends() []byte {
	ends := make([]byte, 4+2*16)
	binary.BigEndian.PutUint16(ends, p.local.Port())
	binary.BigEndian.PutUint16(ends[2:], p.remote.Port())
	for n, addr := range []netip.Addr{p.local.Addr(), p.remote.Addr()} {
		copy(ends[4+16*n:], addr.AsSlice())
	}
	return ends
}

// read takes an answer for exactly this socket alone: where there is none, the kernel answers for a listening socket.
func (p socketPair) read(answer []byte) (socketOwner, error) {
	if len(answer) < diagAnswer || binary.NativeEndian.Uint16(answer[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return socketOwner{}, errNoDiag
	}
	body := answer[unix.NLMSG_HDRLEN:]
	local, remote := diagEnd(body, 0), diagEnd(body, 1)
	if local != p.local || remote != p.remote {
		return socketOwner{}, errNoDiag
	}
	return socketOwner{uid: binary.NativeEndian.Uint32(body[diagUID:]),
		inode: binary.NativeEndian.Uint32(body[diagInode:])}, nil
}

// diagEnd reads an end of the socket in an answer; a socket for both families has an IPv6 address that means IPv4.
func diagEnd(body []byte, n int) netip.AddrPort {
	raw := body[4+4+16*n:][:16]
	addr := netip.AddrFrom16([16]byte(raw)).Unmap()
	if body[0] == unix.AF_INET {
		addr = netip.AddrFrom4([4]byte(raw))
	}
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(body[4+2*n:]))
}
