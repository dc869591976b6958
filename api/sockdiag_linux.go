package api

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// socketPair names a TCP socket of this machine by its two ends.
type socketPair struct {
	local, remote netip.AddrPort
}

// socketOwner is what the kernel tells of a socket; inode is 0 while no process has it.
type socketOwner struct {
	uid, inode uint32
}

// owner asks the kernel by netlink, or reads its list where that finds nothing: a kernel without the module tcp_diag
// answers as if there were no such socket.
func (p socketPair) owner() (socketOwner, error) { return p.ownerBy(socketPair.diagnose) }

func (p socketPair) ownerBy(ask func(socketPair) (socketOwner, error)) (socketOwner, error) {
	p.local = netip.AddrPortFrom(p.local.Addr().Unmap(), p.local.Port())
	p.remote = netip.AddrPortFrom(p.remote.Addr().Unmap(), p.remote.Port())
	if owner, err := ask(p); err == nil {
		return owner, nil
	}
	return p.readList()
}

// Numbers of linux/sock_diag.h and linux/inet_diag.h.
const (
	netlinkSockDiag  = 4
	sockDiagByFamily = 20
	diagHeader       = 16
	diagRequest      = diagHeader + 56
	diagReply        = diagHeader + 72
	diagUID          = diagHeader + 64
	diagInode        = diagHeader + 68
	diagRemotePort   = diagHeader + 6
)

// diagnose asks for exactly this socket (sock_diag(7)). Without an established one the kernel may name the listener,
// which has no remote port.
func (p socketPair) diagnose() (socketOwner, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return socketOwner{}, fmt.Errorf("opening sock_diag: %w", err)
	}
	defer syscall.Close(fd)
	wait := syscall.NsecToTimeval(int64(time.Second))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait); err != nil {
		return socketOwner{}, fmt.Errorf("opening sock_diag: %w", err)
	}
	if err := syscall.Sendto(fd, p.request(), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return socketOwner{}, fmt.Errorf("asking sock_diag: %w", err)
	}
	reply := make([]byte, 8192)
	n, from, err := syscall.Recvfrom(fd, reply, 0)
	if err != nil {
		return socketOwner{}, fmt.Errorf("asking sock_diag: %w", err)
	}
	if kernel, ok := from.(*syscall.SockaddrNetlink); !ok || kernel.Pid != 0 {
		return socketOwner{}, errors.New("asking sock_diag: the kernel did not answer")
	}
	native := binary.NativeEndian
	switch kind := native.Uint16(reply[4:]); {
	case kind == syscall.NLMSG_ERROR && n >= diagHeader+4:
		if errno := syscall.Errno(-int32(native.Uint32(reply[diagHeader:]))); errno != syscall.ENOENT {
			return socketOwner{}, fmt.Errorf("asking sock_diag: %w", errno)
		}
		return socketOwner{}, errNoSocket
	case kind != sockDiagByFamily || n < diagReply:
		return socketOwner{}, errors.New("asking sock_diag: an answer of another kind")
	case binary.BigEndian.Uint16(reply[diagRemotePort:]) != p.remote.Port():
		return socketOwner{}, errNoSocket
	}
	return socketOwner{uid: native.Uint32(reply[diagUID:]), inode: native.Uint32(reply[diagInode:])}, nil
}

func (p socketPair) request() []byte {
	native, big := binary.NativeEndian, binary.BigEndian
	b := make([]byte, diagRequest)
	native.PutUint32(b, diagRequest)
	native.PutUint16(b[4:], sockDiagByFamily)
	native.PutUint16(b[6:], syscall.NLM_F_REQUEST)
	r := b[diagHeader:]
	r[0], r[1] = syscall.AF_INET6, syscall.IPPROTO_TCP
	if p.local.Addr().Is4() {
		r[0] = syscall.AF_INET
	}
	native.PutUint32(r[4:], ^uint32(0)) // in any state
	big.PutUint16(r[8:], p.local.Port())
	big.PutUint16(r[10:], p.remote.Port())
	copy(r[12:28], p.local.Addr().AsSlice())
	copy(r[28:44], p.remote.Addr().AsSlice())
	native.PutUint64(r[48:], ^uint64(0)) // no cookie
	return b
}

// readList looks for the socket in /proc/net/tcp and tcp6, where one that serves both families is listed.
func (p socketPair) readList() (socketOwner, error) {
	var failed error
	read := false
	for _, list := range []struct {
		name string
		wide bool
	}{{"/proc/net/tcp", false}, {"/proc/net/tcp6", true}} {
		if !list.wide && !p.local.Addr().Is4() {
			continue
		}
		owner, err := p.findIn(list.name, list.wide)
		if err == nil {
			return owner, nil
		}
		if errors.Is(err, errNoSocket) {
			read = true
		} else {
			failed = err
		}
	}
	if read {
		return socketOwner{}, errNoSocket
	}
	return socketOwner{}, failed
}

// HolderOf names the account that listens on an address of this machine, such as 127.0.0.1:50001; "" if none is found.
func HolderOf(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ""
	}
	for _, end := range []netip.Addr{at.Addr(), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		list, nobody := "/proc/net/tcp", netip.IPv4Unspecified()
		if end.Is6() {
			list, nobody = "/proc/net/tcp6", netip.IPv6Unspecified()
		}
		listener := socketPair{local: netip.AddrPortFrom(end, at.Port()), remote: netip.AddrPortFrom(nobody, 0)}
		if owner, err := listener.findIn(list, end.Is6()); err == nil {
			return accountName(owner.uid)
		}
	}
	return ""
}

func (p socketPair) findIn(name string, wide bool) (socketOwner, error) {
	f, err := os.Open(name)
	if err != nil {
		return socketOwner{}, err
	}
	defer f.Close()
	local, remote := listed(p.local, wide), listed(p.remote, wide)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[1] != local || fields[2] != remote {
			continue
		}
		uid, errUID := strconv.ParseUint(fields[7], 10, 32)
		inode, errInode := strconv.ParseUint(fields[9], 10, 32)
		return socketOwner{uid: uint32(uid), inode: uint32(inode)}, errors.Join(errUID, errInode)
	}
	if err := lines.Err(); err != nil {
		return socketOwner{}, err
	}
	return socketOwner{}, errNoSocket
}

// listed writes an end as the kernel's lists do: words of four bytes in the machine's order.
func listed(end netip.AddrPort, wide bool) string {
	raw := end.Addr().AsSlice()
	if wide {
		sixteen := end.Addr().As16()
		raw = sixteen[:]
	}
	var b strings.Builder
	for ; len(raw) >= 4; raw = raw[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(raw))
	}
	return fmt.Sprintf("%s:%04X", b.String(), end.Port())
}
