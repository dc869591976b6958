package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
)

// Rebuild takes the farm up from the rows. All leases run anew: nothing that was alive is given away
// before its host had a full lease to speak.
func Rebuild(p Policy, facts Facts, now time.Time) (*Farm, error) {
	f := New(p)
	f.nextJob, f.attemptFloor = max(1, facts.NextJob), facts.AttemptFloor
	f.takeUpBooks(facts)
	for _, hf := range facts.Hosts {
		h := newHost(hf)
		h.lastSync = now
		f.hosts[h.ID] = h
		f.seat(h)
	}
	f.properties = nil
	for _, r := range facts.Jobs {
		if _, err := f.takeUp(now, r); err != nil {
			return nil, err
		}
	}
	f.unsettled, f.endedOnes, f.dirty = f.sortedJobs(), facts.Ended, true
	f.carryOn(now)
	if err := f.Check(); err != nil {
		return nil, err
	}
	return f, nil
}

// settle frees a job whose conditions came true while it was not looked at.
func (f *Farm) settle(j *job) {
	if j.State != Blocked || j.BlockedBy != "" {
		return
	}
	before := len(j.WaitFor)
	j.WaitFor = slices.DeleteFunc(slices.Clone(j.WaitFor), func(l Link) bool {
		state := f.endedOnes[l.Job]
		if parent := f.jobs[l.Job]; parent != nil {
			state = parent.State
		}
		return l.satisfied(state)
	})
	if len(j.WaitFor) == 0 {
		j.State = Active
	}
	if len(j.WaitFor) != before || j.State == Active {
		f.putJob(j)
	}
}

// takeUp adds a job with everything that happened to it.
func (f *Farm) takeUp(now time.Time, r JobRecord) (*job, error) {
	j, err := f.newJob(r.Job, true)
	if err != nil {
		return nil, fmt.Errorf("job %d cannot be read: %w", r.Job.ID, err)
	}
	for _, m := range r.Marks {
		if m.First < 0 || int(m.Last) >= j.agenda.Len() || m.First > m.Last || m.Step < 1 {
			return nil, fmt.Errorf("job %d: mark %d-%dx%d lies outside its %d items", j.ID, m.First, m.Last, m.Step, j.agenda.Len())
		}
		for n := range each([]agenda.Span{m.Span()}) {
			j.tally.Set(int(n), m.Kind.state())
		}
	}
	j.marks = slices.Clone(r.Marks)
	sortMarks(j.marks)
	attempts := slices.Clone(r.Attempts)
	slices.SortFunc(attempts, func(a, b AttemptFacts) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Number, b.Number))
	})
	f.jobs[j.ID] = j
	for n, a := range attempts {
		last := n == len(attempts)-1 || attempts[n+1].Item != a.Item
		if err := f.takeUpAttempt(now, j, a, last); err != nil {
			return nil, err
		}
	}
	for _, d := range r.Done {
		if err := j.takeUpDone(d); err != nil {
			return nil, err
		}
	}
	f.resumeOrders(j, r)
	if j.Submission != "" {
		f.bySubmission[j.Submission] = j.ID
	}
	f.waitOn(j)
	if j.State.Final() {
		f.final = append(f.final, j.ID)
	}
	f.count(j)
	return j, nil
}

// resumeOrders takes up the job's orders after its attempts.
func (f *Farm) resumeOrders(j *job, r JobRecord) {
	if len(r.Orders) == 0 {
		return
	}
	late := map[ItemNo]time.Time{}
	for _, a := range r.Attempts {
		if a.EndedAt.After(late[a.Item]) {
			late[a.Item] = a.EndedAt
		}
	}
	for _, o := range r.Orders {
		j.resume(o, late)
	}
	f.underWay = append(f.underWay, j)
}

// takeUpDone adds attempts of which each is the last of its item, hence after all others. On which hosts they ran does
// not matter: evidence that others do what a host fails is only what ends under this term.
func (j *job) takeUpDone(d DoneFacts) error {
	if len(d.Wall) != len(d.Items) || len(d.Peak) != len(d.Items) {
		return fmt.Errorf("job %d: %d items are done, with %d times and %d peaks", j.ID, len(d.Items), len(d.Wall), len(d.Peak))
	}
	if j.startedAt.IsZero() || d.StartedAt.Before(j.startedAt) {
		j.startedAt = d.StartedAt
	}
	for n, item := range d.Items {
		if item < 0 || int(item) >= j.agenda.Len() {
			return fmt.Errorf("job %d: attempt %d of item %d lies outside its %d items", j.ID, d.Number, item, j.agenda.Len())
		}
		j.setLastAttempt(item, d.Number)
		j.book.learn(item, Done, "", 0, d.Peak[n])
		j.share.times.Add(d.Wall[n])
		j.doneWall += d.Wall[n]
		delete(j.trouble.lostOn, item)
		j.tally.Set(int(item), agenda.Complete)
	}
	j.doneCount += len(d.Items)
	return nil
}

func (k MarkKind) state() agenda.State {
	switch k {
	case MarkKilled:
		return agenda.Killed
	case MarkBlocked:
		return agenda.Blocked
	case MarkFailed:
		return agenda.Failed
	}
	return agenda.Complete
}

func (f *Farm) takeUpAttempt(now time.Time, j *job, a AttemptFacts, last bool) error {
	if a.Item < 0 || int(a.Item) >= j.agenda.Len() {
		return fmt.Errorf("job %d: attempt %d of item %d lies outside its %d items", j.ID, a.Number, a.Item, j.agenda.Len())
	}
	j.setLastAttempt(a.Item, a.Number)
	if j.startedAt.IsZero() || a.StartedAt.Before(j.startedAt) {
		j.startedAt = a.StartedAt
	}
	j.book.learn(a.Item, a.State, a.Cause, a.Memory, a.Peak)
	if a.State == Done || a.State == Superseded {
		j.share.times.Add(a.Wall)
	}
	switch a.State {
	case Done:
		j.doneWall += a.Wall
		j.doneCount++
	case Failed:
		if !endedForMemory(a.Cause) {
			j.failures[a.Item]++
		}
	case Preempted:
		j.preempted[a.Item]++
	}
	switch {
	case a.State == Done:
		delete(j.trouble.lostOn, a.Item)
	case !a.State.Live() && !endedForMemory(a.Cause):
		j.note(a.Host, EndAttempt{ID: a.AttemptID, State: a.State, Cause: a.Cause}, a.EndedAt)
	}
	if a.Again == ByOrder {
		delete(j.failures, a.Item)
		delete(j.preempted, a.Item)
	}
	if !last {
		return nil
	}
	switch {
	case a.State.Live():
		return f.adopt(now, j, a)
	case a.State == Done:
		j.tally.Set(int(a.Item), agenda.Complete)
	case a.Again == Never && a.State == Killed:
		j.tally.Set(int(a.Item), agenda.Killed)
	case a.Again == Never && a.State != Superseded:
		j.tally.Set(int(a.Item), agenda.Failed)
	}
	return nil
}

// adopt makes the instance that holds a live attempt.
func (f *Farm) adopt(now time.Time, j *job, a AttemptFacts) error {
	h := f.hosts[a.Host]
	if h == nil {
		h = newHost(HostFacts{ID: a.Host})
		h.lastSync = now
		f.hosts[h.ID] = h
		f.seat(h)
	}
	if j.instances[a.Instance] != nil {
		return fmt.Errorf("job %d: two live attempts hold instance %d", j.ID, a.Instance)
	}
	i := &instance{
		job: j, host: h, number: a.Instance, kind: a.Kind, slots: a.Slots, devices: a.Devices, attempt: a,
		began: a.StartedAt, leaseEnds: now.Add(f.leaseInFull()), leaving: a.State == Running && a.Cause != "", inherited: true,
	}
	i.condemned = j.tally.State(int(a.Item)) == agenda.Killed
	j.tally.Set(int(a.Item), agenda.Running)
	j.instances[i.number] = i
	h.instances[instanceKey{j.ID, i.number}] = i
	h.used += i.slots
	i.touch()
	return nil
}
