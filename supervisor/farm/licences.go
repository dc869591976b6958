package farm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// resources is what the farm may hold of the resources that are the whole farm's: licences, and what the site counts
// beside them.
type resources struct {
	*shared
	admission *admission
	overused  map[string]bool // of which the farm may hold more than it is allowed; perhaps of some it does not
}

// take has the farm go by what it may hold now of the resources of the whole farm.
func (rs *resources) take() {
	rs.policy.Resources, rs.planStale = rs.licences.Allowed(), true
	rs.overused = map[string]bool{}
	for name, held := range rs.admission.allHeld() {
		// also of a resource that has left the configuration, of which there is none
		if !strings.HasPrefix(name, "host.") && held > rs.policy.Resources[name] {
			rs.overused[name] = true
		}
	}
}

func (rs *resources) onResourceReported(now time.Time, e message.ResourceReported) {
	if !rs.licences.Known(e.Report.Name) {
		rs.out.Refuse(e.Ticket, "not-found", "resource %.100q is not known; supervisor_global_resources has %s",
			e.Report.Name, rs.names())
		return
	}
	if rs.takeReport(now, e.Report, e.By) {
		rs.planNow = true
	}
	rs.out.Answer(e.Ticket, rs.licences.Status(now, e.Report.Name, rs.admission.held(e.Report.Name)))
}

// takeReport takes in a report on a resource that is known, and says whether it says anything new, by which the farm
// goes then.
func (rs *resources) takeReport(now time.Time, r licences.Report, by string) bool {
	if !rs.licences.Take(now, r, by) {
		return false
	}
	rs.take()
	s := rs.licences.Status(now, r.Name, 0)
	text := fmt.Sprintf("%s: %d are used outside of the farm, which may hold %d", r.Name, s.Outside, s.Allowed)
	rs.out.Record(now, facts.EventFacts{Type: "resource-reported", Item: -1, Instance: -1, By: by,
		Why: facts.Why{Params: facts.Params{Resource: r.Name, Limit: s.Allowed}, Cause: text}})
	return true
}

// takeUsage processes what a command on a host reports of the use outside of the farm. It does so once for each run of
// the command, and only if the configuration names the host as a source.
func (rs *resources) takeUsage(now time.Time, h *model.Host, e message.WorkerSynced) {
	run := model.UsageRun{Incarnation: e.Incarnation, Number: e.UsageNumber}
	if e.UsageNumber == 0 || h.Usage == run || !slices.Contains(rs.licences.Policy().Hosts, string(h.ID)) {
		return
	}
	h.Usage = run
	for _, r := range e.Usage {
		if rs.licences.Known(r.Name) {
			rs.takeReport(now, r, "worker of "+string(h.ID))
		}
	}
}

func (rs *resources) names() string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(rs.licences.Has())), ", "), "none")
}

// Resources are the resources of the whole farm.
func (f *Farm) Resources(now time.Time) []licences.Status {
	return f.licences.List(now, f.admission.allHeld())
}

// allHeld is what live attempts hold of each resource.
func (ad *admission) allHeld() map[string]int64 {
	all := map[string]int64{}
	for _, h := range ad.hosts.ByID {
		for i := range h.Holding() {
			for name, n := range i.Attempt.Holds {
				all[name] += n
			}
		}
	}
	for name := range all {
		if agenda.PerHost(name) {
			all[name] = ad.held(name)
		}
	}
	return all
}

// held is what live attempts hold of a resource of the whole farm: always a count, never a counter.
func (ad *admission) held(name string) (sum int64) {
	if agenda.PerHost(name) {
		return int64(len(ad.seats(name)))
	}
	for _, h := range ad.hosts.ByID {
		sum += h.Held(name)
	}
	return sum
}

// seats are the taken seats of a resource that is counted per seat.
func (ad *admission) seats(name string) map[licences.Seat]bool {
	taken, p := map[licences.Seat]bool{}, ad.licences.Policy()
	for _, h := range ad.hosts.ByID {
		for i := range h.Holding() {
			if i.Attempt.Holds[name] > 0 {
				taken[p.SeatOf(name, string(h.ID), i.Job.User)] = true
			}
		}
	}
	return taken
}

// seated says whether an instance of the job has its seats on the host, or may open them there.
func (ad *admission) seated(j *model.Job, h *model.Host) bool {
	p := ad.licences.Policy()
	return !slices.ContainsFunc(j.Needs.Seats, func(name string) bool {
		left := ad.policy.Resources[name] - int64(len(ad.seats(name)))
		// too many: each that ends frees its seat
		return left < 0 || left == 0 && !h.HasSeat(p, name, p.SeatOf(name, string(h.ID), j.User))
	})
}

// overuse says that the farm holds more of a resource than it may, of which the instance holds some.
func (rs *resources) overuse(i *model.Instance) facts.Why {
	for _, name := range slices.Sorted(maps.Keys(rs.overused)) {
		if i.Attempt.Holds[name] == 0 {
			continue
		}
		held, most := rs.admission.held(name), rs.policy.Resources[name]
		if held > most {
			return facts.Because(facts.ReasonResourceUsedUp, facts.Params{Resource: name},
				fmt.Sprintf("%d %s are held, and the farm may hold %d now", held, name, most))
		}
		delete(rs.overused, name)
	}
	return facts.Why{}
}

// add tells a plan, when all its jobs are there, what there is of the resources that they take.
func (rs *resources) add(now time.Time, p *snapshot) {
	rs.giveSeats(now, p)
	model.AddResources(&p.Snapshot, p.hosts, rs.policy.Resources, rs.admission.held)
}

// giveSeats keeps jobs that take resources counted per seat to hosts where they have seats or may open them. Jobs of
// better priority choose first.
func (rs *resources) giveSeats(now time.Time, p *snapshot) {
	var rows []int
	for n, j := range p.jobs {
		if len(j.Needs.Seats) > 0 {
			rows = append(rows, n)
		}
	}
	if rows == nil {
		return
	}
	p.SortByPriority(rows)
	rooms := make([]licences.HostCapacity, len(p.hosts))
	for n, h := range p.hosts {
		rooms[n] = licences.HostCapacity{Name: string(h.ID), Up: p.Hosts[n].Up, Free: max(0, h.Free()),
			Reclaimable: max(0, h.Free()+h.Yielding()), All: p.Hosts[n].Slots}
	}
	held, left, given, asks := map[string]map[licences.Seat]bool{}, map[string]int64{}, []int(nil),
		make([]licences.SeatRequest, 0, len(rows))
	for _, n := range rows {
		j := p.jobs[n]
		for _, name := range j.Needs.Seats {
			if held[name] == nil {
				held[name] = rs.admission.seats(name)
				left[name] = rs.policy.Resources[name] - int64(len(held[name]))
			}
		}
		own := make(map[int]int, len(j.Instances))
		for _, i := range j.Instances {
			own[i.Host.Place]++
		}
		room := func(h int, yield bool) int {
			return p.hosts[h].RoomFor(now, j, rs.admission.needOn(j, p.hosts[h], j.Needs.Slots), yield)
		}
		if slices.ContainsFunc(j.Needs.Seats, func(name string) bool { return left[name] < 0 }) {
			p.allowed["\x00no seats"] = []int{} // what runs goes, and nothing starts
			p.Jobs[n].Eligible = []int{}
			p.Jobs[n].Narrowed = false
			continue
		}
		given = append(given, n)
		asks = append(asks, licences.SeatRequest{Names: j.Needs.Seats, User: j.User, Slots: j.Needs.Slots,
			Wants: min(j.Width(&rs.policy.Share), j.Remaining()), Hosts: p.Jobs[n].Eligible, Own: own, Room: room})
	}
	var latest []int
	for k, hosts := range licences.Assign(rs.licences.Policy(), rooms, asks, held, left) {
		n := given[k]
		if k == 0 || !slices.Equal(hosts, latest) {
			latest = append([]int{}, hosts...)
			p.allowed[fmt.Sprintf("\x00seats of job %d", p.jobs[n].ID)] = latest
		}
		p.Jobs[n].Eligible = latest
	}
}

// noLicence says what becomes of an item that found no licence: it is tried again, and charged no retry.
func (f *Farm) noLicence(i *model.Instance, r message.ReportedEnd, end *facts.EndAttempt) {
	end.State, end.Again = facts.Failed, facts.ByItself
	end.Why = facts.Because(facts.ReasonNoLicence, facts.Params{Resource: r.Resource}, r.Reason)
	if i.Tries() >= model.MaxAttempts {
		end.Again = facts.Never
	}
}

// lower has the farm take no more of a resource of which an item found none than it holds without that.
func (rs *resources) lower(now time.Time, i *model.Instance, end facts.EndAttempt) {
	name := end.Params.Resource
	if !end.Reason.ForLicence() || i.Attempt.Holds[name] == 0 || !rs.licences.Known(name) {
		return
	}
	rs.licences.Lower(now, name, rs.admission.held(name))
	rs.take()
	s := rs.licences.Status(now, name, 0)
	rs.out.Record(now, facts.EventFacts{Type: "resource-lowered", Item: -1, Instance: -1,
		Why: facts.Why{Reason: facts.ReasonNoLicence, Params: facts.Params{Resource: name, Limit: s.Allowed,
			Until: facts.Moment(s.LoweredUntil)},
			Cause: fmt.Sprintf("%s: an item of job %d found none; the farm takes at most %d for a while", name, i.Job.ID,
				s.Allowed)}})
}
