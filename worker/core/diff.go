package core

import (
	"maps"
	"slices"
	"time"

	"qb/api"
)

// reconcile compares what should run with what does, and orders the difference. It may be repeated
// after any event: an order once given changes the state so that it is not given twice.
func (c *Core) reconcile() {
	if !c.heard && c.closing == "" {
		return
	}
	for _, i := range c.sortedInstances() {
		want, wanted := c.wish.of(i, c.records)
		switch {
		case !wanted || c.closing != "":
			c.leave(i, api.ProgramPending)
		case want.Program != "" && i.leaves(want):
			c.leave(i, want.Program)
		case want.Program != "":
			if i.state == StateIdle && i.status != want.Program {
				i.status = want.Program
				c.order(AnswerProgram{i.key, i.status})
			}
			c.maybeRenew(i)
		case want.Attempt == i.attempt:
			c.maybeSuspend(i, want)
			c.maybeRenew(i)
		case i.state == StateIdle:
			c.maybeRun(i.key, want)
		case i.state != StateClosing:
			c.stop(i)
		}
	}
	if c.closing != "" {
		return
	}
	var missing []Key
	for key, want := range c.wish.Instances {
		if c.instances[key] == nil && want.Program == "" {
			missing = append(missing, key)
		}
	}
	slices.SortFunc(missing, compareKeys)
	for _, key := range missing {
		c.maybeRun(key, c.wish.Instances[key])
	}
}

// completed says whether an item was done, so that the next one may begin without the supervisor's word.
func completed(f *api.Finished) bool {
	return f.Outcome == "exit" && f.ExitCode != nil && *f.ExitCode == 0
}

// leaves says that the program of an instance is to end, or has ended already, as an answer has a status for it in
// place of an item. An end that is being recorded is waited for.
func (i *instance) leaves(want api.Desired) bool {
	waits := i.loaded && (want.Program == api.ProgramWaiting || want.Program == api.ProgramBlocked)
	return i.attempt != want.Attempt || i.state == StateIdle && !waits
}

// leave ends an instance that is not wanted any more, with that status for its program if it has no item.
func (c *Core) leave(i *instance, status string) {
	switch i.state {
	case StateClosing:
	case StateIdle:
		i.state = StateClosing
		if i.loaded { // its program may have ended, and what it had may be others'
			c.noteLess(i, 0)
			i.memory = 0
		}
		c.order(CloseShim{i.key, status, c.grace})
	default:
		c.stop(i)
	}
}

func (c *Core) stop(i *instance) {
	if i.stopped {
		return
	}
	i.stopped = true
	if i.state != StateUnknown {
		i.state = StateStopping
	}
	o := StopItem{Key: i.key, Attempt: i.attempt, Grace: c.grace, Reason: c.closing, Code: codeNotWanted}
	if c.closing != "" {
		o.Code, o.Close = codeWorkerStopped, true
	}
	c.order(o)
}

// maybeRenew sends the shim a later lease end, but not each time that it moves by a moment.
func (c *Core) maybeRenew(i *instance) {
	if i.state == StateIdle && !i.loaded || i.state == StateClosing || i.state == StateUnknown || i.stopped ||
		c.leaseEnd <= c.now {
		return
	}
	moved, step := c.leaseEnd-i.leaseSent, min(c.limits.LeaseStep, c.lease/8)
	if moved == 0 || (moved > 0 && moved < step && i.state != StateFrozen) {
		return
	}
	i.leaseSent = c.leaseEnd
	c.order(WriteLease{i.key, c.leaseEnd})
}

// maybeSuspend has the item stand still, or go on, as it should.
func (c *Core) maybeSuspend(i *instance, want api.Desired) {
	if i.state == StateIdle || i.state == StateClosing || i.state == StateUnknown || i.stopped ||
		i.told == wantedSuspension(want) {
		return
	}
	i.told = wantedSuspension(want)
	c.order(SuspendItem{i.key, i.attempt, want.Suspended, want.SuspensionID})
}

// runnable finds the item's specification and refuses what has ended here or may no longer start.
func (c *Core) runnable(want api.Desired) (Item, bool) {
	spec, known := c.specs[want.Attempt.Job]
	if !known || spec.Version != want.Version || c.now >= c.leaseEnd || c.records[want.Attempt] != nil {
		return Item{}, false
	}
	return Item{Desired: want, Spec: spec, Grace: c.grace}, true
}

// maybeRun gives the item to the instance, which is idle, or to a new one if there is none.
func (c *Core) maybeRun(key Key, want api.Desired) {
	item, ok := c.runnable(want)
	former := c.instances[key]
	fresh := former == nil
	if !ok || fresh && len(c.instances) >= c.limits.Instances || c.livesElsewhere(key, want.Attempt) || !c.admits(want) {
		return
	}
	i := instance{key: key, attempt: want.Attempt, state: StateStarting, leaseSent: c.leaseEnd,
		told: wantedSuspension(want)}
	if listed := c.wish.Instances[key].Attempt; listed != want.Attempt {
		i.behind = listed
	}
	if !fresh && former.loaded { // what its program has stays its own
		i.loaded = true
		i.memory = former.memory
		i.counted = former.counted
	}
	if fresh {
		c.instances[key] = new(instance)
		c.sorted = nil
	}
	*c.instances[key] = i
	if fresh {
		c.order(StartShim{Key: key, Item: item, Lease: c.leaseEnd})
	} else {
		c.order(HandItem{Key: key, Item: item, Lease: c.leaseEnd})
	}
}

// livesElsewhere guards against an answer that moves a running attempt to another instance number.
func (c *Core) livesElsewhere(key Key, id api.AttemptID) bool {
	for k, i := range c.instances {
		if k != key && i.attempt == id {
			return true
		}
	}
	return false
}

// keepListed forgets the specifications of jobs that the last answer does not list. An answer on its way may leave out
// a specification named by the last sync; since the next sync does not name it, a later answer brings it again.
func keepListed(specs map[int64]api.JobSpec, desired map[Key]api.Desired) {
	listed := map[int64]bool{}
	for key := range desired {
		listed[key.Job] = true
	}
	maps.DeleteFunc(specs, func(job int64, _ api.JobSpec) bool { return !listed[job] })
}

// letGo drops each record that the answered sync carried and the answer no longer lists. If the answer lists an attempt
// whose end was carried, nothing of that instance was read: the end of what it had held ahead is kept, too.
func (c *Core) letGo(answered pendingSync) (dropped int) {
	listed, unread := map[api.AttemptID]bool{}, map[Key]bool{}
	for key, d := range c.wish.Instances {
		if d.Program != "" {
			continue // its attempt is known to have ended
		}
		listed[d.Attempt] = true
		if r := c.records[d.Attempt]; r != nil {
			unread[key] = r.carriedBy(answered.sequence)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.records), compareAttempts) {
		if r := c.records[id]; r.carriedBy(answered.sequence) && !listed[id] && !unread[Key{id.Job, r.finished.Instance}] {
			delete(c.records, id)
			c.order(Forget{id})
			dropped++
		}
	}
	return dropped
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
