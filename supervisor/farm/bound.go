package farm

import (
	"cmp"
	"time"

	"qb/supervisor/facts"
)

// A commit is bounded in rows and bytes. One half is for what comes in: the loop steps no event while Full. The other
// is for the farm's own work: what it plans, what it gives up for lost, what it takes up from the rows. Each of those
// asks spent before each piece and leaves the rest for a later commit, in which it finds it again from the state it is in.
const (
	commitRows  = 3000
	commitBytes = 16 << 20
)

// volume is what writes and answers make of a commit.
type volume struct{ rows, bytes int }

func (v *volume) add(o volume) { v.rows, v.bytes = v.rows+o.rows, v.bytes+o.bytes }

// filled says whether v is half a commit.
func (f *Farm) filled(v volume) bool {
	return 2*v.rows >= cmp.Or(f.policy.CommitRows, commitRows) || 2*v.bytes >= commitBytes
}

// Full says that what has come in since the last Take fills its half of a commit: nothing more is to be stepped
// before the next. One event may go beyond it, by what it writes itself.
func (f *Farm) Full() bool { return f.filled(f.asked) }

// spent says that the farm's own work fills its half.
func (f *Farm) spent() bool { return f.filled(f.own) }

// ownWork books what is written until the func that it returns is called as the farm's own.
func (f *Farm) ownWork() (done func()) {
	before := f.working
	f.working = true
	return func() { f.working = before }
}

func (f *Farm) weigh(v volume) {
	if f.working {
		f.own.add(v)
	} else {
		f.asked.add(v)
	}
}

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
		return volume{1, rowBytes + w.Why.Bytes()}
	case facts.AddEvent:
		return volume{1, rowBytes + w.Event.Why.Bytes()}
	case facts.PutOrder:
		return volume{1, rowBytes + 24*len(w.Order.Items)}
	case facts.PutHost:
		return volume{1, rowBytes + 100*(len(w.Host.Groups)+len(w.Host.Properties)+len(w.Host.Resources))}
	}
	return volume{1, rowBytes}
}

// carryOn goes on with what a commit had no room for, and is not found again by itself.
func (f *Farm) carryOn(now time.Time) {
	defer f.ownWork()()
	for len(f.unsettled) > 0 && !f.spent() {
		j := f.unsettled[0]
		f.unsettled = f.unsettled[1:]
		if f.jobs[j.ID] == j {
			f.settle(j)
			f.maybeFinish(now, j)
		}
	}
	for len(f.freeing) > 0 && !f.spent() {
		if f.release(now, f.freeing[0]) {
			f.freeing = f.freeing[1:]
		}
	}
}
