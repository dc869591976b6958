package model

import (
	"cmp"
	"fmt"
	"slices"

	"qb/supervisor/farm/items"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
)

// Jobs are all jobs in memory: unfinished ones, and the most recent of the others.
type Jobs struct {
	ByID         map[facts.JobID]*Job
	list         []*Job // all of them by id; no one may change it
	Next         facts.JobID
	BySubmission map[string]facts.JobID
	Children     map[facts.JobID][]facts.JobID // jobs that wait for the key
	Quota        *quota.Quota                  // what owners have of unfinished jobs
	Final        []facts.JobID                 // the ones that have ended, oldest first
	endedBytes   int64                         // that those take
	bounds       Bounds
	Stale        *Stale                // of the rows of the last view
	Recalled     map[facts.JobID]int64 // versions of jobs that came back for an order and were forgotten again
	labels
	moved
}

func NewJobs() Jobs {
	return Jobs{Next: 1, ByID: map[facts.JobID]*Job{}, BySubmission: map[string]facts.JobID{},
		Children: map[facts.JobID][]facts.JobID{}, Quota: quota.New(),
		Stale: &Stale{}, bounds: Bounds{byName: map[string]*Bound{}},
		labels: labels{map[label]facts.JobID{}, map[label][]facts.JobID{}}}
}

// Sorted are all jobs by id: no decision may depend on map order.
func (js *Jobs) Sorted() []*Job {
	if len(js.list) != len(js.ByID) { // some were forgotten, and may have come back
		held := make([]*Job, 0, len(js.ByID))
		for _, j := range js.list {
			if js.ByID[j.ID] == j {
				held = append(held, j)
			}
		}
		js.list = held
	}
	return js.list
}

// Enter takes a job in, with what it waits for.
func (js *Jobs) Enter(j *Job) {
	byID := js.Sorted()
	js.ByID[j.ID] = j
	j.Shown.in = js.Stale
	js.Rebind(j)
	js.labels.enter(j)
	if j.Submission != "" {
		js.BySubmission[j.Submission] = j.ID
	}
	js.WaitOn(j)
	if at, _ := slices.BinarySearchFunc(byID, j.ID, func(o *Job,
		id facts.JobID) int {
		return cmp.Compare(o.ID, id)
	}); at < len(byID) {
		js.list = slices.Insert(slices.Clone(byID), at, j)
	} else {
		js.list = append(byID, j)
	}
}

// Count keeps the sums of owners in step with a job that came, changed, ended or went.
func (js *Jobs) Count(j *Job) {
	held := js.ByID[j.ID] == j
	if open := held && !j.State.Final(); open != j.countedOpen {
		if j.countedOpen = open; open {
			j.Size = quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.Needs)
			js.Quota.Add(j.User, j.Size)
		} else {
			js.Quota.Remove(j.User, j.Size)
		}
	}
	if ended := held && j.State.Final() && !j.Watched(); ended != j.countedEnded {
		if j.countedEnded = ended; ended {
			js.endedBytes += j.heldBytes()
		} else {
			js.endedBytes -= j.heldBytes()
		}
	}
}

// Resize counts the job as one of this size for its owner.
func (js *Jobs) Resize(j *Job, size quota.Size) {
	js.Quota.Remove(j.User, j.Size)
	js.Quota.Add(j.User, size)
	j.Size = size
}

// heldBytes is what the job takes in memory: its texts, and what is known of each item.
func (j *Job) heldBytes() int64 { return j.Size.Bytes + items.BytesEach*int64(j.Entries.Len()) }

// ForgetOldest drops the final jobs that ended longest ago; they come back with their record when needed.
func (js *Jobs) ForgetOldest() {
	for len(js.Final) > finalJobsKept || js.endedBytes > finalBytesKept && len(js.Final) > 0 {
		id := js.Final[0]
		js.Final = js.Final[1:]
		j := js.ByID[id]
		if j == nil || !j.State.Final() || j.Watched() || slices.Contains(js.Final, id) {
			continue
		}
		js.Forget(j)
	}
}

// Forget drops a job from memory. Of a job that had been dropped before and came back the version is remembered: a
// record that was read before it came back would start attempts that the rows hold already.
func (js *Jobs) Forget(j *Job) {
	delete(js.ByID, j.ID)
	js.bounds.release(j)
	js.Count(j)
	delete(js.BySubmission, j.Submission)
	js.labels.leave(j)
	if !j.Recalled {
		return
	}
	if js.Recalled == nil || len(js.Recalled) >= recalledKept {
		js.Recalled = map[facts.JobID]int64{}
	}
	js.Recalled[j.ID] = j.Version
}

// CheckOwners recounts what owners have.
func (js *Jobs) CheckOwners() error {
	owners, ended := quota.New(), int64(0)
	for _, j := range js.ByID {
		size := quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.Needs)
		switch {
		case !j.State.Final():
			owners.Add(j.User, size)
		case !j.Watched():
			ended += j.heldBytes()
		}
	}
	if !owners.Equal(js.Quota) || ended != js.endedBytes {
		return fmt.Errorf("owners are counted to have %v and %d bytes of ended jobs, they have %v and %d", js.Quota.Uses(),
			js.endedBytes, owners.Uses(), ended)
	}
	return nil
}
