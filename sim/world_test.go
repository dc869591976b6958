package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
	"qb/supervisor/share/slottime"
	"qb/supervisor/store/storetest"
)

// simWorld is a whole farm in one goroutine: real farm and agent cores, and models of all that is between
// and around them. Whatever happens is a function in the queue; time passes only from one to the next, and
// chance comes only from the seed, so that equal seeds give equal lives.
type simWorld struct {
	seed   uint64
	random *rand.Rand
	now    time.Duration // true time since the start, which no process of the world can read
	queue  []simDue      // a heap by (at, order)
	order  uint64
	steps  int

	policy      message.Policy
	faults      simFaults
	breaking    string // the worker_name of a host whose reports break the step; "": none
	broken      int    // terms that it ended
	lifts       int    // times that a person let it be heard again
	scripted    bool   // one thing goes wrong, by a script
	calm        bool   // no more faults: everything must come to its end
	database    *simDatabase
	supervisors []*simSupervisor
	hosts       []*simHost
	twins       []*simHost // machines with the worker_name of another
	machineOf   map[facts.HostID]string
	network     *simNetwork
	clients     *simClients
	busy        simBusy
	questions   simQuestions
	rows        *simRows
	sides       []*simSide // databases, of which one is in use at a moment
	side        int
	former      []*simRows // that were replaced by older ones
	truth       *simTruth
	buried      map[string]bool // incarnations of dead agents
	keys        simKeys

	trace   simTrace
	reached map[string]int
	failure string
}

// simDue is something that will happen.
type simDue struct {
	at    time.Duration
	order uint64
	do    func()
}

// simSteps is many times what a world takes: a hang is a failure too.
const simSteps = 1_000_000

// simStart is the true date at the start of every world.
var simStart = time.Unix(1_700_000_000, 0).UTC()

func newSimWorld(seed uint64) *simWorld {
	w := &simWorld{
		seed: seed, random: rand.New(rand.NewPCG(seed, 0x51)), reached: map[string]int{},
		rows: newSimRows(), truth: newSimTruth(), buried: map[string]bool{}, machineOf: map[facts.HostID]string{},
	}
	w.rows.world, w.truth.world = w, w
	w.trace.hash = fnv.New64a()
	w.faults = drawFaults(w)
	w.drawPutBack()
	w.policy = drawPolicy(w)
	w.policy.OrderRows = simOrderRows(seed)
	w.database = &simDatabase{world: w, memory: storetest.NewMemory(), skew: w.between(-24*time.Hour, 24*time.Hour)}
	if seed%4 == 3 { // commits as small as these farms are
		w.policy.CommitRows, w.database.perRow = 12, 5*time.Millisecond
	}
	w.sides = []*simSide{{database: w.database, rows: w.rows}}
	w.network = newSimNetwork(w)
	for n := range 2 + w.random.IntN(2) {
		w.supervisors = append(w.supervisors, newSimSupervisor(w, n))
	}
	for n := range 3 + w.random.IntN(4) {
		w.hosts = append(w.hosts, newSimHost(w, n))
	}
	w.drawMemory()
	w.clients, w.busy, w.questions = newSimClients(w), newSimBusy(w), newSimQuestions(w)
	return w
}

func drawPolicy(w *simWorld) message.Policy {
	policies := []string{"aggressive", "passive", "disabled"}
	p := message.Policy{
		CPUShare: slottime.Policy{Mode: simPick(w, []string{"off", "stride", "lottery"}), Seed: w.random.Uint64(), Quantile: 1},
		Share: planner.SharePolicy{
			Mode: "jobs", Preempt: simPick(w, policies), DefaultMaxCPUs: -1, MaxCPUsLimit: 100, ShareUnit: "slots", Promote: true,
			Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"},
		},
		PrimaryPreempt: simPick(w, policies), DefaultPriority: 9999, MaxPriority: 9999, DefaultCluster: "/", MaxItems: 1000,
		Liveness: 5 * time.Second, ExecutionLease: 20 * time.Second, KillGrace: 2 * time.Second, LoadOnceWait: 6 * time.Second, LeaseMargin: 2 * time.Second, WallSlack: time.Second,
		Memory: drawMemoryPolicy(w), Resources: map[string]int64{simLicence: int64(1 + w.random.IntN(3))}, Licences: licences.Policy{Fresh: time.Minute, Wait: 2 * time.Second}, TimeFactor: 3, MinRun: 3 * time.Second, Settle: time.Second, PlanDelay: 50 * time.Millisecond,
	}
	p.ReleaseSlots = w.seed/3%2 == 1
	p.ShortItem = time.Duration(w.seed/7%2) * time.Hour // all items are held ahead, or none
	p.AvoidAfter, p.AvoidFor = int(w.seed/5%3), 20*time.Second
	p.CPUShare.By = []string{"users", "jobs"}[p.CPUShare.Seed%2]
	drawOwners(w, &p)
	return p
}

// at puts something into the queue.
func (w *simWorld) at(at time.Duration, do func()) {
	w.order++
	w.queue = append(w.queue, simDue{max(at, w.now), w.order, do})
	for n := len(w.queue) - 1; n > 0; {
		up := (n - 1) / 2
		if !w.queue[n].before(w.queue[up]) {
			break
		}
		w.queue[n], w.queue[up] = w.queue[up], w.queue[n]
		n = up
	}
}

func (w *simWorld) after(d time.Duration, do func()) { w.at(w.now+d, do) }

func (d simDue) before(o simDue) bool {
	return d.at < o.at || (d.at == o.at && d.order < o.order)
}

func (w *simWorld) next() simDue {
	first, last := w.queue[0], len(w.queue)-1
	w.queue[0] = w.queue[last]
	w.queue[last] = simDue{}
	w.queue = w.queue[:last]
	for n := 0; ; {
		least := n
		for _, down := range []int{2*n + 1, 2*n + 2} {
			if down < last && w.queue[down].before(w.queue[least]) {
				least = down
			}
		}
		if least == n {
			return first
		}
		w.queue[n], w.queue[least] = w.queue[least], w.queue[n]
		n = least
	}
}

// run lets time pass until a moment, or until something is found wrong.
func (w *simWorld) run(until time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	for len(w.queue) > 0 && w.failure == "" && w.queue[0].at <= until {
		if w.steps++; w.steps > simSteps {
			w.fail("time stands still: %d things have happened by %s", w.steps, w.now)
		}
		due := w.next()
		w.now = due.at
		due.do()
	}
	w.now = max(w.now, until)
}

// fail notes the first thing that is wrong, and ends the run.
func (w *simWorld) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.note("WRONG %s", w.failure)
	}
}

// some counts a point that enough seeds must reach.
func (w *simWorld) some(point string) {
	if !slices.Contains(simSometimes, point) {
		panic("the simulator's list lacks the point " + point)
	}
	w.reached[point]++
}

// chance is true with a probability of p in 1000.
func (w *simWorld) chance(p int) bool { return p > 0 && w.random.IntN(1000) < p }

// between draws a duration.
func (w *simWorld) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(w.random.Int64N(int64(most-least)))
}

// mostly is usually short and now and then long.
func (w *simWorld) mostly(usual, rare time.Duration, p int) time.Duration {
	if w.chance(p) {
		return w.between(usual, rare)
	}
	return w.between(usual/8, usual)
}

func simPick[T any](w *simWorld, from []T) T { return from[w.random.IntN(len(from))] }

// simTrace is the world's story: its hash, and the last lines to print.
type simTrace struct {
	hash interface {
		Write([]byte) (int, error)
		Sum64() uint64
	}
	line  []byte
	lines [simTraceKept][]byte
	count int
	whole io.Writer // nil except for one seed that is looked at
}

const simTraceKept = 90

func (w *simWorld) note(format string, args ...any) {
	t := &w.trace
	t.line = fmt.Appendf(t.line[:0], "%8.3f ", w.now.Seconds())
	t.line = fmt.Appendf(t.line, format, args...)
	t.hash.Write(t.line)
	if t.whole != nil {
		fmt.Fprintf(t.whole, "%s\n", t.line)
	}
	slot := &t.lines[t.count%simTraceKept]
	*slot = append((*slot)[:0], t.line...)
	t.count++
}

// detail is for the whole story alone.
func (w *simWorld) detail(format string, args ...any) {
	if w.trace.whole != nil {
		fmt.Fprintf(w.trace.whole, "%8.3f   "+format+"\n", append([]any{w.now.Seconds()}, args...)...)
	}
}

// story is the last lines of the trace.
func (w *simWorld) story() string {
	var b strings.Builder
	for n := max(0, w.trace.count-simTraceKept); n < w.trace.count; n++ {
		b.Write(w.trace.lines[n%simTraceKept])
		b.WriteByte('\n')
	}
	return b.String()
}

// simulate lives one seed from its beginning to its end. Its whole story goes to whole, if that is not nil.
func simulate(seed uint64, whole io.Writer) *simWorld {
	w := newSimWorld(seed)
	w.trace.whole = whole
	w.live()
	return w
}

// live lives a world to its end.
func (w *simWorld) live() {
	for _, s := range w.supervisors {
		s.start()
	}
	for _, h := range w.hosts {
		h.powerOn()
	}
	w.clients.begin()
	w.scheduleFaults()
	w.schedulePutBack()
	w.scheduleSettings()
	w.run(w.faults.lasts)
	if w.failure == "" {
		w.calmDown()
	}
}
