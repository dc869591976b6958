package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/picture"
	"qb/worker/proc"
	"qb/worker/shim"
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
	a       *agent
	key     core.Key
	dir     string
	mark    string
	group   cgroup.Group
	counted cgroup.Counters
	log     *slog.Logger

	inbox chan core.Order
	heard chan heard

	conn       net.Conn
	generation int
	retry      *time.Timer
	pause      time.Duration
	attempt    api.AttemptID  // last handed or adopted
	picture    *picture.Order // to make if that attempt is done; nil: none
	ended      bool           // its record has been seen
	left       atomic.Bool    // the same, for the agent itself; the core may learn of the end much later
	reported   chan struct{}  // closed when the core knows of that end
	ordered    bool           // an item went out on this connection; a hello read after it was said before it
	closing    bool
	forced     string // why its shim was killed
	forcedCode string

	handed   api.AttemptID // last made an order for
	handings int           // so many times
	unheard  time.Time     // since when its shim, or the end of what it left behind, is waited for; zero: it is not
	said     bool          // that this lasts
}

type heard struct {
	generation int
	message    shim.Report
	err        error
}

func (a *agent) newShimConn(key core.Key) *shimConn {
	return &shimConn{
		a: a, key: key, dir: a.state.instanceDir(key), log: a.log.With("instance", key.String()),
		inbox: make(chan core.Order, connBacklog), heard: make(chan heard, connBacklog), reported: closedChannel(), ended: true,
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

func (l *shimConn) carryOut(o core.Order) (gone bool) {
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
		l.sendOrForce(shim.Order{Stop: &shim.StopOrder{
			Attempt: o.Attempt, Grace: o.Grace, Reason: o.Reason, Code: o.Code, Outcome: o.Outcome, Limit: o.Limit,
		}}, o.Reason, o.Code)
		if o.Close && l.conn != nil {
			l.closing = true
			l.send(shim.Order{Close: true})
		}
	case core.WriteLease:
		l.send(shim.Order{Lease: o.End})
	case core.SuspendItem:
		l.send(shim.Order{Suspend: &shim.SuspendOrder{Attempt: o.Attempt, Suspended: o.Suspended, Standstill: o.Standstill}})
	case core.CloseShim:
		l.closing = true
		l.sendOrForce(shim.Order{Close: true}, "", "")
	}
	return false
}

// sendOrForce is for orders that end something: a shim that cannot be reached is killed.
func (l *shimConn) sendOrForce(m shim.Order, reason, code string) {
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

// prepare turns an item into an order, or into its end if this host cannot or may not run it. All that can be wrong with an order is
// found here, where it has no shim yet: what is wrong with it does not pass, and to send it again would hold its slot for good.
func (l *shimConn) prepare(item core.Item, lease core.Moment) (r ready, ok bool) {
	id := item.Desired.Attempt
	l.attempt, l.ended, l.reported = id, false, make(chan struct{})
	l.left.Store(false)
	if id != l.handed {
		l.handed, l.handings = id, 0
	}
	if l.handings++; l.handings > mostHandings {
		l.endHere(api.Finished{Outcome: "lost", Reason: fmt.Sprintf("its shim was lost each of the %d times that it was handed the item", mostHandings)})
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
	order.Lease, order.Suspended, order.Standstill = lease, item.Desired.Suspended, item.Desired.Standstill
	if err == nil {
		r.line, err = shim.EncodeMessage(shim.Order{Run: &order})
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
	l.a.ships.follow(id)
	return r, true
}

// endHere is for an attempt that never began here, or whose end is acknowledged: of those no shim will write a record,
// and on a disk that is full they need none, for one that is reported again is started, or released.
func (l *shimConn) endHere(f api.Finished) {
	f.Attempt, f.Instance = l.attempt, l.key.Instance
	if err := l.a.state.spool().Put(shim.Spooled{Boot: l.a.boot, Finished: f}); err != nil {
		l.log.Error("the record of an ended item cannot be written; its end is reported without a record", "attempt", shim.AttemptName(f.Attempt), "error", err)
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
	return f, l.a.state.spool().PutOrSpare(l.dir, r)
}

// end tells the core, once the log has been shipped as far as is worth waiting for.
func (l *shimConn) end(f api.Finished) {
	if l.ended || f.Attempt != l.attempt {
		return
	}
	l.ended = true
	l.left.Store(true)
	l.a.temps.ended(shim.AttemptName(f.Attempt))
	if l.picture != nil && l.picture.Attempt == f.Attempt && shim.Done(f) {
		l.a.pictures.Add(*l.picture)
	}
	reported := l.reported
	l.a.ships.finish(f.Attempt, func() {
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
		l.endHere(shim.Unstarted(shim.Refused(fmt.Errorf("its shim cannot be started: %w", err))))
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
	l.write(r.line)
}

// send is for all other orders. They are small; one that cannot be written down is not lost on its way.
func (l *shimConn) send(m shim.Order) {
	line, err := shim.EncodeMessage(m)
	if err != nil {
		l.log.Error("an order for a shim cannot be encoded; its instance is ended", "error", err)
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
		l.a.post(core.ShimMeasured{Key: l.key, Memory: m.Sample.Memory, CPU: m.Sample.CPU, Wall: m.Sample.Wall, Progress: m.Sample.Progress, Frozen: m.Sample.Frozen, Suspended: m.Sample.Suspended, Standstill: m.Sample.Standstill, Unkillable: m.Sample.Unkillable, Held: m.Sample.Held})
	case m.Ended != nil:
		l.end(*m.Ended)
	}
}

// greet compares the shim's word with what was last known. An item that it does not name never reached
// it, unless it is on its way; an item that ended unheard stands in the spool.
func (l *shimConn) greet(h shim.Hello) {
	l.pause, l.unheard, l.said = reconnectMin, time.Time{}, false
	if h.Attempt != l.attempt && l.ordered {
		h.Attempt, h.State = l.attempt, core.StateStarting
	}
	if h.Attempt != l.attempt {
		l.a.ships.finish(l.attempt, func() {})
		l.attempt, l.ended, l.reported = h.Attempt, h.State == core.StateIdle, closedChannel()
	}
	if h.State == core.StateIdle && !l.ended {
		if f, err := l.a.state.spool().Get(l.attempt); err == nil {
			l.end(f)
		} else {
			l.endHere(l.lost())
		}
	}
	l.a.post(core.ShimReached{Adopted: core.Adopted{Key: l.key, Attempt: h.Attempt, State: h.State}, Awaited: l.ended && !isClosed(l.reported)})
	if l.closing {
		l.send(shim.Order{Close: true})
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
		return l.settle(ctx)
	}
	l.wake()
	if l.connect() {
		return false
	}
	return l.tryLater("its shim lives and does not answer")
}

// tryLater waits longer each time, and says once what it waits for.
func (l *shimConn) tryLater(what string) (gone bool) {
	switch {
	case l.unheard.IsZero():
		l.unheard = time.Now()
	case !l.said && time.Since(l.unheard) > unheardAfter:
		l.said = true
		l.log.Warn("an instance holds its slot: "+what+"; it is tried on", "attempt", shim.AttemptName(l.attempt), "for", unheardAfter)
	}
	l.pause = min(2*l.pause, reconnectMax)
	l.retry.Reset(l.pause)
	return false
}

// settle ends the instance of a dead shim: kills what it left behind, and writes the record that the
// shim could not write. Without one the next agent would start the attempt again, if this one died before its
// word was taken in: so the instance stays until there is space for it.
func (l *shimConn) settle(ctx context.Context) (gone bool) {
	if !l.ended && !l.cleared() {
		return l.tryLater("its shim has ended, and processes of its item outlive KILL")
	}
	if !l.ended {
		f, err := l.a.state.spool().Get(l.attempt)
		if err != nil {
			f, err = l.record()
		}
		if err != nil {
			if l.pause < reconnectMax { // else it was said
				l.log.Error("the record of an item that is lost cannot be written; it is tried again", "attempt", shim.AttemptName(l.attempt), "error", err)
			}
			return l.tryLater("the record of its item cannot be written")
		}
		l.end(f)
	}
	select {
	case <-l.reported:
	case <-ctx.Done():
		return false
	}
	l.discard()
	return true
}

// discard removes what is left of an instance that has ended: its control group, then the folder that names it.
func (l *shimConn) discard() {
	if err := errors.Join(l.group.Remove(), l.counted.Remove()); err != nil {
		l.log.Warn("a control group stays behind", "error", err)
	}
	l.a.temps.ended(shim.AttemptName(l.attempt)) // of an end that was told before, too
	if err := os.RemoveAll(l.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn("the folder of an ended instance cannot be removed", "error", err)
	}
}

func (l *shimConn) lost() api.Finished {
	f := api.Finished{Attempt: l.attempt, Instance: l.key.Instance, Outcome: "lost",
		Reason: "its shim ended without a record; nothing of its processes is left"}
	if l.forced != "" {
		f.Outcome, f.Code, f.Reason = core.OutcomeStopped, l.forcedCode, l.forced
	}
	return f
}

// cleared kills what a dead shim left, and says whether there was nothing any more.
func (l *shimConn) cleared() bool {
	now, _ := readNow(l.dir)
	left := proc.Leftovers(l.mark, now.Process, l.generation > 0)
	for _, p := range left {
		unix.Kill(p.PID, unix.SIGKILL)
	}
	return l.group.Kill()+len(left) == 0
}

// wake continues a shim that somebody has stopped.
func (l *shimConn) wake() {
	now, err := readNow(l.dir)
	if err != nil {
		return
	}
	if p, ok := proc.Read(now.Shim.PID); ok && p.ID == now.Shim && (p.State == 'T' || p.State == 't') {
		unix.Kill(p.PID, unix.SIGCONT)
	}
}

// force kills the tree of a shim that does not answer, and the shim; its lock is then free.
func (l *shimConn) force(reason, code string) {
	l.forced, l.forcedCode = "its shim did not answer and was killed", code
	if reason != "" {
		l.forced = reason + "; " + l.forced
	}
	now, _ := readNow(l.dir)
	if now.Shim.PID != 0 && now.Shim.Alive() {
		unix.Kill(now.Shim.PID, unix.SIGSTOP) // starts nothing more
		for range 5 {
			l.group.Kill()
			proc.SignalTree(now.Shim.PID, unix.SIGKILL)
		}
		if now.Shim.Alive() {
			unix.Kill(now.Shim.PID, unix.SIGKILL)
		}
	}
	l.retry.Reset(reconnectMin)
}
