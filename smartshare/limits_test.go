package smartshare

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawLimits puts claims under limits: nested ones, or any.
func drawLimits(d *dice, f *Field, nested bool) {
	set := make([]int, len(f.Claims))
	for i := range set {
		set[i] = i
	}
	for range d.roll(1, 3) {
		var some []int
		for _, i := range set {
			if d.roll(0, 2) > 0 {
				some = append(some, i)
			}
		}
		f.Limits = append(f.Limits, Limit{Room: d.roll(-1, 6), Claims: some})
		if nested {
			set = some
			if d.roll(0, 1) == 0 { // the rest, which shares no claim with those before
				set = nil
				for i := range f.Claims {
					if !slices.ContainsFunc(f.Limits, func(l Limit) bool { return slices.Contains(l.Claims, i) }) {
						set = append(set, i)
					}
				}
			}
		}
	}
}

// onePool leaves one class, open to all.
func onePool(f *Field) {
	f.Capacity, f.Open = f.Capacity[:1], [][]int{{0}}
	if f.Vacant != nil {
		f.Vacant = f.Vacant[:1]
	}
	for i := range f.Claims {
		c := &f.Claims[i]
		c.Group = 0
		c.Held = slices.DeleteFunc(c.Held, func(h Holding) bool { return h.Class > 0 })
	}
}

// TestNestedLimitsAreExact compares with an exhaustive search, on farms of one pool.
func TestNestedLimitsAreExact(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		per := fieldsPerProperty(t) / 100
		rapid.Check(t, func(t *rapid.T) {
			d := dice(rapid.Uint64().Draw(t, "seed"))
			for range per {
				f := drawField(&d, weighted)
				onePool(f)
				drawLimits(&d, f, true)
				checkDivide(t, f, weighted)
			}
		})
	}
}

// TestLimitsLeaveNothing checks, on any farm and under any limits: the primaries of an exhaustive search, no limit exceeded,
// nothing left that a claim could use, and of the sorted levels at most odd units lost.
func TestLimitsLeaveNothing(t *testing.T) {
	per, farms, worse := fieldsPerProperty(t)/100, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.Uint64().Draw(t, "seed"))
		for range per {
			f := drawField(&d, false)
			drawLimits(&d, f, false)
			farms++
			if levelsUnderLimits(t, f) {
				worse++
			}
		}
	})
	t.Logf("%d farms, %d with lower levels than the best", farms, worse)
	if worse*1000 > farms {
		t.Errorf("%d of %d farms have lower levels than the best", worse, farms)
	}
}

func levelsUnderLimits(t *rapid.T, f *Field) (worse bool) {
	var s search
	want := s.run(f, false)
	d := f.Divide()
	got := judgeDivision(t, f, d)
	if !slices.Equal(d.Grant, s.grant) {
		t.Fatalf("granted %v, want %v\n%s", d.Grant, s.grant, describe(f))
	}
	secondaries := func(levels []int) (n int) { return sum(levels) }
	for i := range f.Claims {
		s.x[i] = []int{d.Target[i] - f.Claims[i].Floor}
	}
	if !s.limited() {
		t.Fatalf("over a limit: %v\n%s", d.Target, describe(f))
	}
	if lost := secondaries(want.levels) - secondaries(got.levels); lost > len(f.Claims) {
		t.Fatalf("%d units lost: got %v, want %v\n%s", lost, got.levels, want.levels, describe(f))
	}
	for i := range f.Claims {
		more := *f
		more.Claims, more.Limits = slices.Clone(f.Claims), nil
		for k := range more.Claims {
			more.Claims[k].Cap = d.Target[k]
		}
		more.Claims[i].Cap++
		s.x[i][0]++
		if f.Claims[i].Cap > d.Target[i] && d.Grant[i] == f.Claims[i].Need && s.limited() && sum(more.Divide().Target) > sum(d.Target) {
			t.Fatalf("claim %d could have one more than %v\n%s", i, d.Target, describe(f))
		}
		s.x[i][0]--
	}
	return slices.Compare(got.levels, want.levels) < 0
}

// TestLimitOfAnOwner: the owner may have three, of which two are primaries. Free slots for more are in a class that his first
// claim may not use, so his total cannot be divided among his claims as if each could use any slot.
func TestLimitOfAnOwner(t *testing.T) {
	f := Field{Capacity: []int{2, 4}, Open: [][]int{{0}, {0, 1}}, Limits: []Limit{{Room: 3, Claims: []int{0, 1}}}, Claims: []Claim{
		{Group: 0, Owner: 1, Need: 1, Cap: 2, Weight: 1},
		{Group: 1, Owner: 1, Need: 1, Cap: 5, Weight: 1},
		{Group: 0, Owner: 2, Need: 1, Weight: 1},
	}}
	if d := f.Divide(); !slices.Equal(d.Grant, []int{1, 1, 1}) || !slices.Equal(d.Target, []int{0, 1, 0}) {
		t.Errorf("granted %v and %v, want a primary each and one secondary of the second claim", d.Grant, d.Target)
	}
}

// TestLimitsOfOwnersAreKept draws farms whose owners have a limit each.
func TestLimitsOfOwnersAreKept(t *testing.T) {
	per := fieldsPerProperty(t) / 100
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.Uint64().Draw(t, "seed"))
		for range per {
			f := drawField(&d, false)
			f.Limits = []Limit{{Room: d.roll(-1, 6)}, {Room: d.roll(-1, 6)}}
			for i := range f.Claims {
				o := d.roll(0, 1)
				f.Claims[i].Owner = o + 1
				f.Limits[o].Claims = append(f.Limits[o].Claims, i)
			}
			division := f.Divide()
			for _, l := range f.Limits {
				got := 0
				for _, i := range l.Claims {
					got += division.Grant[i] + max(0, division.Target[i]-f.Claims[i].Floor)
				}
				if got > max(0, l.Room) {
					t.Fatalf("%d of claims %v, which may have %d: granted %v and %v\n%s", got, l.Claims, l.Room, division.Grant, division.Target, describe(f))
				}
			}
		}
	})
}
