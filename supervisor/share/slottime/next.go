package slottime

import (
	"cmp"
	"slices"
	"time"

	"qb/smartshare"
)

// Next is the competitor that is served next, -1 if the job that has the slots goes on: under stride the one with the
// least virtual time, if it is behind by more than one item of its own; under the lottery by chance. about is what a
// draw is about.
func (s *Sharing) Next(now time.Time, p Policy, own Job, competitors []Job, slots int, about ...uint64) int {
	turns := make([]smartshare.ServedContender, len(competitors))
	fellows, others := []int(nil), map[string][]int{}
	var names []string // in the order of the competitors
	for n, r := range competitors {
		turns[n] = turn(now, p, r)
		switch name := r.Owner(); {
		case !p.ByUsers() || name == own.Owner():
			fellows = append(fellows, n)
		default:
			if others[name] == nil {
				names = append(names, name)
			}
			others[name] = append(others[name], n)
		}
	}
	mine := turn(now, p, own)
	if len(names) > 0 {
		parties := make([]smartshare.ServedContender, len(names))
		for n, name := range names {
			parties[n] = p.party(s.userTurn(now, p, name), pick(turns, others[name]))
		}
		party := p.party(s.userTurn(now, p, own.Owner()), append(pick(turns, fellows), mine))
		if n := p.choose(party, parties, slots, append(slices.Clone(about), 1)); n >= 0 {
			return p.firstOf(turns, others[names[n]], append(slices.Clone(about), 2))
		}
	}
	if n := p.choose(mine, pick(turns, fellows), slots, about); n >= 0 {
		return fellows[n]
	}
	return -1
}

func (p Policy) choose(own smartshare.ServedContender, competitors []smartshare.ServedContender, slots int,
	about []uint64) int {
	switch {
	case len(competitors) == 0:
		return -1
	case p.Mode == "lottery":
		return smartshare.Lottery(own, competitors, p.Seed, about...)
	}
	return smartshare.Stride(own, competitors, slots)
}

// firstOf is the one of a user's jobs that has what the user was given.
func (p Policy) firstOf(turns []smartshare.ServedContender, jobs []int, about []uint64) int {
	if p.Mode == "lottery" {
		return jobs[1+smartshare.Lottery(turns[jobs[0]], pick(turns, jobs[1:]), p.Seed, about...)]
	}
	return slices.MinFunc(jobs, func(a, b int) int { return cmp.Compare(turns[a].VTime, turns[b].VTime) })
}

// party is a user as a candidate to be served next, by the jobs that the user has for it. Under stride the item length
// is the length for the job that would come first. Under the lottery jobs are drawn by 1/item length, so that on
// average a user who is served has the harmonic mean of their lengths; while one of them is unknown, users must not
// have more than others to draw.
func (p Policy) party(user smartshare.ServedContender, jobs []smartshare.ServedContender) smartshare.ServedContender {
	if p.Mode != "lottery" {
		first := slices.MinFunc(jobs, func(a, b smartshare.ServedContender) int { return cmp.Compare(a.VTime, b.VTime) })
		user.Item, user.Known = first.Item, first.Known
		return user
	}
	known, inverse := 0, 0.0
	user.Known = max(1, jobs[0].Known)
	for _, j := range jobs {
		user.Known = max(1, min(user.Known, j.Known))
		if j.Item > 0 {
			known, inverse = known+1, inverse+1/j.Item
		}
	}
	if known > 0 {
		user.Item = float64(known) / inverse
	}
	return user
}

func pick(turns []smartshare.ServedContender, places []int) []smartshare.ServedContender {
	picked := make([]smartshare.ServedContender, 0, len(places)+1)
	for _, n := range places {
		picked = append(picked, turns[n])
	}
	return picked
}
