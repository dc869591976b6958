package rules

import (
	"fmt"
	"math"
	"slices"

	"qb/supervisor/job/facts"
)

// maxLessons is the most of a row.
const maxLessons = 8

// ProfileWrite is what becomes of a profile's row.
type ProfileWrite struct {
	facts.ProfileFacts
	Gone bool // it is deleted
}

// ProfileWrites are the profile writes of a batch. The last write of each profile wins.
type ProfileWrites struct {
	LastOf[facts.ProfileKey, ProfileWrite]
}

// Add takes in one of them; it is refused if it cannot be.
func (p *ProfileWrites) Add(w facts.Write) error {
	switch w := w.(type) {
	case facts.PutProfile:
		return p.addPut(w)
	case facts.DropProfile:
		key := cleanKey(w.Profile)
		p.Put(key, ProfileWrite{ProfileFacts: facts.ProfileFacts{ProfileKey: key}, Gone: true})
		return nil
	}
	return fmt.Errorf("a write of the unknown type %T", w)
}

func (p *ProfileWrites) addPut(w facts.PutProfile) error {
	row := w.Profile
	row.ProfileKey = cleanKey(row.ProfileKey)
	row.By = Clean(row.By)
	row.At = Exact(row.At)
	row.Lessons = append([]facts.Lesson{}, row.Lessons...)
	for n := range row.Lessons {
		row.Lessons[n].EndedAt = Exact(row.Lessons[n].EndedAt)
	}
	wrong := func(l facts.Lesson) bool {
		return l.Job <= 0 || l.Items < 0 || l.Memory < 0 || !(l.Seconds >= 0) || math.IsInf(l.Seconds, 0) ||
			l.EndedAt.IsZero()
	}
	if row.At.IsZero() || len(row.Lessons) > maxLessons || row.Owner == "" || row.Name == "" || row.Memory < 0 ||
		!(row.Seconds >= 0) || math.IsInf(row.Seconds, 0) || slices.ContainsFunc(row.Lessons, wrong) {
		return fmt.Errorf("profile %q of %q cannot be %+v", row.Name, row.Owner, row)
	}
	p.Put(row.ProfileKey, ProfileWrite{ProfileFacts: row})
	return nil
}

func cleanKey(k facts.ProfileKey) facts.ProfileKey {
	return facts.ProfileKey{Owner: Clean(k.Owner), Name: Clean(k.Name)}
}
