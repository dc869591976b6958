package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qb/supervisor/job/facts"
)

func at(seconds float64) time.Time {
	return time.Unix(1000, 0).UTC().Add(time.Duration(seconds * float64(time.Second)))
}

func id(job facts.JobID) facts.AttemptID { return facts.AttemptID{Job: job, Number: 1} }

// Each kind of write that changes a job's row, counts or instances notes it; others note nothing.
func TestWhatIsAChange(t *testing.T) {
	writes := []facts.Write{
		facts.PutJob{Job: facts.JobFacts{ID: 1}}, facts.ChangeMarks{Job: 2}, facts.PutAction{Order: facts.ActionFacts{Job: 3}},
		facts.DropAction{Job: 4},
		facts.StartAttempt{Attempt: facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: id(5)}}}, facts.StopAttempt{ID: id(6)},
		facts.SendAwayAttempt{ID: id(7)}, facts.SuspendAttempt{ID: id(7)}, facts.ReleaseAttempt{ID: id(7)},
		facts.RelabelAttempt{ID: id(8)}, facts.EndAttempt{ID: id(9)}, facts.ReopenAttempts{Job: 10},
		facts.PutHost{}, facts.PutAnswer{}, facts.AddAudit{}, facts.AddEvent{Event: facts.EventFacts{Job: 11}},
		facts.RenameHost{},
		facts.ForgetHost{}, facts.ChargeUsage{}, facts.PutShare{}, facts.AddCredit{},
	}
	var l ChangeLog
	want := []facts.Write{facts.NoteChange{Jobs: []facts.JobID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, At: at(0)}}
	if diff := cmp.Diff(want, l.Note(at(0.4), writes)); diff != "" {
		t.Error(diff)
	}
}

// A job is noted once in a second, and again in the next.
func TestOnceASecond(t *testing.T) {
	ends := func(jobs ...facts.JobID) (writes []facts.Write) {
		for _, job := range jobs {
			writes = append(writes, facts.EndAttempt{ID: id(job)})
		}
		return writes
	}
	var l ChangeLog
	for _, tc := range []struct {
		at     float64
		writes []facts.Write
		want   []facts.Write
	}{
		{0.1, ends(1, 1, 2), []facts.Write{facts.NoteChange{Jobs: []facts.JobID{1, 2}, At: at(0)}}},
		{0.2, ends(2, 1), nil},
		{0.9, ends(2, 3), []facts.Write{facts.NoteChange{Jobs: []facts.JobID{3}, At: at(0)}}},
		{0.9, nil, nil},
		{1.0, ends(2), []facts.Write{facts.NoteChange{Jobs: []facts.JobID{2}, At: at(1)}}},
	} {
		if diff := cmp.Diff(tc.want, l.Note(at(tc.at), tc.writes)); diff != "" {
			t.Errorf("at %v: %s", tc.at, diff)
		}
	}
}
