package people

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"qb/internal/pause"
)

// How often the host is looked at, and how long logind may take for an answer.
const (
	lookEvery  = 5 * time.Second
	busTimeout = 2 * time.Second
)

// What a Watcher reads; tests have their own.
const (
	devices = "/dev"
	manager = "org.freedesktop.login1.Manager" // interface: org.freedesktop.login1(5)
)

// Watcher knows when somebody last used the host's keyboard or mouse, or a terminal that runs on it.
type Watcher struct {
	log     *slog.Logger
	devices string
	connect func(...dbus.ConnOption) (*dbus.Conn, error)
	bus     *dbus.Conn
	mute    bool // logind did not answer, and the log says so
	last    atomic.Int64
}

// Watch looks at the host now and every few seconds until ctx ends.
func Watch(ctx context.Context, log *slog.Logger) *Watcher {
	w := &Watcher{log: log, devices: devices, connect: dbus.ConnectSystemBus}
	go w.run(ctx) // by itself, as a message bus may hang
	return w
}

func (w *Watcher) run(ctx context.Context) {
	defer w.hangUp()
	for {
		w.look(ctx, time.Now())
		if pause.For(ctx, lookEvery) != nil {
			return
		}
	}
}

// Present says whether somebody used the host within that time.
func (w *Watcher) Present(now time.Time, within time.Duration) bool {
	last := w.last.Load()
	return last > 0 && now.Sub(time.Unix(0, last)) < within
}

// look notes the latest use that terminals and logind know of. A time in the future counts as now.
func (w *Watcher) look(ctx context.Context, now time.Time) {
	used := w.terminals()
	if at, ok := w.logind(ctx, now); ok && at.After(used) {
		used = at
	}
	if used.After(now) {
		used = now
	}
	if !used.IsZero() {
		w.last.Store(used.UnixNano())
	}
}

// terminals is when a terminal was last read from: the kernel notes that to eight seconds in its file's time of access.
func (w *Watcher) terminals() (used time.Time) {
	for _, pattern := range []string{"tty[1-9]*", "pts/[0-9]*"} {
		files, _ := filepath.Glob(filepath.Join(w.devices, pattern))
		for _, file := range files {
			var s unix.Stat_t
			if unix.Lstat(file, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFCHR {
				if at := time.Unix(s.Atim.Unix()); at.After(used) && at.After(time.Unix(s.Ctim.Unix())) {
					// an unused terminal has both alike
					used = at
				}
			}
		}
	}
	return used
}

// logind is since when all sessions of people are idle, or now if one is not. A host without logind, or with none of
// its sessions, does not know.
func (w *Watcher) logind(ctx context.Context, now time.Time) (used time.Time, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	idle, since, err := w.idle(ctx)
	if err != nil {
		w.hangUp()
		if !w.mute && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("logind does not say whether people use this host; only terminals are looked at until it does", "err",
				err)
			w.mute = true
		}
		return time.Time{}, false
	}
	w.mute = false
	switch {
	case !idle:
		return now, true
	case since == 0:
		return time.Time{}, false
	}
	return time.UnixMicro(int64(min(since, 1<<62))), true
}

func (w *Watcher) idle(ctx context.Context) (idle bool, since uint64, err error) {
	if w.bus == nil {
		bus, err := w.connect()
		if err != nil {
			return false, 0, err
		}
		w.bus = bus
	}
	object := w.bus.Object("org.freedesktop.login1", "/org/freedesktop/login1")
	read := func(name string, to any) error {
		var v dbus.Variant
		if err := object.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, manager, name).Store(&v); err != nil {
			return err
		}
		return v.Store(to)
	}
	if err := read("IdleHint", &idle); err != nil {
		return false, 0, err
	}
	return idle, since, read("IdleSinceHint", &since)
}

func (w *Watcher) hangUp() {
	if w.bus != nil {
		_ = w.bus.Close()
		w.bus = nil
	}
}
