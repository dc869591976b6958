package farm

import (
	"qb/supervisor/facts"
	"qb/supervisor/outbox"
)

// LimitPolicy bounds what one owner may have in the farm; 0 is no bound.
type LimitPolicy struct {
	OpenJobs  int   // unfinished jobs of one owner
	OpenBytes int64 // that they take
	Choices   int   // names, patterns and comparisons by which they choose hosts; the same in several jobs count once
}

// The limits of the farm, as a refusal names them.
const (
	LimitFarmJobs  = "farm-jobs"
	LimitOpenJobs  = "open-jobs"
	LimitOpenBytes = "open-bytes"
	LimitChoices   = "open-choices"
	LimitOrders    = "open-orders"
)

// MaxOrders is how many orders on one job may be under way or wait.
const MaxOrders = 16

// OwnerUse is what one owner's unfinished jobs are and take.
type OwnerUse struct {
	Jobs    int
	Bytes   int64
	Choices int
}

// binaryOrderBytes is what an item of an agenda in binary order takes in memory.
const binaryOrderBytes = 16

// Bytes is what the texts of a change take.
func (e JobModified) Bytes() int64 { return e.Change.Values.Bytes() }

// size is what a job takes: its texts, and an order that is not computed.
func (j *job) size() int64 {
	n := j.Bytes()
	if j.Agenda.Order == "binary" {
		n += int64(binaryOrderBytes * j.Entries.Len())
	}
	return n
}

// count keeps the sums of owners in step with a job that came, changed, ended or went.
func (f *Farm) count(j *job) {
	open := f.jobs[j.ID] == j && !j.State.Final()
	ended := f.jobs[j.ID] == j && j.State.Final()
	if open != j.countedOpen {
		u, sign := f.uses[j.User], 1
		if open {
			j.choice = j.chooses()
			u.Choices += f.choices.add(j.User, j.choice)
		} else {
			sign = -1
			u.Choices -= f.choices.remove(j.User, j.choice)
		}
		f.openJobs += sign
		u.Jobs, u.Bytes = u.Jobs+sign, u.Bytes+int64(sign)*j.bytes
		f.uses[j.User] = u
		if u == (OwnerUse{}) {
			delete(f.uses, j.User)
		}
		j.countedOpen = open
	}
	if ended != j.countedEnded {
		if ended {
			f.endedBytes += j.bytes
		} else {
			f.endedBytes -= j.bytes
		}
		j.countedEnded = ended
	}
}

// resize counts an unfinished job anew after its texts changed.
func (f *Farm) resize(j *job) {
	bytes, chosen := j.size(), j.chooses()
	u := f.uses[j.User]
	u.Bytes += bytes - j.bytes
	u.Choices -= f.choices.remove(j.User, j.choice)
	u.Choices += f.choices.add(j.User, chosen)
	f.uses[j.User], j.bytes, j.choice = u, bytes, chosen
}

// full refuses a job, or a change of one, that takes an owner beyond a limit.
func (f *Farm) full(owner string, jobs int, bytes int64, choices int) *outbox.Refusal {
	u, limits := f.uses[owner], f.policy.Limits
	switch {
	case jobs > 0 && f.openJobs >= maxJobs:
		return outbox.Limited(LimitFarmJobs, "the farm holds %d unfinished jobs, its limit; wait until some have ended", f.openJobs)
	case limits.OpenJobs > 0 && jobs > 0 && u.Jobs+jobs > limits.OpenJobs:
		return outbox.Limited(LimitOpenJobs, "%s has %d unfinished jobs, the limit (supervisor_user_jobs); wait until some have ended, or submit one job with more items", owner, u.Jobs)
	case limits.OpenBytes > 0 && bytes > 0 && u.Bytes+bytes > limits.OpenBytes:
		return outbox.Limited(LimitOpenBytes, "the unfinished jobs of %s take %d MB with this one, more than supervisor_user_bytes allows; wait until some have ended, or pass data in files",
			owner, (u.Bytes+bytes)>>20)
	case limits.Choices > 0 && choices > 0 && u.Choices+choices > limits.Choices:
		return outbox.Limited(LimitChoices, "the unfinished jobs of %s choose their hosts by %d names and comparisons with this one, more than supervisor_user_choices = %d; "+
			"wait until some have ended, or name groups of hosts instead", owner, u.Choices+choices, limits.Choices)
	}
	return nil
}

// refusesReopening holds an ended job that is to run again to its owner's limits.
func (f *Farm) refusesReopening(j *job, e JobOrdered) bool {
	if !j.State.Final() || e.Action != facts.Retry && e.Action != facts.Requeue && e.Action != facts.Redo {
		return false
	}
	r := f.full(j.User, 1, j.bytes, f.choices.more(j.User, j.chooses(), choice{}))
	if r != nil {
		f.out.Reject(e.Ticket, r)
	}
	return r != nil
}
