package planner

// hasten gives starts that would wait for an end the units that are free now and that the division leaves to nobody.
// A start may go wherever its group may, and push another of its own on, class by class: the division could have
// placed them so as well, and nobody's count changes.
func (u *unitField) hasten(queues []hostQueue, place [][]int) {
	spare, some := make([]int, len(queues)), false // by class: units free now beyond its starts; below zero: starts that wait
	for c := range queues {
		for _, units := range queues[c].now {
			spare[c] += units.units
		}
		some = some || spare[c] > 0
	}
	waits := false
	for g := range place {
		for c, n := range place[g] {
			spare[c] -= n
			waits = waits || spare[c] < 0
		}
	}
	if !some || !waits {
		return
	}
	h := haste{u: u, place: place, spare: spare}
	for c := range spare {
		for spare[c] < 0 && h.relieve(c) {
		}
	}
}

// haste is a search for units that are free now.
type haste struct {
	u     *unitField
	place [][]int
	spare []int
	from  []passage // by class: how it was reached
}

// passage is a way from one class to another: over starts of the group.
type passage struct{ class, group int }

// relieve moves starts away from a class along the shortest way that ends in spare units; false if there is none.
func (h *haste) relieve(class int) bool {
	h.from = make([]passage, len(h.spare))
	for c := range h.from {
		h.from[c].group = -1
	}
	asked := make([]bool, len(h.place))
	queue := []int{class}
	for head := 0; head < len(queue); head++ {
		c := queue[head]
		for g := range h.place {
			if asked[g] || h.place[g][c] == 0 {
				continue
			}
			asked[g] = true
			for _, to := range h.u.Open[g] {
				if to == class || h.from[to].group >= 0 {
					continue
				}
				h.from[to] = passage{c, g}
				if h.spare[to] > 0 {
					h.move(class, to)
					return true
				}
				queue = append(queue, to)
			}
		}
	}
	return false
}

// move sends as many starts along the way found as it allows.
func (h *haste) move(first, last int) {
	n := min(-h.spare[first], h.spare[last])
	for c := last; c != first; c = h.from[c].class {
		n = min(n, h.place[h.from[c].group][h.from[c].class])
	}
	for c := last; c != first; c = h.from[c].class {
		h.place[h.from[c].group][h.from[c].class] -= n
		h.place[h.from[c].group][c] += n
	}
	h.spare[first] += n
	h.spare[last] -= n
}
