package farm

import (
	"fmt"
	"time"
)

// untaken is the first answer to a worker that it has not been seen to take, nor a later one; zero: none. A
// held answer that the worker did not wait for is one too, else who asks again and again would never be deaf.
type untaken struct {
	by       string // the incarnation that asked
	sequence uint64
	at       time.Time
}

// expect remembers an answer until the worker shows what it took.
func (h *host) expect(now time.Time, incarnation string, sequence uint64) {
	if h.untaken.at.IsZero() {
		h.untaken = untaken{incarnation, sequence, now}
	}
}

// noteTaken reads from a sync which answers arrive. A greeting shows none of this term. Any other sync of an
// incarnation that was not waited for has taken one, for it knows the term; an agent too old to say what it
// heard is believed.
func (h *host) noteTaken(e WorkerSynced) {
	if e.Heard == 0 || e.Incarnation != h.untaken.by || e.Heard >= h.untaken.sequence {
		h.untaken = untaken{}
	}
}

// silence is for how long the host is out of touch: nothing comes from it, or nothing arrives there.
func (h *host) silence(now time.Time) time.Duration {
	silent := now.Sub(h.lastSync)
	if !h.untaken.at.IsZero() {
		silent = max(silent, now.Sub(h.untaken.at))
	}
	return silent
}

// deaf says that the host has taken no answer for longer than the liveness, whatever it says meanwhile: the
// network carries one way alone. It gets nothing new. Its leases are lengthened no more: not here, and by no
// answer either, for one of them may arrive after all. So its items freeze there, and then move, as those of
// a silent host do; the first answer that it takes ends it.
func (h *host) deaf(now time.Time, p Policy) bool {
	return !h.untaken.at.IsZero() && now.Sub(h.untaken.at) > p.Liveness
}

// remark is what listings say of a host that does not hear, or that talks nonsense.
func (h *host) remark(now time.Time, p Policy) string {
	if h.deaf(now, p) && now.Sub(h.lastSync) <= p.Liveness {
		return fmt.Sprintf("it is heard, but has taken no answer for %.0f s: the network carries nothing from the supervisor to it",
			now.Sub(h.untaken.at).Seconds())
	}
	return h.doubt
}

// outOfTouch is why a lease ran out.
func (h *host) outOfTouch(now time.Time, p Policy) string {
	if h.deaf(now, p) && now.Sub(h.lastSync) <= p.Liveness {
		return fmt.Sprintf("host %s took no answer within its execution lease", h.ID)
	}
	return fmt.Sprintf("host %s was not heard within its execution lease", h.ID)
}
