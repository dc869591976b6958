package shim

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"qb/internal/patterns"
)

// Bounds of looking at an item's output. An expression takes time for each instruction that it compiles to and each
// byte of a line, so a page of output can take a minute of processor.
const (
	lookDebt  = 4 * time.Millisecond // of looking, before it is made up for: it takes a quarter of a core at most
	lookLeast = 10 * time.Second     // of processor time that an item's looking may take
	lookShare = 20                   // and one part of so many of the time that it has run
	lookAfter = 10 * time.Second     // after the item's process has ended, for what it left in its pipes
)

// Why nothing more is looked at.
const (
	lookStopped = 1 + iota // the item is being stopped
	lookSpent              // it took too long
	lookLate               // the item ended long ago
)

// watcher looks at an item's output. The log to which it belongs is held by one goroutine at a time; only giveUp may be
// called by any. It runs in the shim's process, so it cannot be in the item's control group: freezing that group would
// stop the shim. Its processor time is measured and counts as the item's.
type watcher struct {
	lines    patterns.Lines
	licences licences
	seen     *patterns.Watch
	unread   error             // why its job's expressions are not looked for
	charge   func(cpu float64) // takes seconds that looking took
	began    time.Time         // of the pump
	mark     time.Duration     // processor time of the thread, of which all before is charged
	debt     time.Duration     // looking, that was not made up for
	total    time.Duration
	skipped  bool // of what came, something was not looked at
	given    atomic.Int32
	quit     chan struct{} // closed with given
	percent  atomic.Int32
}

func newWatcher() watcher {
	return watcher{seen: &patterns.Watch{}, charge: func(float64) {}, began: time.Now(), quit: make(chan struct{})}
}

// watch has the output looked at for the patterns of the site and, if it is that of the item's command, of the item's
// job. Both were checked where they were accepted; what this one cannot read, of another release, is named at the end
// of the log.
func (w *watcher) watch(o *RunCommand, licences licences, command bool) {
	if w.licences = licences; command {
		seen, err := patterns.New(o.Rules)
		if w.unread = err; seen != nil {
			w.seen = seen
		}
	}
	if w.licences == nil && w.seen.Nothing() {
		return
	}
	w.seen.Stop = w.over
	w.lines.Take = func(line patterns.Piece) {
		if w.over() {
			w.skipped = true
			return
		}
		w.licences.look(line, w.over)
		w.seen.Look(line)
		w.skipped = w.over() // between two expressions
		w.chargeTime()
	}
}

// over says whether nothing more is looked at. It is asked between lines, and between expressions.
func (w *watcher) over() bool { return w.given.Load() != 0 }

// giveUp ends the looking at once. Others than the pump may call it.
func (w *watcher) giveUp(why int32) {
	if w.given.CompareAndSwap(0, why) {
		close(w.quit)
	}
}

// look looks at a piece of output. A process that writes faster than its lines can be looked at waits for its pipe.
func (w *watcher) look(stream byte, piece []byte) {
	w.looking(func() { w.lines.Write(stream, piece) })
}

// end looks at what has no end of a line.
func (w *watcher) end() {
	w.looking(w.lines.End)
}

func (w *watcher) looking(do func()) {
	if w.lines.Take == nil {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.mark = threadTime()
	do()
	w.chargeTime()
	w.percent.Store(int32(w.seen.Progress()))
}

// chargeTime charges what looking took since the last time, and makes up for it.
func (w *watcher) chargeTime() {
	now := threadTime()
	spent := now - w.mark
	w.mark = now
	w.total += spent
	w.debt += spent
	w.charge(spent.Seconds())
	if w.total > lookLeast+time.Since(w.began)/lookShare {
		w.giveUp(lookSpent)
	}
	if w.debt > lookDebt {
		select {
		case <-time.After(3 * w.debt):
		case <-w.quit:
		}
		w.debt = 0
	}
}

// threadTime is the processor time of the calling thread, to which the goroutine is locked.
func threadTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// progress is how far the item is in per cent, by its output; 0: not known.
func (w *watcher) progress() int { return int(w.percent.Load()) }

// unlooked says what of the output was not looked at, though the item was not stopped; "" for nothing. Good when the
// pump has ended.
func (w *watcher) unlooked() string {
	switch why := w.given.Load(); {
	case w.unread != nil:
		return fmt.Sprintf("the item's output was not looked at: %v", w.unread)
	case !w.skipped || why == lookStopped:
		return ""
	case why == lookLate:
		return fmt.Sprintf("the end of the item's output was not looked at: the job's expressions take longer than %s for what it left in its pipes", lookAfter)
	}
	return fmt.Sprintf("the rest of the item's output was not searched: its regular expressions had used their limit of %s of processor time", w.total.Round(time.Second))
}
