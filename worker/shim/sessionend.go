package shim

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
)

// newSessionLog is a log that goes on behind what former programs of the session wrote, and has the same limit.
func newSessionLog(path string, limit int64, shared *pumping) *itemLog {
	log := newLog(path, limit, shared)
	if info, err := os.Stat(path); err == nil {
		log.size = info.Size()
	}
	return log
}

// killKept kills a program that is kept, and retains the first reason for the session's log.
func (s *shim) killKept(p *program, why string) {
	if !p.killing {
		p.cause = why
	}
	s.kill(p, killRepeat)
}

// noteEnd writes into the session's log why the program ended, if it did so between two items and was not asked to.
// The end of an item says it otherwise. It is called when nothing of the program is left, so its log is closed.
func (k *session) noteEnd(it *shimItem) {
	p := k.p
	between := it == nil || it.over || it.report != nil && it.verdict == nil || k.given > 0 && !it.given && !it.stopped
	if !between || k.ending != "" && p.cause == "" && p.status.Exited() && p.status.ExitStatus() == 0 {
		return
	}
	how := fmt.Sprintf("ended with exit status %d", p.status.ExitStatus())
	if p.status.Signaled() {
		how = fmt.Sprintf("was killed by signal %d (%s)", p.status.Signal(), unix.SignalName(p.status.Signal()))
	}
	switch f := (api.Finished{}); {
	case p.cause != "":
		how += ", as " + p.cause
	case p.killing && k.ending != "":
		how += fmt.Sprintf(", as it was to end at once: %s", k.ending)
	case p.outOfMemory(&f, &k.s.hostKills):
		how += ": the kernel had no memory for it, or it reached its limit"
	}
	NoteInSession(k.log.path, k.log.limit, fmt.Sprintf("process %d of the program %s, between two items", p.pid, how))
}

// NoteInSession adds a line to a session's log that no program writes to at present. A log that has reached its limit
// gets none, so that programs that end again and again do not fill the disk.
func NoteInSession(path string, limit int64, text string) {
	log := newLog(path, limit, &pumping{buffer: new([HeaderSize + pumpBuffer]byte)})
	if err := log.open(); err != nil {
		return // a full disk, or a folder that is gone: the end itself is not in doubt
	}
	if log.size < log.limit {
		log.note("[qb: %s: %s]\n", time.Now().UTC().Format(time.RFC3339), text)
	}
	log.close()
}
