package listeners

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"qb/api"
	"qb/supervisor/access/certs"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// Listeners are the addresses of a supervisor.
type Listeners struct {
	All []net.Listener
	URL string // of the TCP address
	// Listen is the TCP address as the configuration writes it, with the port that it has.
	Listen string
	// Fingerprint is the fingerprint of the farm's CA. Tokens for the network carry it. It is "" without TLS, or with a
	// given certificate.
	Fingerprint func() string
	// PageLost says why no browser may be led to this supervisor's port; "" if one may.
	PageLost string

	tcp []*net.TCPListener
}

// Open opens the addresses of the configuration. The certificate of the farm's own CA is made at the first start, also
// where it is not needed yet. limited counts what the limits of connections refuse.
func Open(cfg settings.Config, given *Inherited, log *slog.Logger, limited func()) (*Listeners, error) {
	source, err := certificate(cfg, log)
	if err != nil {
		return nil, err
	}
	l := &Listeners{Fingerprint: func() string { return "" }}
	conns := newPlaces(log, limited)
	if err := l.openTCP(cfg, given, source, conns, log); err != nil {
		return nil, err
	}
	if cfg.Socket == "" {
		return l, nil
	}
	socket, err := listenUnix(cfg.Socket)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.All = append(l.All, &limitedListener{socket, conns, fresh})
	return l, nil
}

func (l *Listeners) close() error {
	var all []error
	for _, one := range l.All {
		all = append(all, one.Close())
	}
	return errors.Join(all...)
}

// openTCP opens the TCP address, and without TLS both addresses of loopback at its port: names below localhost lead
// browsers to either.
func (l *Listeners) openTCP(cfg settings.Config, given *Inherited, source certs.Source, conns *connections,
	log *slog.Logger) error {
	defer given.closeRest(log)
	if source != nil {
		tcp, err := given.listen(cfg.Listen)
		if err != nil {
			return err
		}
		l.Listen = opened(cfg.Listen, tcp)
		l.URL = "https://" + net.JoinHostPort(calledName(cfg), port(tcp))
		l.Fingerprint = source.Fingerprint
		l.tcp = []*net.TCPListener{tcp}
		l.All = []net.Listener{newTLSListener(&limitedListener{tcp, conns, shaking}, source.Config(), log)}
		return nil
	}
	all, lost, err := given.listenLoopback(cfg.Listen)
	if err != nil {
		return err
	}
	if lost != "" {
		log.Warn("the page cannot be opened", "reason", lost)
	}
	l.tcp = all
	l.Listen = opened(cfg.Listen, all[0])
	l.URL, l.PageLost = "http://"+all[0].Addr().String(), lost
	for _, tcp := range all {
		l.All = append(l.All, &limitedListener{tcp, conns, fresh})
	}
	return nil
}

// opened is an address with the port that its listener has.
func opened(address string, l *net.TCPListener) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return l.Addr().String()
	}
	return net.JoinHostPort(host, port(l))
}

// certificate is nil if the address is served without TLS.
func certificate(cfg settings.Config, log *slog.Logger) (certs.Source, error) {
	if cfg.TLSCert != "" {
		given, err := certs.OpenGiven(cfg.TLSCert, cfg.TLSKey, log)
		if err != nil {
			return nil, err
		}
		if name := calledName(cfg); given.Lacks(name) {
			log.Warn(
				"supervisor_tls_cert is not for the name by which workers and commands call the supervisor; set supervisor_names",
				"name", name)
		}
		return given, nil
	}
	if cfg.State == "" {
		if cfg.TLS() {
			return nil, api.BadSetting("supervisor_listen",
				" = %q needs TLS, and TLS needs a folder for its key: set supervisor_state", cfg.Listen)
		}
		return nil, nil
	}
	own, err := certs.OpenOwn(cfg.State, Names(cfg), log)
	switch {
	case cfg.TLS():
		return own, err
	case err != nil:
		log.Warn("the TLS certificate cannot be made or read; supervisor_listen does not need it now", "error", err)
	}
	return nil, nil
}

// calledName is the name of the supervisor in its address.
func calledName(cfg settings.Config) string {
	if names := facts.SplitList(cfg.Names); len(names) > 0 {
		return names[0]
	}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && !everywhere(host) {
		return host
	}
	return ownName()
}

func ownName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return strings.ToLower(name)
}

// everywhere reports whether an address means all addresses of the machine.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// Names are those by which the supervisor may be called, in lower case: a web page that rebinds a name of its own to
// the supervisor's address carries that name.
func Names(cfg settings.Config) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	add := func(name string) {
		if name = strings.ToLower(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range facts.SplitList(cfg.Names) {
		add(name)
	}
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err == nil && !everywhere(host) {
		add(host)
	}
	if !cfg.TLS() {
		return names
	}
	name := ownName()
	short, _, _ := strings.Cut(name, ".")
	add(name)
	add(short)
	if everywhere(host) {
		addresses, _ := net.InterfaceAddrs() // without them the names remain
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
				add(ip.IP.String())
			}
		}
	}
	return names
}

func port(l *net.TCPListener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // the kernel's own words
	return port
}

func listenTCP(address string) (*net.TCPListener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		holder := cmp.Or(api.HolderOf(address), "another process")
		return nil, fmt.Errorf(
			"listening on supervisor_listen = %s: %w: %s listens there; end that process, or set another port", address,
			err, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on supervisor_listen = %s: %w", address, err)
	}
	return l.(*net.TCPListener), nil
}

// listenUnix takes over a socket file without a listener. The kernel authenticates each peer, so every user of the host
// may connect.
func listenUnix(path string) (net.Listener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("supervisor_socket = %s: another process listens there", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("supervisor_socket = %s: the file is no socket; remove it or name another", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("supervisor_socket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on supervisor_socket = %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("supervisor_socket: %w", err), l.Close())
	}
	return l, nil
}

// newTLSListener hands on connections whose handshake is done.
func newTLSListener(l net.Listener, config *tls.Config, log *slog.Logger) net.Listener {
	t := &tlsListener{Listener: l, config: config, log: log, done: make(chan accepted), closed: make(chan struct{})}
	go t.run()
	return t
}
