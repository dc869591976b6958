package facts

import (
	"time"

	"qb/units"
)

// StartsAt is the time before which nothing of the job starts; zero: none.
func (j *JobFacts) StartsAt() time.Time {
	if j.StartAt == "" {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, j.StartAt) // as FixStart wrote it
	return at
}

// FixStart makes the start absolute that a request asks for.
func (j *JobFacts) FixStart(now time.Time) error {
	if j.StartAt == "" {
		return nil
	}
	at, err := units.ParseMoment(j.StartAt, now)
	j.StartAt = Moment(at)
	return err
}
