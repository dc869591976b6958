package slottime

import (
	"cmp"
	"slices"
	"time"

	"qb/smartshare"
)

// Job is a job that may share slot time, as the farm has it.
type Job interface {
	Owner() string
	Share() *Account
	Active() bool                         // it runs or waits
	SlotTime(now time.Time) time.Duration // of what runs, so far
	// slot seconds of what runs, each item charged in advance with its estimate
	Advance(now time.Time, quantile float64) float64
	NextItem(now time.Time, quantile float64) (seconds float64, known int)
}

// Sharing is who shares slot time, as of the last plan.
type Sharing struct {
	users map[string]*user // nil: jobs share it by themselves
}

// user is a user who shares, with the jobs that do, in the order that they were given in.
type user struct {
	Account
	jobs []Job
}

func (u *user) slotTime(now time.Time) (sum time.Duration) { // whole numbers add up alike in any order
	for _, j := range u.jobs {
		sum += j.SlotTime(now)
	}
	return sum
}

// Admit lets jobs, and their users, into the sharing and out of it.
func (s *Sharing) Admit(now time.Time, p Policy, jobs []Job) {
	before := s.users
	s.users = nil
	if !p.On() {
		return
	}
	groups := map[string][]contender{}
	for _, j := range jobs {
		name := ""
		if p.ByUsers() {
			name = j.Owner()
			s.add(j, before)
		}
		groups[name] = append(groups[name], contender{j.Share(), j.Active(), j.SlotTime(now).Seconds()})
	}
	for _, group := range groups {
		admit(group)
	}
	users := make([]contender, 0, len(s.users))
	for _, u := range s.users {
		users = append(users, contender{&u.Account, true, u.slotTime(now).Seconds()})
	}
	admit(users)
}

// Saved remembers who shares, and returns what puts it back. The accounts of jobs are theirs.
func (s *Sharing) Saved() (putBack func()) {
	users, states := s.users, make(map[string]user, len(s.users))
	for name, u := range s.users {
		states[name] = *u
	}
	return func() {
		for name, u := range users {
			*u = states[name]
		}
		s.users = users
	}
}

func (s *Sharing) add(j Job, before map[string]*user) {
	if !j.Active() {
		return
	}
	if s.users == nil {
		s.users = map[string]*user{}
	}
	u := s.users[j.Owner()]
	if u == nil {
		if u = before[j.Owner()]; u == nil {
			u = &user{}
		}
		u.jobs, s.users[j.Owner()] = nil, u
	}
	u.jobs = append(u.jobs, j)
}

// Weigh gives the job, and its user, the weight of its part.
func (s *Sharing) Weigh(j Job, weight float64) {
	j.Share().weight = weight
	if u := s.users[j.Owner()]; u != nil {
		u.weight = weight
	}
}

// Charge settles an ended attempt of the job.
func (s *Sharing) Charge(j Job, slotSeconds float64) {
	j.Share().charge(slotSeconds)
	if u := s.users[j.Owner()]; u != nil {
		u.charge(slotSeconds)
	}
}

// VTimes are the virtual times by which a plan orders jobs, slots wide each: where users share, a job comes as late as
// it would if what its user's jobs before it lack had started.
func (s *Sharing) VTimes(now time.Time, p Policy, set func(j Job, vtime float64) (slots int)) {
	for name, u := range s.users {
		own := make(map[Job]float64, len(u.jobs))
		for _, j := range u.jobs {
			own[j] = j.Share().With(j.Advance(now, p.Quantile))
		}
		jobs := slices.Clone(u.jobs)
		slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(own[a], own[b]) })
		at := s.userTurn(now, p, name).VTime
		for _, j := range jobs {
			seconds, _ := j.NextItem(now, p.Quantile)
			at += float64(set(j, at)) * seconds / u.Weight()
		}
	}
}

// Joining are the virtual times by which a plan would order a job that came now beside the others, and those of its
// user's other jobs, if these are ordered by users. Only the job is admitted to the sharing.
func (s *Sharing) Joining(now time.Time, p Policy, job Job, others []Job, set func(j Job, vtime float64) (slots int)) {
	seen := func(j Job) contender { return contender{j.Share(), j.Active(), j.SlotTime(now).Seconds()} }
	level := []contender{seen(job)}
	for _, o := range others {
		if !p.ByUsers() || o.Owner() == job.Owner() {
			level = append(level, seen(o))
		}
	}
	admit(level) // the others are admitted
	if !p.ByUsers() {
		set(job, job.Share().With(0))
		return
	}
	u := user{}
	if known := s.users[job.Owner()]; known != nil {
		u.Account, u.jobs = known.Account, slices.Clone(known.jobs)
	} else {
		users := []contender{{&u.Account, true, 0}}
		for _, o := range s.users {
			users = append(users, contender{&o.Account, true, o.slotTime(now).Seconds()})
		}
		admit(users)
	}
	u.jobs = append(u.jobs, job)
	with := Sharing{users: map[string]*user{job.Owner(): &u}}
	with.VTimes(now, p, set)
}

// turn is a job as the two rules see it.
func turn(now time.Time, p Policy, j Job) smartshare.ServedContender {
	t := smartshare.ServedContender{}
	seconds, known := j.NextItem(now, p.Quantile)
	if t.Known = known; known > 0 {
		t.Item = seconds
	}
	t.Weight = j.Share().Weight()
	if p.Mode == "lottery" {
		t.Served = j.Share().With(j.SlotTime(now).Seconds())
	} else {
		t.VTime = j.Share().With(j.Advance(now, p.Quantile))
	}
	return t
}

// userTurn is a user as a contender, without the item that is next.
func (s *Sharing) userTurn(now time.Time, p Policy, name string) (t smartshare.ServedContender) {
	u := s.users[name]
	if u == nil {
		return smartshare.ServedContender{Contender: smartshare.Contender{Weight: 1}}
	}
	t.Weight = u.Weight()
	if p.Mode == "lottery" {
		t.Served = u.With(u.slotTime(now).Seconds())
		return t
	}
	advance := 0.0
	for _, j := range u.jobs {
		advance += j.Advance(now, p.Quantile)
	}
	t.VTime = u.With(advance)
	return t
}
