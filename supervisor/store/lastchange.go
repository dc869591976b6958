package store

import (
	"time"

	"qb/supervisor/job/facts"
)

// ChangeLog knows which jobs a commit changes, so that a list can show what changed since a moment. A job is noted once
// a second at most, however many of its items start and end: the row has the second only. No change may be left out: a
// program that reads the list would never hear of it. The zero value is ready.
type ChangeLog struct {
	second time.Time
	noted  map[facts.JobID]struct{}
}

// Note returns the write that notes the jobs which writes change, none if all were noted in this second. Now must not
// be later than the view of the farm that is made with the same commit.
func (l *ChangeLog) Note(now time.Time, writes []facts.Write) []facts.Write {
	if second := now.Truncate(time.Second); !second.Equal(l.second) || l.noted == nil {
		l.second, l.noted = second, map[facts.JobID]struct{}{}
	}
	var jobs []facts.JobID
	for _, w := range writes {
		id := JobOf(w)
		if id == 0 {
			continue
		}
		if _, known := l.noted[id]; !known {
			l.noted[id] = struct{}{}
			jobs = append(jobs, id)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return []facts.Write{facts.NoteChange{Jobs: jobs, At: l.second}}
}

// JobOf is the job whose row, item counts or instances a write changes, 0 if none.
func JobOf(w facts.Write) facts.JobID {
	switch w := w.(type) {
	case facts.PutJob:
		return w.Job.ID
	case facts.ChangeMarks:
		return w.Job
	case facts.PutAction:
		return w.Order.Job
	case facts.DropAction:
		return w.Job
	case facts.StartAttempt:
		return w.Attempt.Job
	case facts.StopAttempt:
		return w.ID.Job
	case facts.SendAwayAttempt:
		return w.ID.Job
	case facts.ReleaseAttempt:
		return w.ID.Job
	case facts.SuspendAttempt:
		return w.ID.Job
	case facts.RelabelAttempt:
		return w.ID.Job
	case facts.EndAttempt:
		return w.ID.Job
	case facts.ReopenAttempts:
		return w.Job
	}
	return 0
}
