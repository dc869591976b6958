package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
)

// simProfiles are the profiles of the jobs of a world, and the people who correct them and have them forgotten. They
// have a chance of their own: the other worlds do not change with them.
type simProfiles struct {
	on     bool
	random *rand.Rand
}

// One world in simProfilesEvery has profiles.
const simProfilesEvery = 4

func newSimProfiles(w *simWorld) simProfiles {
	return simProfiles{on: w.seed%simProfilesEvery == 2 && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0x9f0))}
}

// begin has an operator change profiles now and then.
func (p *simProfiles) begin(w *simWorld) {
	if !p.on {
		return
	}
	for range 6 {
		w.after(time.Duration(p.random.Int64N(int64(w.faults.lasts))), func() { p.change(w) })
	}
}

// choose gives a submission a profile, or none.
func (p *simProfiles) choose(given *facts.JobFacts) {
	if p.on {
		given.Profile = []string{"", "beauty", "beauty", "beauty", "fx"}[p.random.IntN(5)]
	}
}

func (p *simProfiles) change(w *simWorld) {
	c := profiles.Change{Key: facts.ProfileKey{Owner: []string{"u0", "u1", "u2"}[p.random.IntN(3)], Name: "beauty"}, Forget: p.random.IntN(2) == 0}
	if !c.Forget {
		c.Memory = new(int64(1+p.random.IntN(4)) << 30)
	}
	key, e := w.clients.key(), message.ProfileChanged{Change: c, By: "op"}
	done := func(r outbox.Reply) {
		if r.Err != nil && r.Err.Kind != "not-found" {
			w.fail("profiles: the change %+v is refused: %v", c, r.Err)
		}
		if r.Err == nil {
			w.some("a profile changed by hand")
		}
	}
	w.clients.call(&simCall{name: "change a profile " + key, done: done, run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		s.once(key, func(answer func(outbox.Reply, error)) {
			if s.term == nil {
				answer(outbox.Reply{}, errSimNoTerm)
				return
			}
			s.term.ask(simAskFor, func(ticket outbox.Ticket) message.Event { s.term.keyed(ticket, key); e.Ticket = ticket; return e }, answer)
		}, answer)
	}})
}

// checkProfiles: a job that ends teaches its profile one lesson, in the commit of its end: of as many items as it has
// complete, with the longest of them and no less memory than the largest of them needed. No other user writes lessons.
func (r *simRows) checkProfiles(writes []facts.Write) {
	for _, w := range writes {
		if gone, is := w.(facts.DropProfile); is {
			r.world.fail("profiles: %v is deleted, of %d", gone.Profile, len(r.profiles))
		}
		if put, is := w.(facts.PutProfile); is {
			r.profiles[put.Profile.ProfileKey] = put.Profile
			for n, l := range put.Profile.Lessons {
				j := r.jobs[l.Job]
				if j == nil || j.facts.User != put.Profile.Owner || j.facts.Profile != put.Profile.Name {
					r.world.fail("profiles: job %d teaches %v", l.Job, put.Profile.ProfileKey)
				}
				if slices.ContainsFunc(put.Profile.Lessons[:n], func(o facts.Lesson) bool { return o.Job == l.Job }) {
					r.world.fail("profiles: job %d teaches %v twice", l.Job, put.Profile.ProfileKey)
				}
			}
		}
	}
	for _, w := range writes {
		if put, is := w.(facts.PutJob); is && r.jobs[put.Job.ID].facts.State.Final() && put.Job.Version == r.jobs[put.Job.ID].facts.Version {
			r.checkLesson(r.jobs[put.Job.ID], writes)
		}
	}
}

func (r *simRows) checkLesson(j *simJobRow, writes []facts.Write) {
	var peaks, times int
	var peak int64
	var longest float64
	for _, list := range j.attempts {
		for _, a := range list {
			if a.State != facts.Done && a.State != facts.Superseded {
				continue
			}
			if a.Peak > 0 {
				peaks++
			}
			if a.Wall > 0 {
				times++
			}
			peak, longest = max(peak, a.Peak), max(longest, a.Wall)
		}
	}
	if j.facts.Profile == "" || peaks == 0 && times == 0 {
		return
	}
	row := r.profiles[facts.ProfileKey{Owner: j.facts.User, Name: j.facts.Profile}]
	n := slices.IndexFunc(row.Lessons, func(l facts.Lesson) bool { return l.Job == j.facts.ID })
	if n < 0 {
		forgotten := slices.ContainsFunc(writes, func(w facts.Write) bool { // after the end, in one commit with it
			put, is := w.(facts.PutProfile)
			return is && put.Profile.ProfileKey == row.ProfileKey && min(row.MemoryAfter, row.SecondsAfter) >= j.facts.ID
		})
		if len(row.Lessons) < profiles.MaxLessons && !forgotten {
			r.world.fail("profiles: job %d has ended and has taught %q of %s nothing: %+v", j.facts.ID, j.facts.Profile, j.facts.User, row.Lessons)
		}
		return
	}
	l := row.Lessons[n]
	if l.Items != max(peaks, times) || l.Seconds != longest || l.Memory < peak && r.world.policy.Memory.Quantile >= 1 {
		r.world.fail("profiles: job %d teaches %+v; %d items are complete, the longest took %v s, the largest %d bytes", j.facts.ID, l, max(peaks, times), longest, peak)
	}
	r.world.some("a job that ended taught its profile")
}

// sameProfiles: a new term would know of profiles exactly what the leader knows.
func (w *simWorld) sameProfiles(now time.Time, live, rebuilt *farm.Farm) {
	was, is := live.Profiles(now, facts.ProfileKey{}), rebuilt.Profiles(now, facts.ProfileKey{})
	if !slices.Equal(was, is) {
		w.fail("profiles: a new term would know %+v, and this one knows %+v", is, was)
	}
	if len(was) > 0 {
		w.some("a profile known alike by a new term")
	}
}
