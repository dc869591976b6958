package doors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"qb/supervisor/access/gate"
	"qb/supervisor/access/listeners"
	"qb/supervisor/lead/problem"
	"qb/supervisor/serve"
)

// Limits of a door.
const (
	maxConns   = 64 // at a time
	maxHeader  = 16 << 10
	headerFor  = 5 * time.Second
	bodyFor    = 15 * time.Second
	idleFor    = 30 * time.Second
	answerFor  = time.Minute
	stopWithin = 5 * time.Second
)

// Open opens the doors that the settings name.
func Open(farm serve.Inside) (doors []serve.Door, err error) {
	cfg := farm.Settings()
	if cfg.BundleInbox != "" {
		d, err := openInbox(farm)
		if err != nil {
			return nil, err
		}
		doors = append(doors, d)
	}
	if cfg.FlamencoListen != "" { // the last: it opens an address
		d, err := openFlamenco(farm)
		if err != nil {
			return nil, err
		}
		doors = append(doors, d)
	}
	return doors, nil
}

// refusal is an answer in the protocol of a door.
type refusal func(w http.ResponseWriter, status int, text string)

// guarded lets requests through that come from a host that the site has named, and from no page of another site.
func guarded(farm serve.Inside, listen string, refuse refusal, most int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		cfg := farm.Settings()
		if !served(gate.RemoteHost(r), cfg.DoorNetworks()) {
			farm.Log().Warn("a door refused a host", "remote", r.RemoteAddr, "path", problem.Clip(r.URL.Path))
			refuse(w, http.StatusForbidden, "this host may not use the door: an admin lists it in supervisor_door_hosts")
			return
		}
		names := slices.Concat(listeners.Names(*cfg), ownNames(r, listen))
		if p := gate.Foreign(r, names); p != nil {
			refuse(w, p.Status, p.Detail)
			return
		}
		if r.Header.Get("Origin") != "" { // a door has no pages, not even of its own
			refuse(w, http.StatusForbidden, "the request comes from a web page, and this address is for programs")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// served says whether a host may use a door: loopback, or one of the networks.
func served(host string, networks []netip.Prefix) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// ownNames are the hosts of the address that a door listens on, and of the request's.
func ownNames(r *http.Request, listen string) (names []string) {
	for _, address := range []string{listen, localAddress(r)} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, strings.ToLower(host))
		}
	}
	return names
}

func localAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.String()
	}
	return ""
}

// serveHTTP serves a door until the context ends.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	web := &http.Server{Handler: h, ReadHeaderTimeout: headerFor, ReadTimeout: bodyFor, WriteTimeout: answerFor,
		IdleTimeout: idleFor, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if web.Shutdown(ending) != nil {
			_ = web.Close() // answers that take longer are cut off
		}
	})
	err := web.Serve(&few{Listener: l, free: make(chan struct{}, maxConns), closed: make(chan struct{})})
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the door at %s: %w", l.Addr(), err)
	}
	<-stopped
	return nil
}

// few is a listener with a limit on its connections: more wait in the kernel's queue.
type few struct {
	net.Listener
	free   chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (f *few) Accept() (net.Conn, error) {
	select {
	case f.free <- struct{}{}:
	case <-f.closed:
		return nil, net.ErrClosed
	}
	c, err := f.Listener.Accept()
	if err != nil {
		<-f.free
		return nil, err
	}
	return &oneOfFew{Conn: c, leave: sync.OnceFunc(func() { <-f.free })}, nil
}

func (f *few) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.Listener.Close()
}

type oneOfFew struct {
	net.Conn
	leave func()
}

func (c *oneOfFew) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked may be gone
}
