package listeners

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"qb/api"
)

// tries of a port that the kernel chooses: it must be free on both addresses of loopback.
const portTries = 16

// loopbackAddresses are those to which browsers lead the names below localhost, the first that answers.
var loopbackAddresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// listenLoopback opens a loopback address, and the same port on each address to which browsers resolve names below
// localhost. Lost is the reason if another process has one of these: it would receive requests for this supervisor's
// page.
func (g *Inherited) listenLoopback(address string) (all []*net.TCPListener, lost string, err error) {
	for try := 1; ; try++ {
		first, err := g.listen(address)
		if err != nil {
			return nil, "", err
		}
		all, lost, err = g.besides(first)
		if err != nil {
			return nil, "", errors.Join(err, first.Close())
		}
		_, asked, _ := net.SplitHostPort(address) // the settings were checked
		if lost == "" || asked != "0" || try == portTries {
			return all, lost, nil
		}
		for _, one := range all {
			_ = one.Close() // another port is tried
		}
	}
}

// besides opens the other addresses at the port of the first listener.
func (g *Inherited) besides(first *net.TCPListener) (all []*net.TCPListener, lost string, err error) {
	at := first.Addr().(*net.TCPAddr).AddrPort()
	all = []*net.TCPListener{first}
	for _, other := range loopbackAddresses {
		if other == at.Addr().Unmap() {
			continue
		}
		address := netip.AddrPortFrom(other, at.Port()).String()
		l, err := g.listen(address)
		switch {
		case err == nil:
			all = append(all, l)
		case errors.Is(err, syscall.EADDRINUSE):
			lost = fmt.Sprintf(
				"%s has %s, to which browsers may be led as well; end that process and restart the supervisor, or set another port in supervisor_listen",
				cmp.Or(api.HolderOf(address), "another process"), address)
		case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT): // no process can listen there
		default:
			for _, one := range all[1:] {
				_ = one.Close() // the first error is returned
			}
			return nil, "", err
		}
	}
	return all, lost, nil
}
