package postgres

import (
	"fmt"
	"maps"
	"slices"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// batch is a list of writes sorted into what few statements can do. Jobs come first, for marks and attempts refer to
// them; then the waves. Of several versions of a job in one batch only the last is written, over the row that the
// first expects; of hosts the last one wins, and of marks what several writes change together.
type batch struct {
	jobs      []jobRow            // new ones expect version 0
	marks     []facts.ChangeMarks // one a job
	orders    []orderWrite
	waves     []wave
	gone      []string // hosts to delete, before others are written
	forgotten []string // those of them whose tokens go along
	hosts     []facts.HostFacts
	events    []facts.EventFacts
	shares    rules.ShareWrites
	profiles  rules.ProfileWrites
	resources rules.ResourceWrites
	breakages rules.BreakageWrites
	answers   []facts.AnswerFacts
	audits    []facts.AuditFacts
	mails     []facts.MailFacts
	changed   []facts.NoteChange
	promise   *facts.PromiseFacts // the last of several
}

// wave holds writes of attempts such that making them kind by kind, in the order of the members, keeps the order of
// the writes on each item. One wave is the rule; an item that starts and ends in one batch needs two. A host's rename
// begins a wave, for what was written of its attempts before is under the old name.
type wave struct {
	renames  []facts.RenameHost
	sentAway []facts.StopAttempt
	suspends []facts.SuspendAttempt
	releases []facts.ReleaseAttempt
	stops    []facts.StopAttempt
	relabels []facts.RelabelAttempt
	ends     []facts.EndAttempt
	reopens  []facts.AttemptID
	starts   []facts.AttemptFacts
}

// The kinds in the order of a wave.
const (
	rankSendAway = iota + 1
	rankSuspend
	rankRelease
	rankStop
	rankRelabel
	rankEnd
	rankReopen
	rankStart
)

type itemKey struct {
	job  facts.JobID
	item facts.ItemNo
}

// sorter remembers where the last write on each thing went.
type sorter struct {
	batch
	last   map[itemKey]struct{ wave, rank int }
	needs  map[facts.JobID]bool // jobs that a write on an attempt or a mark refers to
	jobs   map[facts.JobID]int
	marks  map[facts.JobID]int
	orders map[orderKey]int
	hosts  map[facts.HostID]facts.HostFacts
	floor  int // the first wave that may still be written to
}

func sortWrites(writes []facts.Write) (batch, error) {
	s := sorter{
		last:  make(map[itemKey]struct{ wave, rank int }, len(writes)),
		needs: map[facts.JobID]bool{}, jobs: map[facts.JobID]int{}, marks: map[facts.JobID]int{}, orders: map[orderKey]int{},
		hosts: map[facts.HostID]facts.HostFacts{},
	}
	var payers, ends, starts int
	for _, w := range writes {
		switch w.(type) {
		case facts.ChargeUsage:
			payers++
		case facts.EndAttempt:
			ends++
		case facts.StartAttempt:
			starts++
		}
	}
	s.shares.Usage = make([]facts.UsageFacts, 0, payers)
	s.waves = []wave{{ends: make([]facts.EndAttempt, 0, ends), starts: make([]facts.AttemptFacts, 0, starts)}}
	for _, w := range writes {
		if err := s.add(w); err != nil {
			return batch{}, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.hosts)) {
		s.batch.hosts = append(s.batch.hosts, hostToRow(s.hosts[id]))
	}
	return s.batch, nil
}

func (s *sorter) renameHost(w facts.RenameHost) {
	s.dropHost(w.From)
	s.floor = len(s.waves)
	s.waves = append(s.waves, wave{renames: []facts.RenameHost{w}})
	h := rules.NormalHost(w.To)
	s.hosts[h.ID] = h
}

func (s *sorter) add(w facts.Write) error {
	switch w := w.(type) {
	case facts.PutJob:
		return s.addJob(rules.NormalJob(w.Job))
	case facts.ChangeMarks:
		return s.addMarks(facts.ChangeMarks{Job: w.Job, Remove: rules.NormalMarks(w.Remove), Add: rules.NormalMarks(w.Add)})
	case facts.PutAction:
		return s.addOrder(orderWrite{ActionFacts: rules.NormalOrder(w.Order), fresh: w.Fresh})
	case facts.DropAction:
		return s.addOrder(orderWrite{ActionFacts: facts.ActionFacts{Job: w.Job, Number: w.Number}, gone: true})
	case facts.SendAwayAttempt:
		v := s.wave(w.ID, rankSendAway)
		w.Why = rules.NormalWhy(w.Why)
		v.sentAway = append(v.sentAway, facts.StopAttempt(w))
	case facts.SuspendAttempt, facts.ReleaseAttempt:
		s.addStandstill(w)
	case facts.StopAttempt:
		v := s.wave(w.ID, rankStop)
		w.Why = rules.NormalWhy(w.Why)
		v.stops = append(v.stops, w)
	case facts.RelabelAttempt:
		v := s.wave(w.ID, rankRelabel)
		v.relabels = append(v.relabels, w)
	case facts.EndAttempt:
		v := s.wave(w.ID, rankEnd)
		w.Why, w.EndedAt = rules.NormalWhy(w.Why), rules.Exact(w.EndedAt)
		w.StartedAt = rules.Exact(w.StartedAt)
		v.ends = append(v.ends, w)
	case facts.ReopenAttempts:
		for _, id := range w.Attempts {
			v := s.wave(id, rankReopen)
			v.reopens = append(v.reopens, id)
		}
	case facts.StartAttempt:
		v := s.wave(w.Attempt.AttemptID, rankStart)
		v.starts = append(v.starts, rules.NormalAttempt(w.Attempt))
	case facts.PutHost:
		h := rules.NormalHost(w.Host)
		s.hosts[h.ID] = h
	case facts.RenameHost:
		s.renameHost(w)
	case facts.ForgetHost:
		s.dropHost(w.Host)
		s.forgotten = append(s.forgotten, rules.Clean(string(w.Host)))
	case facts.AddEvent:
		s.events = append(s.events, w.Event)
	case facts.ChargeUsage, facts.PutShare, facts.AddCredit, facts.PutAccount, facts.DropAccount, facts.PutBudget,
		facts.DropBudget, facts.PutPublication:
		return s.shares.Add(w)
	case facts.PutProfile, facts.DropProfile:
		return s.profiles.Add(w)
	case facts.PutResource:
		return s.resources.Add(w)
	case facts.PutBreakage:
		return s.breakages.Add(w)
	case facts.PutPromise:
		s.promise = &w.Promise
	case facts.NoteChange:
		s.changed = append(s.changed, w)
	case facts.AddMail:
		s.mails = append(s.mails, rules.NormalMail(w.Mail))
	case facts.AddAudit:
		s.audits = append(s.audits, w.Audit)
	case facts.PutAnswer:
		return s.addAnswer(w.Answer)
	default:
		return fmt.Errorf("a write of the unknown type %T", w)
	}
	return nil
}

func (s *sorter) addStandstill(w facts.Write) {
	switch w := w.(type) {
	case facts.SuspendAttempt:
		v := s.wave(w.ID, rankSuspend)
		w.At = rules.Exact(w.At)
		v.suspends = append(v.suspends, w)
	case facts.ReleaseAttempt:
		v := s.wave(w.ID, rankRelease)
		w.At, w.Resuming = rules.Exact(w.At), rules.Exact(w.Resuming)
		v.releases = append(v.releases, w)
	}
}

// wave returns the first wave that preserves the order of writes on the attempt's item.
func (s *sorter) wave(id facts.AttemptID, rank int) *wave {
	key := itemKey{id.Job, id.Item}
	at, seen := s.last[key]
	if seen && rank <= at.rank {
		at.wave++
	}
	at.wave = max(at.wave, s.floor)
	if !seen {
		s.needs[id.Job] = true
	}
	at.rank = rank
	s.last[key] = at
	for len(s.waves) <= at.wave {
		s.waves = append(s.waves, wave{})
	}
	return &s.waves[at.wave]
}

func (s *sorter) addJob(j facts.JobFacts) error {
	row := jobToRow(j)
	at, again := s.jobs[j.ID]
	if !again {
		row.Expected = j.Version - 1
		if row.Expected == 0 && s.needs[j.ID] {
			return fmt.Errorf("job %d is added after a write that refers to it", j.ID)
		}
		s.jobs[j.ID] = len(s.batch.jobs)
		s.batch.jobs = append(s.batch.jobs, row)
		return nil
	}
	before := &s.batch.jobs[at]
	if j.Version != before.Version+1 {
		return fmt.Errorf("job %d: version %d does not follow version %d", j.ID, j.Version, before.Version)
	}
	row.Expected = before.Expected
	*before = row
	return nil
}

func (s *sorter) addMarks(w facts.ChangeMarks) error {
	if err := rules.CheckMarks(w); err != nil {
		return err
	}
	s.needs[w.Job] = s.needs[w.Job] || len(w.Add) > 0
	at, again := s.marks[w.Job]
	if !again {
		s.marks[w.Job] = len(s.batch.marks)
		s.batch.marks = append(s.batch.marks, w)
		return nil
	}
	sum := &s.batch.marks[at]
	added := make(map[facts.ItemNo]facts.Mark, len(sum.Add))
	for _, m := range sum.Add {
		added[m.First] = m
	}
	for _, m := range w.Remove {
		switch was, ok := added[m.First]; {
		case !ok:
			sum.Remove = append(sum.Remove, m)
		case was != m:
			return fmt.Errorf("job %d: mark %d-%d is taken away, which is not as it was added", w.Job, m.First, m.Last)
		}
		delete(added, m.First)
	}
	sum.Add = slices.DeleteFunc(sum.Add, func(m facts.Mark) bool {
		_, stays := added[m.First]
		return !stays
	})
	sum.Add = append(sum.Add, w.Add...)
	return nil
}

// dropHost deletes a host's row, whatever was to be written to it before.
func (s *sorter) dropHost(id facts.HostID) {
	id = rules.Clean(id)
	s.batch.gone = append(s.batch.gone, string(id))
	delete(s.hosts, id)
}
