package model

import (
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Chosen are the items that an order chooses, as they are now: of those named the ones in a state, and what the chosen
// instances run. In a job without an agenda an item that does not run means the instance of its number.
func (j *Job) Chosen(named []agenda.Span, c message.Choice) []agenda.Span {
	on := j.running()
	var chosen items.Set
	if named != nil || c.States != nil {
		if named == nil {
			named = j.Whole()
		}
		for n := range items.Each(named) {
			if c.States == nil || slices.Contains(c.States, j.itemState(n, on)) {
				chosen.Add(int(n), j.Entries.Len())
			}
		}
	}
	if c.OfInstances() {
		for n := range j.Entries.Len() {
			if j.choosesInstance(facts.ItemNo(n), on, c) {
				chosen.Add(n, j.Entries.Len())
			}
		}
	}
	list := make([]int, 0, chosen.Count)
	for n := range j.Entries.Len() {
		if chosen.Has(n) {
			list = append(list, n)
		}
	}
	return agenda.SpansOf(list)
}

// choosesInstance says whether the item is run by a chosen instance, or means one.
func (j *Job) choosesInstance(item facts.ItemNo, on map[facts.ItemNo]*Instance, c message.Choice) bool {
	number := int(item)
	if i := on[item]; i != nil && i.Behind() {
		return false // an instance does not run what it holds ahead
	} else if i != nil {
		number = i.Number
	} else if j.HasAgenda() || j.Instances[number] != nil {
		return false
	}
	return (c.Instances == nil || agenda.Within(c.Instances, number)) &&
		(c.InstanceStates == nil || slices.Contains(c.InstanceStates, j.itemState(item, on)))
}

// itemState is the state of an item as listings show it.
func (j *Job) itemState(item facts.ItemNo, on map[facts.ItemNo]*Instance) string {
	state := j.Tally.State(int(item))
	switch {
	case state == agenda.Running && on[item] != nil && on[item].Suspended() && !on[item].Resuming():
		return facts.ItemSuspended
	case j.State == facts.Blocked && (state == agenda.Pending || state == agenda.Paused):
		return facts.ItemBlocked
	}
	return state.String()
}

// running are the instances by the items that they run.
func (j *Job) running() map[facts.ItemNo]*Instance {
	on := make(map[facts.ItemNo]*Instance, len(j.Instances))
	for _, i := range j.Instances {
		on[i.Attempt.Item] = i
		if i.Next != nil {
			on[i.Next.Attempt.Item] = i.Next
		}
	}
	return on
}

// NothingOf says why an order changed nothing of the items that it named: what they are, and what they would have to
// be.
func (j *Job) NothingOf(a facts.Action, named []agenda.Span) string {
	on := j.running()
	count, first := 0, ""
	var are []string
	for n := range items.Each(named) {
		if count++; count == 1 {
			first = j.Entries.Item(int(n)).Name
		}
		state := j.itemState(n, on)
		if i := on[n]; i != nil && i.Ending() {
			state = "ending already"
		}
		if !slices.Contains(are, state) {
			are = append(are, state)
		}
	}
	slices.Sort(are)
	which := fmt.Sprintf("item %s of job %d is", first, j.ID)
	if count != 1 {
		which = fmt.Sprintf("the %d items named of job %d are", count, j.ID)
	}
	return fmt.Sprintf("%s %s; %s takes items that are %s", which, facts.Either(are), a, facts.Either(a.TakesItems()))
}

// NothingChosen says why an order chose nothing.
func (j *Job) NothingChosen(a facts.Action, c message.Choice) string {
	live := a.TakesInstances()
	if c.InstanceStates != nil {
		live = c.InstanceStates
	}
	switch {
	case !c.OfInstances():
		return fmt.Sprintf("job %d has no such item that is %s; %s takes items that are %s", j.ID, facts.Either(c.States), a,
			facts.Either(a.TakesItems()))
	case j.HasAgenda() && !slices.Contains(live, facts.ItemRunning) && !slices.Contains(live, facts.ItemSuspended):
		return fmt.Sprintf("job %d has a range, and of such a job only instances that run are kept; choose its items instead",
			j.ID)
	case len(j.Instances) == 0:
		return fmt.Sprintf("job %d is %s and has no instances; %s takes instances that are %s", j.ID, j.Status(), a,
			facts.Either(a.TakesInstances()))
	}
	numbers := make([]int, 0, len(j.Instances))
	for _, i := range j.sortedInstances() {
		numbers = append(numbers, i.Number)
	}
	return fmt.Sprintf("job %d has no such instance that is %s; it has the instances %s", j.ID, facts.Either(live),
		agenda.NumbersText(numbers))
}
