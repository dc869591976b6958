package planner

import (
	"qb/supervisor/job/facts"
)

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

// ownersNumbered are the numbers of the jobs' owners for the term own_priority. Where the order begins with the
// cluster, jobs of two clusters are as those of two owners: each host ranks its own cluster's first, and a place at one
// says nothing of the other.
func (s *Snapshot) ownersNumbered() []int {
	numbers := make([]int, len(s.Jobs))
	if !s.Policy.ByOwner() {
		return numbers
	}
	type owner struct{ user, cluster string }
	known, byCluster := make(map[owner]int), s.Policy.byClusterFirst()
	for j := range s.Jobs {
		o := owner{user: s.Jobs[j].User}
		if byCluster {
			o.cluster = s.Jobs[j].Cluster
		}
		if known[o] == 0 {
			known[o] = len(known) + 1
		}
		numbers[j] = known[o]
	}
	return numbers
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
