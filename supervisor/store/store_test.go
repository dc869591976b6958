package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qb/agenda"
	"qb/supervisor/farm"
)

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)
)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func ptr[T any](v T) *T { return &v }

// sampleJob is an active job of ten items.
func sampleJob(id farm.JobID) farm.JobFacts {
	return farm.JobFacts{ID: id, Version: 1, Name: "beauty", User: "ann", Priority: 5, Cluster: "/", CPUs: 2,
		Agenda: agenda.Spec{Range: "1-10"}, State: farm.Active, Command: []string{"sleep", "1"}, SubmittedAt: at(0)}
}

func changed(j farm.JobFacts, change func(*farm.JobFacts)) farm.JobFacts {
	change(&j)
	return j
}

func attemptID(job farm.JobID, item farm.ItemNo, number int) farm.AttemptID {
	return farm.AttemptID{Job: job, Item: item, Number: number}
}

func started(id farm.AttemptID, when time.Time) farm.AttemptFacts {
	return farm.AttemptFacts{AttemptID: id, Host: "h1", Boot: "boot", StateID: "state", Instance: 3, Kind: farm.Secondary,
		Owner: "ann", Slots: 1, Memory: 1 << 20, State: farm.Running, StartedAt: when,
		Holds: map[string]int64{"host.gpus": 1, "license.nuke": 2}, Devices: []int{0, 3}}
}

func start(job farm.JobID, item farm.ItemNo, number int) farm.StartAttempt {
	return farm.StartAttempt{Attempt: started(attemptID(job, item, number), at(1))}
}

func stop(job farm.JobID, item farm.ItemNo, number int) farm.StopAttempt {
	return farm.StopAttempt{ID: attemptID(job, item, number), Why: farm.Why{Reason: farm.ReasonKilled, Cause: "killed by u1"}}
}

func leave(job farm.JobID, item farm.ItemNo, number int) farm.LeaveAttempt {
	return farm.LeaveAttempt{ID: attemptID(job, item, number), Why: farm.Why{Reason: farm.ReasonSentAway, Cause: "by u1"}}
}

func ended(job farm.JobID, item farm.ItemNo, number int, state farm.AttemptState, again farm.Again) farm.EndAttempt {
	end := farm.EndAttempt{ID: attemptID(job, item, number), From: farm.Running, State: state, Again: again, EndedAt: at(2), Wall: 1}
	if state != farm.Done {
		end.Reason = farm.ReasonExit
	}
	return end
}

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.SortSlices(func(a, b farm.AttemptFacts) bool {
		return a.Item < b.Item || a.Item == b.Item && a.Number < b.Number
	}), cmpopts.SortSlices(func(a, b farm.DoneFacts) bool { return a.Number < b.Number }), cmp.Transformer("done", byItem), cmp.AllowUnexported(doneByItem{}), cmpopts.SortSlices(func(a, b farm.JobRecord) bool { return a.Job.ID < b.Job.ID }))
}

type doneByItem struct {
	number    int
	startedAt time.Time
	items     map[farm.ItemNo][2]float64 // wall and peak
}

func byItem(d farm.DoneFacts) doneByItem {
	items := map[farm.ItemNo][2]float64{}
	for n, item := range d.Items {
		items[item] = [2]float64{d.Wall[n], float64(d.Peak[n])}
	}
	return doneByItem{d.Number, d.StartedAt, items}
}

// Everything that was committed comes back, member by member.
func TestFactsSurvive(t *testing.T) {
	full := farm.JobFacts{
		ID: 7, Submission: "token", Version: 1, Name: "näme\n", User: "ann", Priority: 5, Cluster: "/vfx", CPUs: 2, MaxCPUs: ptr(-1),
		Agenda:    agenda.Spec{Range: "1-100x5,last", Chunk: 2, Order: agenda.Reverse, Padding: 4},
		RetryWork: 3, Dependency: "900", WaitFor: []farm.Link{{End: "complete", Job: 3}}, State: farm.Blocked, BlockedBy: "ann",
		Command: []string{"render", "-o", "out", ""}, Shell: true, Cwd: "/tmp", Env: map[string]string{"A": "1", "B": ""},
		Umask: ptr(0o22), PGrp: 6, Hosts: []string{"h1"}, OmitHosts: []string{"h2"}, Groups: []string{"g"}, OmitGroups: []string{"x", "y"},
		Requirements: "host.memory > 4", Reservations: "host.processors=1", Restrictions: "/a/*", HostOrder: "+host.x", TimeLimit: 60, AgendaTimeLimit: 7, Flags: []string{"auto"}, SubmittedAt: at(0),
	}
	host := farm.HostFacts{ID: "h1", MachineID: "m", Boot: "b", StateID: "s", Slots: 8, Memory: 1 << 34, Cluster: "/",
		Groups: []string{"g"}, Properties: map[string]string{"os": "linux"}, Resources: map[string]int{"license.x": 2},
		LockedBy: "ann", LockReason: "dust", SeenAt: at(5)}
	marks := []farm.Mark{{First: 3, Last: 5, Step: 1, Kind: farm.MarkKilled, By: "ann", At: at(4)}, {First: 7, Last: 7, Step: 1, Kind: farm.MarkBlocked, By: "bob", At: at(5)}}
	live := started(attemptID(7, 0, 2), at(3))
	dead := started(attemptID(7, 0, 1), at(1))
	dead.State, dead.Again, dead.ExitCode, dead.Signal = farm.Failed, farm.ByItself, ptr(3), ptr(9)
	dead.Why = farm.Why{Reason: farm.ReasonTimeLimit, Cause: "too long", Params: farm.Params{
		By: "bob", Host: "h1", Job: 3, User: "ann", Share: "equally", Outcome: "odd", Option: "timelimit", Limit: 1 << 60, Earlier: true, Seconds: 0.1, Largest: 1, Offer: 2}}
	dead.Wall, dead.CPU, dead.Peak, dead.EndedAt = 1.5, 1.25, 1<<30, at(2.5)
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		if diff := diff(farm.Facts{NextJob: 1}, load(t, term)); diff != "" {
			t.Errorf("an empty store holds %s", diff)
		}
		commit(t, term, farm.PutHost{Host: farm.HostFacts{ID: "h1"}}, farm.PutJob{Job: full}, farm.ChangeMarks{Job: 7, Add: marks},
			farm.StartAttempt{Attempt: started(dead.AttemptID, dead.StartedAt)},
			farm.EndAttempt{ID: dead.AttemptID, From: farm.Running, State: dead.State, Again: dead.Again, Why: dead.Why,
				ExitCode: dead.ExitCode, Signal: dead.Signal, Wall: dead.Wall, CPU: dead.CPU, Peak: dead.Peak, EndedAt: dead.EndedAt},
			farm.StartAttempt{Attempt: live}, farm.PutHost{Host: host})
		want := farm.JobRecord{Job: full, Marks: marks, Attempts: []farm.AttemptFacts{dead, live}}
		got := load(t, term)
		if diff := diff(farm.Facts{NextJob: 8, Jobs: []farm.JobRecord{want}, Hosts: []farm.HostFacts{host}}, got); diff != "" {
			t.Errorf("loaded facts (-want +got):\n%s", diff)
		}
		if diff := diff(&want, recordOf(t, s.Reader, 7)); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		if got := recordOf(t, s.Reader, 8); got != nil {
			t.Errorf("record of no job: %+v", got)
		}
	})
}

// A finished job costs the next term nothing, but its number is not given again.
func TestFinalJobsAreNotLoaded(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		commit(t, term, farm.PutJob{Job: sampleJob(1)}, farm.PutJob{Job: sampleJob(2)}, start(1, 0, 1), start(2, 0, 1),
			ended(1, 0, 1, farm.Done, farm.Never),
			farm.PutJob{Job: changed(sampleJob(2), func(j *farm.JobFacts) {
				j.Version, j.State, j.FinishedAt = 2, farm.KilledJob, at(3)
			})})
		facts := load(t, term)
		if facts.NextJob != 3 || len(facts.Jobs) != 1 || facts.Jobs[0].Job.ID != 1 || len(facts.Jobs[0].Done) != 1 {
			t.Errorf("loaded %+v", facts)
		}
	})
}

// What happens to one item in one batch happens in the batch's order.
func TestOrderWithinABatch(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		stopped := ended(1, 0, 2, farm.Preempted, farm.ByItself)
		stopped.From, stopped.Why = farm.Stopping, farm.Why{Reason: farm.ReasonPrimaryWaits, Cause: "for job 2"}
		commit(t, term, farm.PutJob{Job: sampleJob(1)},
			farm.PutJob{Job: changed(sampleJob(1), func(j *farm.JobFacts) { j.Version, j.Name = 2, "renamed" })},
			start(1, 0, 1), ended(1, 0, 1, farm.Failed, farm.ByItself),
			start(1, 0, 2), leave(1, 0, 2), farm.RelabelAttempt{ID: attemptID(1, 0, 2), Kind: farm.Primary},
			stop(1, 0, 2), stop(1, 0, 2), stopped,
			start(1, 0, 3), ended(1, 0, 3, farm.Done, farm.Never),
			farm.ReopenAttempts{Job: 1, Attempts: []farm.AttemptID{attemptID(1, 0, 3)}},
			farm.ReopenAttempts{Job: 1, Attempts: []farm.AttemptID{attemptID(1, 0, 3)}}, start(1, 0, 4),
			farm.ChangeMarks{Job: 1, Add: []farm.Mark{{First: 5, Last: 9, Step: 1, Kind: farm.MarkKilled}}}, farm.ChangeMarks{Job: 1, Remove: []farm.Mark{{First: 5, Last: 9, Step: 1, Kind: farm.MarkKilled}}})
		commit(t, term) // nothing is nothing
		r := recordOf(t, s.Reader, 1)
		if r.Job.Name != "renamed" || r.Job.Version != 2 || len(r.Marks) != 0 {
			t.Errorf("job %+v, marks %+v", r.Job, r.Marks)
		}
		want := []farm.AttemptState{farm.Failed, farm.Preempted, farm.Superseded, farm.Running}
		for i, a := range must(s.Attempts(ctx, 1, farm.AttemptID{}, 0))(t) {
			if a.State != want[i] || a.Number != i+1 {
				t.Errorf("attempt %d is %s, want %s", a.Number, a.State, want[i])
			}
		}
	})
}

// A write on a row that is not as expected changes nothing at all and ends the term.
func TestSurprisesEndTheTerm(t *testing.T) {
	v2 := changed(sampleJob(1), func(j *farm.JobFacts) { j.Version = 2 })
	bad := map[string][]farm.Write{
		"a job that exists":                {farm.PutJob{Job: sampleJob(1)}},
		"a job at another version":         {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.Version = 3 })}},
		"a job that does not exist":        {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.ID = 9 })}},
		"a final job without its time":     {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.State = farm.Complete })}},
		"an active job with one":           {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.FinishedAt = at(9) })}},
		"priority 0":                       {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.Priority = 0 })}},
		"cpus 0":                           {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.CPUs = 0 })}},
		"an unknown state":                 {farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.State = "sleepy" })}},
		"a submission that made a job":     {farm.PutJob{Job: changed(sampleJob(2), func(j *farm.JobFacts) { j.Submission = "once" })}},
		"versions with a gap":              {farm.PutJob{Job: v2}, farm.PutJob{Job: changed(v2, func(j *farm.JobFacts) { j.Version = 4 })}},
		"two live attempts":                {start(1, 1, 2)},
		"the same attempt twice":           {start(1, 5, 1), start(1, 5, 1)},
		"an attempt number with a gap":     {start(1, 5, 2)},
		"after a final end":                {start(1, 2, 2)},
		"after done":                       {start(1, 3, 2)},
		"an attempt of no job":             {start(9, 0, 1)},
		"ending what is not there":         {ended(1, 5, 1, farm.Done, farm.Never)},
		"ending what has ended":            {ended(1, 3, 1, farm.Done, farm.Never)},
		"ending twice":                     {ended(1, 1, 1, farm.Done, farm.Never), ended(1, 1, 1, farm.Done, farm.Never)},
		"ending from another state":        {changedEnd(func(w *farm.EndAttempt) { w.From = farm.Stopping })},
		"ending without a time":            {changedEnd(func(w *farm.EndAttempt) { w.EndedAt = time.Time{} })},
		"ending as running":                {changedEnd(func(w *farm.EndAttempt) { w.State = farm.Stopping })},
		"done, and to run again":           {changedEnd(func(w *farm.EndAttempt) { w.State, w.Again, w.Why = farm.Done, farm.ByItself, farm.Why{} })},
		"stopping what has ended":          {stop(1, 3, 1)},
		"sending away what has ended":      {leave(1, 3, 1)},
		"sending away what stops":          {stop(1, 1, 1), leave(1, 1, 1)},
		"stopping without a reason":        {farm.StopAttempt{ID: attemptID(1, 1, 1)}},
		"failing without a reason":         {changedEnd(func(w *farm.EndAttempt) { w.State, w.Why = farm.Failed, farm.Why{} })},
		"a sentence without a reason":      {changedEnd(func(w *farm.EndAttempt) { w.State, w.Why = farm.Done, farm.Why{Cause: "killed by u1"} })},
		"relabelling what has ended":       {farm.RelabelAttempt{ID: attemptID(1, 3, 1)}},
		"reopening a live one":             {farm.ReopenAttempts{Job: 1, Attempts: []farm.AttemptID{attemptID(1, 1, 1)}}},
		"reopening what is not there":      {farm.ReopenAttempts{Job: 1, Attempts: []farm.AttemptID{attemptID(1, 5, 1)}}},
		"reopening not the latest":         {start(1, 4, 2), ended(1, 4, 2, farm.Done, farm.Never), farm.ReopenAttempts{Job: 1, Attempts: []farm.AttemptID{attemptID(1, 4, 1)}}},
		"two marks at one item":            {farm.ChangeMarks{Job: 1, Add: []farm.Mark{{First: 1, Last: 5, Step: 1, Kind: farm.MarkKilled}, {First: 1, Last: 1, Step: 1, Kind: farm.MarkBlocked}}}},
		"a mark whose steps miss its last": {farm.ChangeMarks{Job: 1, Add: []farm.Mark{{First: 1, Last: 4, Step: 2, Kind: farm.MarkKilled}}}},
		"a mark that is not there goes":    {farm.ChangeMarks{Job: 1, Remove: []farm.Mark{{First: 1, Last: 5, Step: 1, Kind: farm.MarkKilled}}}},
		"a mark of an unknown kind":        {farm.ChangeMarks{Job: 1, Add: []farm.Mark{{First: 1, Last: 5, Step: 1, Kind: "odd"}}}},
		"marks of no job":                  {farm.ChangeMarks{Job: 9, Add: []farm.Mark{{First: 1, Last: 5, Step: 1, Kind: farm.MarkKilled}}}},
		"a host without a name":            {farm.PutHost{}},
		"an event without a type":          {farm.AddEvent{}},
		"something good, then a surprise":  {farm.PutHost{Host: farm.HostFacts{ID: "new"}}, start(1, 6, 1), farm.PutJob{Job: v2}, start(1, 6, 1)},
	}
	for name, writes := range bad {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s subject) {
				term := lead(t, s)
				commit(t, term, farm.PutJob{Job: changed(sampleJob(1), func(j *farm.JobFacts) { j.Submission = "once" })},
					start(1, 1, 1), start(1, 2, 1), start(1, 3, 1), start(1, 4, 1), ended(1, 2, 1, farm.Failed, farm.Never),
					ended(1, 3, 1, farm.Done, farm.Never), ended(1, 4, 1, farm.Lost, farm.ByItself))
				before := load(t, term)
				err := term.Commit(ctx, writes)
				if !errors.Is(err, ErrTermOver) {
					t.Fatalf("Commit: %v", err)
				}
				if err := term.Check(ctx); !errors.Is(err, ErrTermOver) {
					t.Errorf("Check after a failed commit: %v", err)
				}
				if diff := diff(before, load(t, lead(t, s))); diff != "" {
					t.Errorf("a failed commit changed (-before +after):\n%s", diff)
				}
			})
		})
	}
}

func changedEnd(change func(*farm.EndAttempt)) farm.EndAttempt {
	w := ended(1, 1, 1, farm.Failed, farm.Never)
	change(&w)
	return w
}

// TestTermTellsWhenItBegan: by the clock of the database.
func TestTermTellsWhenItBegan(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		before := must(s.Upkeep.Clock(ctx))(t)
		began := lead(t, s).Began()
		if after := must(s.Upkeep.Clock(ctx))(t); began.Before(before) || began.After(after) {
			t.Errorf("the term began at %s, not between %s and %s", began, before, after)
		}
	})
}

// One leads; a deposed leader's writes reach nothing, and epochs only grow.
func TestTermsFence(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		old := lead(t, s)
		commit(t, old, farm.PutJob{Job: sampleJob(1)})
		if err := old.Check(ctx); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan Term)
		go func() {
			next, err := s.Lead(ctx)
			if err != nil {
				t.Error(err)
			}
			waiting <- next
		}()
		short, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Lead(short); !errors.Is(err, context.Canceled) {
			t.Errorf("Lead with an ended context: %v", err)
		}
		s.depose()
		next := <-waiting
		if next.Epoch() <= old.Epoch() {
			t.Errorf("epoch %d follows %d", next.Epoch(), old.Epoch())
		}
		if err := old.Commit(ctx, []farm.Write{farm.PutJob{Job: sampleJob(2)}}); !errors.Is(err, ErrTermOver) {
			t.Errorf("a deposed leader committed: %v", err)
		}
		if _, err := old.Load(ctx); !errors.Is(err, ErrTermOver) {
			t.Errorf("a deposed leader loaded: %v", err)
		}
		commit(t, next, farm.PutJob{Job: sampleJob(2)})
		next.Close(ctx)
		if err := next.Check(ctx); !errors.Is(err, ErrTermOver) {
			t.Errorf("a closed term stands: %v", err)
		}
		third := lead(t, s)
		if got := load(t, third).NextJob; got != 3 {
			t.Errorf("next job %d, want 3", got)
		}
	})
}

// A worker's words cannot end a term, and a clock that was set back cannot either.
func TestOddInputIsTamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		job := changed(sampleJob(1), func(j *farm.JobFacts) {
			j.Name, j.Env = "a\x00b", map[string]string{"K\x00": "v\xff", "plain": "é"}
		})
		end := ended(1, 0, 1, farm.Failed, farm.Never)
		end.Cause, end.EndedAt, end.ExitCode, end.Peak = "bad \xff\xfe bytes\x00", at(-100), ptr(1<<40), 1<<60
		odd := started(attemptID(1, 1, 1), at(1))
		odd.Instance, odd.Holds = 9, map[string]int64{"license.\x00": 1, "\xff": 2}
		commit(t, term, farm.PutJob{Job: job}, start(1, 0, 1), end, farm.StartAttempt{Attempt: odd}, ended(1, 1, 1, farm.Failed, farm.Never),
			farm.PutHost{Host: farm.HostFacts{ID: "h\x00", Properties: map[string]string{"\x00": "\x00"}, Resources: map[string]int{"r\x00": 1 << 50}, Slots: 1 << 40}},
			farm.AddEvent{Event: farm.EventFacts{At: at(1), Type: "lo\x00ck", Job: 1, Item: -1, Instance: -1, Why: farm.Why{Cause: "\xff"}}},
			farm.PutJob{Job: changed(job, func(j *farm.JobFacts) { j.Version, j.State, j.FinishedAt = 2, farm.FailedJob, at(-50) })})
		r := recordOf(t, s.Reader, 1)
		if r.Job.Name != "a\uFFFDb" || r.Job.Env["K\uFFFD"] != "v\uFFFD" || !r.Job.FinishedAt.Equal(at(0)) {
			t.Errorf("job %+v", r.Job)
		}
		if a := r.Attempts[0]; a.Cause != "bad \uFFFD bytes\uFFFD" || !a.EndedAt.Equal(a.StartedAt) || *a.ExitCode != 1<<40 {
			t.Errorf("attempt %+v", a)
		}
		if d := cmp.Diff(map[string]int64{"license.\uFFFD": 1, "\uFFFD": 2}, r.Attempts[1].Holds); d != "" {
			t.Error(d)
		}
	})
}

// recordOf is what a farm that takes the job up would be given; nil if there is none.
func recordOf(t testing.TB, r Reader, id farm.JobID) *farm.JobRecord {
	t.Helper()
	prepared := must(r.Record(ctx, id))(t)
	jobs := must(r.Jobs(ctx, JobQuery{IDs: []farm.JobID{id}, Limit: 1}))(t)
	if (prepared == nil) != (len(jobs) == 0) {
		t.Fatalf("job %d is listed %d times, its record is %v", id, len(jobs), prepared)
	}
	if prepared == nil {
		return nil
	}
	return &farm.JobRecord{
		Job: jobs[0].JobFacts, Marks: must(r.Marks(ctx, id))(t), Attempts: must(r.Attempts(ctx, id, farm.AttemptID{}, 0))(t),
		Compacted: must(r.Past(ctx, id))(t).Compacted,
	}
}
