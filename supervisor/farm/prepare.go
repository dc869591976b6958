package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// Prepared is a job with everything that happened to it, put together outside of the farm: of a million attempts that
// takes seconds, which the farm's loop does not have. The farm takes it in once, in no time.
type Prepared struct {
	job       *job // without its needs, which the farm knows
	compacted bool
	live      []facts.AttemptFacts
	orders    []facts.OrderFacts
	late      map[facts.ItemNo]time.Time // latest ends of items, if there are orders
	before    facts.AttemptFacts         // the last one added; it may be the last of its item
}

// Prepare puts a job together.
func Prepare(r facts.JobRecord) (*Prepared, error) {
	p := &Prepared{}
	if err := p.Begin(r); err != nil {
		return nil, err
	}
	for _, n := range byItem(r.Attempts) {
		if err := p.Add(r.Attempts[n]); err != nil {
			return nil, err
		}
	}
	for _, d := range r.Done {
		if err := p.job.takeUpDone(d); err != nil {
			return nil, err
		}
	}
	p.Finish()
	return p, nil
}

// byItem are the places of attempts by item and number: to move the attempts themselves, of which there may be a million,
// takes longer.
func byItem(attempts []facts.AttemptFacts) []int32 {
	places := make([]int32, len(attempts))
	for n := range places {
		places[n] = int32(n)
	}
	slices.SortFunc(places, func(x, y int32) int {
		a, b := &attempts[x], &attempts[y]
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Number, b.Number))
	})
	return places
}

// Begin takes in a job whose attempts are then given to Add, and Finish called. What was taken in before is dropped.
func (p *Prepared) Begin(r facts.JobRecord) error {
	a, err := agenda.Parse(r.Job.Agenda, 0)
	if err != nil {
		return fmt.Errorf("job %d cannot be read: %w", r.Job.ID, err)
	}
	j := newJob(r.Job, a, fit.Needs{})
	for _, m := range r.Marks {
		if m.First < 0 || int(m.Last) >= j.agenda.Len() || m.First > m.Last || m.Step < 1 {
			return fmt.Errorf("job %d: mark %d-%dx%d lies outside its %d items", j.ID, m.First, m.Last, m.Step, j.agenda.Len())
		}
		for n := range each([]agenda.Span{m.Span()}) {
			j.tally.Set(int(n), stateOf(m.Kind))
		}
	}
	j.marks = slices.Clone(r.Marks)
	sortMarks(j.marks)
	*p = Prepared{job: j, compacted: r.Compacted, orders: r.Orders}
	if len(r.Orders) > 0 {
		p.late = map[facts.ItemNo]time.Time{}
	}
	return nil
}

// Add takes in the next attempt, by item and number.
func (p *Prepared) Add(a facts.AttemptFacts) error {
	if before := p.before; before.Number > 0 && before.Item != a.Item {
		p.last()
	}
	p.before = a
	if p.late != nil && a.EndedAt.After(p.late[a.Item]) {
		p.late[a.Item] = a.EndedAt
	}
	return p.job.takeUpAttempt(a)
}

// Finish says that there are no more attempts.
func (p *Prepared) Finish() {
	if p.before.Number > 0 {
		p.last()
	}
}

// last takes the attempt that was added last for the last of its item.
func (p *Prepared) last() {
	if p.before.State.Live() {
		p.live = append(p.live, p.before)
	} else {
		p.job.settle(p.before)
	}
}

// takeUpDone adds attempts of which each is the last of its item, hence after all others. On which hosts they ran does
// not matter: evidence that others do what a host fails is only what ends under this term.
func (j *job) takeUpDone(d facts.DoneFacts) error {
	if len(d.Wall) != len(d.Items) || len(d.Peak) != len(d.Items) {
		return fmt.Errorf("job %d: %d items are done, with %d times and %d peaks", j.ID, len(d.Items), len(d.Wall), len(d.Peak))
	}
	if j.startedAt.IsZero() || d.StartedAt.Before(j.startedAt) {
		j.startedAt = d.StartedAt
	}
	for n, item := range d.Items {
		if item < 0 || int(item) >= j.agenda.Len() {
			return fmt.Errorf("job %d: attempt %d of item %d lies outside its %d items", j.ID, d.Number, item, j.agenda.Len())
		}
		j.setLastAttempt(item, d.Number)
		j.book.learn(item, facts.Done, "", 0, d.Peak[n])
		j.share.times.Add(d.Wall[n])
		j.doneWall += d.Wall[n]
		delete(j.trouble.lostOn, item)
		j.tally.Set(int(item), agenda.Complete)
	}
	j.doneCount += len(d.Items)
	return nil
}

// takeUpAttempt adds an attempt that is not live, but for what only the last of an item decides.
func (j *job) takeUpAttempt(a facts.AttemptFacts) error {
	if a.Item < 0 || int(a.Item) >= j.agenda.Len() {
		return fmt.Errorf("job %d: attempt %d of item %d lies outside its %d items", j.ID, a.Number, a.Item, j.agenda.Len())
	}
	j.setLastAttempt(a.Item, a.Number)
	if j.startedAt.IsZero() || a.StartedAt.Before(j.startedAt) {
		j.startedAt = a.StartedAt
	}
	j.book.learn(a.Item, a.State, a.Reason, a.Memory, a.Peak)
	if a.State == facts.Done || a.State == facts.Superseded {
		j.share.times.Add(a.Wall)
	}
	switch a.State {
	case facts.Done:
		j.doneWall += a.Wall
		j.doneCount++
	case facts.Failed:
		if !a.Reason.OutOfMemory() {
			j.failures[a.Item]++
		}
	case facts.Preempted:
		j.preempted[a.Item]++
	}
	switch {
	case a.State == facts.Done:
		delete(j.trouble.lostOn, a.Item)
	case !a.State.Live() && !a.Reason.ForMemory():
		j.note(a.Host, facts.EndAttempt{ID: a.AttemptID, State: a.State, Why: a.Why}, a.EndedAt)
	}
	if a.Again == facts.ByOrder {
		delete(j.failures, a.Item)
		delete(j.preempted, a.Item)
	}
	return nil
}

// settle puts an item where its last attempt, which is not live, left it.
func (j *job) settle(a facts.AttemptFacts) {
	switch {
	case a.State == facts.Done:
		j.tally.Set(int(a.Item), agenda.Complete)
	case a.Again == facts.Never && a.State == facts.Killed:
		j.tally.Set(int(a.Item), agenda.Killed)
	case a.Again == facts.Never && a.State != facts.Superseded:
		j.tally.Set(int(a.Item), agenda.Failed)
	}
}

// stateOf is the state of an item under a mark.
func stateOf(k facts.MarkKind) agenda.State {
	switch k {
	case facts.MarkKilled:
		return agenda.Killed
	case facts.MarkBlocked:
		return agenda.Blocked
	case facts.MarkFailed:
		return agenda.Failed
	}
	return agenda.Complete
}
