package farm

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/why/explain"
)

// shown is the last view, and what the next one is made from: a look makes the rows of what has changed, and takes the
// others over. A row is made again
//
//   - if its job or host was marked since: see Noted and Changed in package model; what happens to an item or an
//     instance marks both, a word of a worker its host, and each event the job or host that it names,
//   - if it changes with time alone: see until and passing,
//   - if what all rows depend on has changed: the policy, or for jobs the last plan.
//
// A reason is made again with the row of its job, and when something has changed that it is made from: see
// explain.Ground. Check compares the rows with what they would be, so that a forgotten mark is found by any test.
type shown struct {
	view     message.View
	byID     []*model.Job  // of the rows
	byName   []*model.Host // the same
	jobs     []shownJob
	hosts    []shownHost
	known    explain.Farm       // what the reasons were made from
	found    *explain.Explainer // and what was found out about it; nil: nothing
	plan     *snapshot          // the last one
	applied  bool               // a plan was, or a part of one, since the view
	promised facts.PromiseFacts
	changes  uint64 // of rows of hosts
	again    bool   // all rows are to be made again
	checks   int
}

// shownJob is what decides whether the row of a job is made again.
type shownJob struct {
	ground  explain.Ground // of its reason
	passing bool           // it changes with time
	running bool           // how long an item is taken to run may change with time
	full    *model.Bound   // limit that the job had reached
	held    int            // by so many instances
	version int64          // of the job's row
	state   facts.JobState
}

// shownHost is the same of a host.
type shownHost struct {
	until  time.Time // the row is right before then; zero: until something happens
	choosy bool
}

// look makes one view.
type look struct {
	f       *Farm
	s       *shown
	now     time.Time
	planned bool                          // there was a plan since the last view
	differs bool                          // what reasons are made from, besides the job itself, is not what it was
	moved   map[facts.JobID]bool          // jobs whose state has changed, or that have come or gone
	made    []bool                        // of each job: its row was made
	avoided map[facts.HostID][]*model.Job // by whom
}

// note has the next view show what an event names as it is then: of most events all of the farm.
func (s *shown) note(f *Farm, e message.Event) {
	var host *model.Host
	var job facts.JobID
	switch e := e.(type) {
	case message.WorkerSynced:
		host = f.hosts.Of(e.Host)
	case message.HostLocked:
		host = f.hosts.ByID[e.Host]
	case message.HostConfirmedDead:
		host = f.hosts.ByID[e.Host]
	case message.JobModified:
		job = e.Job
	case message.JobAction:
		job = e.Job
	case message.JobSubmitted, message.JobsAged, message.HostRemoved, message.SyncLeft, message.Ticked:
	default:
		s.again = true
	}
	if host != nil {
		host.Noted()
	}
	if j := f.jobs.ByID[job]; j != nil {
		j.Noted()
	}
}

// View is the farm as listings show it. The caller may keep it: nothing in it changes later. It costs what has changed
// since the last one.
func (f *Farm) View(now time.Time) *message.View {
	s := f.shown
	f.shown = shown{} // if this breaks, the next view takes nothing over
	l := look{f: f, s: &s, now: now, moved: map[facts.JobID]bool{}}
	l.begin()
	l.lookAtHosts()
	l.lookAtJobs()
	l.lookForReasons()
	s.again, s.applied = false, false
	s.view = message.View{At: now, Counts: f.counts, NoPlans: f.planning.broken.why, Brake: f.brake.cause,
		Owners: f.jobs.Quota.Uses(), Jobs: s.view.Jobs, Hosts: s.view.Hosts}
	f.shown = s
	v := s.view
	return &v
}

// begin compares what all rows depend on with what it was, and puts the rows in their places.
func (l *look) begin() {
	f, s := l.f, l.s
	s.again = s.again || !s.promised.Same(f.policy.Promised)
	l.planned = s.applied || s.plan != f.planning.last
	was, is := s.known, explainedAll(l.now, f)
	is.Jobs, is.Hosts = was.Jobs, was.Hosts
	l.differs = s.again || l.planned || s.changes != f.hosts.Changes || was.Planning != is.Planning ||
		was.PutOff != is.PutOff || !was.ReplanAt.Equal(is.ReplanAt) || was.Reserved != nil || is.Reserved != nil
	s.known = is
	s.plan = f.planning.last
	s.changes = f.hosts.Changes
	s.promised = f.policy.Promised
	if jobs := f.jobs.Sorted(); !sameList(jobs, s.byID) {
		l.placeJobs(jobs)
	}
	if hosts := f.hosts.Sorted(); !sameList(hosts, s.byName) {
		l.placeHosts(hosts)
	}
	l.avoided = model.ByAvoidedHost(f.retries.avoiding)
}

func sameList[T any](a, b []*T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// placeJobs puts the rows of jobs in their places, as jobs have come or gone.
func (l *look) placeJobs(jobs []*model.Job) {
	s := l.s
	from := model.Places(jobs, s.byID, func(j *model.Job) *model.Shown { return &j.Shown })
	for n, was := range from {
		if was < 0 {
			l.moved[jobs[n].ID] = true
		}
	}
	for n, j := range s.byID {
		if j.ViewRow >= len(jobs) || jobs[j.ViewRow] != j {
			l.moved[s.view.Jobs[n].ID] = true
		}
	}
	l.f.jobs.Stale.Move(from)
	s.view.Jobs, s.known.Jobs = inPlace(from, s.view.Jobs), inPlace(from, s.known.Jobs)
	s.jobs = inPlace(from, s.jobs)
	s.byID, l.differs = jobs, true
}

// placeHosts does the same for hosts.
func (l *look) placeHosts(hosts []*model.Host) {
	s := l.s
	from := model.Places(hosts, s.byName, func(h *model.Host) *model.Shown { return &h.Shown })
	l.f.hosts.Stale.Move(from)
	s.view.Hosts, s.known.Hosts = inPlace(from, s.view.Hosts), inPlace(from, s.known.Hosts)
	s.hosts = inPlace(from, s.hosts)
	s.byName, l.differs = hosts, true
}

// inPlace takes over what there is of rows that are in other places now.
func inPlace[T any](from []int, were []T) []T {
	are := make([]T, len(from))
	for n, was := range from {
		if was >= 0 {
			are[n] = were[was]
		}
	}
	return are
}

// lookAtHosts makes the rows of hosts.
func (l *look) lookAtHosts() {
	s := l.s
	if l.planned {
		l.mean()
	}
	copied := false
	for n := range s.hosts {
		until := s.hosts[n].until
		if !l.f.hosts.Stale.Take(n) && !s.again && (until.IsZero() || l.now.Before(until)) {
			continue
		}
		if !copied {
			s.view.Hosts, copied = slices.Clone(s.view.Hosts), true
		}
		l.lookAtHost(n)
	}
}

func (l *look) lookAtHost(n int) {
	f, s := l.f, l.s
	h, before, was := s.byName[n], s.view.Hosts[n], &s.known.Hosts[n]
	if s.again {
		before = nil
	}
	v := h.View(l.now, f.policy, l.avoided[h.ID], before)
	s.view.Hosts[n] = &v
	instances, like := instancesOn(h, was.Instances, before == nil)
	e := h.Explained(l.now, f.policy, instances)
	h.WasShown()
	e.MeantFor = was.MeantFor
	r := shownHost{until: model.ShownUntil(l.now, &f.policy, h), choosy: h.Choosy()}
	if len(l.avoided[h.ID]) > 0 {
		r.until = l.now
	}
	l.differs = l.differs || was.Host == nil || r.choosy != s.hosts[n].choosy || !like || !e.Like(was)
	*was = e
	s.hosts[n] = r
}

// mean notes for whom hosts are meant by the last plan.
func (l *look) mean() {
	meant := l.f.planning.last.meantFor()
	for n, h := range l.s.byName {
		l.s.known.Hosts[n].MeantFor = meant[h]
	}
}

// lookAtJobs makes the rows of jobs, without their reasons.
func (l *look) lookAtJobs() {
	f, s := l.f, l.s
	all := s.again || l.planned || s.known.Reserved != nil
	l.made = make([]bool, len(s.jobs))
	copied := false
	for n := range s.jobs {
		if stale := f.jobs.Stale.Take(n); !stale && !all && !l.hasPassed(n) {
			continue
		}
		if !copied {
			s.view.Jobs, copied = slices.Clone(s.view.Jobs), true
		}
		j := s.byID[n]
		v := j.View(l.now, &f.policy)
		s.view.Jobs[n] = &v
		e := f.explainedJob(l.now, j)
		was := &s.known.Jobs[n]
		r := shownJob{passing: j.Delayed || len(j.Orders) > 0, running: len(j.Instances) > 0 && j.Timed(), full: j.Full(nil),
			version: j.Version, state: j.State}
		if r.full != nil {
			r.held = r.full.Held
		}
		l.differs = l.differs || r.version != s.jobs[n].version || !e.Like(was)
		if r.state != s.jobs[n].state {
			l.moved[j.ID] = true
		}
		*was, s.jobs[n], l.made[n] = e, r, true
	}
}

// hasPassed says whether a row would be another one by now, though nothing has happened to its job.
func (l *look) hasPassed(n int) bool {
	r := &l.s.jobs[n]
	switch j := l.s.byID[n]; {
	case r.passing, j.Full(nil) != r.full, r.full != nil && r.full.Held != r.held:
		return true
	case r.running:
		return j.ShownEstimate(l.now, &l.f.policy) != l.s.view.Jobs[n].EstimatedItemSeconds
	}
	return false
}

// lookForReasons says why jobs wait.
func (l *look) lookForReasons() {
	s := l.s
	again := l.differs || s.found == nil || !s.found.Holds()
	if again {
		s.found = explain.New(&s.known)
	}
	copied := slices.Contains(l.made, true)
	for n := range s.jobs {
		r := &s.jobs[n]
		switch {
		case l.made[n]:
			why, ground := s.found.Why(&s.known.Jobs[n])
			s.view.Jobs[n].Wait(why)
			r.ground = ground
			continue
		case r.ground == explain.HostsGround && again:
		case r.ground == explain.JobsGround && l.waitsForMoved(n):
		default:
			continue
		}
		why, ground := s.found.Why(&s.known.Jobs[n])
		r.ground = ground
		if is := s.view.Jobs[n]; is.Reason == why.Cause && is.Code == why.Reason && is.Params == why.Params {
			continue
		}
		if !copied {
			s.view.Jobs, copied = slices.Clone(s.view.Jobs), true
		}
		v := *s.view.Jobs[n]
		v.Wait(why)
		s.view.Jobs[n] = &v
	}
}

// waitsForMoved says whether something has happened to the state of a job that another one waits for.
func (l *look) waitsForMoved(n int) bool {
	isMoved := func(o facts.Link) bool { return l.moved[o.Job] }
	return len(l.moved) > 0 && slices.ContainsFunc(l.s.known.Jobs[n].WaitFor, isMoved)
}

// check compares the view, if there is one, with a view of which every row is made; of a large farm once in checkedOnce
// calls.
func (s *shown) check(f *Farm) error {
	at := s.view.At
	s.checks++
	if at.IsZero() || len(s.jobs)+len(s.hosts) > checkedRows && s.checks%checkedOnce != 0 {
		return nil
	}
	is := f.View(at)
	kept := *s
	*s = shown{}
	whole := f.View(at)
	*s = kept
	for n, j := range whole.Jobs {
		if d := differing(*is.Jobs[n], *j); d != "" {
			return fmt.Errorf("job %d: %s", j.ID, d)
		}
	}
	for n, h := range whole.Hosts {
		if d := differing(*is.Hosts[n], *h); d != "" {
			return fmt.Errorf("host %s: %s", h.ID, d)
		}
	}
	return nil
}

const (
	checkedRows = 40
	checkedOnce = 16
)

// differing is the first field in which a row is not as it should be, "" if there is none.
func differing(row, should any) string {
	a, b := reflect.ValueOf(row), reflect.ValueOf(should)
	for n := range a.NumField() {
		if is, want := a.Field(n).Interface(), b.Field(n).Interface(); !reflect.DeepEqual(is, want) {
			return fmt.Sprintf("%s is shown as %+v, it is %+v", a.Type().Field(n).Name, is, want)
		}
	}
	return ""
}
