package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/picture"
	"qb/worker/settings"
	"qb/worker/shim"
)

// Options are what the program around the agent decides.
type Options struct {
	Log         *slog.Logger
	ShimCommand []string    // program and arguments that run shim.Main; empty: this program with "shim"
	StopItems   func() bool // asked when the context ends: stop all items, or leave them running
	NoDevices   bool        // another agent on this machine offers its GPUs
	// accounts that may be the supervisor on this machine, beside the ones that api.NewClient trusts
	Trusted    []uint32
	Own        []string // keys of settings.CentralKeys that the configuration sets itself
	RunAsShown bool     // the caller has printed as whom items run
	Check      Check    // before a restart

	groupKinds []string // kinds of control groups to try; nil: all
}

// Waits of the agent.
const (
	hostLook    = 2 * time.Second
	othersEvery = 5                     // looks between searches for other agents, while nothing speaks for any
	sweepEvery  = 300                   // looks between removals of what ended items left behind
	othersLeast = 64 << 20              // bytes: so much more in use does
	memoryLook  = 20 * time.Millisecond // least time between looks beside the regular ones
	farewell    = 15 * time.Second      // for stopping all items and reporting them
	closeReason = "the worker was stopped"
)

// agent is the shell around the core: one goroutine steps it, connections to shims and senders hand it events.
type agent struct {
	ctx           context.Context
	config        settings.Config
	log           *slog.Logger
	state         *stateFolder
	ends          endLog
	boot          string
	incarnation   string
	gpus          int      // of the machine, if this agent is to offer them
	gpusElsewhere bool     // another worker of the machine offers them
	shim          []string // path, then argv
	groupKinds    []string // kinds of control groups to try
	core          *core.Core
	launcher      *launcher
	orders        commandGate
	temps         *temps // nil: items have no folders of their own
	ships         *shipper
	pictures      *picture.Maker // nil: it makes none
	conns         map[core.Key]*shimConn
	linked        sync.WaitGroup
	farm          *supervisorConn

	sweeping  atomic.Bool
	looks     int
	others    int64   // memory of other agents' items, at the last look
	othersCPU float64 // seconds that those had, at the last look
	swap      swapSeen
	busy      busySeen
	keeper    keeper
	central   central
	restart   restart
	poller    *usagePoller // nil: no command is to be asked
	used      int64        // of the machine's memory, by anybody, at the last look
	lookedAt  time.Time    // beside the regular looks

	mu     sync.Mutex
	events []core.Event // bounded: connections to shims and senders wait for orders meanwhile
	wake   chan struct{}
}

// Run is the worker: it returns when ctx ends (nil), when it is to be started again (ErrRestart) or when it cannot go
// on. Items run on, in the care of their shims, unless StopItems says otherwise when ctx ends; then they are ended and
// reported, which takes at most 15 seconds.
func Run(ctx context.Context, config settings.Config, options Options) error {
	config, err := config.Settled(cores())
	if err != nil {
		return err
	}
	state, err := openState(config.State)
	if err != nil {
		return err
	}
	defer state.close()
	// The agent outlives ctx by its farewell.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a, err := newAgent(inner, config, options, state)
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		a.linked.Wait()
		a.ships.wait.Wait()
		a.farm.wait.Wait()
		if temps := a.launcher.temps; temps != "" && len(a.core.Attempts()) == 0 { // else a shim may be about to use it
			os.Remove(temps)
		}
	}()
	booted, err := a.adopt()
	if err != nil {
		return err
	}
	if a.temps != nil {
		a.linked.Go(func() { a.temps.run(inner) })
	}
	if a.poller != nil {
		a.linked.Go(func() { a.poller.Run(inner) })
	}
	a.look()
	a.post(booted) // before any report of a shim: the core knows no instance until then
	for _, l := range a.conns {
		a.linked.Go(func() { l.run(inner) })
	}
	checkLowUsers(config, a.log)
	a.log.Info("worker started", "host", config.Name, "slots", config.CPUs, "state", config.State, "run_as", config.RunAs,
		"adopted", len(booted.Instances))
	if state.copied {
		a.log.Warn("the state folder was a copy of another worker's; the worker has cleared it and starts as a new one",
			"state", config.State)
	}
	if a.pictures = a.newPictures(); a.pictures != nil {
		a.linked.Go(func() { a.pictures.Run(inner) })
	}
	a.logGroups(options.RunAsShown && os.Geteuid() != 0)
	if config.RunAs == settings.RunAsAgent && !options.RunAsShown {
		a.log.Warn("all items run as the worker's own user: each can read the tokens and the state folder and change the results of other items; the worker runs only this user's jobs; to separate items, run the worker as root with worker_run_as = \"owner\"",
			"user", a.launcher.agentUser)
	}
	return a.loop(ctx, options.StopItems)
}

func newAgent(ctx context.Context, config settings.Config, options Options, state *stateFolder) (*agent, error) {
	a := &agent{
		ctx: ctx, config: config, log: options.Log, state: state, ends: endLog{dir: filepath.Join(state.root, "ends")},
		restart: restart{check: options.Check, checked: make(chan checked)}, incarnation: rand.Text(),
		conns: map[core.Key]*shimConn{}, wake: make(chan struct{}, 1), orders: newOrderGate(),
	}
	if a.groupKinds = options.groupKinds; a.groupKinds == nil {
		a.groupKinds = cgroup.Kinds
	}
	a.findGPUs(deviceFolder, options.NoDevices)
	var err error
	if a.boot, err = shim.BootID(); err != nil {
		return nil, err
	}
	if a.shim, err = shimCommand(options.ShimCommand); err != nil {
		return nil, err
	}
	own, token := state.token(), ""
	if config.TokenFile != "" {
		if token, err = readToken(config.TokenFile); err != nil && own.Token == "" {
			return nil, err
		}
	}
	private, err := state.key()
	if err != nil {
		return nil, err
	}
	if a.farm, err = newSupervisorConn(a, config.Supervisor, cmp.Or(own.Token, token), own.Pins,
		options.Trusted...); err != nil {
		return nil, err
	}
	a.farm.file = config.TokenFile
	a.farm.private = private
	a.farm.own = own
	a.launcher = &launcher{
		runAs: config.RunAs, agentUser: statedir.OwnName(), allowRoot: config.AllowRoot, passEnv: config.PassEnv,
		supervisor: strings.Join(config.Supervisor, ","), host: config.Name, logLimit: int64(config.LogLimit),
		environ: os.Environ, programs: programFolder(), owners: map[string]ownerFacts{},
		instances: filepath.Join(state.root, "i"),
		lowest:    config.LowestUID, lowUsers: config.LowUsersFile, paths: config.PathEntries(),
	}
	if os.Geteuid() == 0 {
		a.launcher.private, a.launcher.temps = a.ownThings()
	}
	if a.launcher.temps != "" {
		a.temps = newTemps(a.launcher.temps, a.shim, a.log)
	}
	a.launcher.hidesGPUs.Store(a.hidesGPUs())
	a.ships = newShipper(ctx, a.log, state.logPath, a.farm.appendLog)
	a.central.own, a.central.keys = config, options.Own
	a.keeper = a.startKeeper(config)
	a.loadCentral()
	if a.poller, err = a.newPoller(); err != nil {
		return nil, err
	}
	limits := core.DefaultLimits()
	limits.Report = config.ReportInterval.Std()
	limits.Stress = a.stress()
	a.core = core.NewCore(a.identity(), limits, maphash.Comparable(maphash.MakeSeed(), config.Name))
	return a, nil
}

// shimCommand is the path and argv of the shim: this program, unless another one is given.
func shimCommand(given []string) ([]string, error) {
	if len(given) > 0 {
		return append([]string{given[0]}, given...), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is also the shim: %w", err)
	}
	return []string{self, "qb", "shim"}, nil
}

// stress is what the configuration says of others' use of the machine.
func (a *agent) stress() core.Stress {
	return core.Stress{SwapLimit: int64(a.config.SwapLimit), ForeignCPU: a.config.ForeignCPU == settings.ForeignSlots}
}

func (a *agent) identity() api.Sync {
	c := a.config
	return api.Sync{
		Host: c.Name, MachineID: machineID(c.Name), BootID: a.boot, StateID: a.state.id, Incarnation: a.incarnation,
		Slots: c.CPUs, Cores: cores(), Cluster: c.Cluster, Groups: c.Groups, Properties: propertiesOf(c),
		Resources: resourcesOf(c, a.gpus, a.swap.since().Total), Spec: c.Spec,
		RunAs: c.RunAs, AgentUser: a.launcher.agentUser, Owners: ownersOf(c), Version: api.Version(), Protocol: api.Protocol,
		Central: a.central.Version, CentralError: a.central.err, OwnGroups: a.central.own.Groups,
		RestartOrder: a.restart.refused, RestartError: a.restart.why, Settings: c.Shown(a.central.Values, a.central.keys),
	}
}

// post never blocks, so that what the loop waits for cannot wait for the loop.
func (a *agent) post(ev core.Event) {
	a.mu.Lock()
	a.events = append(a.events, ev)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *agent) take() []core.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	events := a.events
	a.events = nil
	return events
}

func (a *agent) loop(ctx context.Context, stopItems func() bool) error {
	host, measure, over := time.Tick(hostLook), time.Tick(a.config.ReportInterval.Std()), ctx.Done()
	var deadline <-chan time.Time
	for {
		events := a.take()
		a.lookBetween(events)
		for _, ev := range events {
			a.step(ev)
		}
		if deadline != nil && a.core.Quiet() {
			return nil
		}
		select {
		case <-a.wake:
		case <-time.After(max(0, a.core.Wake()-shim.BootNow())):
			a.step(core.Ticked{})
		case <-measure:
			a.measureMemory(nil)
		case <-host:
			if !a.state.intact() {
				return fmt.Errorf("the worker's state folder %s was removed or replaced; its items end by themselves; start the worker again", a.state.root)
			}
			a.look()
		case r := <-a.restart.checked:
			if over != nil && a.restarts(r) { // else it is being stopped
				return ErrRestart
			}
		case <-over:
			if stopItems == nil || !stopItems() {
				return nil
			}
			over, deadline = nil, time.After(farewell)
			a.step(core.Closing{Reason: closeReason})
		case <-deadline:
			a.log.Warn("some items were not ended and reported in time; their shims continue, and the next worker with this state folder reports them", "waited", farewell)
			return nil
		}
	}
}

// look reads the host's facts for the next sync.
func (a *agent) look() {
	memory, err := hostMemory()
	why := refusing(a.state.root, a.config.DiskFloor)
	if err != nil && why == "" {
		why = err.Error()
	}
	used := memory.Total - memory.Available
	if a.looks%othersEvery == 0 || a.others > 0 || used > a.used+othersLeast { // what is new may be an item of theirs
		a.others, a.othersCPU = otherAgents(a.state.root)
	}
	busy, othersBusy := a.busy.since(a.othersCPU)
	if a.looks%sweepEvery == 1 { // not at the first look: the core does not know yet what a former agent left running
		a.sweep()
	}
	a.looks, a.used = a.looks+1, used
	for _, l := range a.conns {
		l.wake() // only its shim can hold its item to the lease
	}
	a.post(core.HostMeasured{Memory: a.offered(memory), Others: a.others, Ended: a.left(nil), Refusing: why,
		Kept: a.keeper.now(time.Now()), Swap: a.swap.since(), Busy: busy, OthersBusy: othersBusy, Usage: a.poller.Latest()})
}

// left adds the instances whose item has left its memory, though the core does not know yet: its log is still
// being shipped. The program of a load-once job still has its memory then.
func (a *agent) left(keys []core.Key) []core.Key {
	for key, l := range a.conns {
		if l.left.Load() && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// offered adds what the configuration says of the host's memory.
func (a *agent) offered(m api.SyncMemory) api.SyncMemory {
	m.Cap, m.Reserve = int64(a.config.Memory), int64(a.config.MemoryReserve)
	return m
}

// lookBetween measures the memory that items that have ended have left, so that the sync that reports their
// ends reports that too; and what is there when an answer may start something.
func (a *agent) lookBetween(events []core.Event) {
	var ended []core.Key
	starts := false
	for _, ev := range events {
		switch ev := ev.(type) {
		case core.ItemEnded:
			if !ev.Finished.Loaded {
				ended = append(ended, ev.Key)
			}
		case core.Answered:
			starts = starts || len(ev.Reply.Instances) > 0
		}
	}
	if (len(ended) > 0 || starts) && time.Since(a.lookedAt) >= memoryLook {
		a.measureMemory(ended)
	}
}

// measureMemory looks at the host's memory beside the regular looks; of ended the core does not know yet.
func (a *agent) measureMemory(ended []core.Key) {
	a.lookedAt = time.Now()
	if memory, err := hostMemory(); err == nil {
		for _, o := range a.core.Step(shim.BootNow(), core.HostMeasured{Memory: a.offered(memory), Others: a.others,
			Between: true, Ended: a.left(ended), Refusing: a.core.Refusing()}) {
			a.carryOut(o)
		}
	}
}

func (a *agent) step(ev core.Event) {
	if gone, ok := ev.(core.ShimGone); ok {
		delete(a.conns, gone.Key)
	}
	for _, o := range a.core.Step(shim.BootNow(), ev) {
		a.carryOut(o)
	}
}

func (a *agent) carryOut(o core.Command) {
	switch o := o.(type) {
	case core.StartShim:
		l := a.newShimConn(o.Key)
		a.conns[o.Key] = l
		l.inbox <- o
		a.linked.Go(func() { l.run(a.ctx) })
	case core.Configure:
		a.configure(o.Central)
	case core.Restart:
		a.checkRestart(o.ID)
	case core.HandItem:
		a.toLink(o.Key, o)
	case core.StopItem:
		a.toLink(o.Key, o)
	case core.SuspendItem:
		a.toLink(o.Key, o)
	case core.CloseShim:
		a.toLink(o.Key, o)
	case core.AnswerProgram:
		a.toLink(o.Key, o)
	case core.WriteLease:
		if l := a.conns[o.Key]; l != nil {
			select {
			case l.inbox <- o:
			default: // busy; the next answer brings a later one
			}
		}
	case core.Forget:
		if err := a.moveEnd(o.Attempt); err != nil {
			a.log.Error("an acknowledged record cannot be removed", "attempt", shim.AttemptName(o.Attempt), "error", err)
		}
	case core.SaveTerm:
		if err := a.state.saveTerm(o.Record); err != nil {
			a.log.Error("the term cannot be saved", "error", err)
		}
	case core.RefusedTerm:
		a.farm.refuse(o)
	case core.SendSync:
		a.farm.sync(o.Sync)
	case core.GiveUpSync:
		if o.Overdue {
			a.farm.leave()
		}
	}
}

func (a *agent) toLink(key core.Key, o core.Command) {
	if l := a.conns[key]; l != nil {
		l.inbox <- o
	}
}
