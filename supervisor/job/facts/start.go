package facts

import (
	"fmt"
	"time"

	"qb/internal/units"
)

// StartsAt is the time before which nothing of the job starts; zero: none.
func (j *JobFacts) StartsAt() time.Time {
	if j.StartAt == "" {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, j.StartAt) // as FixStart wrote it
	return at
}

// mostYearsAhead bounds the start of a job. A time span of Go ends at 292 years.
const mostYearsAhead = 100

// FixStart makes the start absolute that a request asks for.
func (j *JobFacts) FixStart(now time.Time) error {
	if j.StartAt == "" {
		return nil
	}
	at, err := units.ParseMoment(j.StartAt, now)
	if err == nil && at.After(now.AddDate(mostYearsAhead, 0, 0)) {
		return fmt.Errorf("start %s is more than %d years ahead; block the job to hold it", Moment(at), mostYearsAhead)
	}
	j.StartAt = Moment(at)
	return err
}
