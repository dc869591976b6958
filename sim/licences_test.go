package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
	"qb/supervisor/wire/translate"
)

// simLicences are people outside of the farm who use its licence, and items that find none. They have a chance of their
// own.
type simLicences struct {
	on      bool
	random  *rand.Rand
	reports int // that are not answered yet
}

// One world in simLicencesEvery has them.
const simLicencesEvery = 4

func newSimLicences(w *simWorld) simLicences {
	return simLicences{on: w.seed%simLicencesEvery == 1 && w.faults.putBack == "", random: rand.New(rand.NewPCG(w.seed, 0x11c))}
}

// begin reports what is used outside now and then and, once all of that is answered, that nothing is: a report that is
// asked for again may come late.
func (l *simLicences) begin(w *simWorld) {
	if !l.on {
		return
	}
	for range 5 {
		l.reports++
		outside := int64(l.random.IntN(4))
		w.after(time.Duration(l.random.Int64N(int64(w.faults.lasts))), func() { l.report(w, licences.Report{Name: simLicence, Outside: &outside}) })
	}
}

func (l *simLicences) report(w *simWorld, r licences.Report) {
	key, e := w.clients.key(), message.ResourceReported{Report: r, By: "op"}
	done := func(reply outbox.Reply) {
		if reply.Err != nil {
			w.fail("licences: the report %+v is refused: %v", r, reply.Err)
			return
		}
		w.some("a licence used outside")
		if l.reports--; l.reports == 0 {
			l.report(w, licences.Report{Name: simLicence, Forget: true})
		}
		if s := reply.Body.(licences.Status); r.Outside != nil && s.Allowed > max(0, w.policy.Resources[simLicence]-s.Outside) {
			w.fail("licences: %d are used outside, and the farm may hold %d", s.Outside, s.Allowed)
		}
	}
	w.clients.call(&simCall{name: "report a licence " + key, done: done, run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		s.once(key, func(answer func(outbox.Reply, error)) {
			if s.term == nil {
				answer(outbox.Reply{}, errSimNoTerm)
				return
			}
			if l.reports <= 0 && !r.Forget { // a copy that came late, to one who does not remember the call
				w.after(10*time.Second, func() { l.report(w, licences.Report{Name: simLicence, Forget: true}) })
			}
			s.term.ask(simAskFor, func(ticket outbox.Ticket) message.Event { s.term.keyed(ticket, key); e.Ticket = ticket; return e }, answer)
		}, answer)
	}})
}

// end lets an item that failed and holds a licence say that it found none, every second time.
func (l *simLicences) end(w *simWorld, id api.AttemptID, f *api.Finished) {
	if !l.on || f.ExitCode == nil || *f.ExitCode == 0 || w.now > w.faults.lasts || l.random.IntN(2) == 0 {
		return
	}
	for a := range w.rows.everyLive() {
		if a.AttemptID == translate.AttemptID(id) && a.Holds[simLicence] > 0 {
			f.Code, f.Resource = string(facts.ReasonNoLicence), simLicence
			w.some("an item that found no licence")
		}
	}
}

// allowedLicences is how many the farm may hold now, by what is used outside and by items that found none.
func (w *simWorld) allowedLicences() int64 {
	now := w.leader().now()
	for _, s := range w.leader().farm.Resources(now) {
		if s.Name == simLicence {
			return s.Allowed
		}
	}
	return 0
}

// sameResources: a new term would have of resources exactly what the leader has, unless programs hold some.
func (w *simWorld) sameResources(now time.Time, live, rebuilt *farm.Farm, view *message.View) {
	for _, h := range view.Hosts {
		if _, _, held := programs(h); held > 0 {
			return
		}
	}
	if was, is := live.Resources(now), rebuilt.Resources(now); !slices.Equal(was, is) {
		w.fail("licences: a new term would know %+v, and this one knows %+v", is, was)
	}
}
