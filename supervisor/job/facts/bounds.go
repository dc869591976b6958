package facts

import (
	"fmt"
	"slices"
	"time"
)

// Bound is what keeps an item whose attempts all end by themselves for one reason from being tried for ever, as fast as
// they end.
type Bound uint8

// Bounds. Zero: no attempt ends so by itself; somebody asks for it, or the plan does.
const (
	BoundRetries Bound = iota + 1 // each such end is charged a retry
	BoundMemory                   // each try has twice the memory, up to that of the largest host
	// its host runs none of the kind for a while, and after some the waits between tries grow
	BoundHost
	BoundWait    // no retry is charged, and the waits between tries grow
	BoundStrange // the same, and the third such end holds the item, on whatever hosts
)

var bounds = map[Reason]Bound{
	ReasonExit: BoundRetries, ReasonSignal: BoundRetries, ReasonLaunchFailed: BoundRetries, ReasonTimeLimit: BoundRetries,
	ReasonPreflight: BoundRetries, ReasonAgendaPreflight: BoundRetries, ReasonPostflight: BoundRetries,
	ReasonOutputMissing: BoundRetries, ReasonLogError: BoundRetries,
	ReasonNoReport: BoundRetries,

	ReasonMemoryLimit: BoundMemory, ReasonOutOfMemory: BoundMemory,

	ReasonHostRefused: BoundHost, ReasonUIDDiffers: BoundHost, ReasonFolderMissing: BoundHost,
	ReasonFolderDenied: BoundHost, ReasonEnvironment: BoundHost,

	ReasonNoLicence: BoundWait, ReasonMemoryUnavailable: BoundWait, ReasonHostMemoryLow: BoundWait,
	ReasonHostSwapping: BoundWait,
	ReasonHostInUse:    BoundWait, ReasonWorkerStopped: BoundWait, ReasonNotWanted: BoundWait,
	ReasonHostSilent: BoundWait, ReasonHostDeaf: BoundWait, ReasonHostRestarted: BoundWait, ReasonConfirmedDead: BoundWait,

	ReasonNoRecord: BoundStrange, ReasonLogUnwritable: BoundStrange, ReasonUnknownOutcome: BoundStrange,
}

// Bound is what keeps attempts that end so from being repeated for ever.
func (r Reason) Bound() Bound { return bounds[r] }

// Strange is whether the item itself may have caused an end that is charged no retry, by what it did to its worker.
func (r Reason) Strange() bool { return r.Bound() == BoundStrange }

// HeldItem is why an item is held under which these hosts were lost, or which ended strangely there, last so.
func HeldItem(hosts []HostID, end Why) Why {
	if !end.Reason.Strange() {
		return Why{Reason: ReasonHostsLost, Params: Params{Hosts: len(hosts)},
			Cause: fmt.Sprintf("hosts were lost while they ran the item: %v; unblock the job to try the item again", hosts)}
	}
	mend := "look at what the item does to its worker"
	if end.Reason == ReasonUnknownOutcome {
		mend = "update the supervisor"
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(hosts)))
	return Why{Reason: end.Reason, Params: Params{Hosts: len(hosts), Outcome: end.Params.Outcome}, Cause: fmt.Sprintf(
		"%s; the item ended so or was lost %d times, on %v; %s, then unblock the job", end.Cause, len(hosts), distinct, mend)}
}

// Unlucky is whether an attempt that ended so did so by itself and is charged no retry: what bounds its tries are the
// waits between them. A loss that the rows name by a code of another release is one, too.
func Unlucky(state AttemptState, why Reason) bool {
	return state == Lost || (state == Preempted || state == Failed) && why.Bound() >= BoundHost
}

// Waits between the tries of an item whose attempts are unlucky again and again.
const (
	waitFirst = 10 * time.Second // after the first end that is followed by a wait; after each later one twice as long
	WaitMost  = 2 * time.Minute  // the longest of them
	freely    = 1                // unlucky ends that are followed by none
	freelyOn  = 4                // the same, where the next try is on another host
)

// Unhurried is whether an attempt ran for so many seconds that no wait is needed before the next, however it ended.
func Unhurried(wall float64) bool { return wall >= WaitMost.Seconds() }

// WaitAfter is how long an item waits after so many unlucky ends, of which the last had that reason.
func WaitAfter(ends int, why Reason) time.Duration {
	free := freely
	if why.Bound() == BoundHost {
		free = freelyOn
	}
	wait := time.Duration(0)
	for n := free; n < ends && wait < WaitMost; n++ {
		wait = max(waitFirst, 2*wait)
	}
	return min(wait, WaitMost)
}
