package crash

import (
	"io"
	"net"
	"sync"
	"time"
)

// crashProxy is between one agent and one supervisor. Each direction passes bytes on, delays them, or
// keeps them back to deliver them late; all connections can be cut.
type crashProxy struct {
	listener net.Listener
	network  string // of the target
	target   string
	scheme   string // of the URL

	mu    sync.Mutex
	cut   bool
	mute  bool     // cut, and the end of other faults does not mend it
	up    crashWay // agent to supervisor
	down  crashWay
	conns map[net.Conn]bool
}

// crashWay is what happens to the bytes of one direction.
type crashWay struct {
	held  chan struct{} // closed when they flow again; nil: they flow
	delay time.Duration
}

func newCrashProxy(host, network, target string) (*crashProxy, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	p := &crashProxy{listener: l, network: network, target: target, conns: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

func (p *crashProxy) url() string { return p.scheme + p.listener.Addr().String() }

func (p *crashProxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *crashProxy) serve(agent net.Conn) {
	defer agent.Close()
	if !p.keep(agent) {
		return
	}
	defer p.drop(agent)
	supervisor, err := net.DialTimeout(p.network, p.target, time.Second)
	if err != nil {
		return
	}
	defer supervisor.Close()
	if !p.keep(supervisor) {
		return
	}
	defer p.drop(supervisor)
	ended := make(chan struct{}, 2)
	carry := func(to, from net.Conn, way *crashWay) {
		p.carry(to, from, way)
		ended <- struct{}{}
	}
	go carry(supervisor, agent, &p.up)
	go carry(agent, supervisor, &p.down)
	<-ended
}

// carry moves bytes one way until either side ends. Bytes that are held are delivered once the way is open.
func (p *crashProxy) carry(to, from net.Conn, way *crashWay) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		held, delay := way.held, way.delay
		p.mu.Unlock()
		if held != nil {
			<-held
		}
		time.Sleep(delay)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if half, ok := to.(interface{ CloseWrite() error }); ok && err == io.EOF {
				_ = half.CloseWrite() // the other way may have more to say
			}
			return
		}
	}
}

func (p *crashProxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut || p.mute {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *crashProxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// setCut ends all connections and lets no new one through, or lets them again.
func (p *crashProxy) setCut(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = on
	p.dropAll(on)
}

// setSilent is setCut for a silence of all hosts.
func (p *crashProxy) setSilent(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = on
	p.dropAll(on)
}

func (p *crashProxy) dropAll(on bool) {
	if on {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

// hold keeps the bytes of the chosen ways back. The end of a hold delivers them, late.
func (p *crashProxy) hold(up, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range []struct {
		on  bool
		way *crashWay
	}{{up, &p.up}, {down, &p.down}} {
		if w.on && w.way.held == nil {
			w.way.held = make(chan struct{})
		}
	}
}

func (p *crashProxy) slow(up, down time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up.delay, p.down.delay = up, down
}

// heal undoes everything. With reset, what was held back is lost with its connections.
func (p *crashProxy) heal(reset bool) {
	if reset {
		p.setCut(true)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	for _, way := range []*crashWay{&p.up, &p.down} {
		if way.held != nil {
			close(way.held)
		}
		*way = crashWay{}
	}
}

func (p *crashProxy) close() {
	_ = p.listener.Close()
	p.heal(true)
}
