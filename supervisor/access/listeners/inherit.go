package listeners

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Inherited listeners come from a systemd socket unit, which holds them during a restart of the service, or from the
// previous run of this process (Successor). The port is never free in between, so that no other process can take it.
const (
	firstInherited = 3 // descriptor, by the convention of sd_listen_fds(3)
	maxInherited   = 16
	envPID         = "LISTEN_PID"
	envCount       = "LISTEN_FDS"
	envNames       = "LISTEN_FDNAMES"
)

// Inherited are listeners that this process was started with and that are not in use yet.
type Inherited struct{ all []*net.TCPListener }

// Inherit takes the listeners that this process was started with, and keeps what it starts from having them.
func Inherit() (*Inherited, error) {
	g := &Inherited{}
	pid, count := os.Getenv(envPID), os.Getenv(envCount)
	for _, name := range []string{envPID, envCount, envNames} {
		_ = os.Unsetenv(name) // a name without fault
	}
	if pid != strconv.Itoa(os.Getpid()) || count == "" {
		return g, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxInherited {
		return nil, fmt.Errorf("%s = %q: use 0 to %d", envCount, count, maxInherited)
	}
	for fd := firstInherited; fd < firstInherited+n; fd++ {
		syscall.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "inherited")
		l, err := net.FileListener(file)
		_ = file.Close() // the listener has its own descriptor
		tcp, ok := l.(*net.TCPListener)
		if err != nil || !ok {
			return nil, fmt.Errorf("the inherited socket %d is no TCP socket that listens: %w", fd, err)
		}
		g.all = append(g.all, tcp)
	}
	return g, nil
}

// listen takes the inherited listener of that address, or opens the address.
func (g *Inherited) listen(address string) (*net.TCPListener, error) {
	for n, l := range g.all {
		if isAt(l, address) {
			g.all = slices.Delete(g.all, n, n+1)
			return l, nil
		}
	}
	return listenTCP(address)
}

// isAt reports whether a listener listens at an address.
func isAt(l *net.TCPListener, address string) bool {
	at := l.Addr().(*net.TCPAddr)
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" && port != strconv.Itoa(at.Port) {
		return false
	}
	if everywhere(host) {
		return at.IP.IsUnspecified()
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return at.IP.Equal(net.ParseIP(host))
}

// closeRest closes what no address of the configuration is.
func (g *Inherited) closeRest(log *slog.Logger) {
	for _, l := range g.all {
		log.Warn(
			"the inherited socket is no address of this supervisor and is closed; compare the socket unit with supervisor_listen",
			"address", l.Addr().String())
		_ = l.Close() // no connection was accepted on it
	}
	g.all = nil
}

// Successor has the listeners of a process at hand for the program that takes its place.
type Successor struct{ files []*os.File }

// NewSuccessor holds on to the TCP listeners, whatever closes them later.
func (l *Listeners) NewSuccessor() (*Successor, error) {
	s := &Successor{}
	for _, tcp := range l.tcp {
		file, err := tcp.File()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("handing %s over: %w", tcp.Addr(), err), s.Close())
		}
		s.files = append(s.files, file)
	}
	return s, nil
}

// Close lets the ports go.
func (s *Successor) Close() error {
	var all []error
	for _, file := range s.files {
		all = append(all, file.Close())
	}
	return errors.Join(all...)
}

// Exec replaces this process by the program, which inherits the listeners. It returns only if that fails.
func (s *Successor) Exec(program string, args, env []string) error {
	var aside []int // beyond the descriptors that the successor looks at
	for _, file := range s.files {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, firstInherited+maxInherited)
		if err != nil {
			return fmt.Errorf("handing a port over: %w", err)
		}
		aside = append(aside, fd)
	}
	for n, fd := range aside { // what this process had there ends with it
		if err := unix.Dup3(fd, firstInherited+n, 0); err != nil {
			return fmt.Errorf("handing a port over: %w", err)
		}
	}
	env = slices.DeleteFunc(slices.Clone(env), func(one string) bool { return strings.HasPrefix(one, "LISTEN_") })
	env = append(env, fmt.Sprintf("%s=%d", envPID, os.Getpid()), fmt.Sprintf("%s=%d", envCount, len(s.files)))
	return fmt.Errorf("starting %s: %w", program, syscall.Exec(program, args, env))
}
