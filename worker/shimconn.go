package worker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/picture"
	"qb/worker/shim"
	"qb/worker/tree"
)

// Waits for a shim.
const (
	linkWrite    = 5 * time.Second
	helloWait    = 3 * time.Second
	reconnectMin = 2 * time.Millisecond
	reconnectMax = 500 * time.Millisecond
	connBacklog  = 64
	unheardAfter = 10 * time.Second // then a shim that is not reached, or leaves something behind, is logged
	mostHandings = 5                // of one order, before it counts as the order's fault that its shim is lost each time
)

// shimConn is the agent's end of one instance: a goroutine that hands orders to the shim, tells the core
// what it hears, and when the shim is gone sees to it that nothing of the tree is left.
type shimConn struct {
	a    *agent
	key  core.Key
	dir  string
	mark string
	tree tree.Names
	log  *slog.Logger

	inbox chan core.Command
	heard chan heard

	conn       net.Conn
	generation int
	retry      *time.Timer
	pause      time.Duration
	attempt    api.AttemptID    // last handed or adopted
	picture    *picture.Request // to make if that attempt is done; nil: none
	ended      bool             // its record has been seen
	left       atomic.Bool      // its item left its memory; the core may learn of that much later
	reported   chan struct{}    // closed when the core knows of that end
	ordered    bool             // an item went out on this connection; a hello read after it was said before it
	closing    *shim.Ending     // as it was ordered; nil: it was not
	forced     string           // why its shim was killed
	forcedCode string

	handed   api.AttemptID // last made an order for
	handings int           // so many times
	kept
	unheard time.Time // since when its shim, or the end of what it left behind, is waited for; zero: it is not
	said    bool      // that this lasts
}

// kept is what is known of programs that an instance keeps between two items.
type kept struct {
	loadOnce bool          // its job is: its shim keeps a program
	first    api.AttemptID // that its shim was started for; it names the session's log
}

// sessionLog is the log of what the instance's programs write between two items.
func (k kept) sessionLog() logID { return logID{k.first, true} }

type heard struct {
	generation int
	message    shim.Report
	err        error
}

func (a *agent) newShimConn(key core.Key) *shimConn {
	return &shimConn{
		a: a, key: key, dir: a.state.instanceDir(key), log: a.log.With("instance", key.String()),
		inbox: make(chan core.Command, connBacklog), heard: make(chan heard, connBacklog), reported: closedChannel(),
		ended: true,
		retry: time.NewTimer(time.Hour), pause: reconnectMin,
	}
}

// run serves the instance until its shim is gone or the agent leaves.
func (l *shimConn) run(ctx context.Context) {
	defer l.retry.Stop()
	defer l.hangUp()
	for {
		gone := false
		select {
		case <-ctx.Done():
			return
		case o := <-l.inbox:
			gone = l.carryOut(o)
		case h := <-l.heard:
			if h.generation == l.generation {
				l.hear(h)
			}
		case <-l.retry.C:
			gone = l.maybeReconnect(ctx)
		}
		if gone {
			l.a.post(core.ShimGone{Key: l.key})
			return
		}
	}
}

func (l *shimConn) carryOut(o core.Command) (gone bool) {
	switch o := o.(type) {
	case core.StartShim:
		return l.start(o)
	case core.HandItem:
		if order, ok := l.prepare(o.Item, o.Lease); ok {
			l.hand(order)
			order.leave()
		}
	case core.StopItem:
		l.wake()
		l.sendOrForce(shim.Command{Stop: &shim.StopCommand{
			Attempt: o.Attempt, Grace: o.Grace, Reason: o.Reason, Code: o.Code, Outcome: o.Outcome, Limit: o.Limit,
		}}, o.Reason, o.Code)
		if o.Close && l.conn != nil {
			l.closing = &shim.Ending{}
			l.send(shim.Command{Close: true})
		}
	case core.WriteLease:
		l.send(shim.Command{Lease: o.End})
	case core.SuspendItem:
		l.send(shim.Command{Suspend: &shim.SuspendCommand{Attempt: o.Attempt, Suspended: o.Suspended,
			SuspensionID: o.SuspensionID}})
	case core.CloseShim:
		l.closing = &shim.Ending{Status: o.Status, Grace: o.Grace}
		l.sendOrForce(shim.Command{Close: true, Ending: *l.closing}, "", "")
	case core.AnswerProgram:
		l.send(shim.Command{Answer: o.Status})
	}
	return false
}

// sendOrForce is for orders that end something: a shim that cannot be reached is killed.
func (l *shimConn) sendOrForce(m shim.Command, reason, code string) {
	if l.conn != nil || l.connect() {
		l.send(m)
		return
	}
	l.force(reason, code)
}

// ready is an order as it goes to a shim.
type ready struct {
	attempt api.AttemptID
	line    []byte
	leave   func() // gives its place in the agent's memory to another; called once it is sent, or is not to be
}

// prepare turns an item into an order, or into its end if this host cannot or may not run it. All that can be wrong
// with an order is found here, where it has no shim yet: what is wrong with it does not pass, and to send it again
// would hold its slot for good.
func (l *shimConn) prepare(item core.Item, lease core.Moment) (r ready, ok bool) {
	id := item.Desired.Attempt
	l.attempt = id
	l.ended = false
	l.reported = make(chan struct{})
	l.left.Store(false)
	l.loadOnce = item.Spec.LoadOnce
	if id != l.handed {
		l.handed, l.handings = id, 0
	}
	if l.handings++; l.handings > mostHandings {
		l.endHere(api.Finished{Outcome: "lost", Reason: fmt.Sprintf("%d shims of the item were lost before they started it",
			mostHandings)})
		l.force("", "")
		return r, false
	}
	owner, err := l.a.launcher.ownerFor(item.Spec)
	if err != nil {
		l.endHere(shim.Unstarted(err))
		return r, false
	}
	r.leave = l.a.orders.enter(l.a.ctx)
	order, err := l.a.launcher.orderFor(item, owner)
	order.Lease = lease
	order.Suspended = item.Desired.Suspended
	order.SuspensionID = item.Desired.SuspensionID
	if err == nil {
		r.line, err = shim.EncodeMessage(shim.Command{Run: &order})
	}
	if err != nil {
		r.leave()
		l.endHere(shim.Unstarted(err))
		return r, false
	}
	if len(r.line) <= smallOrder {
		r.leave()
		r.leave = func() {}
	}
	r.attempt = id
	l.picture = l.a.pictureOf(order)
	l.a.ships.follow(logID{AttemptID: id})
	return r, true
}

// endHere is for an attempt that never began here, or whose end is acknowledged: of those no shim will write a record,
// and on a disk that is full they need none, for an instance that is reported again is started, or released.
func (l *shimConn) endHere(f api.Finished) {
	f.Attempt, f.Instance = l.attempt, l.key.Instance
	if err := l.a.state.spool().Put(shim.Spooled{Boot: l.a.boot, Finished: f}); err != nil {
		l.log.Error("the record of an ended item cannot be written; its end is reported without a record", "attempt",
			shim.AttemptName(f.Attempt), "error", err)
	}
	l.end(f)
}

// record writes what a dead shim could not, on a disk that is full where the shim has set space aside.
func (l *shimConn) record() (api.Finished, error) {
	f := l.lost()
	r := shim.Spooled{Boot: l.a.boot, Finished: f, Ended: shim.BootNow()}
	if now, err := readNow(l.dir); err == nil && now.Attempt == f.Attempt && now.Process.PID != 0 {
		r.Started = now.StartedAt
	}
	_, err := l.a.state.spool().PutOrSpare(l.dir, r)
	return f, err
}

// end tells the core, once the log has been shipped as far as is worth waiting for.
func (l *shimConn) end(f api.Finished) {
	if l.ended || f.Attempt != l.attempt {
		return
	}
	l.ended = true
	l.left.Store(!f.Loaded)
	l.a.temps.ended(shim.AttemptName(f.Attempt))
	if l.picture != nil && l.picture.Attempt == f.Attempt && shim.Done(f) {
		l.a.pictures.Add(*l.picture)
	}
	reported := l.reported
	l.a.ships.finish(logID{AttemptID: f.Attempt}, func() {
		l.a.post(core.ItemEnded{Key: l.key, Finished: f})
		close(reported)
	})
}

func (l *shimConn) start(o core.StartShim) (gone bool) {
	order, ok := l.prepare(o.Item, o.Lease)
	if !ok {
		<-l.reported
		return true
	}
	defer order.leave()
	if err := l.fork(order.attempt); err != nil {
		l.discard()
		l.endHere(shim.Unstarted(shim.Refused(fmt.Errorf("the item's shim cannot be started: %w", err))))
		<-l.reported
		return true
	}
	if !l.connect() {
		l.lose()
		return false
	}
	l.hand(order)
	return false
}

// connect takes up the conversation. The shim says hello first.
func (l *shimConn) connect() bool {
	conn, err := shim.DialIn(l.dir, helloWait)
	if err != nil {
		return false
	}
	l.generation++
	l.conn, l.ordered = conn, false
	l.retry.Stop()
	go func(generation int) {
		for lines := shim.Messages(conn); ; {
			h := heard{generation: generation}
			h.err = shim.ReadMessage(lines, &h.message)
			select {
			case l.heard <- h:
			case <-l.a.ctx.Done():
				return
			}
			if h.err != nil {
				return
			}
		}
	}(l.generation)
	return true
}

// hand sends an order to run an item.
func (l *shimConn) hand(r ready) {
	l.ordered = l.ordered || l.conn != nil
	if l.loadOnce {
		l.a.ships.follow(l.sessionLog())
	}
	l.write(r.line)
}

// send is for all other orders. They are small; a command that cannot be written down is not lost on its way.
func (l *shimConn) send(m shim.Command) {
	line, err := shim.EncodeMessage(m)
	if err != nil {
		l.log.Error("an order for a shim cannot be encoded; the worker ends the instance", "error", err)
		l.force("", "")
		return
	}
	l.write(line)
}

func (l *shimConn) write(line []byte) {
	if l.conn == nil || shim.WriteMessage(l.conn, line, linkWrite) != nil {
		l.lose()
	}
}

func (l *shimConn) hangUp() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
		l.generation++
	}
}

func (l *shimConn) lose() {
	l.hangUp()
	l.a.post(core.ShimUnreachable{Key: l.key})
	l.retry.Reset(l.pause)
}

func (l *shimConn) hear(h heard) {
	m := h.message
	switch {
	case h.err != nil:
		l.pause = reconnectMin
		l.lose()
	case m.Hello != nil:
		l.greet(*m.Hello)
	case m.Started != nil:
		l.a.post(core.ItemStarted{Key: l.key, Attempt: *m.Started})
	case m.Sample != nil:
		l.a.post(core.ShimMeasured{Key: l.key, Memory: m.Sample.Memory, CPU: m.Sample.CPU, Wall: m.Sample.Wall,
			Progress: m.Sample.Progress, Frozen: m.Sample.Frozen, Suspended: m.Sample.Suspended,
			SuspensionID: m.Sample.SuspensionID, Unkillable: m.Sample.Unkillable, Held: m.Sample.Held})
	case m.Ended != nil:
		l.end(*m.Ended)
	}
}

// greet compares the shim's report with what was last known. An item that the report does not name never reached the
// shim, unless it is being sent. If an item ended while the shim was not connected, its record is in the spool.
func (l *shimConn) greet(h shim.Hello) {
	l.pause = reconnectMin
	l.unheard = time.Time{}
	l.said = false
	if h.Attempt != l.attempt && l.ordered {
		h.Attempt, h.State = l.attempt, core.StateStarting
	}
	if h.Attempt != l.attempt {
		l.a.ships.finish(logID{AttemptID: l.attempt}, func() {})
		l.attempt = h.Attempt
		l.ended = h.State == core.StateIdle
		l.reported = closedChannel()
	}
	if h.State == core.StateIdle && !l.ended {
		if f, err := l.a.state.spool().Get(l.attempt); err == nil {
			l.end(f)
		} else {
			l.endHere(l.lost())
		}
	}
	l.a.post(core.ShimReached{Adopted: core.Adopted{Key: l.key, Attempt: h.Attempt, State: h.State, Loaded: h.Loaded},
		Awaited: l.ended && !isClosed(l.reported)})
	if l.closing != nil {
		l.send(shim.Command{Close: true, Ending: *l.closing})
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// maybeReconnect tries again, and settles what is left when the lock says that the shim is gone.
func (l *shimConn) maybeReconnect(ctx context.Context) (gone bool) {
	if l.conn != nil {
		return false
	}
	if lockFree(l.dir) {
		return l.finish(ctx)
	}
	l.wake()
	if l.connect() {
		return false
	}
	return l.tryLater("the item's shim runs but does not answer")
}

// tryLater waits longer each time, and says once what it waits for.
func (l *shimConn) tryLater(what string) (gone bool) {
	switch {
	case l.unheard.IsZero():
		l.unheard = time.Now()
	case !l.said && time.Since(l.unheard) > unheardAfter:
		l.said = true
		l.log.Warn("an instance holds its slot: "+what+"; the worker keeps trying", "attempt", shim.AttemptName(l.attempt),
			"for", unheardAfter)
	}
	l.pause = min(2*l.pause, reconnectMax)
	l.retry.Reset(l.pause)
	return false
}
