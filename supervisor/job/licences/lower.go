package licences

import (
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// MostWait is the longest time for which a resource stays lowered before one more is tried.
const MostWait = 10 * time.Minute

// step is by which part of it a lowered count rises at once, at least by one.
const step = 4

// Lower takes in that an item found none of the resource: the farm takes no more than it still holds, for a while.
func (b *Book) Lower(now time.Time, name string, held int64) {
	if !b.Known(name) {
		return
	}
	row := b.row(name)
	wait := facts.Seconds(row.Wait)
	switch {
	case row.Lowered < 0:
		row.Lowered, wait = held, b.policy.Wait
	case row.Probed: // one more was tried in vain
		wait = min(max(wait, b.policy.Wait)*2, MostWait)
	}
	row.Lowered, row.Probed = max(0, min(row.Lowered, held)), false
	row.Wait, row.LoweredUntil = wait.Seconds(), facts.RowTime(now.Add(wait))
}

// Found takes in that an item has found what it held of the resource: the next item that finds none is not counted as a
// try in vain.
func (b *Book) Found(name string) {
	row := b.rows[name]
	if row == nil || row.Lowered < 0 || !row.Probed && row.Wait <= b.policy.Wait.Seconds() {
		return
	}
	row.Probed = false
	row.Wait = b.policy.Wait.Seconds()
	b.changed[name] = true
}

// Raise lets the farm take more of each resource that was lowered for long enough, and says whether it does.
func (b *Book) Raise(now time.Time) (raised bool) {
	for _, name := range slices.Sorted(maps.Keys(b.rows)) {
		row := b.rows[name]
		if row.Lowered < 0 || now.Before(row.LoweredUntil) && row.LoweredUntil.Sub(now) <= MostWait {
			continue
		}
		raised, b.changed[name] = true, true
		wait := facts.Seconds(row.Wait)
		if row.Probed { // with success
			wait = max(wait/2, b.policy.Wait)
		}
		row.Lowered, row.Probed = row.Lowered+max(1, row.Lowered/step), true
		row.Wait, row.LoweredUntil = wait.Seconds(), facts.RowTime(now.Add(wait))
		if row.Lowered >= b.unlowered(name) {
			row.Lowered = -1
			row.LoweredUntil = time.Time{}
			row.Wait = 0
			row.Probed = false
		}
	}
	return raised
}
