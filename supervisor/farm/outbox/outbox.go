package outbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"qb/supervisor/job/facts"
)

// The limits of a commit.
const (
	commitRows  = 3000
	commitBytes = 16 << 20
	maxCause    = 2000 // bytes of a line of history; the rest is left out
)

// Outbox holds the writes and replies since the last Take.
type Outbox struct {
	CommitRows int // most rows of a commit, except for those of its last event; 0: 3,000

	writes  []facts.Write
	replies []Reply
	asked   volume // of what is written for requests
	own     volume // and for what the farm does by itself
	working bool   // what is written now is of the latter
}

// Take returns everything since the last Take.
func (o *Outbox) Take() Batch {
	b := Batch{Writes: o.writes, Replies: o.replies}
	o.writes = nil
	o.replies = nil
	o.asked = volume{}
	o.own = volume{}
	return b
}

// Empty reports whether a Take would return nothing.
func (o *Outbox) Empty() bool { return len(o.writes) == 0 && len(o.replies) == 0 }

// Write adds a row.
func (o *Outbox) Write(w facts.Write) {
	o.writes = append(o.writes, w)
	o.weigh(volumeOf(w))
}

// Record appends to the history.
func (o *Outbox) Record(now time.Time, e facts.EventFacts) {
	e.At = now
	if len(e.Cause) > maxCause {
		e.Cause = strings.ToValidUTF8(e.Cause[:maxCause], "") + "…"
	}
	o.Write(facts.AddEvent{Event: e})
}

// Answer replies to a request.
func (o *Outbox) Answer(t Ticket, body any) { o.reply(Reply{Ticket: t, Body: body}) }

// Refuse replies that a request is refused.
func (o *Outbox) Refuse(t Ticket, kind, format string, args ...any) {
	o.Reject(t, Refused(kind, format, args...))
}

// RefuseAs refuses a worker with a code upon which it acts.
func (o *Outbox) RefuseAs(t Ticket, code, format string, args ...any) {
	o.Reject(t, &Refusal{Kind: "conflict", Code: code, Text: fmt.Sprintf(format, args...)})
}

// Reject replies with a refusal.
func (o *Outbox) Reject(t Ticket, r *Refusal) { o.reply(Reply{Ticket: t, Err: r}) }

func (o *Outbox) reply(r Reply) {
	if r.Ticket != 0 {
		o.replies = append(o.replies, r)
		o.weigh(volume{1, rowBytes}) // it may be kept for a repetition
	}
}

// Full reports whether what has come in since the last Take fills its half of a commit: no further event is to be
// stepped before the next Take. One event may go beyond it, by what it writes itself.
func (o *Outbox) Full() bool { return o.filled(o.asked) }

// Spent reports whether the farm's own work fills its half.
func (o *Outbox) Spent() bool { return o.filled(o.own) }

// OwnWork counts what is written until the func that it returns is called as the farm's own.
func (o *Outbox) OwnWork() (done func()) {
	before := o.working
	o.working = true
	return func() { o.working = before }
}

// filled reports whether v is half a commit.
func (o *Outbox) filled(v volume) bool {
	return 2*v.rows >= cmp.Or(o.CommitRows, commitRows) || 2*v.bytes >= commitBytes
}

func (o *Outbox) weigh(v volume) {
	if o.working {
		o.own.add(v)
	} else {
		o.asked.add(v)
	}
}

// volume is what writes and answers make of a commit.
type volume struct{ rows, bytes int }

func (v *volume) add(o volume) { v.rows, v.bytes = v.rows+o.rows, v.bytes+o.bytes }

// rowBytes is about what the numbers and times of a row take.
const rowBytes = 200

// volumeOf is about what a write takes, on the safe side.
func volumeOf(w facts.Write) volume {
	switch w := w.(type) {
	case facts.PutJob:
		return volume{1, rowBytes + int(w.Job.Bytes()) + 40*len(w.Job.WaitFor)}
	case facts.ChangeMarks:
		n := len(w.Remove) + len(w.Add)
		return volume{n, 100 * n}
	case facts.ReopenAttempts:
		return volume{len(w.Attempts), 24 * len(w.Attempts)}
	case facts.StartAttempt:
		return volume{1, rowBytes + len(w.Attempt.Host) + len(w.Attempt.Boot) + len(w.Attempt.StateID) + len(w.Attempt.Owner)}
	case facts.EndAttempt:
		return volume{1, rowBytes + w.Why.Bytes() + w.Found.Bytes()}
	case facts.AddEvent:
		return volume{1, rowBytes + w.Event.Why.Bytes()}
	case facts.AddMail:
		return volume{1, rowBytes + len(w.Mail.To) + len(w.Mail.Owner) + len(w.Mail.Name) + len(w.Mail.Cause)}
	case facts.PutAction:
		return volume{1, rowBytes + 24*len(w.Order.Items)}
	case facts.PutHost:
		return volume{1, rowBytes + 100*(len(w.Host.Groups)+len(w.Host.Properties)+len(w.Host.Resources))}
	}
	return volume{1, rowBytes}
}
