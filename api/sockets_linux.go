package api

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// socketPair names a TCP socket of this machine by its two ends.
type socketPair struct {
	local, remote netip.AddrPort
}

// socketOwner is what the kernel tells of a socket; inode is 0 while no process has it.
type socketOwner struct {
	uid, inode uint32
}

// owner asks the kernel for the socket. A kernel that does not answer that has it in its lists, which grow with the
// sockets of the machine; that of IPv6 has the ones that serve both families.
func (p socketPair) owner() (socketOwner, error) {
	p = p.unmapped()
	if owner, err := p.diagnosed(); err == nil {
		return owner, nil
	}
	return p.listed()
}

// unmapped converts IPv4-mapped IPv6 addresses to IPv4 addresses.
func (p socketPair) unmapped() socketPair {
	p.local = netip.AddrPortFrom(p.local.Addr().Unmap(), p.local.Port())
	p.remote = netip.AddrPortFrom(p.remote.Addr().Unmap(), p.remote.Port())
	return p
}

// listed looks for the socket in the kernel's lists.
func (p socketPair) listed() (socketOwner, error) {
	if p.local.Addr().Is4() {
		if owner, err := p.findIn("/proc/net/tcp", false); !errors.Is(err, errNoSocket) {
			return owner, err
		}
	}
	return p.findIn("/proc/net/tcp6", true)
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
	if errors.Is(err, fs.ErrNotExist) { // a machine without IPv6
		err = errNoSocket
	}
	if err != nil {
		return socketOwner{}, err
	}
	defer f.Close()
	local, remote := asListed(p.local, wide), asListed(p.remote, wide)
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

// asListed writes an end as the kernel's lists do: words of four bytes in the machine's order.
func asListed(end netip.AddrPort, wide bool) string {
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
