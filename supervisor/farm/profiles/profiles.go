package profiles

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

const (
	// MaxRows is how many profiles are remembered. The owner with the most loses the profile that was used longest ago.
	MaxRows = 10_000
	// MaxLessons is of how many ended jobs a profile remembers the lessons.
	MaxLessons = 8
	// Fresh is how long the lesson of an ended job counts.
	Fresh = 90 * 24 * time.Hour
)

// Profiles are the ones that have a row, and those of which an unfinished job knows something.
type Profiles struct {
	owners  map[string]map[string]*profile
	rows    int
	changed []facts.ProfileKey // rows to be written or deleted
	dirty   map[facts.ProfileKey]bool
}

// profile is what is known of one.
type profile struct {
	row    facts.ProfileFacts
	stored bool // the row is, or will be with the next commit
	live   map[facts.JobID]facts.Lesson
	sum    facts.Estimate // of the live lessons
	stale  bool           // a live lesson became smaller or went: the sum must be rebuilt
}

// New returns the profiles that the rows hold.
func New(rows []facts.ProfileFacts) *Profiles {
	p := &Profiles{owners: map[string]map[string]*profile{}, dirty: map[facts.ProfileKey]bool{}}
	for _, row := range rows {
		of := p.need(row.ProfileKey)
		of.row, of.stored = row, true
		p.rows++
	}
	return p
}

func (p *Profiles) of(key facts.ProfileKey) *profile { return p.owners[key.Owner][key.Name] }

// need is the profile of that key, made if it is not there.
func (p *Profiles) need(key facts.ProfileKey) *profile {
	if of := p.of(key); of != nil {
		return of
	}
	of := &profile{row: facts.ProfileFacts{ProfileKey: key}, live: map[facts.JobID]facts.Lesson{}}
	if p.owners[key.Owner] == nil {
		p.owners[key.Owner] = map[string]*profile{}
	}
	p.owners[key.Owner][key.Name] = of
	return of
}

// Teach takes in what the items of a job that has not ended have taught until now.
func (p *Profiles) Teach(key facts.ProfileKey, l facts.Lesson) {
	if l.Items == 0 && l.Memory == 0 && l.Seconds == 0 {
		return
	}
	of := p.need(key)
	before := of.live[l.Job]
	of.live[l.Job] = l
	of.stale = of.stale || l.Memory < before.Memory || l.Seconds < before.Seconds || l.Items < before.Items
	if !of.stale {
		of.add(&of.sum, l)
		if before != (facts.Lesson{}) {
			of.sum.Jobs -= of.counts(before)
			of.sum.Items -= of.counts(before) * before.Items
		}
	}
}

// Learn takes in what a job that has ended has taught.
func (p *Profiles) Learn(key facts.ProfileKey, l facts.Lesson) {
	if of := p.of(key); of != nil {
		if _, there := of.live[l.Job]; there {
			delete(of.live, l.Job)
			of.stale = true
		}
	}
	if l.Memory == 0 && l.Seconds == 0 {
		p.tidy(key)
		return
	}
	of := p.need(key)
	others := slices.DeleteFunc(slices.Clone(of.row.Lessons), func(o facts.Lesson) bool { return o.Job == l.Job })
	l.EndedAt = facts.RowTime(l.EndedAt)
	others = append(others, l)
	slices.SortFunc(others, func(a, b facts.Lesson) int {
		return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(b.Job, a.Job))
	})
	of.row.Lessons = others[:min(len(others), MaxLessons)]
	if l.EndedAt.After(of.row.At) {
		of.row.At = l.EndedAt
	}
	p.store(key)
}

// store has the profile's row written, and another one's deleted if there are too many.
func (p *Profiles) store(key facts.ProfileKey) {
	if of := p.of(key); !of.stored {
		of.stored = true
		p.rows++
	}
	p.note(key)
	for p.rows > MaxRows {
		p.drop(p.oldest())
	}
}

// drop has the profile's row deleted. What its unfinished jobs know stays.
func (p *Profiles) drop(of *profile) {
	key := of.row.ProfileKey
	of.row, of.stored = facts.ProfileFacts{ProfileKey: key}, false
	of.stale = true
	p.rows--
	p.note(key)
	p.tidy(key)
}

func (p *Profiles) note(key facts.ProfileKey) {
	if !p.dirty[key] {
		p.dirty[key] = true
		p.changed = append(p.changed, key)
	}
}

// tidy forgets a profile that has no row and of which no job knows anything.
func (p *Profiles) tidy(key facts.ProfileKey) {
	if of := p.of(key); of == nil || of.stored || len(of.live) > 0 {
		return
	}
	if delete(p.owners[key.Owner], key.Name); len(p.owners[key.Owner]) == 0 {
		delete(p.owners, key.Owner)
	}
}

// oldest is the row that was used longest ago, of the owner who has the most.
func (p *Profiles) oldest() (found *profile) {
	most, owner := 0, ""
	for name, all := range p.owners {
		n := 0
		for _, of := range all {
			if of.stored {
				n++
			}
		}
		if n > most || n == most && name < owner {
			most, owner = n, name
		}
	}
	for _, of := range p.owners[owner] {
		if of.stored && (found == nil || cmp.Or(of.row.At.Compare(found.row.At),
			cmp.Compare(of.row.Name, found.row.Name)) < 0) {
			found = of
		}
	}
	return found
}

// Changed calls write with each row that has changed since the last call.
func (p *Profiles) Changed(write func(facts.Write)) {
	for _, key := range p.changed {
		if of := p.of(key); of != nil && of.stored {
			write(facts.PutProfile{Profile: of.row})
		} else {
			write(facts.DropProfile{Profile: key})
		}
		delete(p.dirty, key)
	}
	p.changed = p.changed[:0]
}

// counts is 1 if the lesson teaches anything still.
func (of *profile) counts(l facts.Lesson) int {
	if l.Job > of.row.MemoryAfter && l.Memory > 0 || l.Job > of.row.SecondsAfter && l.Seconds > 0 {
		return 1
	}
	return 0
}

// add takes a lesson into an estimate.
func (of *profile) add(e *facts.Estimate, l facts.Lesson) {
	if l.Job > of.row.MemoryAfter {
		e.Memory = max(e.Memory, l.Memory)
	}
	if l.Job > of.row.SecondsAfter {
		e.Seconds = max(e.Seconds, l.Seconds)
	}
	e.Jobs += of.counts(l)
	e.Items += of.counts(l) * l.Items
}

// Estimate is what the profile knows now.
func (p *Profiles) Estimate(now time.Time, key facts.ProfileKey) facts.Estimate {
	of := p.of(key)
	if of == nil {
		return facts.Estimate{}
	}
	return of.estimate(now)
}

func (of *profile) estimate(now time.Time) facts.Estimate {
	if of.stale {
		of.sum, of.stale = facts.Estimate{}, false
		for _, l := range of.live {
			of.add(&of.sum, l)
		}
	}
	e := of.sum
	if e.Jobs > 0 {
		e.Latest = now
	}
	for _, l := range of.row.Lessons {
		if _, again := of.live[l.Job]; again || now.Sub(l.EndedAt) >= Fresh || of.counts(l) == 0 {
			continue
		}
		of.add(&e, l)
		if l.EndedAt.After(e.Latest) {
			e.Latest = l.EndedAt
		}
	}
	if set := of.row.Memory; set > e.Memory {
		e.Memory, e.MemorySet = set, true
	}
	if set := of.row.Seconds; set > e.Seconds {
		e.Seconds, e.SecondsSet = set, true
	}
	if (e.MemorySet || e.SecondsSet) && of.row.At.After(e.Latest) {
		e.Latest = of.row.At
	}
	return e
}

// Profile is a profile that helps the next job.
type Profile struct {
	facts.ProfileKey
	facts.Estimate
	By string // who set or forgot something last, "" for no one
}

// List is all that help the next job, by owner and name; an empty owner or name means all.
func (p *Profiles) List(now time.Time, only facts.ProfileKey) (list []Profile) {
	for _, owner := range slices.Sorted(maps.Keys(p.owners)) {
		if only.Owner != "" && only.Owner != owner {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.owners[owner])) {
			of := p.owners[owner][name]
			if e := of.estimate(now); e.Known() && (only.Name == "" || only.Name == name) {
				list = append(list, Profile{of.row.ProfileKey, e, of.row.By})
			}
		}
	}
	return list
}
