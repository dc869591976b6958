package items

import (
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

// TestLatest: whatever attempts there were, in any order and with numbers that begin far up after a restore, the number
// of each item is its highest.
func TestLatest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		items := rapid.IntRange(1, 3*pageItems).Draw(rt, "items")
		var l latest
		want := map[facts.ItemNo]int{}
		for range rapid.IntRange(0, 60).Draw(rt, "attempts") {
			n := facts.ItemNo(rapid.IntRange(0, items-1).Draw(rt, "item"))
			number := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(250, 260), rapid.IntRange(1, 1<<31)).Draw(rt, "number")
			l.raise(n, number, items)
			want[n] = max(want[n], number)
		}
		for n := range facts.ItemNo(items) {
			if l.of(n) != want[n] {
				rt.Fatalf("the latest attempt of item %d is %d, not %d", n, l.of(n), want[n])
			}
		}
	})
}
