package model

import (
	"cmp"
	"fmt"
	"slices"

	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/quota"
)

// Jobs are all jobs in memory: those that have not ended, and the most recent of the others.
type Jobs struct {
	ByID         map[facts.JobID]*Job
	list         []*Job // all of them by id; nobody may change it
	Next         facts.JobID
	BySubmission map[string]facts.JobID
	Children     map[facts.JobID][]facts.JobID // jobs that wait for the key
	Quota        *quota.Quota                  // what owners have of unfinished jobs
	Final        []facts.JobID                 // those that have ended, oldest first
	endedBytes   int64                         // that those take
	bounds       Bounds
	Recalled     map[facts.JobID]int64 // versions of jobs that came back for an order and were forgotten again
}

func NewJobs() Jobs {
	return Jobs{Next: 1, ByID: map[facts.JobID]*Job{}, BySubmission: map[string]facts.JobID{}, Children: map[facts.JobID][]facts.JobID{}, Quota: quota.New()}
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

// Enter takes a job in.
func (js *Jobs) Enter(j *Job) {
	byID := js.Sorted()
	js.ByID[j.ID] = j
	js.Rebind(j)
	if at, _ := slices.BinarySearchFunc(byID, j.ID, func(o *Job, id facts.JobID) int { return cmp.Compare(o.ID, id) }); at < len(byID) {
		js.list = slices.Insert(slices.Clone(byID), at, j)
	} else {
		js.list = append(byID, j)
	}
}

// OpenLinks are the conditions that are not yet true; a condition that can no longer come true by itself
// is kept, as its job may be retried.
func (js *Jobs) OpenLinks(e message.JobSubmitted) ([]facts.Link, string) {
	if e.Facts.Dependency == "" {
		return nil, ""
	}
	links, err := facts.ParseDependency(e.Facts.Dependency)
	if err != nil {
		return nil, err.Error()
	}
	var open []facts.Link
	for _, l := range links {
		state, known := e.Links[l.Job]
		if parent := js.ByID[l.Job]; parent != nil {
			state, known = parent.State, true
		}
		if l.Job == js.Next || !known {
			return nil, fmt.Sprintf("dependency on job %d: there is no such job", l.Job)
		}
		if !l.Satisfied(state) && !slices.Contains(open, l) {
			open = append(open, l)
		}
	}
	return open, ""
}

// StillWaits are the conditions of the job that have not come true; what became of jobs that are not in memory, states
// tells.
func (js *Jobs) StillWaits(j *Job, states map[facts.JobID]facts.JobState) []facts.Link {
	return slices.DeleteFunc(slices.Clone(j.WaitFor), func(l facts.Link) bool {
		state := states[l.Job]
		if parent := js.ByID[l.Job]; parent != nil {
			state = parent.State
		}
		return l.Satisfied(state)
	})
}

// WaitOn notes which jobs the job waits for.
func (js *Jobs) WaitOn(j *Job) {
	for _, l := range j.WaitFor {
		if !slices.Contains(js.Children[l.Job], j.ID) {
			js.Children[l.Job] = append(js.Children[l.Job], j.ID)
		}
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
	if ended := held && j.State.Final(); ended != j.countedEnded {
		if j.countedEnded = ended; ended {
			js.endedBytes += j.heldBytes()
		} else {
			js.endedBytes -= j.heldBytes()
		}
	}
}

// heldBytes is what the job takes in memory: its texts, and what is known of each item.
func (j *Job) heldBytes() int64 { return j.Size.Bytes + items.BytesEach*int64(j.Entries.Len()) }

// ForgetOldest drops the final jobs that ended longest ago; they come back with their record when needed.
func (js *Jobs) ForgetOldest() {
	for len(js.Final) > finalJobsKept || js.endedBytes > finalBytesKept && len(js.Final) > 0 {
		id := js.Final[0]
		js.Final = js.Final[1:]
		j := js.ByID[id]
		if j == nil || !j.State.Final() || slices.Contains(js.Final, id) {
			continue
		}
		js.Forget(j)
	}
}

// Forget drops a job from memory. Of one that had been dropped before and came back the version is remembered: a
// record that was read before it came back would start attempts that the rows hold already.
func (js *Jobs) Forget(j *Job) {
	delete(js.ByID, j.ID)
	js.bounds.release(j)
	js.Count(j)
	delete(js.BySubmission, j.Submission)
	if !j.Recalled {
		return
	}
	if js.Recalled == nil || len(js.Recalled) >= recalledKept {
		js.Recalled = map[facts.JobID]int64{}
	}
	js.Recalled[j.ID] = j.Version
}

// CheckOwners counts anew what owners have.
func (js *Jobs) CheckOwners() error {
	owners, ended := quota.New(), int64(0)
	for _, j := range js.ByID {
		size := quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.Needs)
		if j.State.Final() {
			ended += j.heldBytes()
		} else {
			owners.Add(j.User, size)
		}
	}
	if !owners.Equal(js.Quota) || ended != js.endedBytes {
		return fmt.Errorf("owners are counted to have %v and %d bytes of ended jobs, they have %v and %d", js.Quota.Uses(), js.endedBytes, owners.Uses(), ended)
	}
	return nil
}
