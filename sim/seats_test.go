package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// simBounds are limits of instances, and a licence that is counted per host, each in worlds of its own. They have a chance of their own.
type simBounds struct {
	random *rand.Rand
	seats  bool
}

// One world in simBoundsEvery has limits of instances, another has a licence per host.
const simBoundsEvery = 4

// simSeat is a licence of which a host takes one, whatever runs there.
const simSeat = "license_host.sim"

func newSimBounds(w *simWorld) simBounds {
	l := simBounds{random: rand.New(rand.NewPCG(w.seed, 0x11a)), seats: w.seed%simBoundsEvery == 0}
	if l.seats {
		w.policy.Resources[simSeat] = int64(1 + l.random.IntN(3))
		if l.random.IntN(3) == 0 {
			w.policy.Licences.PerUser = []string{simSeat}
		}
	}
	if w.seed%simBoundsEvery == 2 {
		few := func() *int { n := 2 + l.random.IntN(4); return &n }
		w.policy.Instances = message.InstanceLimits{User: message.InstanceLimit{Default: few(), Named: map[string]int{"u1": 1 + l.random.IntN(3)}}}
		if l.random.IntN(2) == 0 {
			w.policy.Instances.PGrp.Default = few()
		}
	}
	if w.seed%simAccountsEvery == 5 && w.seed%3 == 0 {
		w.policy.Instances.Account = message.InstanceLimit{Named: map[string]int{"misc": 1 + l.random.IntN(3), "show": 2 + l.random.IntN(3)}}
	}
	return l
}

// choose has some jobs take the licence.
func (l *simBounds) choose(given *facts.JobFacts) {
	if l.seats && given.Reservations == "" && l.random.IntN(3) > 0 {
		given.Reservations = simSeat + "=1"
	}
}

// simBound is a limit that acts on a job, and how many instances are under it.
type simBound struct {
	name       string
	most, held int
}

// bounds are the limits of a job.
func (r *simRows) bounds(of *simJobRow) (list []simBound) {
	p := r.world.policy.Instances
	add := func(l message.InstanceLimit, key, name string, under func(*simJobRow) bool) {
		most, limited := l.Of(key)
		if !limited {
			return
		}
		b := simBound{name, most, 0}
		for a := range r.everyLive() {
			if under(r.jobs[a.Job]) {
				b.held++
			}
		}
		list = append(list, b)
	}
	job := of.facts
	add(p.User, job.User, "user "+job.User, func(j *simJobRow) bool { return j.facts.User == job.User })
	add(p.PGrp, job.User, fmt.Sprintf("process group %d", job.PGrp), func(j *simJobRow) bool { return j.facts.PGrp == job.PGrp })
	for account := job.Account; account != ""; {
		add(p.Account, account, "account "+account, func(j *simJobRow) bool {
			return j.facts.Account == account || strings.HasPrefix(j.facts.Account, account+"/")
		})
		account = account[:max(0, strings.LastIndexByte(account, '/'))]
	}
	return list
}

// checkBounds: no start takes more instances than a user, a process group or an account may have (S20).
func (r *simRows) checkBounds(j *simJobRow, a facts.AttemptFacts) {
	for _, b := range r.bounds(j) {
		if b.held > b.most {
			r.world.fail("S20: %v starts, and %s has %d instances, of %d at most", a.AttemptID, b.name, b.held, b.most)
		}
		if b.held == b.most {
			r.world.some("the last instance of a limit")
		}
	}
}

// full says whether a limit keeps the job from another instance.
func (r *simRows) full(j *simJobRow) bool {
	return slices.ContainsFunc(r.bounds(j), func(b simBound) bool { return b.held >= b.most })
}

// seated are the seats of the licence per host that are taken.
func (r *simRows) seated() map[licences.Seat]bool {
	taken := map[licences.Seat]bool{}
	for a := range r.everyLive() {
		if a.Holds[simSeat] > 0 {
			taken[r.seat(a.Host, r.jobs[a.Job].facts.User)] = true
		}
	}
	return taken
}

func (r *simRows) seat(host facts.HostID, user string) licences.Seat {
	if len(r.world.policy.Licences.PerUser) == 0 {
		user = ""
	}
	return licences.Seat{Host: string(host), User: user}
}

// checkSeats: no more hosts have the licence than there are (S21).
func (r *simRows) checkSeats(a facts.AttemptFacts) {
	if a.Holds[simSeat] == 0 {
		return
	}
	taken, most := int64(len(r.seated())), r.world.policy.Resources[simSeat]
	if taken > most {
		r.world.fail("S21: %v starts on %s, and %d %s are taken, of %d", a.AttemptID, a.Host, taken, simSeat, most)
	}
	if taken == most {
		r.world.some("the last licence of a host given")
	}
}

// hasSeat says whether the job has the licence on the host, or there is one for it.
func (r *simRows) hasSeat(host facts.HostID, user string) bool {
	taken := r.seated()
	return taken[r.seat(host, user)] || int64(len(taken)) < r.world.policy.Resources[simSeat]
}

// boundItems is how long all items need if those of a limit run so many at a time.
func (w *simWorld) boundItems() (longest time.Duration) {
	groups := map[string]int{}
	for _, id := range sortedIDs(w.rows.jobs) {
		for _, b := range w.rows.bounds(w.rows.jobs[id]) {
			groups[b.name] += w.rows.jobs[id].items
			longest = max(longest, simLongest*time.Duration(groups[b.name])/time.Duration(max(1, b.most)))
		}
	}
	return longest
}
