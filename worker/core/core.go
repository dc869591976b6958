package core

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"qb/api"
)

// Moment is a point on the host's boot-time clock (CLOCK_BOOTTIME, which counts suspended time), as
// time since boot. Moments of two hosts are never compared.
type Moment = time.Duration

// Key names an instance: the N-th of a job.
type Key struct {
	Job      int64
	Instance int
}

func (k Key) String() string { return fmt.Sprintf("%d.%d", k.Job, k.Instance) }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Instance, b.Instance))
}

// Item is what an instance is to run: the order and the job's specification.
type Item struct {
	Desired api.Desired
	Spec    api.JobSpec
	Grace   time.Duration // between TERM and KILL
}

// States of an instance, as api.SyncInstance names them. An instance that closes is in no list, as its item has ended
// and nothing of it runs; if it has a program of a load-once job, it is listed as unloading until that has ended.
const (
	StateStarting  = "starting"
	StateRunning   = "running"
	StateFrozen    = "frozen"
	StateSuspended = "suspended"
	StateStopping  = "stopping"
	StateStuck     = "unkillable"
	StateIdle      = "idle"
	StateUnloading = "unloading"
	StateUnknown   = "unknown"
	StateClosing   = "closing"
)

type instance struct {
	key            Key
	attempt        api.AttemptID
	state          string
	stopped        bool           // a stop has been ordered
	stuck          bool           // its processes outlive KILL
	held           bool           // to its limit of memory, by the kernel
	leaseSent      Moment         // what the shim was last sent
	told           sentSuspension // whether its item is to stand still
	memory         int64
	counted        bool // memory, by a look at the host: see noteForeign
	cpu            float64
	wall           float64
	progress       int           // per cent
	measured       Moment        // when memory and wall were reported
	suspendedUnder int64         // suspension under which nothing of it runs; 0: something may
	loaded         bool          // its program takes further items, of a load-once job
	status         string        // with which it is answered while it has no item, as last sent
	behind         api.AttemptID // after which it began its attempt, which it held ahead; zero: an answer listed it
}

// sentSuspension is what a shim was last sent: whether its item is to stand still, and under which suspension. None
// of it while the connection is new.
type sentSuspension struct {
	known, stand bool
	suspensionID int64
}

// wantedSuspension is what a shim should have been sent for an item.
func wantedSuspension(want api.Desired) sentSuspension {
	return sentSuspension{true, want.Suspended, want.SuspensionID}
}

// record is an end that no answer has let go yet.
type record struct {
	finished api.Finished
	firstIn  uint64 // first sync that carried it, and each later one did, too
	sentIn   uint64 // last sync that carried it, 0 for none
	keptFrom uint64 // the sync that had no room for it
}

// carriedBy says whether a sync carried the end.
func (r *record) carriedBy(sequence uint64) bool {
	return r.firstIn <= sequence && sequence <= r.sentIn
}

// Core is the logic of the agent, without clocks, files and network. It is not safe for concurrent use.
type Core struct {
	identity api.Sync // the members that each sync repeats
	limits   Limits
	random   *rand.Rand

	now    Moment
	orders []Command
	booted bool

	configuring bool      // until what the supervisor set is taken
	restarting  string    // id of the last order to start again
	shownIn     *api.Term // whose leader knows the worker's settings; nil: none does

	instances map[Key]*instance
	sorted    []*instance // instances by key; empty: to be sorted
	records   map[api.AttemptID]*record
	specs     map[int64]api.JobSpec

	heard    bool   // an answer has been accepted by this incarnation
	heardIn  uint64 // the number of the last one
	held     TermRecord
	obeyed   Moment // when the last answer of its lineage was taken; at the start, unknown, as if it had been just now
	wish     Wish
	lease    time.Duration
	leaseEnd Moment
	grace    time.Duration

	closing  string
	memory   api.SyncMemory
	foreign  [2]int64 // at the last two regular looks that counted
	raised   int64    // the most at the looks since then
	lookedAt Moment   // when the last one was that counted
	looks    int      // regular ones that counted
	unseen   int      // that did not, since then
	pressed  int      // looks in a row at which the host was under its reserve
	refusing string
	reported announced // in the last sync
	stress   stress
	hurried  bool // a sync was given up for memory since the last answer

	sequence uint64
	report   Report
	openSyncs

	waits    Patience
	vain     int // answers in a row that came at once and changed nothing
	nextSync Moment
	failures int
}

// NewCore makes a core that says identity in each sync (its sequence, epoch, lists and memory are the
// core's own) and whose back-off is drawn from seed.
func NewCore(identity api.Sync, limits Limits, seed uint64) *Core {
	return &Core{
		identity: identity, limits: limits, random: rand.New(rand.NewPCG(seed, 0x9b)),
		instances: map[Key]*instance{}, records: map[api.AttemptID]*record{},
		specs: map[int64]api.JobSpec{}, wish: Wish{Instances: map[Key]api.Desired{}}, grace: limits.Grace,
	}
}

// Step takes one event and returns what is to be done. Time never runs backwards.
func (c *Core) Step(now Moment, ev Event) []Command {
	c.now, c.orders = max(now, c.now), nil
	var answered *pendingSync
	switch ev := ev.(type) {
	case Booted:
		c.onBooted(ev)
	case ItemStarted:
		c.onItemStarted(ev)
	case ItemEnded:
		c.onItemEnded(ev)
	case ShimGone:
		delete(c.instances, ev.Key)
		c.sorted = nil
	case ShimUnreachable:
		c.onShimUnreachable(ev)
	case ShimReached:
		c.onShimReached(ev)
	case ShimMeasured:
		c.onShimMeasured(ev)
	case HostMeasured:
		c.onHostMeasured(ev)
	case Answered:
		answered = c.onAnswered(ev)
	case Unanswered:
		c.onUnanswered(ev)
	case Configured:
		ev.Identity.Usage = c.identity.Usage
		c.identity = ev.Identity
		c.limits.Stress = ev.Stress
		c.configuring = false
		c.shownIn = nil
		if c.pendingSync.sequence != 0 { // it says what the worker was before
			c.pendingSync.again = c.now
		}
	case Closing:
		c.closing = ev.Reason
	case Ticked:
	}
	if !c.booted {
		return c.orders
	}
	c.reconcile()
	switch {
	case answered == nil:
	case c.pendingSync.sequence == 0:
		c.paceAfter(*answered)
	case c.pendingSync.sequence == answered.sequence:
		c.holdOn()
	}
	c.maybeSync()
	return c.orders
}

// Quiet says that nothing runs here and that no record waits.
func (c *Core) Quiet() bool { return len(c.instances) == 0 && len(c.records) == 0 }

// Refusing returns why the host starts nothing new, "" if it does.
func (c *Core) Refusing() string { return c.refusing }

// Attempts returns the attempts of all instances, idle ones included.
func (c *Core) Attempts() []api.AttemptID {
	ids := make([]api.AttemptID, 0, len(c.instances))
	for _, i := range c.instances {
		ids = append(ids, i.attempt)
	}
	return ids
}

func (c *Core) order(o Command) { c.orders = append(c.orders, o) }

func (c *Core) onBooted(ev Booted) {
	c.booted = true
	c.held, c.obeyed = ev.Held, c.now
	c.sorted = nil
	for _, a := range ev.Instances {
		c.instances[a.Key] = &instance{key: a.Key, attempt: a.Attempt, state: a.State, loaded: a.Loaded}
	}
	for _, f := range ev.Finished {
		c.records[f.Attempt] = &record{finished: bounded(f)}
	}
}

// bounded is an end whose reason is no longer than a supervisor keeps: that of a failed start shows what the job named.
func bounded(f api.Finished) api.Finished {
	if len(f.Reason) > api.MaxReason {
		f.Reason = strings.ToValidUTF8(f.Reason[:api.MaxReason-4], "") + " …"
	}
	return f
}

func (c *Core) onItemStarted(ev ItemStarted) {
	if i := c.instances[ev.Key]; i != nil && i.attempt == ev.Attempt && i.state == StateStarting {
		i.state = StateRunning
	}
}

func (c *Core) onItemEnded(ev ItemEnded) {
	ev.Finished = bounded(ev.Finished)
	id := ev.Finished.Attempt
	i := c.instances[ev.Key]
	if i != nil && i.attempt == id {
		if i.state == StateIdle || i.state == StateClosing {
			return // said twice; the record may already have been let go
		}
		lost := i.state == StateUnknown
		i.loaded = ev.Finished.Loaded && !lost
		if !i.loaded && c.goneAtLook(i, ev.Finished) {
			c.noteLess(i, 0)
		}
		c.stress.itemCPU += max(0, ev.Finished.CPU-i.cpu)
		i.state = StateIdle
		i.stopped = false
		i.status = ""
		if !i.loaded {
			i.memory = 0
			i.counted = false
		}
		i.cpu = 0
		i.progress = 0
		if lost { // its shim is dead or as good as dead: it is handed nothing more
			i.state = StateClosing
			c.order(CloseShim{Key: i.key})
		}
	}
	if c.records[id] == nil {
		c.records[id] = &record{finished: ev.Finished}
	}
}

func (c *Core) onShimUnreachable(ev ShimUnreachable) {
	i := c.instances[ev.Key]
	if i == nil || i.state == StateClosing {
		return
	}
	c.noteLess(i, 0)
	if i.state == StateIdle {
		i.memory = 0
		return
	}
	i.state, i.stopped = StateUnknown, false // a stop may not have arrived
}

// onShimReached processes the state that a shim reports after a new connection. An item that was being sent when the
// old connection broke never reached the shim, because a shim reads nothing from a former connection. If an item has
// ended, its record follows; until then the item counts as running.
func (c *Core) onShimReached(ev ShimReached) {
	i := c.instances[ev.Adopted.Key]
	if i == nil || i.state != StateUnknown {
		return
	}
	*i = instance{key: i.key, attempt: ev.Adopted.Attempt, state: ev.Adopted.State, loaded: ev.Adopted.Loaded}
	i.stopped = i.state == StateStopping
	if i.state == StateIdle && ev.Awaited {
		i.state = StateRunning
	}
}

func (c *Core) onShimMeasured(ev ShimMeasured) {
	i := c.instances[ev.Key]
	if i == nil || (i.state == StateIdle || i.state == StateClosing) && !i.loaded {
		return
	}
	if i.state == StateClosing {
		return
	}
	c.noteLess(i, ev.Memory)
	if i.state == StateIdle {
		i.memory = ev.Memory
		return
	}
	c.stress.itemCPU += max(0, ev.CPU-i.cpu)
	i.memory = ev.Memory
	i.cpu = ev.CPU
	i.wall = ev.Wall
	i.progress = ev.Progress
	i.stuck = ev.Unkillable
	i.held = ev.Held
	i.measured = c.now
	i.suspendedUnder = ev.SuspensionID
	still := i.state == StateFrozen || i.state == StateSuspended
	switch {
	case !still && i.state != StateRunning:
	case ev.Suspended:
		i.state = StateSuspended
	case ev.Frozen && i.state != StateFrozen:
		i.state, i.leaseSent = StateFrozen, 0
	case !ev.Frozen && still:
		i.state = StateRunning
	}
	c.watchLimits(i)
}

// sortedInstances makes the order of orders and lists independent of map order. No one may change the list.
func (c *Core) sortedInstances() []*instance {
	if len(c.sorted) != len(c.instances) {
		c.sorted = slices.SortedFunc(maps.Values(c.instances), func(a, b *instance) int { return compareKeys(a.key, b.key) })
	}
	return c.sorted
}
