package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)
)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func ptr[T any](v T) *T { return &v }

// sampleJob is an active job of ten items.
func sampleJob(id facts.JobID) facts.JobFacts {
	return facts.JobFacts{ID: id, Version: 1, Name: "beauty", User: "ann", UID: ptr(int64(1<<32 - 3)), Priority: 5,
		Cluster: "/", CPUs: 2,
		Agenda: agenda.Spec{Range: "1-10"}, State: facts.Active, Command: []string{"sleep", "1"}, SubmittedAt: at(0)}
}

func changed(j facts.JobFacts, change func(*facts.JobFacts)) facts.JobFacts {
	change(&j)
	return j
}

func attemptID(job facts.JobID, item facts.ItemNo, number int) facts.AttemptID {
	return facts.AttemptID{Job: job, Item: item, Number: number}
}

func started(id facts.AttemptID, when time.Time) facts.AttemptFacts {
	return facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: id, Host: "h1", Boot: "boot", StateID: "state", Instance: 3,
		Kind:  facts.Secondary,
		Owner: "ann", Slots: 1, Memory: 1 << 20, State: facts.Running, StartedAt: when,
		Holds: map[string]int64{"host.gpus": 1, "license.nuke": 2}, Devices: []int{0, 3}}}
}

func start(job facts.JobID, item facts.ItemNo, number int) facts.StartAttempt {
	return facts.StartAttempt{Attempt: started(attemptID(job, item, number), at(1))}
}

func stop(job facts.JobID, item facts.ItemNo, number int) facts.StopAttempt {
	return facts.StopAttempt{ID: attemptID(job, item, number),
		Why: facts.Why{Reason: facts.ReasonKilled, Cause: "killed by u1"}}
}

func leave(job facts.JobID, item facts.ItemNo, number int) facts.SendAwayAttempt {
	return facts.SendAwayAttempt{ID: attemptID(job, item, number),
		Why: facts.Why{Reason: facts.ReasonSentAway, Cause: "by u1"}}
}

func ended(job facts.JobID, item facts.ItemNo, number int, state facts.AttemptState,
	again facts.RunsAgain) facts.EndAttempt {
	end := facts.EndAttempt{ID: attemptID(job, item, number), From: facts.Running, State: state, Again: again,
		EndedAt: at(2), Wall: 1}
	if state != facts.Done {
		end.Reason = facts.ReasonExit
	}
	return end
}

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.SortSlices(func(a, b facts.AttemptFacts) bool {
		return a.Item < b.Item || a.Item == b.Item && a.Number < b.Number
	}), cmpopts.SortSlices(func(a, b facts.DoneFacts) bool {
		return a.Number < b.Number
	}), cmp.Transformer("done", byItem), cmp.AllowUnexported(doneByItem{}),
		cmpopts.SortSlices(func(a, b facts.JobRecord) bool {
			return a.Job.ID < b.Job.ID
		}))
}

type doneByItem struct {
	number    int
	startedAt time.Time
	items     map[facts.ItemNo][2]float64 // wall and peak
}

func byItem(d facts.DoneFacts) doneByItem {
	items := map[facts.ItemNo][2]float64{}
	for n, item := range d.Items {
		items[item] = [2]float64{d.Wall[n], float64(d.Peak[n])}
	}
	return doneByItem{d.Number, d.StartedAt, items}
}

// A finished job costs the next term nothing, but its number is not given again.
func TestFinalJobsAreNotLoaded(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		commit(t, term, facts.PutJob{Job: sampleJob(1)}, facts.PutJob{Job: sampleJob(2)}, start(1, 0, 1), start(2, 0, 1),
			ended(1, 0, 1, facts.Done, facts.Never),
			facts.PutJob{Job: changed(sampleJob(2), func(j *facts.JobFacts) {
				j.Version, j.State, j.FinishedAt = 2, facts.KilledJob, at(3)
			})})
		rows := load(t, term)
		if rows.NextJob != 3 || len(rows.Jobs) != 1 || rows.Jobs[0].Job.ID != 1 || len(rows.Jobs[0].Done) != 1 {
			t.Errorf("loaded %+v", rows)
		}
	})
}

// What happens to one item in one batch happens in the batch's order.
func TestOrderWithinABatch(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		stopped := ended(1, 0, 2, facts.Preempted, facts.ByItself)
		stopped.From, stopped.Why = facts.Stopping, facts.Why{Reason: facts.ReasonPrimaryWaits, Cause: "for job 2"}
		commit(t, term, facts.PutJob{Job: sampleJob(1)},
			facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) { j.Version, j.Name = 2, "renamed" })},
			start(1, 0, 1), ended(1, 0, 1, facts.Failed, facts.ByItself),
			start(1, 0, 2), leave(1, 0, 2), facts.RelabelAttempt{ID: attemptID(1, 0, 2), Kind: facts.Primary},
			stop(1, 0, 2), stop(1, 0, 2), stopped,
			start(1, 0, 3), ended(1, 0, 3, facts.Done, facts.Never),
			facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 0, 3)}},
			facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 0, 3)}}, start(1, 0, 4),
			facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 5, Last: 9, Step: 1, Kind: facts.MarkKilled}}},
			facts.ChangeMarks{Job: 1, Remove: []facts.Mark{{First: 5, Last: 9, Step: 1, Kind: facts.MarkKilled}}})
		commit(t, term) // nothing is nothing
		r := recordOf(t, s, 1)
		if r.Job.Name != "renamed" || r.Job.Version != 2 || len(r.Marks) != 0 {
			t.Errorf("job %+v, marks %+v", r.Job, r.Marks)
		}
		want := []facts.AttemptState{facts.Failed, facts.Preempted, facts.Superseded, facts.Running}
		for i, a := range r.Attempts {
			if a.State != want[i] || a.Number != i+1 {
				t.Errorf("attempt %d is %s, want %s", a.Number, a.State, want[i])
			}
		}
	})
}

// A write on a row that is not as expected changes nothing at all and ends the term.
func TestSurprisesEndTheTerm(t *testing.T) {
	v2 := changed(sampleJob(1), func(j *facts.JobFacts) { j.Version = 2 })
	bad := map[string][]facts.Write{
		"a job that exists":                {facts.PutJob{Job: sampleJob(1)}},
		"a job at another version":         {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.Version = 3 })}},
		"a job that does not exist":        {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.ID = 9 })}},
		"a final job without its time":     {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.State = facts.Complete })}},
		"an active job with one":           {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.FinishedAt = at(9) })}},
		"priority 0":                       {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.Priority = 0 })}},
		"cpus 0":                           {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.CPUs = 0 })}},
		"an unknown state":                 {facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.State = "sleepy" })}},
		"a submission that made a job":     {facts.PutJob{Job: changed(sampleJob(2), func(j *facts.JobFacts) { j.Submission = "once" })}},
		"versions with a gap":              {facts.PutJob{Job: v2}, facts.PutJob{Job: changed(v2, func(j *facts.JobFacts) { j.Version = 4 })}},
		"two live attempts":                {start(1, 1, 2)},
		"the same attempt twice":           {start(1, 5, 1), start(1, 5, 1)},
		"an attempt number with a gap":     {start(1, 5, 2)},
		"after a final end":                {start(1, 2, 2)},
		"after done":                       {start(1, 3, 2)},
		"an attempt of no job":             {start(9, 0, 1)},
		"ending what is not there":         {ended(1, 5, 1, facts.Done, facts.Never)},
		"ending what has ended":            {ended(1, 3, 1, facts.Done, facts.Never)},
		"ending twice":                     {ended(1, 1, 1, facts.Done, facts.Never), ended(1, 1, 1, facts.Done, facts.Never)},
		"ending from another state":        {changedEnd(func(w *facts.EndAttempt) { w.From = facts.Stopping })},
		"ending without a time":            {changedEnd(func(w *facts.EndAttempt) { w.EndedAt = time.Time{} })},
		"ending as running":                {changedEnd(func(w *facts.EndAttempt) { w.State = facts.Stopping })},
		"done, and to run again":           {changedEnd(func(w *facts.EndAttempt) { w.State, w.Again, w.Why = facts.Done, facts.ByItself, facts.Why{} })},
		"stopping what has ended":          {stop(1, 3, 1)},
		"sending away what has ended":      {leave(1, 3, 1)},
		"sending away what stops":          {stop(1, 1, 1), leave(1, 1, 1)},
		"stopping without a reason":        {facts.StopAttempt{ID: attemptID(1, 1, 1)}},
		"failing without a reason":         {changedEnd(func(w *facts.EndAttempt) { w.State, w.Why = facts.Failed, facts.Why{} })},
		"a sentence without a reason":      {changedEnd(func(w *facts.EndAttempt) { w.State, w.Why = facts.Done, facts.Why{Cause: "killed by u1"} })},
		"relabelling what has ended":       {facts.RelabelAttempt{ID: attemptID(1, 3, 1)}},
		"reopening a live one":             {facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 1, 1)}}},
		"reopening what is not there":      {facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 5, 1)}}},
		"reopening not the latest":         {start(1, 4, 2), ended(1, 4, 2, facts.Done, facts.Never), facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 4, 1)}}},
		"two marks at one item":            {facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 1, Last: 5, Step: 1, Kind: facts.MarkKilled}, {First: 1, Last: 1, Step: 1, Kind: facts.MarkBlocked}}}},
		"a mark whose steps miss its last": {facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 1, Last: 4, Step: 2, Kind: facts.MarkKilled}}}},
		"a mark that is not there goes":    {facts.ChangeMarks{Job: 1, Remove: []facts.Mark{{First: 1, Last: 5, Step: 1, Kind: facts.MarkKilled}}}},
		"a mark of an unknown kind":        {facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 1, Last: 5, Step: 1, Kind: "odd"}}}},
		"marks of no job":                  {facts.ChangeMarks{Job: 9, Add: []facts.Mark{{First: 1, Last: 5, Step: 1, Kind: facts.MarkKilled}}}},
		"a host without a name":            {facts.PutHost{}},
		"an event without a type":          {facts.AddEvent{}},
		"something good, then a surprise":  {facts.PutHost{Host: facts.HostFacts{ID: "new"}}, start(1, 6, 1), facts.PutJob{Job: v2}, start(1, 6, 1)},
	}
	for name, writes := range bad {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s both) {
				term := lead(t, s)
				commit(t, term, facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) { j.Submission = "once" })},
					start(1, 1, 1), start(1, 2, 1), start(1, 3, 1), start(1, 4, 1), ended(1, 2, 1, facts.Failed, facts.Never),
					ended(1, 3, 1, facts.Done, facts.Never), ended(1, 4, 1, facts.Lost, facts.ByItself))
				before := load(t, term)
				err := term.Commit(ctx, writes)
				if !errors.Is(err, store.ErrTermOver) {
					t.Fatalf("Commit: %v", err)
				}
				if err := term.Check(ctx); !errors.Is(err, store.ErrTermOver) {
					t.Errorf("Check after a failed commit: %v", err)
				}
				if diff := diff(before, load(t, lead(t, s))); diff != "" {
					t.Errorf("a failed commit changed (-before +after):\n%s", diff)
				}
			})
		})
	}
}

func changedEnd(change func(*facts.EndAttempt)) facts.EndAttempt {
	w := ended(1, 1, 1, facts.Failed, facts.Never)
	change(&w)
	return w
}

// TestTermTellsWhenItBegan: by the clock of the database.
func TestTermTellsWhenItBegan(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		before := must(s.Clock(ctx))(t)
		began := lead(t, s).Began()
		if after := must(s.Clock(ctx))(t); began.Before(before) || began.After(after) {
			t.Errorf("the term began at %s, not between %s and %s", began, before, after)
		}
	})
}

// One leads; a deposed leader's writes reach nothing, and epochs only grow.
func TestTermsFence(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		old := lead(t, s)
		commit(t, old, facts.PutJob{Job: sampleJob(1)})
		if err := old.Check(ctx); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan store.Term)
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
		if err := old.Commit(ctx, []facts.Write{facts.PutJob{Job: sampleJob(2)}}); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a deposed leader committed: %v", err)
		}
		if _, err := old.Load(ctx); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a deposed leader loaded: %v", err)
		}
		commit(t, next, facts.PutJob{Job: sampleJob(2)})
		next.Close(ctx)
		if err := next.Check(ctx); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a closed term stands: %v", err)
		}
		third := lead(t, s)
		if got := load(t, third).NextJob; got != 3 {
			t.Errorf("next job %d, want 3", got)
		}
	})
}

// TestTermKnowsThoseBefore: a term knows when earlier terms began, except those before the last settled restore.
func TestTermKnowsThoseBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		first := lead(t, s)
		if err := first.Succeed(ctx,
			store.HigherTerm{Lineage: first.Descent().Lineage, Epoch: first.Epoch() + 3, Host: "a"}); err != nil {
			t.Fatal(err)
		}
		first.Close(ctx)
		restored := lead(t, s)
		if !restored.Descent().PutBack || restored.Settle(ctx, 7, 1) != nil {
			t.Fatal("the restore is not settled")
		}
		restored.Close(ctx)
		if past := restored.Descent().Past; len(past) > 0 {
			t.Errorf("after a restore a term knows %v", past)
		}
		known := []store.Term{restored}
		for range store.PastTerms + 2 {
			term := lead(t, s)
			past := term.Descent().Past
			if len(past) != min(len(known), store.PastTerms) {
				t.Fatalf("term %d knows %v, and there were %d terms", term.Epoch(), past, len(known))
			}
			for n, p := range past {
				if before := known[len(known)-1-n]; p.Epoch != before.Epoch() || p.Began.UnixMicro() != before.Began().UnixMicro() {
					t.Errorf("term %d knows that %d began at %s, and %d did at %s", term.Epoch(), p.Epoch, p.Began, before.Epoch(),
						before.Began())
				}
			}
			term.Close(ctx)
			known = append(known, term)
		}
	})
}

// A worker's words cannot end a term, and a clock that was set back cannot either.
func TestOddInputIsTamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		job := changed(sampleJob(1), func(j *facts.JobFacts) {
			j.Name, j.Env = "a\x00b", map[string]string{"K\x00": "v\xff", "plain": "é"}
		})
		end := ended(1, 0, 1, facts.Failed, facts.Never)
		end.Cause, end.EndedAt, end.ExitCode, end.Peak = "bad \xff\xfe bytes\x00", at(-100), ptr(1<<40), 1<<60
		odd := started(attemptID(1, 1, 1), at(1))
		odd.Instance, odd.Holds = 9, map[string]int64{"license.\x00": 1, "\xff": 2}
		commit(t, term, facts.PutJob{Job: job}, start(1, 0, 1), end, facts.StartAttempt{Attempt: odd},
			ended(1, 1, 1, facts.Failed, facts.Never),
			facts.PutHost{Host: facts.HostFacts{ID: "h\x00", Properties: map[string]string{"\x00": "\x00"},
				Resources: map[string]int{"r\x00": 1 << 50}, Slots: 1 << 40}},
			facts.AddEvent{Event: facts.EventFacts{At: at(1), Type: "lo\x00ck", Job: 1, Item: -1, Instance: -1,
				Why: facts.Why{Cause: "\xff"}}},
			facts.PutJob{Job: changed(job, func(j *facts.JobFacts) {
				j.Version, j.State, j.FinishedAt = 2, facts.FailedJob, at(-50)
			})})
		r := recordOf(t, s, 1)
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

// collected is a record as a store gives it.
type collected struct{ facts.JobRecord }

func (c *collected) Begin(r facts.JobRecord) error {
	c.JobRecord = r
	return nil
}

func (c *collected) Add(a facts.AttemptFacts) error {
	c.Attempts = append(c.Attempts, a)
	return nil
}

func (c *collected) Finish() {}

// recordOf is what a farm that takes the job up would be given; nil if there is none.
func recordOf(t testing.TB, from records, id facts.JobID) *facts.JobRecord {
	t.Helper()
	var c collected
	if !must(from.Record(ctx, id, &c))(t) {
		return nil
	}
	return &c.JobRecord
}
