package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// Rebuild takes the farm up from the rows. All leases start again, and last as long as the longest that
// earlier answers may have named: nothing that was alive is given away before its host had a full lease to speak.
func Rebuild(p message.Policy, rows facts.Facts, now time.Time) (*Farm, error) {
	f := New(p)
	f.promise(now, rows.Promise)
	f.jobs.Next, f.attemptFloor = max(1, rows.NextJob), rows.AttemptFloor
	f.usage.accounts = accounting.New(p.Fairshare, rows)
	f.profiles = profiles.New(rows.Profiles)
	f.licences = licences.New(rows.Resources)
	f.licences.Configure(p.Licences, p.Resources)
	for _, hf := range rows.Hosts {
		h := model.NewHost(hf)
		h.Hear(now)
		if h.LockedBy == model.LockedByFarm {
			h.Lock = model.FarmLock{Ends: now.Add(farmLockWait), Wait: farmLockWait, Trial: true}
		}
		f.hosts.Add(h)
		f.hosts.Seat(h)
	}
	f.hosts.Properties = nil
	for _, r := range rows.Jobs {
		p, err := items.Prepare(r)
		if err != nil {
			return nil, err
		}
		if _, err := f.admit(now, p); err != nil {
			return nil, err
		}
	}
	for _, j := range f.jobs.Sorted() {
		j.Learned = f.profiles.Estimate(now, j.ProfileKey())
		if !j.State.Final() {
			f.jobs.Watch(j)
		}
	}
	f.resources.take()
	f.dependencies.unsettled = f.jobs.Sorted()
	f.dependencies.final = rows.Ended
	f.planStale = true
	f.carryOn(now)
	if err := f.Check(); err != nil {
		return nil, err
	}
	return f, nil
}

// carryOn goes on with what a commit had no room for, and is not found again by itself.
func (f *Farm) carryOn(now time.Time) {
	defer f.out.OwnWork()()
	for len(f.dependencies.unsettled) > 0 && !f.out.Spent() {
		j := f.dependencies.unsettled[0]
		f.dependencies.unsettled, f.doing.job = f.dependencies.unsettled[1:], j.ID
		if f.jobs.ByID[j.ID] == j {
			f.dependencies.resolve(j)
			f.maybeFinish(now, j)
		}
	}
	for len(f.dependencies.freeing) > 0 && !f.out.Spent() {
		if f.dependencies.release(now, f.dependencies.freeing[0]) {
			f.dependencies.freeing = f.dependencies.freeing[1:]
		}
	}
}

// admit adds a job with everything that happened to it.
func (f *Farm) admit(now time.Time, p *items.Prepared) (*model.Job, error) {
	needs, err := f.readNeeds(p.Job, true)
	if err != nil {
		return nil, fmt.Errorf("job %d cannot be read: %w", p.Job.ID, err)
	}
	j := model.NewJob(p.Job, p.Items, needs)
	j.Compacted = p.Compacted
	f.jobs.Enter(j)
	slices.SortFunc(p.Live, func(a, b facts.AttemptFacts) int { // so that none seeks its place among the others
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Instance, b.Instance))
	})
	for _, a := range behindLast(p.Live) {
		if err := f.adopt(now, j, a); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Orders {
		j.Resume(o, p.Late)
	}
	if len(j.Orders) > 0 {
		f.orders = append(f.orders, j)
	}
	if j.State == facts.FailedJob {
		j.FailedBy = j.Failure()
	}
	f.retries.notePaused(now, j)
	f.retries.avoidLeft(now, j)
	f.retries.delay(now, j)
	if j.State.Final() {
		f.jobs.Final = append(f.jobs.Final, j.ID)
	} else {
		f.teach(j)
	}
	f.jobs.Count(j)
	return j, nil
}

// behindLast has those attempts last that were given ahead of others in the list.
func behindLast(live []facts.AttemptFacts) []facts.AttemptFacts {
	if !slices.ContainsFunc(live, func(a facts.AttemptFacts) bool { return a.Ahead() }) {
		return live
	}
	there := make(map[facts.AttemptID]bool, len(live))
	for n := range live {
		there[live[n].AttemptID] = true
	}
	var first, last []facts.AttemptFacts
	for _, a := range live {
		if there[facts.AttemptID{Job: a.Job, Item: a.BehindItem, Number: a.BehindNumber}] {
			last = append(last, a)
		} else {
			first = append(first, a)
		}
	}
	return append(first, last...)
}

// adopt makes the instance that holds a live attempt.
func (f *Farm) adopt(now time.Time, j *model.Job, a facts.AttemptFacts) error {
	h := f.hosts.ByID[a.Host]
	if h == nil {
		h = model.NewHost(facts.HostFacts{ID: a.Host})
		h.Hear(now)
		f.hosts.Add(h)
		f.hosts.Seat(h)
	}
	before := j.Instances[a.Instance]
	if before != nil && (before.Next != nil || !a.Follows(before.Attempt.AttemptID) || before.Host != h) {
		return fmt.Errorf("job %d: two live attempts hold instance %d", j.ID, a.Instance)
	}
	i := &model.Instance{
		Job: j, Host: h, Number: a.Instance, Kind: a.Kind, Slots: a.Slots, Devices: a.Devices, Attempt: a.RunFacts,
		Floor: f.attemptFloor,
		Began: a.StartedAt, LeaseEnds: now.Add(f.policy.Promised.InFull()), Granted: now.Add(f.policy.Promised.Lease),
		SentAway: a.State == facts.Running && awayTexts[a.Reason] != "", Inherited: true,
	}
	if a.Reason != "" {
		order := a.Why
		i.Order = &order
	}
	if under := j.Tally.State(int(a.Item)); under == agenda.Killed || under == agenda.Failed || under == agenda.Complete ||
		under == agenda.Blocked {
		i.Under = under
	}
	j.Tally.Set(int(a.Item), agenda.Running)
	if before != nil {
		before.Next = i
		before.Back = i.SentAway
		i.Holder = before
		return nil
	}
	i.Attach()
	f.suspensions.noteResuming(h)
	return nil
}

// resolve frees a job whose conditions came true while it was not looked at.
func (de *dependencies) resolve(j *model.Job) {
	if j.State.Final() || j.BlockedBy != "" || j.State == facts.Active && len(j.WaitFor) == 0 {
		return
	}
	before, was := len(j.WaitFor), j.State
	j.WaitFor = de.jobs.StillWaits(j, de.final)
	de.jobs.Unwatch(j)
	if j.State == facts.Blocked && !j.Holds() {
		j.State = facts.Active
	}
	if len(j.WaitFor) != before || j.State != was {
		de.putJob(j)
	}
}

// promise keeps the longest promise that answers may have made in the row of terms: what the settings make longer is
// written in the commit of the first answer that names it, or before; what they make shorter when it has run out.
func (f *Farm) promise(now time.Time, before facts.PromiseFacts) {
	own := f.policy.Promise()
	longest := before.With(own)
	if !longest.Same(own) {
		longest.Until = now.Add(longest.InFull())
		f.out.Record(now, facts.EventFacts{Type: "lease-lowered", Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: facts.Why{
				Cause: fmt.Sprintf("hosts were promised %s before, and by the settings are promised %s; for %s items of hosts that fall silent are moved no sooner than by the former",
					longest, own, longest.InFull()),
			}})
	}
	f.setPromised(before, longest)
}

// endPromise lets a former promise go that has run out: no answer is given by it any more.
func (f *Farm) endPromise(now time.Time) {
	if was := f.policy.Promised; !was.Until.IsZero() && !now.Before(was.Until) {
		f.setPromised(was, f.policy.Promise())
	}
}

func (f *Farm) setPromised(was, is facts.PromiseFacts) {
	f.policy.Promised = is
	if !was.Same(is) || !was.Until.Equal(is.Until) {
		f.out.Write(facts.PutPromise{Promise: is})
	}
}

// countAnew has the silence of hosts that are merely not answered yet count from now on: by the former settings they
// were to wait for longer than the present ones let a host be silent.
func (f *Farm) countAnew(now time.Time, former time.Duration) {
	for _, h := range f.hosts.Sorted() {
		h.NoneLapses = time.Time{} // leases given from now on may end sooner
		if h.WaitingSync == nil || h.Silence(now) > former {
			continue
		}
		if latest := now.Add(h.Hold(&f.policy, h.WaitingSync.Deadline.Sub(now))); latest.Before(h.WaitingSync.Deadline) {
			h.WaitingSync.Deadline, h.LastSync = latest, now
		}
	}
}
