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
}

// Event is one thing that happened. The set is closed.
type Event interface{ event() }

// Booted comes first and once: what a former agent left on this boot. An instance whose attempt has
// ended is idle, and its record is in Finished unless it was let go before.
type Booted struct {
	Held      TermRecord
	Instances []Adopted
	Finished  []api.Finished
}

// Adopted is an instance found at the start.
type Adopted struct {
	Key     Key
	Attempt api.AttemptID
	State   string // as in api.SyncInstance
}

// ItemStarted says that the attempt's process runs.
type ItemStarted struct {
	Key     Key
	Attempt api.AttemptID
}

// ItemEnded says that the attempt's record is durable (or that its end means the same without), that nothing of its tree lives, and that its log
// has been shipped as far as was worth waiting for.
type ItemEnded struct {
	Key      Key
	Finished api.Finished
}

// ShimGone says that the instance's shim has ended and its lock is free. If its item had not ended, an
// ItemEnded with outcome lost came before.
type ShimGone struct{ Key Key }

// ShimUnreachable says that the shim lives, yet does not answer.
type ShimUnreachable struct{ Key Key }

// ShimReached says that a shim that did not answer does so again, and how it stands.
// Awaited says that the attempt's ItemEnded is still to come.
type ShimReached struct {
	Adopted Adopted
	Awaited bool
}

// ShimMeasured reports the tree's resident bytes and seconds so far.
type ShimMeasured struct {
	Key    Key
	Memory int64
	CPU    float64
	Wall   float64
	// Progress is per cent; 0: not known.
	Progress int
	Frozen   bool
	// Suspended: it stands still by order, and not only because its lease has ended.
	Suspended bool
	// Standstill is the suspension under which nothing of it runs; 0: something may.
	Standstill int64
	// Unkillable: what is left of the tree has outlived KILL for a while.
	Unkillable bool
	Held       bool // the kernel keeps it to its limit of memory
}

// HostMeasured reports the host's memory, and why it takes nothing new, if so.
type HostMeasured struct {
	Memory     api.SyncMemory // Foreign is reckoned here
	Others     int64          // bytes of items of other agents on the machine
	Refusing   string
	Between    bool // a look between the regular ones
	Kept       Kept // at regular looks, as what follows
	Swap       api.SyncSwap
	Busy       float64    // processors in use since the last regular look, by anybody
	OthersBusy float64    // by items of other agents
	Usage      *api.Usage // nil: nothing is known of licences outside of the farm
	Ended      []Key      // instances whose items have just ended, so that their memory is no longer among that used
}

// Answered is the answer to a sync.
type Answered struct {
	Sequence uint64
	Reply    api.SyncReply
}

// Configured tells what the worker says of itself from now on.
type Configured struct {
	Identity api.Sync
	Stress   Stress
}

// Unanswered says that a sync failed; Code is the refusal's, if it has one.
type Unanswered struct {
	Sequence uint64
	Code     string
}

// Closing ends all items, for the worker itself is being stopped.
type Closing struct{ Reason string }

// Ticked says only that time has passed.
type Ticked struct{}

func (Booted) event()          {}
func (ItemStarted) event()     {}
func (ItemEnded) event()       {}
func (ShimGone) event()        {}
func (ShimUnreachable) event() {}
func (ShimReached) event()     {}
func (ShimMeasured) event()    {}
func (HostMeasured) event()    {}
func (Answered) event()        {}
func (Unanswered) event()      {}
func (Configured) event()      {}
func (Closing) event()         {}
func (Ticked) event()          {}

// Order is one thing that the core wants done. The set is closed; orders are carried out in sequence
// as far as they concern the same instance.
type Order interface{ order() }

// Configure has the worker take what the supervisor's file sets; no sync goes until Configured.
type Configure struct{ Central api.Central }

// Restart has the worker start again, if its configuration is valid; if not, Configured brings the reason.
type Restart struct{ ID string }

// StartShim makes a new instance and hands it its first item.
type StartShim struct {
	Key   Key
	Item  Item
	Lease Moment
}

// HandItem gives the next item to an idle instance.
type HandItem struct {
	Key   Key
	Item  Item
	Lease Moment
}

// StopItem ends the attempt's whole tree: TERM, Grace, KILL. Reason goes into its record. With Close the
// shim ends after it by itself.
type StopItem struct {
	Key     Key
	Attempt api.AttemptID
	Grace   time.Duration
	Reason  string
	Code    string // in its record, of outcome stopped
	Outcome string // in its record; empty: stopped
	Limit   bool   // outcome memory: it was its own limit
	Close   bool
}

// CloseShim lets an idle shim end.
type CloseShim struct{ Key Key }

// WriteLease sends a shim the time until when its tree may run.
type WriteLease struct {
	Key Key
	End Moment
}

// SuspendItem has the attempt's whole tree stand still, or go on.
type SuspendItem struct {
	Key        Key
	Attempt    api.AttemptID
	Suspended  bool
	Standstill int64 // number of the suspension
}

// Forget drops a record that has been acknowledged.
type Forget struct{ Attempt api.AttemptID }

// SendSync sends a sync.
type SendSync struct{ Sync api.Sync }

// GiveUpSync says that a later sync is sent without the answer to this one, which may still come. Overdue says that this
// supervisor has been silent for too long: it may be stopped while another leads, and no answer of its is looked at.
type GiveUpSync struct {
	Sequence uint64
	Overdue  bool
}

func (StartShim) order()   {}
func (Configure) order()   {}
func (Restart) order()     {}
func (HandItem) order()    {}
func (StopItem) order()    {}
func (CloseShim) order()   {}
func (WriteLease) order()  {}
func (SuspendItem) order() {}
func (Forget) order()      {}
func (SendSync) order()    {}
func (GiveUpSync) order()  {}

// States of an instance, as api.SyncInstance names them. An instance that closes is in no list: its item
// has ended and nothing of it runs.
const (
	StateStarting  = "starting"
	StateRunning   = "running"
	StateFrozen    = "frozen"
	StateSuspended = "suspended"
	StateStopping  = "stopping"
	StateStuck     = "unkillable"
	StateIdle      = "idle"
	StateUnknown   = "unknown"
	StateClosing   = "closing"
)

type instance struct {
	key       Key
	attempt   api.AttemptID
	state     string
	stopped   bool   // a stop has been ordered
	stuck     bool   // its processes outlive KILL
	held      bool   // to its limit of memory, by the kernel
	leaseSent Moment // what the shim was last sent
	told      told   // whether its item is to stand still
	memory    int64
	counted   bool // memory, by a look at the host: see noteForeign
	cpu       float64
	wall      float64
	progress  int    // per cent
	measured  Moment // when memory and wall were reported
	stands    int64  // suspension under which nothing of it runs; 0: something may
}

// told is what a shim was last told: whether its item is to stand still, and under which suspension. None of it while the
// connection is new.
type told struct {
	known, stand bool
	standstill   int64
}

// toTell is what a shim should have been told of an item.
func toTell(want api.Desired) told { return told{true, want.Suspended, want.Standstill} }

// record is an end that no answer has let go yet.
type record struct {
	finished api.Finished
	firstIn  uint64 // first sync that carried it, and each later one did, too
	sentIn   uint64 // last sync that carried it, 0 for none
	keptFrom uint64 // the sync that had no room for it
}

// Core is the agent without the world. It is not safe for concurrent use.
type Core struct {
	identity api.Sync // the members that each sync repeats
	limits   Limits
	random   *rand.Rand

	now    Moment
	orders []Order
	booted bool

	configuring bool      // until what the supervisor set is taken
	restarting  string    // id of the last order to start again
	shownIn     *api.Term // whose leader knows the worker's settings; nil: none does

	instances map[Key]*instance
	records   map[api.AttemptID]*record
	specs     map[int64]api.JobSpec

	heard    bool   // an answer has been accepted by this incarnation
	heardIn  uint64 // the sequence of the last one
	held     TermRecord
	obeyed   Moment // when the last answer of its lineage was taken; at the start, unknown, as if it had been just now
	desired  map[Key]api.Desired
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
	flight   flight
	earlier  []flight // given up for later ones, oldest first; their answers may still be taken

	waits    Patience
	vain     int    // answers in a row that came at once and changed nothing
	silent   Moment // when the first of the syncs was sent that no answer has followed; 0: none
	nextSync Moment
	failures int
}

// NewCore makes a core that says identity in each sync (its sequence, epoch, lists and memory are the
// core's own) and whose back-off is drawn from seed.
func NewCore(identity api.Sync, limits Limits, seed uint64) *Core {
	return &Core{
		identity: identity, limits: limits, random: rand.New(rand.NewPCG(seed, 0x9b)),
		instances: map[Key]*instance{}, records: map[api.AttemptID]*record{},
		specs: map[int64]api.JobSpec{}, desired: map[Key]api.Desired{}, grace: limits.Grace,
	}
}

// Step takes one event and returns what is to be done. Time never runs backwards.
func (c *Core) Step(now Moment, ev Event) []Order {
	c.now, c.orders = max(now, c.now), nil
	var answered *flight
	switch ev := ev.(type) {
	case Booted:
		c.onBooted(ev)
	case ItemStarted:
		c.onItemStarted(ev)
	case ItemEnded:
		c.onItemEnded(ev)
	case ShimGone:
		delete(c.instances, ev.Key)
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
		c.identity, c.limits.Stress, c.configuring, c.shownIn = ev.Identity, ev.Stress, false, nil
	case Closing:
		c.closing = ev.Reason
	case Ticked:
	}
	if !c.booted {
		return c.orders
	}
	c.reconcile()
	if answered != nil && c.flight.sequence == 0 {
		c.paceAfter(*answered)
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

func (c *Core) order(o Order) { c.orders = append(c.orders, o) }

func (c *Core) onBooted(ev Booted) {
	c.booted = true
	c.held, c.obeyed = ev.Held, c.now
	for _, a := range ev.Instances {
		c.instances[a.Key] = &instance{key: a.Key, attempt: a.Attempt, state: a.State}
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
		if c.goneAtLook(i, ev.Finished) {
			c.noteLess(i, 0)
		}
		c.stress.itemCPU += max(0, ev.Finished.CPU-i.cpu)
		i.state, i.stopped, i.memory, i.counted, i.cpu, i.progress = StateIdle, false, 0, false, 0, 0
		if lost { // its shim is dead or as good as dead: it is handed nothing more
			i.state = StateClosing
			c.order(CloseShim{i.key})
		}
	}
	if c.records[id] == nil {
		c.records[id] = &record{finished: ev.Finished}
	}
}

func (c *Core) onShimUnreachable(ev ShimUnreachable) {
	if i := c.instances[ev.Key]; i != nil && i.state != StateIdle && i.state != StateClosing {
		c.noteLess(i, 0)
		i.state, i.stopped = StateUnknown, false // a stop may not have arrived
	}
}

// onShimReached takes the shim's word: an item that was on its way when the shim was lost from sight
// never reached it, since a shim reads nothing from a former connection. Of an item that ended, the
// record follows; until then it counts as running.
func (c *Core) onShimReached(ev ShimReached) {
	i := c.instances[ev.Adopted.Key]
	if i == nil || i.state != StateUnknown {
		return
	}
	*i = instance{key: i.key, attempt: ev.Adopted.Attempt, state: ev.Adopted.State}
	i.stopped = i.state == StateStopping
	if i.state == StateIdle && ev.Awaited {
		i.state = StateRunning
	}
}

func (c *Core) onShimMeasured(ev ShimMeasured) {
	i := c.instances[ev.Key]
	if i == nil || i.state == StateIdle || i.state == StateClosing {
		return
	}
	c.noteLess(i, ev.Memory)
	c.stress.itemCPU += max(0, ev.CPU-i.cpu)
	i.memory, i.cpu, i.wall, i.progress, i.stuck, i.held, i.measured = ev.Memory, ev.CPU, ev.Wall, ev.Progress, ev.Unkillable, ev.Held, c.now
	i.stands = ev.Standstill
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

// sortedInstances makes the order of orders and lists independent of map order.
func (c *Core) sortedInstances() []*instance {
	return slices.SortedFunc(maps.Values(c.instances), func(a, b *instance) int { return compareKeys(a.key, b.key) })
}
