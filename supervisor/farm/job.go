package farm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/items"
	"qb/supervisor/quota"
)

// job is a submission with all that is derived from its attempts.
type job struct {
	facts.JobFacts
	*items.Items
	needs      fit.Needs
	memoryNeed int64 // of the next instance, bytes; 0: nothing is known
	share      cpuShare
	overused   bool // told once
	recalled   bool // it had been forgotten, and came back for an order

	countedOpen, countedEnded bool       // in its owner's use; among the ended ones in memory
	size                      quota.Size // as counted

	instances  map[int]*instance // by number
	parts      [parts]int        // of the instances, how many play which
	taken      int               // all numbers below it are
	changes    uint64            // counts the changes of its row and of its instances
	row        int               // its place among those of the last plan
	lastShrink time.Time
	failure    facts.Failure      // of the items, if the job has failed
	orders     []*order           // the first is under way, the others wait
	carried    []facts.OrderFacts // the last orders that took more than one commit; nobody may change it
}

// readJob reads the texts of a new job, whose agenda may have been read before.
func (f *Farm) readJob(row facts.JobFacts, a *agenda.Agenda) (_ *job, err error) {
	if a == nil {
		if a, err = agenda.Parse(row.Agenda, f.policy.MaxItems); err != nil {
			return nil, err
		}
	}
	n, err := f.readNeeds(row, false)
	if err != nil {
		return nil, err
	}
	return newJob(row, items.New(a), n), nil
}

func newJob(row facts.JobFacts, s *items.Items, n fit.Needs) *job {
	j := &job{JobFacts: row, Items: s, needs: n, instances: map[int]*instance{}}
	j.size.Bytes = quota.BytesOf(&j.JobFacts, s.Entries.Len())
	return j
}

func (j *job) hasAgenda() bool { return j.Agenda.Range != "" }

// freeNumber is the lowest instance number not in use. It is sought from where the last one was found: from zero,
// a job of a hundred thousand instances would take minutes to get them.
func (j *job) freeNumber() int {
	for j.instances[j.taken] != nil {
		j.taken++
	}
	return j.taken
}

// sortedInstances are the job's instances by number.
func (j *job) sortedInstances() []*instance {
	return sortedBy(j.instances, func(a, b *instance) int { return cmp.Compare(a.number, b.number) })
}

// counts are the instances that count as held, by kind, and those that are on their way out.
func (j *job) counts() (primary, secondary, draining int) {
	return j.parts[partPrimary], j.parts[partSecondary], j.parts[partDraining] + j.parts[partLeaving]
}

// held are the instances that Balance may count on: neither stopping nor sent away by a person.
func (j *job) held() int {
	return j.parts[partPrimary] + j.parts[partSecondary] + j.parts[partDraining]
}

// remaining are the items that run or are ready.
func (j *job) remaining() int { return j.Tally.Count(agenda.Pending) + j.held() }

// over says that nothing of the job waits or runs, and no order on it is under way.
func (j *job) over() bool {
	return len(j.orders) == 0 && j.Over()
}

func (j *job) wantsInstances() bool {
	return j.State == facts.Active && j.Pending() > 0
}

// putJob writes the job's row with the next version.
func (f *Farm) putJob(j *job) {
	j.Version++
	j.changes++
	f.count(j)
	f.out.Write(facts.PutJob{Job: j.JobFacts})
}

// maybeFinish ends the job when nothing of it waits or runs any more.
func (f *Farm) maybeFinish(now time.Time, j *job) {
	if j.State.Final() || !j.over() {
		return
	}
	j.State, j.FinishedAt, j.BlockedBy = j.EndState(), now, ""
	f.putJob(j)
	e := facts.EventFacts{Type: "job-" + string(j.State), Job: j.ID, Item: -1, Instance: -1}
	if j.State == facts.FailedJob {
		j.failure = j.Failure()
		e.Why = facts.FailedItems(j.ID, j.Tally.Count(agenda.Failed), j.Tally.Len(), j.failure)
	}
	f.out.Record(now, e)
	f.final = append(f.final, j.ID)
	f.freeing = append(f.freeing, ended{j.ID, j.State})
	f.forgetOldest()
}

// forgetOldest drops the final jobs that ended longest ago; they come back with their record when needed.
func (f *Farm) forgetOldest() {
	for len(f.final) > finalJobsKept || f.endedBytes > finalBytesKept && len(f.final) > 0 {
		id := f.final[0]
		f.final = f.final[1:]
		j := f.jobs[id]
		if j == nil || !j.State.Final() || slices.Contains(f.final, id) {
			continue
		}
		f.forget(j)
	}
}

// forget drops a job from memory. Of one that had been dropped before and came back the version is remembered: a
// record that was read before it came back would start attempts that the rows hold already.
func (f *Farm) forget(j *job) {
	delete(f.jobs, j.ID)
	f.count(j)
	delete(f.bySubmission, j.Submission)
	if !j.recalled {
		return
	}
	if f.recalled == nil || len(f.recalled) >= recalledKept {
		f.recalled = map[facts.JobID]int64{}
	}
	f.recalled[j.ID] = j.Version
}

// onJobsAged answers which of the jobs the farm does not hold any more; one that runs again it keeps.
func (f *Farm) onJobsAged(e JobsAged) {
	reply := AgedReply{Jobs: make([]facts.JobID, 0, len(e.Jobs))}
	for _, id := range e.Jobs {
		j := f.jobs[id]
		if j != nil && !j.State.Final() {
			continue
		}
		if j != nil {
			f.forget(j)
		}
		reply.Jobs = append(reply.Jobs, id)
	}
	f.final = slices.DeleteFunc(f.final, func(id facts.JobID) bool { return f.jobs[id] == nil })
	f.out.Answer(e.Ticket, reply)
}

// ended is a job that became final, and what as, for it may be forgotten before all its children are told.
type ended struct {
	id    facts.JobID
	state facts.JobState
}

// release takes the links that the job's end fulfils out of those who wait for it; false if it left some for later.
// Of a job that a person has run again meanwhile nobody is freed any more: no commit shows a child that goes on beside
// a parent that has not ended, and the next term, which knows the rows alone, would do the same.
func (f *Farm) release(now time.Time, parent ended) (all bool) {
	if j := f.jobs[parent.id]; j != nil && j.State != parent.state {
		return true
	}
	waiting := f.children[parent.id]
	var still []facts.JobID
	for n, id := range waiting {
		if f.out.Spent() {
			f.children[parent.id] = append(still, waiting[n:]...)
			return false
		}
		child := f.jobs[id]
		if child == nil || child.State.Final() {
			continue
		}
		before := len(child.WaitFor)
		child.WaitFor = slices.DeleteFunc(slices.Clone(child.WaitFor), func(l facts.Link) bool {
			return l.Job == parent.id && l.Satisfied(parent.state)
		})
		if len(child.WaitFor) == before {
			still = append(still, id)
			continue
		}
		if len(child.WaitFor) == 0 && child.State == facts.Blocked && child.BlockedBy == "" {
			child.State = facts.Active
			f.dirty = true
			f.out.Record(now, facts.EventFacts{Type: "unblocked", Job: child.ID, Item: -1, Instance: -1,
				Why: facts.Why{Cause: fmt.Sprintf("job %d is %s", parent.id, parent.state)}})
		}
		f.putJob(child)
	}
	if len(still) == 0 {
		delete(f.children, parent.id)
	} else {
		f.children[parent.id] = still
	}
	return true
}

func (f *Farm) waitOn(j *job) {
	for _, l := range j.WaitFor {
		if !slices.Contains(f.children[l.Job], j.ID) {
			f.children[l.Job] = append(f.children[l.Job], j.ID)
		}
	}
}

// ParseDependency reads 900, 900,901 and link-complete-job-900 (complete, done, failed or killed).
func ParseDependency(text string) ([]facts.Link, error) {
	var links []facts.Link
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		end, number := "complete", part
		if rest, ok := strings.CutPrefix(part, "link-"); ok {
			fields := strings.SplitN(rest, "-", 3)
			if len(fields) != 3 || fields[1] != "job" {
				return nil, fmt.Errorf("dependency %q is not understood; write 900 or link-complete-job-900 (complete, done, failed, killed; only on jobs)", part)
			}
			end, number = fields[0], fields[2]
		}
		var id facts.JobID
		if _, err := fmt.Sscanf(number, "%d", &id); err != nil || fmt.Sprint(id) != number || id < 1 {
			return nil, fmt.Errorf("dependency %q names no job: %q is not a job's number", part, number)
		}
		if !slices.Contains([]string{"complete", "done", "failed", "killed"}, end) {
			return nil, fmt.Errorf("dependency %q: a job ends complete, failed or killed (done: any of them), not %q", part, end)
		}
		links = append(links, facts.Link{End: end, Job: id})
	}
	return links, nil
}

// count keeps the sums of owners in step with a job that came, changed, ended or went.
func (f *Farm) count(j *job) {
	held := f.jobs[j.ID] == j
	if open := held && !j.State.Final(); open != j.countedOpen {
		if j.countedOpen = open; open {
			j.size = quota.SizeOf(&j.JobFacts, j.Entries.Len(), &j.needs)
			f.quota.Add(j.User, j.size)
		} else {
			f.quota.Remove(j.User, j.size)
		}
	}
	if ended := held && j.State.Final(); ended != j.countedEnded {
		if j.countedEnded = ended; ended {
			f.endedBytes += j.size.Bytes
		} else {
			f.endedBytes -= j.size.Bytes
		}
	}
}
