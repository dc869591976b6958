package planner

import "qb/smartshare"

// unitLimits are the limits that may be reached, beside what is pinned.
func (b *balance) unitLimits(u *unitField) []smartshare.Limit {
	if len(b.limits) == 0 {
		return nil
	}
	list := make([]smartshare.Limit, len(b.limits))
	for k, name := range b.limits {
		list[k].Room = int(min(b.s.Limits[name], smartshare.MaxCount))
	}
	for j := range b.jobs {
		for k, each := range b.wants[j] {
			if each == 0 {
				continue
			}
			list[k].Room -= len(b.jobs[j].primaries) + b.jobs[j].pinned
			if c := u.claim[j]; c >= 0 {
				list[k].Claims = append(list[k].Claims, c)
			}
		}
	}
	return list
}

// limitsByOwner says that each limit that may be reached is on all jobs of one user, or that the surplus is not divided
// by user: then alike instances can be divided exactly.
func (b *balance) limitsByOwner() bool {
	if !b.s.Policy.ByUser() {
		return true
	}
	for k := range b.limits {
		user, found := "", false
		under := func(j int) bool { return b.wants[j] != nil && b.wants[j][k] > 0 }
		for j := range b.jobs {
			if under(j) {
				if found && b.s.Jobs[j].User != user {
					return false
				}
				user, found = b.s.Jobs[j].User, true
			}
		}
		for j := range b.jobs {
			if b.s.Jobs[j].User == user && !under(j) {
				return false
			}
		}
	}
	return true
}

// delayByLimits makes starts wait that a limit has no room for before something has ended.
func (b *balance) delayByLimits() {
	if len(b.limits) == 0 {
		return
	}
	_, left := b.stocks(b.staysForNow)
	for i := range b.starts {
		start := &b.starts[i]
		if !start.now {
			continue
		}
		wants := b.wants[start.Job]
		for k, each := range wants {
			start.now = start.now && left[k] >= each
		}
		if start.now {
			for k, each := range wants {
				left[k] -= each
			}
		}
	}
}
