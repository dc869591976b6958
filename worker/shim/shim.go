package shim

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
	"qb/worker/picture"
	"qb/worker/proc"
	"qb/worker/tree"
)

// What a shim inherits from the agent, besides its standard files.
const (
	lockFD   = 3 // the intent, locked for as long as this process lives
	socketFD = 4 // listening already, so that the agent need not wait for the shim to come up
)

// Waits of a shim.
const (
	drainWait    = 2 * time.Second // for output of what the process left behind
	launchWait   = 10 * time.Second
	stuckAfter   = 20 * time.Second // of KILL: then the tree is called unkillable
	freezeWait   = 5 * time.Second  // then a tree that cannot be frozen is killed
	recordRetry  = time.Second
	shimTick     = 2 * time.Second
	shimWrite    = 5 * time.Second
	shimBacklog  = 64
	killRepeat   = 5 * time.Millisecond
	killRepeatMx = time.Second
)

// shim is the parent of one instance's processes. One goroutine owns all of it; the others hand it
// closures.
type shim struct {
	dir, root string
	intent    Intent
	now       *os.File
	null      *os.File
	spool     Spool
	tree      tree.Tree
	garbage   garbage
	pumping   *pumping
	hostKills hostKills

	forker forker
	do     chan func()
	quit   chan struct{}
	done   bool

	conn       net.Conn
	generation int // of the connection; what came over a former one is not obeyed
	out        chan Report

	lease      core.Moment
	leaseTimer *bootTimer
	standstill

	item       *shimItem
	program    *program // nil: none runs, and nothing is left of the last one
	last       api.AttemptID
	readied    bool // the preflights of the instance have succeeded
	closing    bool
	ending     Ending // of a program that is kept, once it is closing
	spareTaken bool   // the space for a record is in use by one
	wiped      bool   // the state folder is gone, and with it all who could ask for a result
}

// standstill says whether the tree is to stand still, and why.
type standstill struct {
	frozenAt     time.Time // since when it is to be frozen, and is not; zero: it is
	frozen       bool
	suspended    bool  // the item is to stand still by order
	suspensionID int64 // number of that order
}

// Main runs a shim for the instance's folder in args and returns its exit code. The agent starts it.
func Main(args []string) int {
	if len(args) == 1 && args[0] == lookWord {
		return lookMain(os.Stdin, os.Stdout)
	}
	if len(args) == 1 && args[0] == EmptyWord {
		return emptyMain(os.Stdout)
	}
	if len(args) == 1 && args[0] == picture.Word {
		return picture.Main(os.Stdin, os.Stdout)
	}
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "qb shim is started by a worker, never by hand")
		return 2
	}
	s, err := newShim(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		return 1
	}
	s.loop()
	return 0
}

func newShim(dir string) (*shim, error) {
	closeForeign()
	cleanSignals()
	keepFromHarm()
	s := &shim{
		dir: dir, root: filepath.Dir(filepath.Dir(dir)),
		do: make(chan func(), shimBacklog), quit: make(chan struct{}),
	}
	s.garbage.takeOver()
	s.spool = Spool(filepath.Join(s.root, "spool"))
	err := ReadSealed(filepath.Join(dir, "intent"), &s.intent)
	if err != nil {
		return nil, fmt.Errorf("reading the intent: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	if s.now, err = os.OpenFile(filepath.Join(dir, "now"), os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if s.null, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	if s.leaseTimer, err = newBootTimer(); err != nil {
		return nil, err
	}
	if s.forker.waiter, err = newWaiter(); err != nil {
		return nil, err
	}
	s.forker.work = make(chan func(), 1)
	if s.pumping, err = newPumping(); err != nil {
		return nil, err
	}
	socket := os.NewFile(socketFD, "socket")
	listener, err := net.FileListener(socket)
	socket.Close()
	if err != nil {
		return nil, fmt.Errorf("taking over the socket: %w", err)
	}
	s.tree = s.intent.Below(proc.Identify(os.Getpid()))
	s.tree.Hold()
	go s.forker.run()
	go s.accept(listener)
	go s.leaseTimer.run(func() { s.post(s.checkLease) })
	return s, nil
}

// closeForeign closes what the agent inherited from its parent, so that neither the shim nor an
// item holds it open. Descriptors of the runtime are anonymous and stay.
func closeForeign() {
	names, _ := proc.Names("/proc/self/fd")
	for _, name := range names {
		var fd int
		if _, err := fmt.Sscan(name, &fd); err != nil || fd <= socketFD {
			continue
		}
		if link, err := os.Readlink("/proc/self/fd/" + name); err == nil && !strings.HasPrefix(link, "anon_inode:") {
			unix.Close(fd)
		}
	}
	unix.CloseRange(lockFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// cleanSignals catches all that can be caught: the shim is ended by its agent, not by a signal to a
// group or by a shutdown that ends agents. What is caught here is back at its default in an item, also
// what the agent was made to ignore or to block.
func cleanSignals() {
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	ignored := make(chan os.Signal, 1)
	for n := syscall.Signal(1); n < 32; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF,
			syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGABRT, syscall.SIGQUIT, syscall.SIGTRAP:
		default:
			signal.Notify(ignored, n)
		}
	}
	go func() {
		for range ignored {
		}
	}()
	// These the runtime leaves alone, and who was spawned by make or another user of posix_spawn finds two
	// of them ignored (glibc's own signals 32 and 33).
	var byDefault [4]uint64 // struct sigaction: SIG_DFL, no flags
	for n := uintptr(32); n <= 34; n++ {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	}
}

// keepFromHarm takes a protection from the out-of-memory killer off that is meant for the agent alone.
func keepFromHarm() {
	data, err := os.ReadFile("/proc/self/oom_score_adj")
	if err == nil && strings.HasPrefix(string(data), "-") {
		os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0)
	}
	unix.Umask(0o077)
}

func (s *shim) loop() {
	defer s.tree.Remove()
	defer close(s.quit)
	tick := time.Tick(shimTick)
	for !s.done {
		if s.program == nil || !s.program.launching {
			s.garbage.collect()
		}
		select {
		case f := <-s.do:
			f()
		case <-tick:
			s.onTick()
		}
	}
	s.hangUp()
}

func (s *shim) post(f func()) {
	select {
	case s.do <- f:
	case <-s.quit:
	}
}

// tryPost drops f where the shim is too busy for it; its caller may be waited for.
func (s *shim) tryPost(f func()) {
	select {
	case s.do <- f:
	default:
	}
}

func (s *shim) after(d time.Duration, f func()) { time.AfterFunc(d, func() { s.post(f) }) }

// onTick ends a shim that no agent can ask any more.
func (s *shim) onTick() {
	var stat unix.Stat_t
	if err := unix.Fstat(lockFD, &stat); err == nil && stat.Nlink == 0 && !s.wiped {
		s.wiped = true
		if s.item != nil {
			s.stop(StopCommand{Attempt: s.item.order.Attempt})
		}
	}
	if s.item != nil || !s.wiped && (s.conn != nil || BootNow() < s.lease) {
		return
	}
	if s.program != nil {
		s.killKept(s.program, "the worker was not there until its lease ended")
		return
	}
	s.done = true
}

func (s *shim) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			select {
			case <-s.quit:
				return
			case <-time.After(100 * time.Millisecond): // out of descriptors, perhaps
				continue
			}
		}
		s.post(func() { s.connected(conn) })
	}
}

func (s *shim) connected(conn net.Conn) {
	s.hangUp()
	s.generation++
	s.conn, s.out = conn, make(chan Report, shimBacklog)
	go s.read(conn, s.generation)
	go s.write(conn, s.out)
	s.say(Report{Hello: &Hello{Shim: s.tree.Shim, Attempt: s.attempt(), State: s.state(),
		Loaded: s.program != nil && s.program.session != nil || s.item != nil && s.item.order.Session != nil}})
}

func (s *shim) hangUp() {
	if s.conn != nil {
		close(s.out)
		s.conn.Close()
		s.conn, s.out = nil, nil
	}
}

func (s *shim) read(conn net.Conn, generation int) {
	for lines := Messages(conn); ; {
		var m Command
		err := ReadMessage(lines, &m)
		s.post(func() {
			switch {
			case generation != s.generation:
			case err != nil:
				s.hangUp()
			default:
				s.obey(m)
			}
		})
		if err != nil {
			return
		}
	}
}

func (s *shim) write(conn net.Conn, out <-chan Report) {
	for m := range out {
		line, err := EncodeMessage(m)
		if err == nil {
			err = WriteMessage(conn, line, shimWrite)
		}
		if err != nil {
			conn.Close() // the reader sees it; an end that cannot be said is in the spool
		}
	}
}

// say tells the agent, if one listens. What is not heard is said again by the next hello or is in
// the spool.
func (s *shim) say(m Report) {
	if s.conn == nil {
		return
	}
	select {
	case s.out <- m:
	default:
		s.hangUp() // an agent that does not read
	}
}

func (s *shim) obey(m Command) {
	switch {
	case m.Run != nil:
		s.run(m.Run)
	case m.Stop != nil:
		s.stop(*m.Stop)
	case m.Lease != 0:
		s.setLease(m.Lease)
	case m.Suspend != nil:
		s.suspend(*m.Suspend)
	case m.Close:
		s.closing = true
		s.ending = m.Ending
		s.done = s.item == nil && s.program == nil
		if s.item == nil && s.program != nil {
			s.program.session.end(s.ending)
		}
	case m.Answer != "" && s.program != nil && s.program.session != nil:
		s.program.session.noItem = m.Answer
	}
}

func (s *shim) attempt() api.AttemptID {
	if s.item != nil {
		return s.item.order.Attempt
	}
	return s.last
}

func (s *shim) state() string {
	it, p := s.item, s.program
	if it == nil {
		return core.StateIdle
	}
	untaken := p != nil && p.session != nil && !it.given
	switch {
	case it.stopped || p != nil && p.killing && !(untaken && p.session.given > 0):
		return core.StateStopping
	case p == nil || p.pid == 0 || untaken: // also while it is being forked
		return core.StateStarting
	case s.frozen && s.suspended:
		return core.StateSuspended
	case s.frozen:
		return core.StateFrozen
	}
	return core.StateRunning
}
