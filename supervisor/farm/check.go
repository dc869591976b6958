package farm

import (
	"fmt"

	"qb/agenda"
	"qb/supervisor/facts"
)

// Check walks all cross-references and returns the first that is broken. Tests and the simulator call it
// after every event; Rebuild calls it once. O(items of unfinished jobs + instances).
func (f *Farm) Check() error {
	for _, j := range f.jobs.sorted() {
		if err := j.check(); err != nil {
			return fmt.Errorf("job %d: %w", j.ID, err)
		}
	}
	keys := map[string]facts.HostID{}
	for _, h := range f.hosts.sorted() {
		if o, there := keys[h.Key]; there && h.Key != "" {
			return fmt.Errorf("hosts %s and %s have one key", o, h.ID)
		}
		keys[h.Key] = h.ID
		used := 0
		for _, i := range h.sortedInstances() {
			used += i.slots
			if i.leaseEnds.Before(h.noneLapses) {
				return fmt.Errorf("host %s: the lease of instance %s ends before it is looked at", h.ID, i.name())
			}
			if i.job.instances[i.number] != i || f.jobs.byID[i.job.ID] != i.job {
				return fmt.Errorf("host %s: instance %s is not its job's", h.ID, i.name())
			}
		}
		if used != h.used {
			return fmt.Errorf("host %s: %d slots are counted as used, its instances hold %d", h.ID, h.used, used)
		}
	}
	if err := f.jobs.checkOwners(); err != nil {
		return err
	}
	for _, j := range f.underway.orders {
		if f.jobs.byID[j.ID] != j || len(j.orders) == 0 {
			return fmt.Errorf("job %d is taken for one with orders under way", j.ID)
		}
	}
	return f.checkKept()
}

// checkOrders looks at what is left of the order under way.
func (j *job) checkOrders() error {
	for n, o := range j.orders {
		if n > 0 && (o.left() > 0 || !o.Begun.IsZero() || o.Number <= j.orders[n-1].Number) {
			return fmt.Errorf("order %d (%s) has begun before its turn", o.Number, o.Action)
		}
		for left, at := o.ended.Count, 0; left > 0; left-- {
			at = o.ended.Next(at)
			if item := facts.ItemNo(at); item < o.Next || !o.Action.Covers(j.Tally.State(at)) || j.LastAttempt(item) == 0 {
				return fmt.Errorf("order %d (%s) at item %d has item %d still to reopen, which is %v", o.Number, o.Action, o.Next, item, j.Tally.State(at))
			}
			at++
		}
	}
	return nil
}

func (j *job) check() error {
	if got := j.Tally.Count(agenda.Running); got != len(j.instances) {
		return fmt.Errorf("%d items run on %d instances", got, len(j.instances))
	}
	seen := map[facts.ItemNo]bool{}
	for _, i := range j.sortedInstances() {
		a := i.attempt
		switch {
		case !a.State.Live():
			return fmt.Errorf("instance %d holds attempt %d of item %d, which is %s", i.number, a.Number, a.Item, a.State)
		case seen[a.Item]:
			return fmt.Errorf("item %d runs twice", a.Item)
		case j.Tally.State(int(a.Item)) != agenda.Running:
			return fmt.Errorf("item %d runs on instance %d but is %s", a.Item, i.number, j.Tally.State(int(a.Item)))
		case j.LastAttempt(a.Item) != a.Number:
			return fmt.Errorf("item %d runs attempt %d, its latest is %d", a.Item, a.Number, j.LastAttempt(a.Item))
		case i.host.instances[instanceKey{j.ID, i.number}] != i:
			return fmt.Errorf("instance %d is not on host %s", i.number, i.host.ID)
		case a.Kind != i.kind || a.Instance != i.number || a.Host != i.host.ID:
			return fmt.Errorf("instance %d and its attempt tell different stories", i.number)
		}
		seen[a.Item] = true
	}
	for n := range j.taken {
		if j.instances[n] == nil {
			return fmt.Errorf("instance number %d is free, and all below %d are taken for used", n, j.taken)
		}
	}
	if err := j.checkOrders(); err != nil {
		return err
	}
	if j.State.Final() != (j.over() && !j.FinishedAt.IsZero()) {
		return fmt.Errorf("it is %s with %d pending, %d running, %d blocked items", j.State,
			j.Tally.Count(agenda.Pending), j.Tally.Count(agenda.Running), j.Tally.Count(agenda.Blocked))
	}
	return nil
}
