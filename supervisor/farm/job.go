package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/accounting"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/planner"
	"qb/supervisor/quota"
)

// job is a submission with all that is derived from its attempts.
type job struct {
	facts.JobFacts
	*items.Items
	needs      fit.Needs
	memoryNeed int64 // of the next instance, bytes; 0: nothing is known
	share      cpuShare
	overused   bool             // told once
	limit      *accounting.Over // budget that its payer has used up, as of the last plan; nil: none
	recalled   bool             // it had been forgotten, and came back for an order

	countedOpen, countedEnded bool       // in its owner's use; among the ended ones in memory
	size                      quota.Size // as counted

	instances  map[int]*instance // by number
	parts      [parts]int        // of the instances, how many play which
	taken      int               // all numbers below it are
	changes    uint64            // counts the changes of its row and of its instances
	row        int               // its place among those of the last plan
	lastShrink time.Time
	failure    facts.Failure // of the items, if the job has failed
	folderSeen bool          // an item has run in its working folder
	lacked     []lackedBy
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
	return slices.SortedFunc(maps.Values(j.instances), func(a, b *instance) int { return cmp.Compare(a.number, b.number) })
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

// width is how wide the job may run now: its ceiling without regard to its items.
func (j *job) width(p *planner.SharePolicy) int { return p.Width(j.CPUs, j.MaxCPUs, j.hasAgenda()) }

func (j *job) wantsInstances() bool {
	return j.State == facts.Active && j.Pending() > 0
}

// putJob writes the job's row with the next version.
func (f *Farm) putJob(j *job) {
	j.Version++
	j.changes++
	f.jobs.count(j)
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
		e.Why = facts.FailedItems(&j.JobFacts, j.Tally.Count(agenda.Failed), j.Tally.Len(), j.failure)
	}
	f.out.Record(now, e)
	f.jobs.final = append(f.jobs.final, j.ID)
	f.freeing = append(f.freeing, ended{j.ID, j.State})
	f.jobs.forgetOldest()
}

// onJobsAged answers which of the jobs the farm does not hold any more; one that runs again it keeps.
func (f *Farm) onJobsAged(e message.JobsAged) {
	reply := message.AgedReply{Jobs: make([]facts.JobID, 0, len(e.Jobs))}
	for _, id := range e.Jobs {
		j := f.jobs.byID[id]
		if j != nil && !j.State.Final() {
			continue
		}
		if j != nil {
			f.jobs.forget(j)
		}
		reply.Jobs = append(reply.Jobs, id)
	}
	f.jobs.final = slices.DeleteFunc(f.jobs.final, func(id facts.JobID) bool { return f.jobs.byID[id] == nil })
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
	if j := f.jobs.byID[parent.id]; j != nil && j.State != parent.state {
		return true
	}
	waiting := f.jobs.children[parent.id]
	var still []facts.JobID
	for n, id := range waiting {
		if f.out.Spent() {
			f.jobs.children[parent.id] = append(still, waiting[n:]...)
			return false
		}
		child := f.jobs.byID[id]
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
			f.planStale = true
			f.out.Record(now, facts.EventFacts{Type: "unblocked", Job: child.ID, Item: -1, Instance: -1,
				Why: facts.Because(facts.ReasonDependencyEnded, facts.Params{Job: parent.id, State: string(parent.state)}, "")})
		}
		f.putJob(child)
	}
	if len(still) == 0 {
		delete(f.jobs.children, parent.id)
	} else {
		f.jobs.children[parent.id] = still
	}
	return true
}

func (j *job) hasFlag(name string) bool { return slices.Contains(j.Flags, name) }

// hardLimit says whether the job's instances are killed at their need: nobody is on a guess, so a need must
// have been stated.
func (j *job) hardLimit() bool { return j.needs.Memory > 0 && j.hasFlag(facts.FlagHardLimit) }

// kept says whether a better priority leaves the job's primaries alone.
func (j *job) kept() bool { return j.hasFlag(facts.FlagUninterruptible) || j.hasFlag(facts.FlagElite) }

// flagRemarks tell of flags that do nothing.
func (j *job) flagRemarks() (remarks []string) {
	var passed []string
	for _, name := range j.Flags {
		if slices.Contains(facts.PassedOver, name) {
			passed = append(passed, name)
		}
	}
	if len(passed) > 0 {
		remarks = append(remarks, fmt.Sprintf("flags without effect in qb: %s", strings.Join(passed, ", ")))
	}
	if j.hasFlag(facts.FlagHardLimit) && !j.hardLimit() {
		remarks = append(remarks, "memory_hard_limit has no effect without a memory reservation; add -reservations host.memory=4GiB")
	}
	return remarks
}
