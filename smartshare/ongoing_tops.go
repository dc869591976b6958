package smartshare

// tops knows, while one claim is raised, who gives way to it next. Meanwhile nobody else's level rises, so those who stand
// highest in a class are gathered once, and not again for each slot that is taken.
type tops struct {
	level, left int        // the highest level of another claim, and how many may still have it
	class       []topClass // by class
}

// topClass are those who stood highest in a class when it was looked at. Some have fallen since.
type topClass struct {
	known bool
	level int
	heap  []top // the first gives way before all others
}

// top is a claim that has secondaries in the class; the larger turn gives way first: what is only promised, then the
// last in order.
type top struct{ turn, claim int }

// promised is added to the turn of who has a promise to give.
const promised = 1 << 60

func (t *tops) begin() {
	t.left = 0
	for c := range t.class {
		t.class[c].known = false
	}
}

// highest is the highest level of a claim but this one.
func (o *Ongoing) highest(claim int) int {
	t := &o.tops
	if t.left > 0 {
		return t.level
	}
	t.level = 0
	for k, n := range o.level {
		switch {
		case n < t.level || k == claim:
		case n > t.level:
			t.level, t.left = n, 1
		default:
			t.left++
		}
	}
	return t.level
}

// topOf is who gives way to the claim in the class, at what level; false if nobody has a secondary there.
func (o *Ongoing) topOf(claim, class int) (t top, level int, ok bool) {
	c := &o.tops.class[class]
	if !c.known {
		o.gather(claim, class)
	}
	for {
		for len(c.heap) > 0 {
			if o.level[c.heap[0].claim] == c.level {
				return c.heap[0], c.level, true
			}
			c.drop()
		}
		if c.level == 0 {
			return top{}, 0, false
		}
		o.gather(claim, class)
	}
}

// gather looks who stands highest in the class; level 0 is nobody.
func (o *Ongoing) gather(claim, class int) {
	c := &o.tops.class[class]
	c.known, c.level, c.heap = true, 0, c.heap[:0]
	for _, who := range o.users[class] {
		level := o.level[who.claim]
		if level == 0 || level < c.level || who.claim == claim {
			continue
		}
		turn := o.place[who.claim]
		switch u := &o.units[who.claim][who.at]; {
		case u.secondaries > 0:
			turn += promised
		case u.held == 0:
			continue
		}
		if level > c.level {
			c.level, c.heap = level, c.heap[:0]
		}
		c.heap = append(c.heap, top{turn, who.claim})
	}
	for n := len(c.heap)/2 - 1; n >= 0; n-- {
		c.sink(n)
	}
}

// drop takes the first away.
func (c *topClass) drop() {
	last := len(c.heap) - 1
	c.heap[0] = c.heap[last]
	c.heap = c.heap[:last]
	c.sink(0)
}

// sink restores the heap where the nth may stand too far in front.
func (c *topClass) sink(n int) {
	for {
		next := 2*n + 1
		if next >= len(c.heap) {
			return
		}
		if next+1 < len(c.heap) && c.heap[next+1].turn > c.heap[next].turn {
			next++
		}
		if c.heap[n].turn >= c.heap[next].turn {
			return
		}
		c.heap[n], c.heap[next] = c.heap[next], c.heap[n]
		n = next
	}
}
