package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// apply makes one write; m.mu is held.
func (m *Memory) apply(w facts.Write, undo *undoLog) error {
	switch w := w.(type) {
	case facts.PutJob:
		return m.putJob(rules.NormalJob(w.Job), undo)
	case facts.ChangeMarks:
		marks := facts.ChangeMarks{Job: w.Job, Remove: rules.NormalMarks(w.Remove), Add: rules.NormalMarks(w.Add)}
		return m.changeMarks(marks, undo)
	case facts.PutAction:
		return m.putOrder(rules.NormalOrder(w.Order), w.Fresh, undo)
	case facts.DropAction:
		return m.changeOrder(w.Job, w.Number, undo, withoutOrder)
	case facts.StartAttempt:
		return m.start(rules.NormalAttempt(w.Attempt), undo)
	case facts.ReopenAttempts:
		return m.reopenAll(w.Attempts, undo)
	case facts.SendAwayAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return sendAway(a, w) })
	case facts.SuspendAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return suspend(a, w) })
	case facts.ReleaseAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return release(a, w) })
	case facts.StopAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return stopRow(a, w) })
	case facts.RelabelAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return relabel(a, w) })
	case facts.EndAttempt:
		return m.change(w.ID, undo, func(a *facts.AttemptFacts) error { return end(a, w) })
	case facts.PutHost:
		h := rules.NormalHost(w.Host)
		if h.ID == "" {
			return fmt.Errorf("a host without a name")
		}
		put(undo, m.hosts, h.ID, h)
		return nil
	case facts.RenameHost:
		return m.renameHost(w, undo)
	case facts.ForgetHost:
		remove(undo, m.hosts, w.Host)
		return nil
	case facts.ChargeUsage, facts.PutShare, facts.AddCredit, facts.PutAccount, facts.DropAccount,
		facts.PutBudget, facts.DropBudget, facts.PutPublication:
		return m.shares.apply(w, undo)
	case facts.PutProfile, facts.DropProfile:
		return m.profiles.apply(w, undo)
	case facts.PutResource:
		return m.resources.apply(w, undo)
	case facts.PutBreakage:
		return m.breakages.apply(w, undo)
	case facts.PutPromise:
		save(undo, &m.promise)
		m.promise = rules.NormalPromise(w.Promise)
		return nil
	case facts.AddMail:
		return m.mails.add(w.Mail, undo)
	case facts.NoteChange:
		return m.noteChange(w)
	case facts.AddAudit:
		return nil // nothing of it is loaded
	case facts.PutAnswer:
		return m.addAnswer(w.Answer, undo)
	case facts.AddEvent:
		if w.Event.Type == "" {
			return fmt.Errorf("an event without a type")
		}
		return nil
	}
	return fmt.Errorf("a write of the unknown type %T", w)
}

func (m *Memory) putJob(j facts.JobFacts, undo *undoLog) error {
	old := m.jobs[j.ID]
	switch {
	case j.ID < 1 || j.Version < 1 || j.Priority < 1 || j.CPUs < 1 || j.RetryWork < 0:
		return fmt.Errorf("job %d: id, version, priority or cpus is below 1, or retrywork below 0", j.ID)
	case !slices.Contains([]facts.JobState{facts.Active, facts.Blocked, facts.Suspended}, j.State) && !j.State.Final():
		return fmt.Errorf("job %d: unknown state %q", j.ID, j.State)
	case j.State.Final() == j.FinishedAt.IsZero():
		return fmt.Errorf("job %d is %s and finished at %v", j.ID, j.State, j.FinishedAt)
	case old == nil && j.Version != 1:
		return fmt.Errorf("job %d: version %d of a job that is not there", j.ID, j.Version)
	case old != nil && j.Version != old.facts.Version+1:
		return fmt.Errorf("job %d: version %d does not follow version %d", j.ID, j.Version, old.facts.Version)
	}
	if old == nil || old.facts.Submission != j.Submission {
		if other := m.bySubmission(j.Submission); other != 0 && other != j.ID {
			return fmt.Errorf("job %d: its submission already made job %d", j.ID, other)
		}
	}
	if old == nil {
		put(undo, m.jobs, j.ID, &memoryJob{facts: j, attempts: map[facts.ItemNo][]facts.AttemptFacts{}})
		return nil
	}
	save(undo, &old.facts)
	old.facts = j
	return nil
}

func (m *Memory) noteChange(w facts.NoteChange) error {
	for _, id := range w.Jobs {
		if m.jobs[id] == nil {
			return fmt.Errorf("job %d changed, which is not there", id)
		}
	}
	return nil
}

func (m *Memory) bySubmission(token string) facts.JobID {
	if token == "" {
		return 0
	}
	for id, j := range m.jobs {
		if j.facts.Submission == token {
			return id
		}
	}
	return 0
}

func (m *Memory) changeMarks(w facts.ChangeMarks, undo *undoLog) error {
	if err := rules.CheckMarks(w); err != nil {
		return err
	}
	if len(w.Remove)+len(w.Add) == 0 {
		return nil // as in the database, which is asked nothing
	}
	j := m.jobs[w.Job]
	if j == nil {
		return fmt.Errorf("marks of job %d, which is not there", w.Job)
	}
	save(undo, &j.marks)
	marks := make(map[facts.ItemNo]facts.Mark, len(j.marks)+len(w.Add))
	for _, old := range j.marks {
		marks[old.First] = old
	}
	for _, gone := range w.Remove {
		if old, ok := marks[gone.First]; !ok || old.Span() != gone.Span() || old.Kind != gone.Kind {
			return fmt.Errorf("job %d: mark %d-%d is not there as it is taken away", w.Job, gone.First, gone.Last)
		}
		delete(marks, gone.First)
	}
	for _, is := range w.Add {
		if _, ok := marks[is.First]; ok {
			return fmt.Errorf("job %d: a second mark begins at item %d", w.Job, is.First)
		}
		marks[is.First] = is
	}
	j.marks = slices.SortedFunc(maps.Values(marks), func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
	return nil
}

func (m *Memory) putOrder(o facts.ActionFacts, fresh bool, undo *undoLog) error {
	if !fresh {
		return m.changeOrder(o.Job, o.Number, undo, func(list []facts.ActionFacts, n int) []facts.ActionFacts {
			if list[n].Next > o.Next {
				return nil
			}
			list[n] = o
			return list
		})
	}
	j := m.jobs[o.Job]
	if j == nil || slices.ContainsFunc(j.orders, func(old facts.ActionFacts) bool { return old.Number == o.Number }) {
		return fmt.Errorf("job %d: order %d is there already, or the job is not", o.Job, o.Number)
	}
	save(undo, &j.orders)
	j.orders = append(slices.Clone(j.orders), o)
	return nil
}

// withoutOrder returns a list without its n-th order.
func withoutOrder(list []facts.ActionFacts, n int) []facts.ActionFacts {
	return slices.Delete(list, n, n+1)
}

// changeOrder makes another list of a job's orders; nil: an order is not as expected.
func (m *Memory) changeOrder(id facts.JobID, number int64, undo *undoLog,
	change func([]facts.ActionFacts, int) []facts.ActionFacts) error {
	if j := m.jobs[id]; j != nil {
		n := slices.IndexFunc(j.orders, func(o facts.ActionFacts) bool { return o.Number == number })
		if n >= 0 {
			if list := change(slices.Clone(j.orders), n); list != nil {
				save(undo, &j.orders)
				j.orders = list
				return nil
			}
		}
	}
	return fmt.Errorf("job %d: order %d is not as expected", id, number)
}

func (m *Memory) start(a facts.AttemptFacts, undo *undoLog) error {
	j := m.jobs[a.Job]
	if j == nil {
		return fmt.Errorf("%v of a job that is not there", a.AttemptID)
	}
	list, last := j.attempts[a.Item], 0
	if len(list) > 0 {
		last = list[len(list)-1].Number
	}
	switch {
	case a.State != facts.Running || a.Item < 0:
		return fmt.Errorf("%v starts as %s", a.AttemptID, a.State)
	case a.Number != last+1 && !(a.Number > last && m.descent.floor(a.Number-1)):
		return fmt.Errorf("%v follows attempt %d", a.AttemptID, last)
	case len(list) > 0 && list[len(list)-1].Again == facts.Never:
		return fmt.Errorf("%v starts, but the one before is %s for good", a.AttemptID, list[len(list)-1].State)
	}
	a.Again = facts.Never
	a.Why = facts.Why{}
	a.ExitCode = nil
	a.Signal = nil
	a.Wall = 0
	a.CPU = 0
	a.Peak = 0
	a.EndedAt = time.Time{}
	a.Charge = facts.Charge{}
	a.Charged = false
	a.SuspendedAt, a.Suspended = time.Time{}, 0
	a.ReleasedAt = time.Time{}
	a.ResumingAt = time.Time{}
	a.Released = 0
	a.Kind = facts.ParseKind(a.Kind.String())
	put(undo, j.attempts, a.Item, append(slices.Clone(list), a))
	return nil
}

// change alters a live attempt.
func (m *Memory) change(id facts.AttemptID, undo *undoLog, f func(*facts.AttemptFacts) error) error {
	j := m.jobs[id.Job]
	at := -1
	if j != nil {
		at = slices.IndexFunc(j.attempts[id.Item], func(a facts.AttemptFacts) bool { return a.Number == id.Number })
	}
	if at < 0 {
		return fmt.Errorf("%v is not there", id)
	}
	list := slices.Clone(j.attempts[id.Item])
	a := &list[at]
	if !a.State.Live() {
		return fmt.Errorf("%v is %s, not live", id, a.State)
	}
	if err := f(a); err != nil {
		return err
	}
	if a.Reason == "" && (a.Cause != "" ||
		!slices.Contains([]facts.AttemptState{facts.Running, facts.Done, facts.Superseded}, a.State)) {
		return fmt.Errorf("%v is %s without a reason", id, a.State)
	}
	put(undo, j.attempts, id.Item, list)
	return nil
}

func sendAway(a *facts.AttemptFacts, w facts.SendAwayAttempt) error {
	if a.State != facts.Running {
		return fmt.Errorf("%v is %s, not running", w.ID, a.State)
	}
	a.Why = rules.NormalWhy(w.Why)
	return nil
}

func suspend(a *facts.AttemptFacts, w facts.SuspendAttempt) error {
	if a.State != facts.Running || a.SuspendedAt.IsZero() == w.At.IsZero() {
		return fmt.Errorf("%v is %s, suspended at %v, and is written as suspended at %v", w.ID, a.State, a.SuspendedAt, w.At)
	}
	a.SuspendedAt, a.Suspended = rules.Exact(w.At), w.Seconds
	a.ReleasedAt = time.Time{}
	a.ResumingAt = time.Time{}
	a.Released = w.Released
	return nil
}

func relabel(a *facts.AttemptFacts, w facts.RelabelAttempt) error {
	a.Kind = facts.ParseKind(w.Kind.String())
	return nil
}

func release(a *facts.AttemptFacts, w facts.ReleaseAttempt) error {
	if a.State != facts.Running || w.From == facts.NotSuspended || a.SuspensionState() != w.From || w.At.IsZero() {
		return fmt.Errorf("%v is %s and %q, not %q, and is written as released at %v", w.ID, a.State, a.SuspensionState(),
			w.From, w.At)
	}
	a.ReleasedAt, a.ResumingAt = rules.Exact(w.At), rules.Exact(w.Resuming)
	return nil
}

func end(a *facts.AttemptFacts, w facts.EndAttempt) error {
	if a.State != w.From {
		return fmt.Errorf("%v is %s, not %s", w.ID, a.State, w.From)
	}
	possible := false
	switch w.State {
	case facts.Done:
		possible = w.Again == facts.Never
	case facts.Failed, facts.Killed, facts.Preempted, facts.Lost:
		possible = w.Again <= facts.ByOrder
	case facts.Superseded:
		possible = w.Again == facts.ByOrder
	}
	if !possible || w.EndedAt.IsZero() {
		return fmt.Errorf("%v cannot end as %s with again=%d at %v", w.ID, w.State, w.Again, w.EndedAt)
	}
	a.State = w.State
	a.Again = w.Again
	a.Why = rules.NormalWhy(w.Why)
	a.ExitCode = w.ExitCode
	a.Signal = w.Signal
	a.Wall = w.Wall
	a.CPU = w.CPU
	a.Peak = w.Peak
	a.Suspended, a.Released = w.Suspended, w.Released
	if !w.StartedAt.IsZero() {
		a.StartedAt = rules.Exact(w.StartedAt)
	}
	a.EndedAt = rules.NotBefore(rules.Exact(w.EndedAt), a.StartedAt)
	a.Charge, a.Charged = w.Charge, w.Charged
	return nil
}

func (m *Memory) reopenAll(attempts []facts.AttemptID, undo *undoLog) error {
	for _, id := range attempts {
		if err := m.reopen(id, undo); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) reopen(id facts.AttemptID, undo *undoLog) error {
	j := m.jobs[id.Job]
	if j == nil || len(j.attempts[id.Item]) == 0 {
		return fmt.Errorf("%v is not there", id)
	}
	list := slices.Clone(j.attempts[id.Item])
	a := &list[len(list)-1]
	if a.Number != id.Number {
		return fmt.Errorf("%v is not the latest of its item", id)
	}
	switch a.State {
	case facts.Done:
		a.State = facts.Superseded
	case facts.Superseded, facts.Failed, facts.Killed, facts.Preempted, facts.Lost:
	default:
		return fmt.Errorf("%v is %s and cannot run again", id, a.State)
	}
	a.Again = facts.ByOrder
	put(undo, j.attempts, id.Item, list)
	return nil
}

// renameHost gives the live attempts of a host, and its row, another name.
func (m *Memory) renameHost(w facts.RenameHost, undo *undoLog) error {
	for _, j := range m.jobs {
		for item, list := range j.attempts {
			at := slices.IndexFunc(list, func(a facts.AttemptFacts) bool { return a.Host == w.From && a.State.Live() })
			if at < 0 {
				continue
			}
			list = slices.Clone(list)
			list[at].Host = w.To.ID
			put(undo, j.attempts, item, list)
		}
	}
	remove(undo, m.hosts, w.From)
	put(undo, m.hosts, w.To.ID, rules.NormalHost(w.To))
	return nil
}

func stopRow(a *facts.AttemptFacts, w facts.StopAttempt) error {
	a.State, a.Why = facts.Stopping, rules.NormalWhy(w.Why)
	return nil
}
