package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/api"
)

// Limits bound the core's lists and waits. They stand here together.
type Limits struct {
	Hold      time.Duration // how long the supervisor may hold an answer
	Overdue   time.Duration // after Hold, until a sync counts as failed
	Patience  time.Duration // a sync that carries results is not given up for newer ones before this; grows, see patience
	Settle    time.Duration // after an answer that starts something, for its start or end to come along
	Gap       time.Duration // between syncs of which the last changed nothing; doubles
	GapMx     time.Duration // to this
	BackOff   time.Duration // first retry after a failure
	BackOffMx time.Duration // last
	AskAgain  time.Duration // for a name that another host has
	Grace     time.Duration // between TERM and KILL until an answer says otherwise
	LeaseStep time.Duration // a lease end that moved by less is not worth telling
	Report    time.Duration // after a sync, until a change of the host is worth one of its own; 0: it never is
	Instances int
	Stress
}

// DefaultLimits are the real ones; the simulator may take others.
func DefaultLimits() Limits {
	return Limits{
		Hold: 10 * time.Second, Overdue: 10 * time.Second, Patience: 100 * time.Millisecond,
		Settle: 25 * time.Millisecond, Gap: 50 * time.Millisecond, GapMx: time.Second,
		BackOff: 100 * time.Millisecond, BackOffMx: 5 * time.Second, AskAgain: 2 * time.Second,
		Grace: 10 * time.Second, LeaseStep: time.Second, Report: time.Second, Instances: 4096,
	}
}

// pendingSync is the sync that waits for its answer; sequence 0 is none.
type pendingSync struct {
	sequence uint64
	sentAt   Moment
	carries  bool   // results, so that the answer comes at once
	settings bool   // of the worker
	acted    bool   // the answer changed something
	again    Moment // when the next one follows, whatever happens; 0: when there is a reason
}

// openSyncs are the syncs that may still be answered. Sequence 0 of pendingSync is none.
type openSyncs struct {
	pendingSync pendingSync
	earlier     []pendingSync // given up for later ones, oldest first; their answers may still be taken
	silent      Moment        // when the first of the syncs was sent that no answer has followed; 0: none
}

// Wake is the moment by which Step wants to be called, with Ticked if nothing else happens.
func (c *Core) Wake() Moment {
	if c.pendingSync.sequence == 0 {
		return c.nextSync
	}
	wake := c.silent + c.longestHold() + c.limits.Overdue
	if c.pendingSync.carries && c.unsent() {
		wake = min(wake, c.pendingSync.sentAt+c.patience())
	}
	wake = min(wake, c.sendAgainAt(c.waits.Lost(&c.limits, c.lease)))
	if c.hostMoved() {
		wake = min(wake, c.pendingSync.sentAt+c.limits.Report)
	}
	return wake
}

// announced is what of the host decides which items it gets.
type announced struct {
	available int64
	refuses   bool
	away      int
	keptFor   string
	stands    int64 // all suspensions under which something is frozen, added up
	programs  int   // without an item
}

func (c *Core) announcing() announced {
	a := announced{c.memory.Available, c.refusing != "", c.away(), c.keptFor(), 0, 0}
	for _, i := range c.instances {
		a.stands += i.suspendedUnder
		if i.loaded && (i.state == StateIdle || i.state == StateClosing) {
			a.programs++
		}
	}
	return a
}

// hostMoved says whether the sync in flight is given up, once Report has passed, to report free memory, fewer or more
// slots, what is suspended, or whether the host takes items. The sync after it is held for a Report at most and is
// never given up for these, so that a slow supervisor is not asked ever again.
func (c *Core) hostMoved() bool {
	now, told := c.announcing(), c.reported
	moved := max(now.available-told.available, told.available-now.available) > min(c.memory.Total/50, memoryStep)
	return c.limits.Report > 0 && !c.pendingSync.carries && !c.hurried &&
		(moved || now.refuses != told.refuses || now.away != told.away || now.keptFor != told.keptFor ||
			now.stands != told.stands || now.programs < told.programs)
}

// memoryStep is the change of free memory that is worth a sync; on small hosts a fiftieth of their memory is.
const memoryStep = 256 << 20

// unsent says whether a result waits that no sync has carried yet.
func (c *Core) unsent() bool {
	for _, r := range c.records {
		if r.sentIn == 0 && (r.keptFrom == 0 || r.keptFrom != c.pendingSync.sequence) { // else it goes with the next one
			return true
		}
	}
	return false
}

// maybeSync sends when it is time, and at once for a result: a sync that is merely being held is given
// up for it.
func (c *Core) maybeSync() {
	if c.configuring {
		return
	}
	unsent := c.unsent()
	if c.pendingSync.sequence != 0 {
		waited := c.now - c.pendingSync.sentAt
		switch {
		case c.now-c.silent >= c.longestHold()+c.limits.Overdue:
			c.giveUp(true)
			c.backOff()
		case unsent && (!c.pendingSync.carries || waited >= c.patience()),
			c.now >= c.sendAgainAt(c.waits.Lost(&c.limits, c.lease)):
			c.giveUp(false)
			c.nextSync = c.now
		case c.hostMoved() && waited >= c.limits.Report:
			c.hurried = true
			c.giveUp(false)
			c.nextSync = c.now
		default:
			return
		}
	}
	if c.now < c.nextSync && (!unsent || c.failures > 0) {
		return
	}
	c.send()
}

// hold is for how long the supervisor may hold the answer to the next sync.
func (c *Core) hold() time.Duration {
	if c.hurried {
		return min(c.longestHold(), c.limits.Report)
	}
	return c.longestHold()
}

// longestHold never lets a lease run out while an answer is being held.
func (c *Core) longestHold() time.Duration {
	hold := c.limits.Hold
	if c.failures > 0 {
		hold = min(hold, cautiousHold)
	}
	if c.lease > 0 {
		return min(hold, c.lease/3)
	}
	return hold
}

func (c *Core) send() {
	c.sequence++
	s := c.identity
	s.Sequence = c.sequence
	if c.heard { // by this incarnation; what a former one heard proves nothing of what reached this one
		s.Epoch, s.Heard = c.held.Term.Epoch, c.heardIn
	}
	s.Held = c.heldTerm()
	s.Memory = c.memory
	s.Refusing = c.refusing
	c.reported = c.announcing()
	s.Swap = c.stress.swap
	s.ForeignSlots = c.away()
	s.KeptFor = c.keptFor()
	s.HoldSeconds = c.hold().Seconds()
	if c.closing != "" {
		s.Refusing = c.closing
		s.HoldSeconds = 0
	}
	keepListed(c.specs, c.wish.Instances)
	for _, job := range slices.Sorted(maps.Keys(c.specs)) {
		s.Jobs = append(s.Jobs, api.JobVersion{Job: job, Version: c.specs[job].Version})
	}
	for _, i := range c.sortedInstances() {
		if i.state != StateClosing || i.loaded {
			s.Instances = append(s.Instances, api.SyncInstance{
				Job: i.key.Job, Instance: i.key.Instance, Attempt: i.attempt, State: i.shown(),
				Memory: i.memory, Progress: i.progress, SuspensionID: i.suspendedUnder,
			})
		}
	}
	c.sendEnds(&s)
	c.report.Fill(&s)
	if c.shownIn != nil && c.shownIn.Same(c.held.Term) {
		s.Settings, s.OwnGroups = nil, nil
	}
	c.pendingSync = pendingSync{sequence: c.sequence, sentAt: c.now, carries: len(s.Finished) > 0,
		settings: s.Settings != nil}
	if c.silent == 0 {
		c.silent = c.now
	}
	c.order(SendSync{s})
}

// maxEnds bounds the ends that one sync carries, in bytes of JSON: a sync that is too long is refused, and would be
// each time.
const maxEnds = 4 << 20

// sendEnds puts the ends into a sync, those first that none has carried. What has no room waits for the next one; until
// then its attempt is there, so that its absence proves nothing.
func (c *Core) sendEnds(s *api.Sync) {
	ids := slices.SortedFunc(maps.Keys(c.records), func(a, b api.AttemptID) int {
		return cmp.Or(cmp.Compare(c.records[a].sentIn, c.records[b].sentIn), compareAttempts(a, b))
	})
	room := maxEnds
	for _, id := range ids {
		r := c.records[id]
		size := endBytes(&r.finished)
		if size > room {
			r.sentIn, r.keptFrom = 0, c.sequence
			if !slices.ContainsFunc(s.Instances, func(i api.SyncInstance) bool { return i.Attempt == id }) {
				s.Instances = append(s.Instances, api.SyncInstance{Job: id.Job, Instance: r.finished.Instance, Attempt: id,
					State: StateIdle})
			}
			continue
		}
		room -= size
		if r.sentIn == 0 {
			r.firstIn = c.sequence
		}
		r.sentIn = c.sequence
		s.Finished = append(s.Finished, r.finished)
	}
	slices.SortFunc(s.Finished, func(a, b api.Finished) int { return compareAttempts(a.Attempt, b.Attempt) })
}

// endBytes is what an end takes at most in JSON: its numbers, and its texts as they are written with HTML escaped, too.
func endBytes(f *api.Finished) (size int) {
	size = 512
	for _, text := range append([]string{f.Reason}, slices.Concat(f.Highlights, f.OutputPaths)...) {
		size += 6*len(text) + 3
	}
	return size
}

func compareAttempts(a, b api.AttemptID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Number, b.Number))
}

// onAnswered takes an answer, unless one to a later sync was taken before. An answer of a term that this worker
// does not obey is a failure: somebody else leads.
func (c *Core) onAnswered(ev Answered) *pendingSync {
	reply := ev.Reply
	answered, ok := c.answeredFlight(ev.Sequence, reply.Sequence)
	if !ok {
		return nil
	}
	if reply.Sequence != answered.sequence || reply.Answer <= c.heardIn || !c.follows(reply) || !c.obey(reply) {
		c.report.Forget()
		if c.pendingSync.sequence == answered.sequence {
			c.giveUp(false)
		}
		if c.pendingSync.sequence == 0 {
			c.backOff()
		}
		return nil
	}
	c.report.Answered(answered.sequence, reply.Differences)
	c.heard = true
	c.heardIn = reply.Answer
	c.failures = 0
	c.hurried = false
	c.waits.Answered(answered.carries, c.now-answered.sentAt, seconds(reply.PatienceSeconds))
	if answered.settings {
		term := c.held.Term
		c.shownIn = &term
	}
	if reply.LeaseSeconds > 0 {
		c.lease = seconds(reply.LeaseSeconds)
		c.leaseEnd = answered.sentAt + c.lease
	}
	if reply.GraceSeconds > 0 {
		c.grace = seconds(reply.GraceSeconds)
	}
	if n := reply.Central; n != nil && n.Version != c.identity.Central {
		c.configuring = true
		c.order(Configure{*n})
	}
	if reply.Restart != "" && reply.Restart != c.restarting {
		c.restarting = reply.Restart
		c.order(Restart{reply.Restart})
	}
	c.wish.Take(&reply)
	for _, s := range reply.Jobs {
		c.specs[s.Job] = s
	}
	answered.acted = c.letGo(answered) > 0
	return &answered
}

// follows says whether the list of an answer can be made: it is complete, or differs from that of the last answer that
// was taken, in the same term. Otherwise the next sync says in heard that this answer was not taken, and its answer is
// complete.
func (c *Core) follows(reply api.SyncReply) bool {
	known := reply.Since == c.heardIn && reply.Term != nil && reply.Term.Same(c.held.Term)
	return (reply.Since == 0 || known) && c.wish.Fits(&reply)
}

// paceAfter decides when the next sync goes. A supervisor that holds its answers is asked again
// at once; an address that answers at once and changes nothing is not asked in a hot loop.
func (c *Core) paceAfter(last pendingSync) {
	started := false
	for _, o := range c.orders {
		switch o.(type) {
		case StartShim, HandItem:
			started = true
		case StopItem, CloseShim:
			last.acted = true
		}
	}
	switch {
	case started:
		c.nextSync = c.now + c.limits.Settle
	case last.acted:
		c.nextSync = c.now
	case last.carries:
		c.nextSync = c.now + max(c.patience(), c.gap()) // still listed: said again, soon
		c.vain++
		return
	default:
		c.nextSync = max(c.now, last.sentAt+c.gap())
		if c.nextSync > c.now {
			c.vain++
			return
		}
	}
	c.vain = 0
}

func (c *Core) onUnanswered(ev Unanswered) {
	if c.pendingSync.sequence == 0 || ev.Sequence != c.pendingSync.sequence {
		return
	}
	c.pendingSync = pendingSync{}
	c.silent = 0
	c.earlier = nil
	c.report.Forget()
	c.backOff()
	if ev.Code == api.CodeNameTaken {
		c.freeze()
	}
}

// freeze ends all leases now, for another host has this one's name and may be given what runs here. An answer that
// grants a lease again thaws what it lists. The name may soon be free, as after a reboot, so it is asked for often.
func (c *Core) freeze() {
	c.leaseEnd = min(c.leaseEnd, c.now)
	for _, i := range c.sortedInstances() {
		if (i.state != StateIdle || i.loaded) && i.state != StateClosing && i.state != StateFrozen && !i.stopped {
			i.leaseSent = c.now
			c.order(WriteLease{i.key, c.now})
		}
	}
	c.nextSync = min(c.nextSync, c.now+c.limits.AskAgain)
}

// backOff doubles from BackOff to BackOffMx, each time spread over its upper half.
func (c *Core) backOff() {
	wait := min(c.limits.BackOffMx, c.limits.BackOff<<min(c.failures, 15))
	c.failures++
	c.nextSync = c.now + wait/2 + time.Duration(c.random.Int64N(int64(wait/2)+1))
}
