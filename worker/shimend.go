package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/shim"
)

// finish ends the instance of a dead shim: kills what it left behind, and writes the record that the
// shim could not write. Without one the next agent would start the attempt again, if this one died before its
// word was taken in: so the instance stays until there is space for it.
func (l *shimConn) finish(ctx context.Context) (gone bool) {
	idle := l.ended
	if (!l.ended || l.loadOnce) && !l.cleared() {
		return l.tryLater("the item's shim has ended, and processes of the item outlive KILL")
	}
	if !l.ended {
		f, err := l.a.state.spool().Get(l.attempt)
		if err != nil {
			f, err = l.record()
		}
		if err != nil {
			if l.pause < reconnectMax { // else it was said
				l.log.Error("the record of an item that is lost cannot be written; the worker tries again", "attempt",
					shim.AttemptName(l.attempt), "error", err)
			}
			return l.tryLater("the record of the item cannot be written")
		}
		l.end(f)
	}
	select {
	case <-l.reported:
	case <-ctx.Done():
		return false
	}
	if idle && l.loadOnce && l.closing == nil {
		shim.NoteInSession(l.a.state.logPath(l.sessionLog()), int64(l.a.config.LogLimit),
			"the program was killed, as the process that keeps it on its host ended; the next item starts another one")
	}
	l.discard()
	return true
}

// discard removes what is left of an instance that has ended: its control group, then the folder that names it.
func (l *shimConn) discard() {
	if err := l.tree.Remove(); err != nil {
		l.log.Warn("the control group of an ended instance cannot be removed", "error", err)
	}
	l.a.temps.ended(shim.AttemptName(l.attempt)) // of an end that was reported before, too
	l.a.temps.ended(l.key.String())              // of a program that was kept
	if l.loadOnce {
		l.a.ships.finish(l.sessionLog(), func() {})
	}
	if err := os.RemoveAll(l.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn("the folder of an ended instance cannot be removed", "error", err)
	}
}

func (l *shimConn) lost() api.Finished {
	f := api.Finished{Attempt: l.attempt, Instance: l.key.Instance, Outcome: "lost",
		Reason: "the item's shim ended without a record; none of the item's processes is left"}
	if l.forced != "" {
		f.Outcome = core.OutcomeStopped
		f.Code = l.forcedCode
		f.Reason = l.forced
	}
	return f
}

// cleared kills what a dead shim left, and says whether there was nothing any more.
func (l *shimConn) cleared() bool {
	now, _ := readNow(l.dir)
	return l.tree.KillLeft(l.mark, now.Process, l.generation > 0) == 0
}

// wake continues a shim that somebody has stopped.
func (l *shimConn) wake() {
	now, err := readNow(l.dir)
	if err != nil {
		return
	}
	if p, ok := proc.Read(now.Shim.PID); ok && p.ID == now.Shim && (p.State == 'T' || p.State == 't') {
		unix.Kill(p.PID, unix.SIGCONT)
	}
}

// force kills the tree of a shim that does not answer, and the shim; its lock is then free.
func (l *shimConn) force(reason, code string) {
	l.forced, l.forcedCode = "the item's shim did not answer and was killed", code
	if reason != "" {
		l.forced = reason + "; " + l.forced
	}
	now, _ := readNow(l.dir)
	if now.Shim.PID != 0 && now.Shim.Alive() {
		unix.Kill(now.Shim.PID, unix.SIGSTOP) // starts nothing more
		for range 5 {
			l.tree.Below(now.Shim).Kill(false)
		}
		if now.Shim.Alive() {
			unix.Kill(now.Shim.PID, unix.SIGKILL)
		}
	}
	l.retry.Reset(reconnectMin)
}
