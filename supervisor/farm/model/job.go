package model

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// Job is a submission with all that is derived from its attempts.
type Job struct {
	facts.JobFacts
	*items.Items
	Needs fit.Needs
	Refreshed
	Noticed Noticed
	changes
	Delayed   bool // its start has not come
	Compacted bool // attempts of it are daily sums: it never runs again
	Recalled  bool // it had been forgotten, and came back for an order

	countedOpen, countedEnded bool       // in its owner's use; among the ended ones in memory
	Size                      quota.Size // as counted
	bounds                    []*Bound

	Instances  map[int]*Instance // by number
	Parts      [roles]int        // of the instances, how many play which
	numbers    numbers
	resuming   int // slots that its instances wait for to go on
	LastShrink time.Time
	FailedBy   facts.Failure // of the items, if the job has failed
	FolderSeen bool          // an item has run in its working folder
	Lacked     []LackedBy
	Avoids     map[facts.HostID]fit.Refuses // hosts on which its items failed, and until when
	Orders     []*Action                    // the first is under way, the others wait
	gated
	Carried []facts.ActionFacts // the last orders that took more than one commit; no one may change it
}

// numbers are those of a job's instances.
type numbers struct {
	taken    int               // all below it are
	sorted   []*Instance       // by number; empty: to be sorted
	programs map[int]*Instance // that outlive their instances
	starts
	progressed int // sum of the progress of their items
}

// gated are the conditions of a job on items of other jobs, and of other jobs on its items.
type gated struct {
	Gates    []*Gate // of its conditions those on items of other jobs
	watchers []*Gate // of other jobs, on its items
}

// Noticed is what events have said of a job's items.
type Noticed struct {
	Overuse bool // that one used more processors than it holds
	Slow    SlowItems
}

// SlowItems are the items of a job that run unusually long and are counted, as an event has reported one before.
type SlowItems struct {
	At   time.Time // of that event
	More int       // since then
	Last facts.EventFacts
}

// Refreshed is what each plan works out again of a job, from the farm and the time.
type Refreshed struct {
	MemoryNeed int64          // of the next instance, bytes; 0: nothing is known
	Learned    facts.Estimate // of its profile, as of when the need was worked out
	SlotShare  cpuShare
	Limit      *accounting.ExceededBudget // budget that its payer has used up; nil: none
	Row        int                        // its place among the jobs of the plan
}

func NewJob(row facts.JobFacts, s *items.Items, n fit.Needs) *Job {
	j := &Job{JobFacts: row, Items: s, Needs: n, Instances: map[int]*Instance{}}
	s.Owner = j
	j.Size.Bytes = quota.BytesOf(&j.JobFacts, s.Entries.Len())
	return j
}

func (j *Job) HasAgenda() bool { return j.Agenda.Range != "" }

// FreeNumber is the lowest instance number that neither an instance nor a program of one has. It is sought from where
// the last one was found: from zero, a job of a hundred thousand instances would take minutes to get them.
func (j *Job) FreeNumber() int {
	for j.Instances[j.numbers.taken] != nil {
		j.numbers.taken++
	}
	n := j.numbers.taken
	for j.Instances[n] != nil || j.numbers.programs[n] != nil {
		n++
	}
	return n
}

// sortedInstances are the job's instances by number; no one may change the list.
func (j *Job) sortedInstances() []*Instance {
	if len(j.numbers.sorted) != len(j.Instances) {
		j.numbers.sorted = slices.SortedFunc(maps.Values(j.Instances),
			func(a, b *Instance) int { return cmp.Compare(a.Number, b.Number) })
	}
	return j.numbers.sorted
}

// Resuming are the job's instances that wait to go on, by number.
func (j *Job) Resuming() []*Instance {
	if j.resuming == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(j.sortedInstances()), func(i *Instance) bool { return !i.Resuming() })
}

// Counts are the instances that count as held, by kind, and the ones that are on their way out.
func (j *Job) Counts() (primary, secondary, draining int) {
	return j.Parts[RolePrimary], j.Parts[RoleSecondary], j.Parts[RoleDraining] + j.Parts[RoleEnding]
}

// Held are the instances that Balance may count on: neither stopping nor sent away by a person.
func (j *Job) Held() int {
	return j.Parts[RolePrimary] + j.Parts[RoleSecondary] + j.Parts[RoleDraining]
}

// Remaining are the items that run or are ready. Of a suspended job none is, and of one whose start has not come.
func (j *Job) Remaining() int {
	if j.State == facts.Suspended || j.Delayed {
		return j.Held()
	}
	return j.Tally.Count(agenda.Pending) + j.Held()
}

// Planned says whether a plan sees the job: it may have instances, or its instances hold slots while it is
// suspended.
func (j *Job) Planned() bool {
	return (j.State == facts.Active || j.State == facts.Suspended) && j.Remaining() > 0
}

// Finished says that nothing of the job waits or runs, no order on it is under way, and no one is to end it.
func (j *Job) Finished() bool {
	return len(j.Orders) == 0 && j.Over() && (j.State.Final() || !j.StaysOpen())
}

// StaysOpen says whether a person ends the job, and no one has yet. Who ends it marks all its items: so the next term
// knows, and a job of which items run again is open again.
func (j *Job) StaysOpen() bool {
	return j.hasFlag(facts.FlagStaysOpen) &&
		j.marked(facts.MarkKilled)+j.marked(facts.MarkComplete)+j.marked(facts.MarkFailed) < j.Entries.Len()
}

// marked is how many items have marks of the kind.
func (j *Job) marked(kind facts.MarkKind) (n int) {
	for _, m := range j.Marks {
		if m.Kind == kind {
			n += m.Span().Len()
		}
	}
	return n
}

// EndState is what the job becomes as it ends: as its items are, but killed if it stayed open and a person has killed
// it.
func (j *Job) EndState() facts.JobState {
	if j.hasFlag(facts.FlagStaysOpen) && j.marked(facts.MarkKilled) == j.Entries.Len() {
		return facts.KilledJob
	}
	return j.Items.EndState()
}

// Width is how wide the job may run now: its ceiling without regard to its items.
func (j *Job) Width(p *planner.SharePolicy) int { return p.Width(j.CPUs, j.MaxCPUs, j.HasAgenda()) }

// Spares is how many instances the job can be narrower by: it stays 1 wide.
func (j *Job) Spares(p *planner.SharePolicy) int { return max(0, j.reach(p)-1) }

// reach is how wide the job is: as wide as it may be, or if that has no limit of its own, as it is now.
func (j *Job) reach(p *planner.SharePolicy) int {
	width := j.Width(p)
	if m := j.MaxCPUs; m == nil || *m < 0 || *m > p.MaxCPUsLimit {
		width = min(width, max(j.CPUs, j.Held()))
	}
	return width
}

// Narrow makes the job so many instances narrower, by max_cpus, and by cpus where that is more.
func (j *Job) Narrow(p *planner.SharePolicy, by int) {
	width := max(1, j.reach(p)-by)
	j.CPUs = min(j.CPUs, width)
	if j.MaxCPUs == nil || *j.MaxCPUs != 0 { // 0: as wide as cpus
		j.MaxCPUs = &width
	}
}

func (j *Job) WantsInstances() bool {
	return j.State == facts.Active && !j.Delayed && j.Pending() > 0
}

func (j *Job) hasFlag(name string) bool { return slices.Contains(j.Flags, name) }

// Migrates says whether the job leaves a host at the first failure there that is retried.
func (j *Job) Migrates() bool { return j.hasFlag(facts.FlagMigrate) }

// AvoidsAfter is how many failures on a host one after the other have the job avoid it, by the site's number; 0: never.
func (j *Job) AvoidsAfter(most int) int {
	if most == 0 && j.hasFlag(facts.FlagWrangling) {
		return wrangledAfter
	}
	return most
}

// wrangledAfter is the default of supervisor_avoid_after.
const wrangledAfter = 2

// HardLimit says whether the job's instances are killed at their need: only at a stated one, never at a guess.
func (j *Job) HardLimit() bool { return j.Needs.Memory > 0 && j.hasFlag(facts.FlagHardLimit) }

// Kept says whether a better priority leaves the job's primaries alone.
func (j *Job) Kept() bool { return j.hasFlag(facts.FlagUninterruptible) || j.Elite() }

// FlagRemarks tell of flags that do nothing.
func (j *Job) FlagRemarks() (remarks []string) {
	passed := slices.DeleteFunc(slices.Clone(j.Flags),
		func(name string) bool { return !slices.Contains(facts.PassedOver, name) })
	if len(passed) > 0 {
		remarks = append(remarks, fmt.Sprintf("flags without effect in qb: %s", strings.Join(passed, ", ")))
	}
	if j.hasFlag(facts.FlagHardLimit) && !j.HardLimit() {
		remarks = append(remarks, "memory_hard_limit has no effect without a memory reservation; add -reservations host.memory=4GiB")
	}
	return remarks
}

// LackedBy is an item whose host lacked what it needs, while it was not known whether another has it.
type LackedBy struct {
	Item facts.AttemptID
	Host facts.HostID
	fit.Lack
}

// StartRemarks say when the job starts, as the farm has understood it.
func (j *Job) StartRemarks(now time.Time) []string {
	switch start := j.StartsAt(); {
	case start.IsZero():
		return nil
	case !now.Before(start):
		return []string{fmt.Sprintf("start %s has passed; the job may start at once", facts.Moment(start))}
	default:
		return []string{fmt.Sprintf("starts at %s (UTC) at the earliest", facts.Moment(start))}
	}
}

// LabelRemarks warn of labels that no job of the process group has, so that the job waits until one is submitted with
// it.
func (j *Job) LabelRemarks() (remarks []string) {
	for _, l := range j.WaitFor {
		if l.Job == 0 {
			remarks = append(remarks, fmt.Sprintf("no job of process group %d has the label %s yet; the job waits until one is submitted with -pgrp %d -label %s", j.PGrp, l.Label, j.PGrp, l.Label))
		}
	}
	return remarks
}

// WideRemarks warn of a job with more primaries than all hosts that are known have slots for.
func (j *Job) WideRemarks(hosts iter.Seq[*fit.Host]) []string {
	slots, room := 0, 0
	for h := range hosts {
		slots += h.Slots
		if room += h.Slots / max(1, j.Needs.Slots); room >= j.CPUs {
			return nil
		}
	}
	if room == 0 { // where no host is large enough for one, another remark says so
		return nil
	}
	if j.HasAgenda() {
		return []string{fmt.Sprintf("cpus %d is more than the farm can run at once: all its hosts have %s, so at most %d run",
			j.CPUs, facts.Several(slots, "slot"), room)}
	}
	return []string{fmt.Sprintf("cpus %d makes %d items, and all hosts of the farm have %s, so at most %d run at once",
		j.CPUs, j.Entries.Len(), facts.Several(slots, "slot"), room)}
}

// ByAvoidedHost are the jobs that avoid each host, by id.
func ByAvoidedHost(avoiding map[facts.JobID]*Job) map[facts.HostID][]*Job {
	jobs := map[facts.HostID][]*Job{}
	for _, id := range slices.Sorted(maps.Keys(avoiding)) {
		for host := range avoiding[id].Avoids {
			jobs[host] = append(jobs[host], avoiding[id])
		}
	}
	return jobs
}

// LicenceRemarks warns of a job whose instance takes more of a licence than the farm has in all.
func (j *Job) LicenceRemarks(resources map[string]int64) (remarks []string) {
	for _, name := range slices.Sorted(maps.Keys(j.Needs.Takes)) {
		if has, takes := resources[name], j.Needs.Takes[name]; !strings.HasPrefix(name, "host.") && takes > has {
			remarks = append(remarks, fmt.Sprintf("an instance takes %d %s and the farm has %d in all (supervisor_global_resources), so the job waits until it has more", takes, name, has))
		}
	}
	return remarks
}
