package model

import (
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// checkOrders looks at what is left of the order under way.
func (j *Job) checkOrders() error {
	for n, o := range j.Orders {
		if n > 0 && (o.Left() > 0 || !o.Begun.IsZero() || o.Number <= j.Orders[n-1].Number) {
			return fmt.Errorf("order %d (%s) has begun before its turn", o.Number, o.Action)
		}
		for left, at := o.Ended.Count, 0; left > 0; left-- {
			at = o.Ended.Next(at)
			if item := facts.ItemNo(at); item < o.Next || !o.Action.Covers(j.Tally.State(at)) || j.LastAttempt(item) == 0 {
				return fmt.Errorf("order %d (%s) at item %d has item %d still to reopen, which is %v", o.Number, o.Action, o.Next,
					item, j.Tally.State(at))
			}
			at++
		}
	}
	return nil
}

func (j *Job) Check() error {
	if got, on := j.Tally.Count(agenda.Running), len(j.running()); got != on {
		return fmt.Errorf("%d items run, instances have %d", got, on)
	}
	seen, wanted, progressed := map[facts.ItemNo]bool{}, 0, 0
	for _, i := range j.sortedInstances() {
		a := i.Attempt
		if i.Resuming() {
			wanted += i.Slots
		}
		switch {
		case j.Instances[i.Number] != i:
			return fmt.Errorf("instance %d is listed, and another one has its number", i.Number)
		case !a.State.Live():
			return fmt.Errorf("instance %d holds attempt %d of item %d, which is %s", i.Number, a.Number, a.Item, a.State)
		case seen[a.Item]:
			return fmt.Errorf("item %d runs twice", a.Item)
		case j.Tally.State(int(a.Item)) != agenda.Running:
			return fmt.Errorf("item %d runs on instance %d but is %s", a.Item, i.Number, j.Tally.State(int(a.Item)))
		case j.LastAttempt(a.Item) != a.Number:
			return fmt.Errorf("item %d runs attempt %d, its latest is %d", a.Item, a.Number, j.LastAttempt(a.Item))
		case i.Host.Instances[instanceKey{j.ID, i.Number}] != i:
			return fmt.Errorf("instance %d is not on host %s", i.Number, i.Host.ID)
		case !a.ReleasedAt.IsZero() && a.SuspendedAt.IsZero() || !a.ResumingAt.IsZero() && a.ReleasedAt.IsZero():
			return fmt.Errorf("instance %d is suspended at %v, released at %v, resuming at %v", i.Number, a.SuspendedAt,
				a.ReleasedAt, a.ResumingAt)
		case a.Kind != i.Kind || a.Instance != i.Number || a.Host != i.Host.ID:
			return fmt.Errorf("instance %d and its attempt tell different stories", i.Number)
		}
		seen[a.Item] = true
		if err := checkNext(i, seen); err != nil {
			return err
		}
		progressed += i.Progress
	}
	lined := 0
	for i := j.numbers.oldest; i != nil; i = i.newer {
		if lined++; j.Instances[i.Number] != i || i.newer != nil && i.newer.Attempt.StartedAt.Before(i.Attempt.StartedAt) {
			return fmt.Errorf("instance %d has the wrong place in the order of starts", i.Number)
		}
	}
	if lined != len(j.Instances) || progressed != j.numbers.progressed {
		return fmt.Errorf("%d instances are in the order of starts and their progress is %d, there are %d with %d", lined,
			j.numbers.progressed, len(j.Instances), progressed)
	}
	if is := j.countAnew(); !slices.Equal(is[:], j.Parts[RolePrimary:]) {
		return fmt.Errorf("%v primary, secondary, draining and leaving instances are counted, it has %v",
			j.Parts[RolePrimary:], is)
	}
	if wanted != j.resuming {
		return fmt.Errorf("%d slots are counted as wanted to go on, its instances want %d", j.resuming, wanted)
	}
	for n := range j.numbers.taken {
		if j.Instances[n] == nil {
			return fmt.Errorf("instance number %d is free, and all below %d are taken for used", n, j.numbers.taken)
		}
	}
	if err := j.checkOrders(); err != nil {
		return err
	}
	if j.State.Final() != (j.Finished() && !j.FinishedAt.IsZero()) {
		return fmt.Errorf("the job is %s with %d pending, %d running, %d blocked, %d waiting items", j.State,
			j.Tally.Count(agenda.Pending)+j.Paused(), j.Tally.Count(agenda.Running), j.Tally.Count(agenda.Blocked), j.Waiting())
	}
	return nil
}
