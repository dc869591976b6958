package model

import (
	"fmt"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// An instance whose items are short may have its next item already while it still has one, so that its worker can begin
// the next without the supervisor. The attempt at that item is an instance of its own that is on no list and takes
// nothing of its host: it is behind the other until that one's item has ended.

// queue is the order of two instances that have one slot.
type queue struct {
	Next   *Instance // has the item that this one takes next; nil: none
	Holder *Instance // in whose place this one is to come, or has come; nil: it has its own
	Back   bool      // its item is to be handed back, so no answer names it any more
}

// Behind says that the instance waits behind another, so that its item has not begun by what is known.
func (i *Instance) Behind() bool { return i.Holder != nil && i.Holder.Next == i }

// PlaceOf is the instance in whose place one is, which is itself unless it was behind another.
func PlaceOf(i *Instance) *Instance {
	if i.Holder != nil && !i.Behind() {
		return i.Holder
	}
	return i
}

// GiveNext has the instance hold an attempt at its next item.
func GiveNext(i *Instance, now time.Time, a facts.RunFacts, floor int, p *message.Policy) {
	i.Next = &Instance{Job: i.Job, Host: i.Host, Number: i.Number, Kind: i.Kind, Slots: i.Slots, Devices: i.Devices,
		Attempt: a, Floor: floor}
	i.Next.Holder = i
	i.Next.Lengthen(now, p)
	i.Touch()
}

// TakeNext makes the next attempt that of the instance. It began when the attempt before it had run for so many seconds
// by its worker's clock, or later.
func TakeNext(i *Instance, now time.Time, wall float64) {
	next := i.Next
	began := i.Attempt.StartedAt.Add(time.Duration(wall * float64(time.Second)))
	if began.After(now) {
		began = now
	}
	next.Attempt.StartedAt = later(next.Attempt.StartedAt, began)
	i.Next = nil
	i.Begins(next.Attempt)
	i.Order = next.Order
	i.SentAway = i.SentAway || next.SentAway
	i.Under = next.Under
	i.Floor = next.Floor
	i.Inherited = next.Inherited
	i.LeaseEnds = next.LeaseEnds
	i.Granted = next.Granted
	i.ListedTo = next.ListedTo
	i.ListedIn = next.ListedIn
	if i.LeaseEnds.Before(i.Host.NoneLapses) {
		i.Host.NoneLapses = i.LeaseEnds
	}
	i.Touch()
}

// NextAttempt is the attempt that is behind that of the instance; zero: there is none.
func NextAttempt(i *Instance) facts.AttemptID {
	if i.Next == nil {
		return facts.AttemptID{}
	}
	return i.Next.Attempt.AttemptID
}

// HandedAhead is the next attempt as answers name it; nil: they name none.
func (i *Instance) HandedAhead() *Instance {
	if i.Next == nil || i.Next.Back || i.Next.Stopping() {
		return nil
	}
	return i.Next
}

// AsksBack says whether the worker has yet to hear, or to confirm, that the next item is handed back.
func AsksBack(i *Instance) bool { return i.Next != nil && i.HandedAhead() == nil }

// ProvesNotBegun says whether the word of a worker proves that it has not begun the item that the instance is to hand
// back, and will not.
func ProvesNotBegun(h *Host, i *Instance, e message.WorkerSynced) bool {
	if !AsksBack(i) {
		return false
	}
	_, there := h.Reported[i.Next.Attempt.AttemptID]
	return !there && h.ProvesEnd(i.Next, e)
}

// checkNext looks at the item that an instance holds ahead.
func checkNext(i *Instance, seen map[facts.ItemNo]bool) error {
	if i.Next == nil {
		return nil
	}
	j, next := i.Job, i.Next
	a := &next.Attempt
	switch {
	case i.Behind() || !next.Behind() || next.Next != nil || next.Attached():
		return fmt.Errorf("instance %d holds an item ahead, and is not before it", i.Number)
	case !a.State.Live() || !a.Follows(i.Attempt.AttemptID) || seen[a.Item]:
		return fmt.Errorf("instance %d with item %d holds item %d ahead, which is %s behind %d", i.Number, i.Attempt.Item,
			a.Item, a.State, a.BehindItem)
	case j.Tally.State(int(a.Item)) != agenda.Running || j.LastAttempt(a.Item) != a.Number:
		return fmt.Errorf("item %d is held ahead in its attempt %d, but is %s in attempt %d", a.Item, a.Number,
			j.Tally.State(int(a.Item)), j.LastAttempt(a.Item))
	case a.Instance != i.Number || a.Host != i.Attempt.Host || a.Kind != i.Kind || next.Job != j || next.Host != i.Host:
		return fmt.Errorf("instance %d and the attempt that it holds ahead tell different stories", i.Number)
	}
	seen[a.Item] = true
	return nil
}
