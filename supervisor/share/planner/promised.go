package planner

// promised is what goes free with an instance, in bytes: what it was promised, which may be more or less than what
// another of its job would be.
func (b *balance) promised(i int) int64 {
	if b.memory != nil && b.memory[i] > 0 {
		return b.memory[i]
	}
	return b.sizes[b.places[i].job].memory
}

// overNeed is what instances that may be stopped hold beyond a need.
type overNeed struct {
	unlike bool    // some hold more or less than that
	beyond []int64 // by host; nil: none hold more
}

func (o *overNeed) at(h int) int64 {
	if o.beyond == nil {
		return 0
	}
	return o.beyond[h]
}

// overNeed looks what instances that may be stopped hold beyond the most that one to start needs.
func (b *balance) overNeed(most int64) (o overNeed) {
	for i, bytes := range b.memory {
		if bytes == 0 || b.gone[i] || b.isPinned(i) {
			continue
		}
		o.unlike = o.unlike || bytes != most
		if more := bytes - most; more > 0 {
			if o.beyond == nil {
				o.beyond = make([]int64, len(b.s.Hosts))
			}
			o.beyond[b.places[i].host] += more
		}
	}
	return o
}
