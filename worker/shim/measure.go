package shim

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"qb/worker/cgroup"
	"qb/worker/tree"
)

// meter measures the memory and the processor time of a shim's tree while an item runs.
//
// Memory is what the kernel counts in the instance's control group. Without one it is the sum of proportional set
// sizes, which counts shared pages once. The kernel walks page tables for that, so it is asked only when the cheap sum
// of resident sizes, which is never smaller, exceeds the peak so far, and not again before twenty times as long as the
// last walk took. A process that lives for less than a sample still counts when it is reaped, if its peak is larger
// than the shim's own: until a process executes its program it shares the shim's memory, and the kernel counts that in
// its peak.
type meter struct {
	root    int
	group   cgroup.Group // in which the kernel counts the tree's memory; zero: none
	closely bool         // an item with a limit may outgrow it fast
	first   *time.Timer  // runs it; nil before the process runs
	own     *int64       // the shim's largest size, as last read; of the forker

	mu        sync.Mutex
	memory    int64
	peak      int64
	cpu       float64 // of all that was reaped
	liveCPU   float64
	base      float64 // processor time before the present item of a program that is kept
	lookedAt  time.Time
	sampled   bool // the kernel does not count the peak of each process from the item's begin
	walkedAt  time.Time
	walkTook  time.Duration
	shareOf   float64 // proportional over resident, at the last walk
	stop      chan struct{}
	stopped   chan struct{}
	afterLook func()
}

// A process that ends before the first look is measured by what the kernel reports at its end: a look costs more than a
// whole short item. The next looks follow closely, because short trees have ended by the first regular one.
const (
	firstLook   = 20 * time.Millisecond
	regularLook = 500 * time.Millisecond
	closeLook   = 100 * time.Millisecond
)

func newMeter(root int, group cgroup.Group, closely bool, own *int64, afterLook func()) *meter {
	return &meter{root: root, group: group, closely: closely, own: own, shareOf: 1, stop: make(chan struct{}),
		stopped: make(chan struct{}), afterLook: afterLook}
}

func (m *meter) start() { m.first = time.AfterFunc(firstLook, m.run) }

func (m *meter) run() {
	defer close(m.stopped)
	for wait := firstLook; ; {
		m.look()
		m.afterLook()
		wait = min(2*wait, regularLook)
		if m.closely {
			wait = min(wait, closeLook)
		}
		select {
		case <-m.stop:
			return
		case <-time.After(wait):
		}
	}
}

func (m *meter) look() []int {
	family, resident, cpu := tree.Use(m.root)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.liveCPU = cpu
	m.lookedAt = time.Now()
	if m.group.Kind != "" {
		if bytes, ok := m.group.MemoryNow(); ok {
			m.memory, m.peak = bytes, max(m.peak, bytes)
			return family
		}
	}
	m.memory = int64(float64(resident) * m.shareOf)
	if resident <= m.peak || time.Since(m.walkedAt) < 20*m.walkTook {
		return family
	}
	began := time.Now()
	var proportional int64
	for _, pid := range family {
		proportional += tree.Proportional(pid)
	}
	m.walkedAt, m.walkTook = began, time.Since(began)
	if resident > 0 {
		m.shareOf = min(1, float64(proportional)/float64(resident))
	}
	m.memory = proportional
	m.peak = max(m.peak, proportional)
	return family
}

// next begins with the next item of a program that is kept. For items that follow one another within a moment there is
// no look at each: what they took counts for the one at the end of which there is.
func (m *meter) next() {
	if m.due() {
		m.reset(m.look())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.base = m.cpu + m.liveCPU
	m.peak = m.memory
}

func (m *meter) due() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.lookedAt) >= firstLook
}

// lap is the figures of an item that the program has reported: the processor time since it got the item, and the most
// memory of all its processes at a time that was seen, or of one process by the kernel's own count.
func (m *meter) lap() (peak int64, cpu float64, sampled bool) {
	largest := int64(0)
	if m.due() {
		family := m.look()
		for _, pid := range family {
			largest = max(largest, tree.Peak(pid))
		}
		defer m.reset(family)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.peak, largest), max(0, m.cpu+m.liveCPU-m.base), m.sampled
}

// reset has the kernel count the peak of each process from now on.
func (m *meter) reset(family []int) {
	m.sampled = false
	for _, pid := range family {
		m.sampled = !tree.ResetPeak(pid) || m.sampled
	}
}

// reaped adds a process that has ended. A peak near the shim's own is the shim's, so that process is left to the
// samples. The shim's own never falls, so it is read again only if it may have risen to that of the process.
func (m *meter) reaped(usage *unix.Rusage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cpu += float64(usage.Utime.Nano()+usage.Stime.Nano()) / float64(time.Second)
	largest := usage.Maxrss * 1024
	if !m.exceedsOwn(largest) {
		return
	}
	if *m.own = tree.OwnPeak(); m.exceedsOwn(largest) {
		m.peak = max(m.peak, largest)
	}
}

func (m *meter) exceedsOwn(size int64) bool { return size > *m.own+*m.own/4 }

// charge adds processor time that the shim spent for the item.
func (m *meter) charge(cpu float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cpu += cpu
}

func (m *meter) end() (peak int64, cpu float64) {
	if !m.first.Stop() {
		close(m.stop)
		<-m.stopped
	}
	return m.peak, max(0, m.cpu-m.base)
}

func (m *meter) now() (memory int64, cpu float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory, max(0, m.cpu+m.liveCPU-m.base)
}
