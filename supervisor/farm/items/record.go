package items

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// Prepared is a job with everything that happened to it. The farm takes it in once: its Items are the farm's from then
// on.
type Prepared struct {
	Job       facts.JobFacts
	Items     *Items
	Compacted bool
	Live      []facts.AttemptFacts
	Orders    []facts.ActionFacts
	Late      map[facts.ItemNo]time.Time // latest ends of items, if there are orders

	before facts.AttemptFacts // the last one added; it may be the last of its item
}

// Prepare puts a job together.
func Prepare(r facts.JobRecord) (*Prepared, error) {
	p := &Prepared{}
	if err := p.Begin(r); err != nil {
		return nil, err
	}
	for _, d := range r.Done { // first, so that it is known of each attempt whether it is the last of its item
		if err := p.Items.number(d); err != nil {
			return nil, fmt.Errorf("job %d: %w", r.Job.ID, err)
		}
	}
	for _, n := range byItem(r.Attempts) {
		if err := p.Add(r.Attempts[n]); err != nil {
			return nil, err
		}
	}
	for _, d := range r.Done {
		p.Items.takeUpDone(d)
	}
	p.Finish()
	return p, nil
}

// byItem are the places of attempts by item and number: to move the attempts themselves, of which there may be a
// million, takes longer.
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
	s := New(a)
	for _, m := range r.Marks {
		if m.First < 0 || int(m.Last) >= a.Len() || m.First > m.Last || m.Step < 1 {
			return fmt.Errorf("job %d: mark %d-%dx%d lies outside its %d items", r.Job.ID, m.First, m.Last, m.Step, a.Len())
		}
		for n := range Each([]agenda.Span{m.Span()}) {
			s.Tally.Set(int(n), m.Kind.State())
		}
	}
	s.Marks = slices.Clone(r.Marks)
	sortMarks(s.Marks)
	*p = Prepared{Job: r.Job, Items: s, Compacted: r.Compacted, Orders: r.Orders}
	if len(r.Orders) > 0 {
		p.Late = map[facts.ItemNo]time.Time{}
	}
	return nil
}

// Add takes in the next attempt, by item and number.
func (p *Prepared) Add(a facts.AttemptFacts) error {
	if before := p.before; before.Number > 0 && before.Item != a.Item {
		p.last()
	}
	p.before = a
	if p.Late != nil && a.EndedAt.After(p.Late[a.Item]) {
		p.Late[a.Item] = a.EndedAt
	}
	if err := p.Items.takeUpAttempt(a); err != nil {
		return fmt.Errorf("job %d: %w", p.Job.ID, err)
	}
	return nil
}

// Finish says that there are no more attempts.
func (p *Prepared) Finish() {
	if p.before.Number > 0 {
		p.last()
	}
	p.Items.sortPauses()
}

// last takes in what only the last attempt of an item decides, if the attempt that was added last is that.
func (p *Prepared) last() {
	switch {
	case p.before.State.Live():
		p.Live = append(p.Live, p.before)
	case p.before.Number == p.Items.LastAttempt(p.before.Item):
		p.Items.restore(&p.Job, p.before)
	}
}

// number notes which attempts were the last of their items.
func (s *Items) number(d facts.DoneFacts) error {
	if len(d.Wall) != len(d.Items) || len(d.Peak) != len(d.Items) {
		return fmt.Errorf("%d items are done, with %d times and %d peaks", len(d.Items), len(d.Wall), len(d.Peak))
	}
	for _, item := range d.Items {
		if item < 0 || int(item) >= s.Entries.Len() {
			return fmt.Errorf("attempt %d of item %d lies outside its %d items", d.Number, item, s.Entries.Len())
		}
		s.setLastAttempt(item, d.Number)
	}
	return nil
}

// takeUpDone adds attempts of which each is the last of its item, hence after all others. On which hosts they ran does
// not matter: evidence that others do what a host fails is only what ends under this term.
func (s *Items) takeUpDone(d facts.DoneFacts) {
	if s.FirstStart.IsZero() || d.StartedAt.Before(s.FirstStart) {
		s.FirstStart = d.StartedAt
	}
	for n, item := range d.Items {
		s.Memory.Learn(item, facts.Done, "", 0, d.Peak[n])
		s.Times.Add(d.Wall[n])
		s.doneWall += d.Wall[n]
		delete(s.unlucky, item)
		delete(s.Trouble.LostOn, item)
		delete(s.lapsed, item)
		s.Tally.Set(int(item), agenda.Complete)
	}
	s.DoneCount += len(d.Items)
}

// takeUpAttempt adds an attempt that is not live, except for what only the last of an item decides.
func (s *Items) takeUpAttempt(a facts.AttemptFacts) error {
	if a.Item < 0 || int(a.Item) >= s.Entries.Len() {
		return fmt.Errorf("attempt %d of item %d lies outside its %d items", a.Number, a.Item, s.Entries.Len())
	}
	s.setLastAttempt(a.Item, a.Number)
	if s.FirstStart.IsZero() || a.StartedAt.Before(s.FirstStart) {
		s.FirstStart = a.StartedAt
	}
	s.Memory.Learn(a.Item, a.State, a.Reason, a.Memory, a.Peak)
	if a.State == facts.Done || a.State == facts.Superseded {
		s.Times.Add(a.Wall)
	}
	s.countEnd(a.Item, a.State, a.Reason, a.Wall)
	if !a.State.Live() {
		delete(s.lapsed, a.Item)
		s.NoteLapsed(&a)
	}
	switch {
	case a.State == facts.Done:
		delete(s.Trouble.LostOn, a.Item)
	case !a.State.Live() && !a.Reason.ForMemory() && !a.Reason.ForLack() && !a.Reason.ForLicence():
		s.Note(a.Host, facts.EndAttempt{ID: a.AttemptID, State: a.State, Why: a.Why}, a.EndedAt)
	}
	if a.Reason == facts.ReasonMigrated && a.EndedAt.After(s.Trouble.Left[a.Host]) {
		if s.Trouble.Left == nil {
			s.Trouble.Left = map[facts.HostID]time.Time{}
		}
		s.Trouble.Left[a.Host] = a.EndedAt
	}
	if a.Again == facts.ByOrder {
		delete(s.unlucky, a.Item)
		delete(s.Failures, a.Item)
		delete(s.Preempted, a.Item)
	}
	return nil
}

// restore puts an item where its last attempt, which is not live, left it.
func (s *Items) restore(j *facts.JobFacts, a facts.AttemptFacts) {
	switch {
	case j.Pauses(a.State, a.Again, a.Why) && s.Tally.State(int(a.Item)) == agenda.Pending:
		s.strike(a)
		s.pause(a.Item, a.Number, a.EndedAt, a.Params)
	case a.Again == facts.ByItself:
		s.strike(a)
	case a.State == facts.Done:
		s.Tally.Set(int(a.Item), agenda.Complete)
	case a.Again == facts.Never && a.State == facts.Killed:
		s.Tally.Set(int(a.Item), agenda.Killed)
	case a.Again == facts.Never && a.State != facts.Superseded:
		s.strike(a)
		s.fail(a.Item, facts.FailureOf(a.Reason, a.ExitCode, a.Signal))
	}
}

// strike counts the last attempt of an item against its host, if it failed. What the host has done since is not known.
func (s *Items) strike(a facts.AttemptFacts) {
	if a.State == facts.Failed && !a.Reason.ForMemory() && !a.Reason.ForLack() && !a.Reason.ForLicence() {
		s.Strikes.Failed(a.Host, a.Item, a.EndedAt)
	}
}
