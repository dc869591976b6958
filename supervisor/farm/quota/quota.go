package quota

import (
	"maps"

	"qb/internal/units"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// Policy bounds what one owner may have in the farm; 0 is no bound.
type Policy struct {
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
)

// Use is what one owner's unfinished jobs are and take.
type Use struct {
	Jobs    int
	Bytes   int64
	Choices int
}

// maxJobs is how many unfinished jobs the farm holds at most.
const maxJobs = 200_000

// Size is what one job counts for.
type Size struct {
	Bytes  int64
	Choice Choice
}

// SizeOf is the size of a job of so many items.
func SizeOf(row *facts.JobFacts, items int, n *fit.Needs) Size {
	return Size{BytesOf(row, items), choiceOf(row, n)}
}

// binaryOrderBytes is what an item of an agenda in binary order takes in memory.
const binaryOrderBytes = 16

// BytesOf is what a job takes: its texts, and an order of items that is not computed.
func BytesOf(row *facts.JobFacts, items int) int64 {
	n := row.Bytes()
	if row.Agenda.Order == "binary" {
		n += int64(binaryOrderBytes * items)
	}
	return n
}

// Quota are the sizes of all unfinished jobs, summed by owner.
type Quota struct {
	uses    map[string]Use
	choices choices
	jobs    int
}

// New counts nothing yet.
func New() *Quota { return &Quota{uses: map[string]Use{}, choices: choices{}} }

// Add counts a job.
func (q *Quota) Add(owner string, s Size) {
	u := q.uses[owner]
	q.uses[owner] = Use{u.Jobs + 1, u.Bytes + s.Bytes, u.Choices + q.choices.add(owner, s.Choice)}
	q.jobs++
}

// Remove is the opposite of Add.
func (q *Quota) Remove(owner string, s Size) {
	u := q.uses[owner]
	u = Use{u.Jobs - 1, u.Bytes - s.Bytes, u.Choices - q.choices.remove(owner, s.Choice)}
	q.uses[owner] = u
	if u == (Use{}) {
		delete(q.uses, owner)
	}
	q.jobs--
}

// Uses are the sums by owner.
func (q *Quota) Uses() map[string]Use { return maps.Clone(q.uses) }

// Equal reports whether two quotas count the same.
func (q *Quota) Equal(o *Quota) bool { return q.jobs == o.jobs && maps.Equal(q.uses, o.uses) }

// RefusesJob refuses one more job of that size, nil if it is within the limits.
func (q *Quota) RefusesJob(p Policy, owner string, s Size) *outbox.Refusal {
	return q.refuses(p, owner, 1, s.Bytes, q.choices.more(owner, s.Choice, Choice{}))
}

// RefusesChange refuses that a job changes its size, nil if that is within the limits.
func (q *Quota) RefusesChange(p Policy, owner string, from, to Size) *outbox.Refusal {
	return q.refuses(p, owner, 0, to.Bytes-from.Bytes, q.choices.more(owner, to.Choice, from.Choice))
}

func (q *Quota) refuses(p Policy, owner string, jobs int, bytes int64, choices int) *outbox.Refusal {
	u := q.uses[owner]
	switch {
	case jobs > 0 && q.jobs >= maxJobs:
		return outbox.Limited(LimitFarmJobs, "the farm holds %d unfinished jobs, its limit; wait until some have ended",
			q.jobs)
	case p.OpenJobs > 0 && jobs > 0 && u.Jobs+jobs > p.OpenJobs:
		return outbox.Limited(LimitOpenJobs,
			"%s has %d unfinished jobs, the limit (supervisor_user_jobs); wait until some have ended, or submit one job with more items", owner, u.Jobs)
	case p.OpenBytes > 0 && bytes > 0 && u.Bytes+bytes > p.OpenBytes:
		return outbox.Limited(LimitOpenBytes,
			"the unfinished jobs of %s take %s with this one, more than supervisor_user_bytes allows; wait until some have ended, or pass data in files",
			owner, units.Size(u.Bytes+bytes))
	case p.Choices > 0 && choices > 0 && u.Choices+choices > p.Choices:
		return outbox.Limited(LimitChoices,
			"the unfinished jobs of %s choose their hosts by %d names and comparisons with this one, more than supervisor_user_choices = %d; "+
				"wait until some have ended, or name groups of hosts instead", owner, u.Choices+choices, p.Choices)
	}
	return nil
}
