package planner

import "qb/supervisor/facts"

// ByUser says that the surplus is divided by user first, then among the user's jobs.
func (p *SharePolicy) ByUser() bool { return p.Mode == "users" }

// SharedBy says how the surplus is divided, as facts.Params.Share does; weighted is by the owners' fairshare factors.
func (p *SharePolicy) SharedBy(weighted bool) string {
	switch {
	case p.ByUser():
		return facts.ShareByUser
	case weighted:
		return facts.ShareByFairshare
	}
	return facts.ShareEqually
}

// findOwners numbers the users, from 1 in dispatch order, where the surplus is divided by user.
func (b *balance) findOwners() {
	b.owner = b.ints(len(b.jobs))
	if !b.s.Policy.ByUser() {
		return
	}
	number := make(map[string]int)
	for _, j := range b.order {
		user := b.s.Jobs[j].User
		if number[user] == 0 {
			number[user] = len(number) + 1
		}
		b.owner[j] = number[user]
	}
}
