package smartshare

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// changing is an ongoing division under random changes, with what it does not know itself: primaries that run
// and slots whose end is not proven yet.
type changing struct {
	*Ongoing
	wants []int // by claim: primaries
	runs  []int // by claim: of those that run
	where [][]int
	most  []int
	raise func(claim int)
}

func newChanging(rt *rapid.T) *changing {
	classes := rapid.IntRange(1, 4).Draw(rt, "classes")
	room := make([]int, classes)
	for c := range room {
		room[c] = rapid.IntRange(0, 5).Draw(rt, "room")
	}
	c := &changing{Ongoing: NewOngoing(room, []Term{ByPriority, ByTie})}
	c.raise = c.Raise
	for range rapid.IntRange(1, 4).Draw(rt, "groups") {
		var open []int
		for class := range room {
			if rapid.Bool().Draw(rt, "open") {
				open = append(open, class)
			}
		}
		c.AddGroup(open)
	}
	return c
}

// step makes one change and restores the division, as a farm would.
func (c *changing) step(rt *rapid.T) string {
	if len(c.keys) == 0 {
		return c.arrive(rt)
	}
	k := rapid.IntRange(0, len(c.keys)-1).Draw(rt, "claim")
	switch verb := rapid.SampledFrom([]string{"arrive", "arrive", "demand", "end", "end", "start", "primary ends"}).Draw(rt, "verb"); verb {
	case "arrive":
		return c.arrive(rt)
	case "demand":
		c.demand(rt, k)
		return fmt.Sprint("demand of ", k)
	case "start":
		class := rapid.IntRange(0, len(c.room)-1).Draw(rt, "class")
		if who, kind, ok := c.Next(class); ok && kind == Primary {
			c.runs[who]++
			c.where[who] = append(c.where[who], class)
		}
		return fmt.Sprint("start in ", class)
	case "primary ends":
		return c.endPrimary(k)
	}
	for n := range c.units[k] {
		if u := c.units[k][n]; u.held > 0 {
			c.Release(k, u.class)
			c.most[k] = c.level[k]
			c.settle(k, c.wants[k], append(c.Demand(k, c.wants[k]-c.runs[k], c.most[k]), u.class))
			return fmt.Sprint("end of a secondary of ", k)
		}
	}
	return "nothing"
}

func (c *changing) endPrimary(k int) string {
	if c.runs[k] == 0 {
		return "nothing"
	}
	last := len(c.where[k]) - 1
	class := c.where[k][last]
	c.where[k] = c.where[k][:last]
	c.runs[k]--
	c.settle(k, c.wants[k]-1, append(c.Demand(k, c.wants[k]-1-c.runs[k], c.most[k]), class))
	return fmt.Sprint("end of a primary of ", k)
}

func (c *changing) settle(k, wants int, vacant []int) {
	c.wants[k] = wants
	for _, class := range vacant {
		c.Fill(class)
	}
	c.raise(k)
}

func (c *changing) add(rt *rapid.T) int {
	k := c.Add(rapid.IntRange(0, len(c.opens)-1).Draw(rt, "group"), Key{Priority: rapid.IntRange(1, 2).Draw(rt, "priority"), Tie: len(c.keys)})
	c.wants, c.runs, c.where, c.most = append(c.wants, 0), append(c.runs, 0), append(c.where, nil), append(c.most, 0)
	return k
}

func (c *changing) arrive(rt *rapid.T) string {
	k := c.add(rt)
	c.demand(rt, k)
	return fmt.Sprint("arrival of ", k)
}

func (c *changing) demand(rt *rapid.T, k int) {
	held := 0
	for _, u := range c.units[k] {
		held += u.held
	}
	wants := c.runs[k] + rapid.IntRange(0, 3).Draw(rt, "wants")
	c.most[k] = held + rapid.IntRange(0, 6).Draw(rt, "most")
	for _, u := range c.units[k] { // as a farm does, before anything else
		for u.held > 0 && wants > c.runs[k] {
			c.Release(k, u.class)
			c.runs[k]++
			c.where[k] = append(c.where[k], u.class)
			u.held--
		}
	}
	c.settle(k, wants, c.Demand(k, wants-c.runs[k], c.most[k]))
}

// field is the same division as Divide sees it, and its claims by place.
func (c *changing) field() *Field {
	f := &Field{Capacity: slices.Clone(c.room)}
	for g := range c.opens {
		open := []int{}
		for class, opens := range c.opens[g] {
			if opens {
				open = append(open, class)
			}
		}
		f.Open = append(f.Open, open)
	}
	for _, k := range c.order {
		claim := Claim{Group: c.group[k], Need: c.need[k] + c.ahead[k], Cap: c.limit[k], Weight: 1}
		for _, u := range c.units[k] {
			f.Capacity[u.class] += u.held + u.primaries + u.secondaries
			if u.held > 0 {
				worths := make([]Worth, u.held)
				for n := range worths {
					worths[n].Tie = -n
				}
				claim.Held = append(claim.Held, Holding{Class: u.class, Count: u.held, Worths: worths})
			}
		}
		f.Claims = append(f.Claims, claim)
	}
	return f
}

// check wants the division to be what Divide gives, which then stops nothing.
func (c *changing) check(rt *rapid.T, did string) {
	f := c.field()
	d := f.Divide()
	var got, want []int
	for n, k := range c.order {
		if d.Grant[n] != c.ahead[k] {
			rt.Fatalf("after the %s claim %d is promised %d primaries, Divide grants %d", did, k, c.ahead[k], d.Grant[n])
		}
		for h, keep := range d.Keep[n] {
			if keep != f.Claims[n].Held[h].Count {
				rt.Fatalf("after the %s claim %d holds %d in class %d, Divide keeps %d", did, k, f.Claims[n].Held[h].Count, f.Claims[n].Held[h].Class, keep)
			}
		}
		got, want = append(got, c.level[k]), append(want, d.Target[n])
	}
	if len(c.room) == 1 && !slices.Equal(got, want) {
		rt.Fatalf("after the %s the levels are %v, Divide gives %v", did, got, want)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("after the %s the levels are %v, Divide gives %v", did, got, want)
	}
}

// TestOngoingIsDivide changes a division by one claim, demand or slot after another and holds it against the
// division of the whole: the same primaries, the same levels, and nothing to stop.
func TestOngoingIsDivide(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newChanging(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			did := c.step(rt)
			c.TakeStops()
			c.check(rt, did)
		}
	})
}

func copied[E any](lists [][]E) (all [][]E) {
	for _, l := range lists {
		all = append(all, slices.Clone(l))
	}
	return all
}

// clone is the same division, to go another way.
func (o *Ongoing) clone() *Ongoing {
	c := *o
	c.room, c.waits = slices.Clone(o.room), slices.Clone(o.waits)
	c.level, c.need, c.ahead, c.later = slices.Clone(o.level), slices.Clone(o.need), slices.Clone(o.ahead), slices.Clone(o.later)
	c.users, c.units = copied(o.users), copied(o.units)
	c.touched, c.isTouched, c.stops = slices.Clone(o.touched), slices.Clone(o.isTouched), slices.Clone(o.stops)
	c.ways, c.tops = ways{}, tops{class: make([]topClass, len(o.room))}
	c.ways.grow(len(o.room))
	return &c
}

// raiseAfresh is Raise, but for that it looks anew who stands highest before each slot.
func (o *Ongoing) raiseAfresh(claim int) {
	full := false
	for o.need[claim] > 0 {
		o.tops.begin()
		if full = full || !o.enter(claim, Primary); full && !o.displace(claim, Primary) && !o.outrank(claim, Primary) {
			return
		}
	}
	for full = false; o.level[claim] < o.limit[claim]; {
		o.tops.begin()
		if full = full || !o.enter(claim, Secondary); full && !o.displace(claim, Secondary) {
			o.outrank(claim, Secondary)
			return
		}
	}
}

// TestTopsStay raises claims with what is remembered of the highest from slot to slot, and without, and wants both to
// be the same to the last unit.
func TestTopsStay(t *testing.T) {
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := newChanging(rt)
		c.raise = func(k int) {
			other := c.clone()
			other.raiseAfresh(k)
			before := c.level[k]
			c.Raise(k)
			taken += c.level[k] - before
			if !reflect.DeepEqual(c.units, other.units) || !slices.Equal(c.stops, other.stops) || !slices.Equal(c.level, other.level) {
				rt.Fatalf("claim %d is raised to %v with stops %v, looking anew to %v with %v", k, c.units, c.stops, other.units, other.stops)
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			c.step(rt)
			c.TakeStops()
		}
	})
	if taken == 0 {
		t.Error("nobody was raised")
	}
}
