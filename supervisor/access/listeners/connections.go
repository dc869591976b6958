package listeners

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Limits of connections.
const (
	maxConns      = 30_000 // of all addresses together; a worker has two, and 10,000 hosts are a large farm
	reservedConns = 1_000  // of them, for root, the service's own account and enrolled hosts
	filesForRest  = 4_096  // open files that are not for connections: the database, output, listeners

	maxOfUID     = 256   // of one account of this machine
	maxOfAddress = 1_000 // of one address of another machine
	maxUnshown   = 100   // of them, without a credential until now
	maxOfHost    = 64    // of one enrolled host

	unshownIdle = 5 * time.Second  // for which a connection without a credential may wait for its next request
	busyIdle    = 15 * time.Second // for which any may, while half of the places are taken
	freshFor    = time.Second      // for which a new connection is not taken for an idle one

	writeFor  = 30 * time.Second // for a peer to take writePart bytes
	writePart = 64 << 10
)

// connections counts the connections of all listeners together, per peer. A peer at its own limit loses its oldest idle
// connection to its next one. At the limit of all, the peer with the most connections loses one, so that a peer with
// few always gets in.
type connections struct {
	log      *slog.Logger
	whose    func(net.Conn) peer
	limited  func() // counts what was refused
	most     int
	reserved int

	mu       sync.Mutex
	of       map[peer]*account
	open     int
	ordinary int // of them, those for which nothing is reserved
	shaking  int // of them, those whose handshake is not done
	refused  int // since said
	said     time.Time
}

// account is what one peer has. Its connections are in order of their last answer; ready are those of them that wait
// for a request. Most of a large farm's do not, and each new connection may look for one.
type account struct {
	trusted          bool
	conns, ready     *list.List
	shaking, unshown int
}

// phase is what a connection does.
type phase int

const (
	shaking phase = iota // the handshake is not done
	fresh                // no request was read yet
	serving              // a request is being answered
	idle                 // waits for its next request
)

// newPlaces derives the limits from how many files this process may open. The Go runtime has raised that to the hard
// limit.
func newPlaces(log *slog.Logger, limited func()) *connections {
	most, reserved := roomFor(openFiles())
	if most < maxConns/2 {
		log.Warn("few open files are allowed, so few connections are; raise LimitNOFILE or ulimit -n", "connections", most)
	}
	return &connections{log: log, whose: peerOf, limited: limited, most: most, reserved: reserved, of: map[peer]*account{}}
}

func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // as POSIX systems begin
	}
	return limit.Cur
}

// roomFor is how many connections there may be, and how many of them are reserved, where so many files may be open.
func roomFor(files uint64) (most, reserved int) {
	most = maxConns
	if files < maxConns+filesForRest {
		most = int(files - min(filesForRest, files/2))
	}
	return most, min(reservedConns, most/4)
}

// enter gives a new connection a place; nil: there is none, and it is to be closed.
func (p *connections) enter(c net.Conn, begins phase) *conn {
	who := p.whose(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.makeRoom(who, begins) {
		p.refuse(who)
		return nil
	}
	made := &conn{Conn: c, places: p, peer: who, phase: begins, since: time.Now()}
	p.add(made)
	if p.open == p.most/2 {
		p.hurry()
	}
	return made
}

// makeRoom closes what has to go for a connection of a peer; false: nothing can.
func (p *connections) makeRoom(who peer, begins phase) bool {
	now := time.Now()
	mine := p.of[who]
	if mine != nil && who.most() > 0 && mine.conns.Len() >= who.most() && !p.drop(mine.oldestIdle(now)) {
		return false
	}
	if begins == shaking && !p.roomToShake(mine) {
		return false
	}
	if who.trusted() {
		return p.open < p.most || p.drop(p.fromLargest(now, mine, false)) || p.drop(p.fromLargest(now, mine, true))
	}
	return p.ordinary < p.most-p.reserved || p.drop(p.fromLargest(now, mine, false))
}

// roomToShake says whether one more handshake may begin. Beyond the limit the peer that has most gives its oldest up.
func (p *connections) roomToShake(mine *account) bool {
	if mine != nil && mine.shaking >= maxFromOne {
		return false
	}
	if p.shaking < maxHandshakes {
		return true
	}
	most := mine
	for _, a := range p.of {
		if most == nil || a.shaking > most.shaking {
			most = a
		}
	}
	return most != mine && p.drop(first(most.conns, func(c *conn) bool { return c.phase == shaking }))
}

// fromLargest is an idle connection of the peer that has most: more than the one who wants a place, or else its own.
func (p *connections) fromLargest(now time.Time, mine *account, trusted bool) (found *conn) {
	most := 1
	if mine != nil {
		most = max(most, mine.conns.Len())
	}
	if mine != nil && mine.trusted == trusted {
		found = mine.oldestIdle(now)
	}
	for _, a := range p.of {
		if a.trusted != trusted || a.conns.Len() <= most {
			continue
		}
		if c := a.oldestIdle(now); c != nil {
			found, most = c, a.conns.Len()
		}
	}
	return found
}

// oldestIdle is the connection that has waited for a request for longest; nil: none waits.
func (a *account) oldestIdle(now time.Time) *conn {
	return first(a.ready, func(c *conn) bool { return c.idles(now) })
}

func first(of *list.List, is func(*conn) bool) *conn {
	for e := of.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); is(c) {
			return c
		}
	}
	return nil
}

// drop closes a connection that another gets the place of.
func (p *connections) drop(c *conn) bool {
	if c == nil {
		return false
	}
	p.remove(c)
	_ = c.Conn.Close() // the server's reader ends
	return true
}

func (p *connections) add(c *conn) {
	a := p.of[c.peer]
	if a == nil {
		a = &account{conns: list.New(), ready: list.New(), trusted: c.peer.trusted()}
		p.of[c.peer] = a
	}
	c.place = a.conns.PushBack(c)
	if c.phase == fresh || c.phase == idle {
		c.ready = a.ready.PushBack(c)
	}
	p.count(c, a, 1)
}

// remove takes a connection off its account. It may be gone already.
func (p *connections) remove(c *conn) {
	if c.place == nil {
		return
	}
	a := p.of[c.peer]
	a.conns.Remove(c.place)
	c.place = nil
	c.notReady(a)
	p.count(c, a, -1)
	if a.conns.Len() == 0 {
		delete(p.of, c.peer)
	}
}

func (p *connections) count(c *conn, a *account, n int) {
	p.open += n
	if !c.peer.trusted() {
		p.ordinary += n
	}
	if c.phase == shaking {
		p.shaking += n
		a.shaking += n
	} else if c.peer.remote() && !c.shown {
		a.unshown += n
	}
}

// moved changes what a connection is counted as.
func (p *connections) moved(c *conn, change func()) {
	if c.place == nil {
		return
	}
	p.remove(c)
	change()
	p.add(c)
}

// finished counts a connection whose handshake is done; false: there is no place for it.
func (p *connections) finished(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.moved(c, func() {
		c.phase = fresh
		c.since = now
	})
	a := p.of[c.peer]
	if c.place == nil || a.unshown <= maxUnshown {
		return c.place != nil
	}
	if p.drop(first(a.ready, func(c *conn) bool { return !c.shown && c.idles(now) })) {
		return true
	}
	p.drop(c)
	p.refuse(c.peer)
	return false
}

// note takes what the server says of a connection.
func (p *connections) note(c *conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.place == nil {
		return
	}
	a := p.of[c.peer]
	switch state {
	case http.StateActive:
		c.phase = serving
		c.notReady(a)
	case http.StateIdle:
		c.phase = idle
		c.since = time.Now()
		a.conns.MoveToBack(c.place)
		c.notReady(a)
		c.ready = a.ready.PushBack(c)
	}
}

func (c *conn) notReady(a *account) {
	if c.ready != nil {
		a.ready.Remove(c.ready)
		c.ready = nil
	}
}

// show counts a connection by which a credential came; host is the key of an enrolled host whose it is, or "".
func (p *connections) show(c *conn, host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := c.peer
	if host != "" && !to.trusted() {
		to = peer{kind: ofHost, host: host}
		if a := p.of[to]; a != nil && a.conns.Len() >= maxOfHost {
			to = c.peer
		}
	}
	if c.shown && to == c.peer {
		return
	}
	p.moved(c, func() {
		c.shown = true
		c.peer = to
	})
}

// idleFor is how long a connection may wait for its next request; 0: as the server has it.
func (p *connections) idleFor(c *conn) time.Duration {
	switch {
	case c.peer.remote() && !c.shown:
		return unshownIdle
	case p.open >= p.most/2:
		return busyIdle
	}
	return 0
}

// hurry shortens the deadline of connections that are idle already.
func (p *connections) hurry() {
	for _, a := range p.of {
		for e := a.conns.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*conn); c.waits {
				_ = c.Conn.SetReadDeadline(time.Now().Add(busyIdle)) // it may be closed
			}
		}
	}
}

// refuse notes a connection for which there is no place, and logs that now and then.
func (p *connections) refuse(who peer) {
	p.limited()
	p.refused++
	if now := time.Now(); now.Sub(p.said) > sayEvery {
		p.log.Warn("no place for a connection", "peer", who.String(), "open", p.open, "most", p.most, "refused", p.refused)
		p.said = now
		p.refused = 0
	}
}

type connKey struct{}

// WithConn notes the connection that a request comes by.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if c := connOf(c); c != nil {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Shown says that a request had a good credential; host is the key of the enrolled host that it is of, or "".
func Shown(ctx context.Context, host string) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.places.show(c, host)
	}
}

// Note is to be called by the server when the state of a connection changes.
func Note(c net.Conn, state http.ConnState) {
	if c := connOf(c); c != nil {
		c.places.note(c, state)
	}
}
