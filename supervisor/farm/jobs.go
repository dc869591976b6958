package farm

import (
	"cmp"
	"fmt"
	"slices"

	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/quota"
)

// jobs are all jobs in memory: those that have not ended, and the most recent of the others.
type jobs struct {
	byID         map[facts.JobID]*job
	list         []*job // all of them by id; nobody may change it
	next         facts.JobID
	bySubmission map[string]facts.JobID
	children     map[facts.JobID][]facts.JobID // jobs that wait for the key
	quota        *quota.Quota                  // what owners have of unfinished jobs
	final        []facts.JobID                 // those that have ended, oldest first
	endedBytes   int64                         // that those take
	recalled     map[facts.JobID]int64         // versions of jobs that came back for an order and were forgotten again
}

func newJobs() jobs {
	return jobs{next: 1, byID: map[facts.JobID]*job{}, bySubmission: map[string]facts.JobID{}, children: map[facts.JobID][]facts.JobID{}, quota: quota.New()}
}

// sorted are all jobs by id: no decision may depend on map order.
func (js *jobs) sorted() []*job {
	if len(js.list) != len(js.byID) { // some were forgotten, and may have come back
		held := make([]*job, 0, len(js.byID))
		for _, j := range js.list {
			if js.byID[j.ID] == j {
				held = append(held, j)
			}
		}
		js.list = held
	}
	return js.list
}

// enter takes a job in.
func (js *jobs) enter(j *job) {
	byID := js.sorted()
	js.byID[j.ID] = j
	if at, _ := slices.BinarySearchFunc(byID, j.ID, func(o *job, id facts.JobID) int { return cmp.Compare(o.ID, id) }); at < len(byID) {
		js.list = slices.Insert(slices.Clone(byID), at, j)
	} else {
		js.list = append(byID, j)
	}
}

// openLinks are the conditions that are not yet true; a condition that can no longer come true by itself
// is kept, as its job may be retried.
func (js *jobs) openLinks(e message.JobSubmitted) ([]facts.Link, string) {
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
		if parent := js.byID[l.Job]; parent != nil {
			state, known = parent.State, true
		}
		if l.Job == js.next || !known {
			return nil, fmt.Sprintf("dependency on job %d: there is no such job", l.Job)
		}
		if !l.Satisfied(state) && !slices.Contains(open, l) {
			open = append(open, l)
		}
	}
	return open, ""
}

// stillWaits are the conditions of the job that have not come true; what became of jobs that are not in memory, states
// tells.
func (js *jobs) stillWaits(j *job, states map[facts.JobID]facts.JobState) []facts.Link {
	return slices.DeleteFunc(slices.Clone(j.WaitFor), func(l facts.Link) bool {
		state := states[l.Job]
		if parent := js.byID[l.Job]; parent != nil {
			state = parent.State
		}
		return l.Satisfied(state)
	})
}

// waitOn notes which jobs the job waits for.
func (js *jobs) waitOn(j *job) {
	for _, l := range j.WaitFor {
		if !slices.Contains(js.children[l.Job], j.ID) {
			js.children[l.Job] = append(js.children[l.Job], j.ID)
		}
	}
}

// count keeps the sums of owners in step with a job that came, changed, ended or went.
func (js *jobs) count(j *job) {
	held := js.byID[j.ID] == j
	if open := held && !j.State.Final(); open != j.countedOpen {
		if j.countedOpen = open; open {
			j.size = quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.needs)
			js.quota.Add(j.User, j.size)
		} else {
			js.quota.Remove(j.User, j.size)
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
func (j *job) heldBytes() int64 { return j.size.Bytes + items.BytesEach*int64(j.Entries.Len()) }

// forgetOldest drops the final jobs that ended longest ago; they come back with their record when needed.
func (js *jobs) forgetOldest() {
	for len(js.final) > finalJobsKept || js.endedBytes > finalBytesKept && len(js.final) > 0 {
		id := js.final[0]
		js.final = js.final[1:]
		j := js.byID[id]
		if j == nil || !j.State.Final() || slices.Contains(js.final, id) {
			continue
		}
		js.forget(j)
	}
}

// forget drops a job from memory. Of one that had been dropped before and came back the version is remembered: a
// record that was read before it came back would start attempts that the rows hold already.
func (js *jobs) forget(j *job) {
	delete(js.byID, j.ID)
	js.count(j)
	delete(js.bySubmission, j.Submission)
	if !j.recalled {
		return
	}
	if js.recalled == nil || len(js.recalled) >= recalledKept {
		js.recalled = map[facts.JobID]int64{}
	}
	js.recalled[j.ID] = j.Version
}

// checkOwners counts anew what owners have.
func (js *jobs) checkOwners() error {
	owners, ended := quota.New(), int64(0)
	for _, j := range js.byID {
		size := quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.needs)
		if j.State.Final() {
			ended += j.heldBytes()
		} else {
			owners.Add(j.User, size)
		}
	}
	if !owners.Equal(js.quota) || ended != js.endedBytes {
		return fmt.Errorf("owners are counted to have %v and %d bytes of ended jobs, they have %v and %d", js.quota.Uses(), js.endedBytes, owners.Uses(), ended)
	}
	return nil
}
