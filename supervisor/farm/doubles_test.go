package farm_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// workerDouble is a worker that follows orders.
type workerDouble struct {
	props     string // NAME:VALUE,…; + is a comma
	host      string
	folder    string // what it was first called
	machine   string
	key       string
	slots     int
	boots     int
	states    int
	starts    int
	sequence  uint64
	heard     uint64 // the last sync that was answered
	groups    []string
	cluster   string
	resources map[string]int
	spec      float64
	runAs     string
	user      string
	silent    bool
	deaf      bool // what it says arrives, the answers do not
	missed    bool // an answer, being deaf
	slow      bool
	stuck     bool
	owes      bool // it has something to say
	refused   bool // for another host of its name
	swap      message.Swap
	away      int    // slots that others take
	keptFor   string // why they are
	refusing  string // why it takes no items
	mem       *memoryDouble
	usage     []licences.Report // of a command on it, by the run of that number
	usageRun  int64
	limits    map[facts.AttemptID]int64 // hard limits, as last ordered
	standing  map[facts.AttemptID]int64 // number of the suspension, as last ordered
	moving    bool                      // what is suspended there has not come to a standstill

	lacks string                          // a working folder
	cwd   func(id facts.AttemptID) string // of its job

	running  []facts.AttemptID
	stopping []facts.AttemptID
	finished []message.ReportedEnd
	programs programsDouble
	next     map[facts.AttemptID]facts.AttemptID // by the attempt after which the other one begins, as last ordered
	behind   map[facts.AttemptID]facts.AttemptID // of what has begun so, the attempt before

	clock  *time.Time // the rig's, from the first answer on
	leased time.Time  // until when the answer that it took last lets it run what it lists
}

func newWorkerDouble(host, slots string) *workerDouble {
	return &workerDouble{host: host, folder: host, slots: number(slots), owes: true}
}

func (w *workerDouble) restart() {
	w.starts++
	w.sequence, w.heard = 0, 0
	w.owes = true
	w.stopping = nil
}

func (w *workerDouble) sync(ticket outbox.Ticket) message.WorkerSynced {
	w.sequence++
	w.refused = false
	e := message.WorkerSynced{
		Ticket: ticket, Incarnation: fmt.Sprintf("%s-start%d", w.folder, w.starts), Sequence: w.sequence, Heard: w.heard, RunAs: w.runAs, AgentUser: w.user,
		Host: facts.HostFacts{ID: facts.HostID(w.host), MachineID: w.machine, Boot: fmt.Sprintf("boot%d", w.boots), StateID: fmt.Sprintf("%s-state%d", w.folder, w.states), Key: w.key, Slots: w.slots,
			Groups: w.groups, Cluster: cmp.Or(w.cluster, "/"), Resources: w.resources, Spec: w.spec, Properties: w.properties()},
		Swap: w.swap, Away: w.away, KeptFor: w.keptFor, Refusing: w.refusing, Hold: 10e9, Finished: slices.Clone(w.finished),
		Usage: w.usage, UsageNumber: w.usageRun,
	}
	if !w.slow {
		w.stopping = nil
	}
	for _, id := range w.running {
		e.Instances = append(e.Instances, message.ReportedInstance{Job: id.Job, Instance: w.programs.numbers[id], Attempt: id, State: "running"})
		if n := w.standing[id]; n != 0 {
			last := &e.Instances[len(e.Instances)-1]
			if last.State = "suspended"; !w.moving {
				last.SuspensionID = n
			}
		}
	}
	state := "stopping"
	if w.stuck {
		state = "unkillable"
	}
	for _, id := range w.stopping {
		e.Instances = append(e.Instances, message.ReportedInstance{Job: id.Job, Instance: w.programs.numbers[id], Attempt: id, State: state})
	}
	w.programs.report(&e, w.slow)
	w.mem.report(&e)
	return e
}

// moves are the attempts that run and do not stand still.
func (w *workerDouble) moves() []facts.AttemptID {
	return slices.DeleteFunc(slices.Clone(w.running), func(id facts.AttemptID) bool { return w.standing[id] != 0 })
}

// hear starts what is desired and not here, stops what is here and not desired, and forgets ends that the
// farm no longer wants.
func (w *workerDouble) hear(reply message.SyncReply) {
	w.heard = reply.Number
	var desired []facts.AttemptID
	w.limits, w.standing = map[facts.AttemptID]int64{}, map[facts.AttemptID]int64{}
	w.next = map[facts.AttemptID]facts.AttemptID{}
	listed := map[programKey]bool{}
	for _, d := range reply.Instances {
		listed[programKey{d.Job, d.Instance}] = true
		if w.programs.hear(w.host, d) {
			continue
		}
		desired = append(desired, d.Attempt)
		if d.Next != nil {
			w.next[d.Attempt] = d.Next.Attempt
			w.programs.note(d.Next.Attempt, d.Instance)
		}
		if d.Suspended {
			w.standing[d.Attempt] = d.SuspensionID
		}
		if d.HardLimit {
			w.limits[d.Attempt] = d.Memory
		}
	}
	w.programs.leftOut(listed)
	known := func(id facts.AttemptID) bool {
		return slices.Contains(w.running, id) || slices.Contains(w.stopping, id) ||
			slices.ContainsFunc(w.finished, func(e message.ReportedEnd) bool { return e.Attempt == id })
	}
	for _, id := range desired {
		if known(id) {
			continue
		}
		w.running = append(w.running, id)
		if path := strings.TrimPrefix(w.lacks, "closed:"); path != "" && path == w.cwd(id) {
			w.end(id, "refused", 0, "", 0)
			w.finished[len(w.finished)-1].Code = facts.ReasonFolderMissing
			if path != w.lacks {
				w.finished[len(w.finished)-1].Code = facts.ReasonFolderDenied
			}
		}
	}
	for _, id := range desired {
		w.maybeBegin(id)
	}
	for _, id := range slices.Clone(w.running) {
		if !slices.Contains(desired, id) && !slices.Contains(desired, w.behind[id]) {
			w.running = slices.DeleteFunc(w.running, func(o facts.AttemptID) bool { return o == id })
			w.stopping = append(w.stopping, id)
		}
	}
	w.finished = slices.DeleteFunc(w.finished, func(e message.ReportedEnd) bool {
		return !slices.Contains(desired, e.Attempt) && !slices.Contains(desired, w.behind[e.Attempt])
	})
	w.owes = true
}

// maybeBegin begins the item that is held ahead of others if the one before it is done.
func (w *workerDouble) maybeBegin(before facts.AttemptID) {
	id, ahead := w.next[before]
	done := slices.ContainsFunc(w.finished, func(e message.ReportedEnd) bool {
		return e.Attempt == before && e.Outcome == "exit" && *e.ExitCode == 0
	})
	if !ahead || !done || w.behind[id] == before || w.clock == nil || !w.clock.Before(w.leased) {
		return
	}
	if w.behind == nil {
		w.behind = map[facts.AttemptID]facts.AttemptID{}
	}
	w.behind[id] = before
	w.running = append(w.running, id)
}

func (w *workerDouble) end(id facts.AttemptID, outcome string, exit int, reason string, wall float64) {
	w.running = slices.DeleteFunc(w.running, func(o facts.AttemptID) bool { return o == id })
	e := message.ReportedEnd{Attempt: id, Outcome: outcome, Reason: reason, Wall: wall, CPU: wall, InLease: w.clock != nil && w.clock.Before(w.leased)}
	if outcome == "exit" {
		e.ExitCode = &exit
	}
	if name, found := strings.CutPrefix(reason, "found no "); found {
		e.Code, e.Resource = facts.ReasonNoLicence, name
	}
	if text, found := strings.CutPrefix(reason, "environment: "); found {
		e.Code, e.Reason = facts.ReasonEnvironment, text
	}
	w.finished = append(w.finished, e)
	w.owes = true
	w.maybeBegin(id)
}

func (w *workerDouble) drop(job string) {
	w.running = slices.DeleteFunc(w.running, func(o facts.AttemptID) bool { return fmt.Sprint(o.Job) == job })
	w.owes = true
}

// rows is what a database would hold: it refuses whatever the schema would.
type rows struct {
	jobs      map[facts.JobID]facts.JobFacts
	marks     map[facts.JobID][]facts.Mark
	attempts  map[facts.AttemptID]facts.AttemptFacts
	hosts     map[facts.HostID]facts.HostFacts
	books     bookRows
	profiles  map[facts.ProfileKey]facts.ProfileFacts
	resources map[string]facts.ResourceFacts
	orders    map[facts.JobID][]facts.ActionFacts
	promise   facts.PromiseFacts
}

func newRows() *rows {
	return &rows{jobs: map[facts.JobID]facts.JobFacts{}, marks: map[facts.JobID][]facts.Mark{}, attempts: map[facts.AttemptID]facts.AttemptFacts{}, hosts: map[facts.HostID]facts.HostFacts{}, books: newBookRows(), profiles: map[facts.ProfileKey]facts.ProfileFacts{}, resources: map[string]facts.ResourceFacts{}, orders: map[facts.JobID][]facts.ActionFacts{}}
}

func (r *rows) apply(writes []facts.Write) error {
	for _, w := range writes {
		if err := r.applyOne(w); err != nil {
			return fmt.Errorf("%T: %w", w, err)
		}
	}
	return nil
}

func (r *rows) applyOne(w facts.Write) error {
	switch w := w.(type) {
	case facts.PutJob:
		if r.jobs[w.Job.ID].Version != w.Job.Version-1 {
			return fmt.Errorf("job %d: version %d follows %d", w.Job.ID, w.Job.Version, r.jobs[w.Job.ID].Version)
		}
		if w.Job.State.Final() == w.Job.FinishedAt.IsZero() {
			return fmt.Errorf("job %d is %s with finish %v", w.Job.ID, w.Job.State, w.Job.FinishedAt)
		}
		r.jobs[w.Job.ID] = w.Job
	case facts.PutAction:
		list := slices.Clone(r.orders[w.Order.Job])
		n := slices.IndexFunc(list, func(o facts.ActionFacts) bool { return o.Number == w.Order.Number })
		if w.Fresh != (n < 0) || n >= 0 && list[n].Next > w.Order.Next {
			return fmt.Errorf("order %+v is new: %v, of %+v", w.Order, w.Fresh, list)
		}
		if w.Fresh {
			list = append(list, w.Order)
		} else {
			list[n] = w.Order
		}
		r.orders[w.Order.Job] = list
	case facts.DropAction:
		if list := r.orders[w.Job]; len(list) == 0 || list[0].Number != w.Number {
			return fmt.Errorf("order %d is not the first of %+v", w.Number, list)
		} else if r.orders[w.Job] = list[1:]; len(list) == 1 {
			delete(r.orders, w.Job)
		}
	case facts.ChangeMarks:
		for _, gone := range w.Remove {
			if !slices.Contains(r.marks[w.Job], gone) {
				return fmt.Errorf("mark %+v is not there", gone)
			}
			r.marks[w.Job] = slices.DeleteFunc(slices.Clone(r.marks[w.Job]), func(m facts.Mark) bool { return m == gone })
		}
		r.marks[w.Job] = append(slices.Clone(r.marks[w.Job]), w.Add...)
	case facts.RenameHost:
		for id, a := range r.attempts {
			if a.Host == w.From && a.State.Live() {
				a.Host = w.To.ID
				r.attempts[id] = a
			}
		}
		delete(r.hosts, w.From)
		r.hosts[w.To.ID] = w.To
	case facts.ForgetHost:
		delete(r.hosts, w.Host)
	case facts.PutHost:
		r.hosts[w.Host.ID] = w.Host
	case facts.PutProfile:
		r.profiles[w.Profile.ProfileKey] = w.Profile
	case facts.DropProfile:
		delete(r.profiles, w.Profile)
	case facts.PutResource:
		r.resources[w.Resource.Name] = w.Resource
	case facts.PutPromise:
		r.promise = w.Promise
	case facts.AddEvent:
	case facts.ChargeUsage, facts.PutShare, facts.AddCredit, facts.PutAccount, facts.DropAccount, facts.PutBudget, facts.DropBudget, facts.PutPublication:
		r.books.apply(w)
	default:
		return r.applyAttempt(w)
	}
	return nil
}

func (r *rows) applyAttempt(w facts.Write) error {
	switch w := w.(type) {
	case facts.StartAttempt:
		for id, a := range r.attempts {
			if id.Job == w.Attempt.Job && id.Item == w.Attempt.Item && (a.State.Live() || a.State == facts.Done || id.Number >= w.Attempt.Number) {
				return fmt.Errorf("%v is %s, and %v starts", id, a.State, w.Attempt.AttemptID)
			}
		}
		r.attempts[w.Attempt.AttemptID] = w.Attempt
	case facts.StopAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool {
			live := a.State.Live()
			a.State, a.Why = facts.Stopping, w.Why
			return live
		})
	case facts.SendAwayAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool { a.Why = w.Why; return a.State == facts.Running })
	case facts.SuspendAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool {
			expected := a.State == facts.Running && a.SuspendedAt.IsZero() != w.At.IsZero() &&
				w.Seconds >= a.Suspended && w.Released >= a.Released // no time that was counted is lost
			a.SuspendedAt, a.Suspended, a.ReleasedAt, a.Released, a.ResumingAt = w.At, w.Seconds, time.Time{}, w.Released, time.Time{}
			return expected
		})
	case facts.ReleaseAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool {
			expected := a.State == facts.Running && a.SuspensionState() == w.From && w.From != facts.NotSuspended && !w.At.IsZero()
			a.ReleasedAt, a.ResumingAt = w.At, w.Resuming
			return expected
		})
	case facts.RelabelAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool { a.Kind = w.Kind; return a.State.Live() })
	case facts.EndAttempt:
		return r.change(w.ID, func(a *facts.AttemptFacts) bool {
			expected := a.State == w.From && w.From.Live() && !w.State.Live()
			a.State, a.Again, a.Why, a.Wall, a.EndedAt = w.State, w.Again, w.Why, w.Wall, w.EndedAt
			a.Charge, a.Charged = w.Charge, w.Charged
			a.CPU, a.Peak, a.Suspended, a.Released = w.CPU, w.Peak, w.Suspended, w.Released
			if !w.StartedAt.IsZero() {
				a.StartedAt = w.StartedAt
			}
			return expected
		})
	case facts.ReopenAttempts:
		for _, id := range w.Attempts {
			if err := r.change(id, func(a *facts.AttemptFacts) bool {
				ended := !a.State.Live()
				a.Again = facts.ByOrder
				if a.State == facts.Done {
					a.State = facts.Superseded
				}
				return ended
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rows) change(id facts.AttemptID, f func(*facts.AttemptFacts) bool) error {
	a, ok := r.attempts[id]
	if !ok {
		return fmt.Errorf("there is no attempt %v", id)
	}
	state := a.State
	if !f(&a) {
		return fmt.Errorf("attempt %v is %s", id, state)
	}
	r.attempts[id] = a
	return nil
}

func (r *rows) record(id facts.JobID) *facts.JobRecord {
	j, ok := r.jobs[id]
	if !ok {
		return nil
	}
	record := &facts.JobRecord{Job: j, Marks: r.marks[id], Orders: r.orders[id]}
	for _, a := range r.attempts {
		if a.Job == id {
			record.Attempts = append(record.Attempts, a)
		}
	}
	return record
}

func (r *rows) prepared(t testing.TB, id facts.JobID) *items.Prepared {
	record := r.record(id)
	if record == nil {
		return nil
	}
	p, err := items.Prepare(*record)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *rows) facts() facts.Facts {
	given := facts.Facts{NextJob: facts.JobID(len(r.jobs) + 1), Promise: r.promise, Ended: map[facts.JobID]facts.JobState{}}
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		if !r.jobs[id].State.Final() || r.isWatched(id) {
			given.Jobs = append(given.Jobs, *r.record(id))
			for _, l := range r.jobs[id].WaitFor {
				if state := r.jobs[l.Job].State; state.Final() && !r.jobs[id].State.Final() {
					given.Ended[l.Job] = state
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.hosts)) {
		given.Hosts = append(given.Hosts, r.hosts[id])
	}
	r.books.load(&given)
	for _, p := range r.profiles {
		given.Profiles = append(given.Profiles, p)
	}
	for _, row := range r.resources {
		given.Resources = append(given.Resources, row)
	}
	return given
}

// labelled is the job of the group with the label, 0 if there is none.
func (r *rows) labelled(group facts.JobID, label string) (found facts.JobID) {
	for id, j := range r.jobs {
		if label != "" && !j.Part() && j.PGrp == group && j.Label == label {
			found = max(found, id)
		}
	}
	return found
}

// isWatched says whether an unfinished job waits for items of this one.
func (r *rows) isWatched(id facts.JobID) bool {
	for _, j := range r.jobs {
		if !j.State.Final() && slices.ContainsFunc(j.WaitFor, func(l facts.Link) bool { return l.Job == id && l.Of == facts.OfItems }) {
			return true
		}
	}
	return false
}

// short is facts as a store loads them.
func short(given facts.Facts) facts.Facts {
	given.Jobs = slices.Clone(given.Jobs)
	for n, r := range given.Jobs {
		given.Jobs[n].Attempts = nil
		for _, a := range r.Attempts {
			given.Jobs[n].Add(a)
		}
	}
	return given
}

// show prints all attempts.
func (r *rows) show(out io.Writer) {
	ids := slices.SortedFunc(maps.Keys(r.attempts), func(a, b facts.AttemptID) int {
		return slices.Compare([]int{int(a.Job), int(a.Item), a.Number}, []int{int(b.Job), int(b.Item), b.Number})
	})
	for _, id := range ids {
		a := r.attempts[id]
		fmt.Fprintf(out, "%d/%d#%d %s %s on %s\n", id.Job, id.Item, id.Number, a.Kind, a.State, a.Host)
	}
}

// properties are those of its qb.conf, and os.
func (w *workerDouble) properties() map[string]string {
	all := map[string]string{"os": "linux"}
	for _, part := range strings.Split(w.props, ",") {
		if name, value, ok := strings.Cut(part, ":"); ok {
			all[name] = strings.ReplaceAll(value, "+", ",")
		}
	}
	return all
}
