package planner

import (
	"cmp"
	"container/heap"

	"qb/supervisor/facts"
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

// risingUser is a user on the way to what is due to him: his jobs that rise, and how many slots or
// instances, by the policy, his secondaries make together.
type risingUser struct {
	jobs   risingQueue
	units  float64
	weight float64
}

// next is the level at which the user gets one more.
func (u *risingUser) next(b *balance) float64 {
	return (u.units + b.levelUnit(u.jobs[0].job)) / u.weight
}

// rise appends the secondary starts, the lowest user first and of the user's jobs the lowest. Where the surplus is not
// divided by user all jobs are one user's.
func (b *balance) rise(starts []balanceStart, rising []risingJob) []balanceStart {
	users := make(map[int]*risingUser)
	for j := range b.jobs {
		u := users[b.owner[j]]
		if u == nil {
			u = &risingUser{}
			users[b.owner[j]] = u
		}
		u.units += float64(b.jobs[j].target-b.jobs[j].moved) * b.levelUnit(j)
		u.weight = max(u.weight, b.weight(j))
	}
	queue := &userQueue{b: b}
	for _, r := range rising {
		u := users[b.owner[r.job]]
		if len(u.jobs) == 0 {
			queue.users = append(queue.users, u)
		}
		u.jobs = append(u.jobs, r)
	}
	for _, u := range queue.users {
		heap.Init(&u.jobs)
	}
	for heap.Init(queue); len(queue.users) > 0; {
		u := queue.users[0]
		starts = append(starts, u.jobs[0].start())
		u.units += b.levelUnit(u.jobs[0].job)
		if u.jobs[0].left == 0 {
			heap.Pop(&u.jobs)
		} else {
			heap.Fix(&u.jobs, 0)
		}
		if len(u.jobs) == 0 {
			heap.Pop(queue)
		} else {
			heap.Fix(queue, 0)
		}
	}
	return starts
}

// userQueue is a heap, the user who reaches the lowest level first.
type userQueue struct {
	b     *balance
	users []*risingUser
}

func (q *userQueue) Len() int { return len(q.users) }
func (q *userQueue) Less(x, y int) bool {
	u, v := q.users[x], q.users[y]
	return cmp.Or(cmp.Compare(u.next(q.b), v.next(q.b)), compareRising(u.jobs[0], v.jobs[0])) < 0
}
func (q *userQueue) Swap(x, y int) { q.users[x], q.users[y] = q.users[y], q.users[x] }
func (q *userQueue) Push(x any)    { q.users = append(q.users, x.(*risingUser)) }
func (q *userQueue) Pop() any {
	last := q.users[len(q.users)-1]
	q.users = q.users[:len(q.users)-1]
	return last
}
