package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// history is a farm with a past: job 1 complete, with a preempted, a lost, a failed and a superseded attempt; job 2
// failed, in an account; job 3 killed before it ran; job 4 still active; job 5 complete, ended a day later.
func history(t testing.TB, term store.Term) {
	t.Helper()
	job := func(id facts.JobID, version int64, state facts.JobState, finished float64) facts.PutJob {
		return facts.PutJob{Job: changed(sampleJob(id), func(j *facts.JobFacts) {
			j.Agenda, j.Version, j.State = agenda.Spec{Range: "1-4"}, version, state
			if id == 2 {
				j.User, j.Account, j.Cluster = "bob", "show/shot", "/show/a"
				j.Tags, _ = facts.TagsOf(map[string]string{"prod_show": "heron", "prod_shot": "0\u00e9 \"10\""})
			}
			if id == 5 {
				j.Tags, _ = facts.TagsOf(map[string]string{"prod_show": "heron"})
			}
			if state.Final() {
				j.FinishedAt = at(finished)
			}
		})}
	}
	run := func(id facts.JobID, item facts.ItemNo, number int, from float64, state facts.AttemptState, again facts.RunsAgain) []facts.Write {
		a := started(attemptID(id, item, number), at(from))
		a.Slots, a.Host = int(item)+1, facts.HostID(fmt.Sprint("h", number))
		if item%2 == 0 {
			a.Kind = facts.Primary
		}
		if id == 2 {
			a.Owner = "bob"
		}
		wall := 100 * float64(item+1)
		end := facts.EndAttempt{ID: a.AttemptID, From: facts.Running, State: state, Again: again, EndedAt: at(from + wall), Wall: wall, CPU: wall / 3,
			Peak: 1 << 21, Charge: facts.Charge{CPU: wall, RAM: wall / 7}, Charged: state != facts.Preempted}
		if state != facts.Done {
			end.Reason = facts.ReasonExit
		}
		if state == facts.Lost {
			end.Wall, end.CPU = 0, 0
		}
		return []facts.Write{facts.StartAttempt{Attempt: a}, end}
	}
	const day = 86400
	writes := []facts.Write{job(1, 1, facts.Active, 0), job(2, 1, facts.Active, 0), job(3, 1, facts.Active, 0), job(4, 1, facts.Active, 0), job(5, 1, facts.Active, 0)}
	add := func(w ...facts.Write) { writes = append(writes, w...) }
	add(run(1, 0, 1, 0, facts.Done, facts.Never)...)
	add(run(1, 1, 1, 50, facts.Preempted, facts.ByItself)...)
	add(run(1, 1, 2, 2*day, facts.Lost, facts.ByItself)...)
	add(run(1, 1, 3, 2*day+500, facts.Done, facts.Never)...)
	add(run(1, 2, 1, day/2+1, facts.Done, facts.Never)...)
	add(facts.ReopenAttempts{Job: 1, Attempts: []facts.AttemptID{attemptID(1, 2, 1)}})
	add(run(1, 2, 2, 3*day, facts.Failed, facts.ByItself)...)
	add(run(1, 2, 3, 3*day+500, facts.Done, facts.Never)...)
	add(facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 1, Last: 3, Step: 1, Kind: facts.MarkComplete, By: "boss", At: at(7)}}}, job(1, 2, facts.Complete, 4*day))
	add(run(2, 0, 1, 10, facts.Done, facts.Never)...)
	add(run(2, 1, 1, 20, facts.Failed, facts.Never)...)
	add(run(2, 2, 1, 30, facts.Killed, facts.Never)...)
	add(run(2, 3, 1, 40, facts.Lost, facts.Never)...)
	add(job(2, 2, facts.KilledJob, 5000))
	add(facts.ChangeMarks{Job: 3, Add: []facts.Mark{{First: 0, Last: 3, Step: 1, Kind: facts.MarkKilled, By: "ann", At: at(8)}}}, job(3, 2, facts.KilledJob, 6000))
	add(run(4, 0, 1, 100, facts.Done, facts.Never)...)
	for item := range facts.ItemNo(4) {
		add(run(5, item, 1, 4.5*day, facts.Done, facts.Never)...)
	}
	add(job(5, 2, facts.Complete, 5*day))
	for _, e := range []facts.JobID{1, 4} {
		add(facts.AddEvent{Event: facts.EventFacts{At: at(9), Type: "job-modified", Job: e, Item: -1, Instance: -1}})
	}
	for _, p := range []facts.Payer{{Owner: "ann"}, {Account: "show/shot", Owner: "bob"}} {
		add(facts.ChargeUsage{Usage: facts.UsageFacts{Payer: p, Charge: facts.Charge{CPU: 1000}, At: at(4.5 * day)}})
	}
	commit(t, term, writes...)
}

// seen is everything that must not change when attempts become sums.
type seen struct {
	Stats  [][]store.StatsRow
	Ledger [][]store.LedgerDay
	Jobs   []facts.JobView
}

const pastHalfLife = 30 * time.Hour

func look(t testing.TB, r store.Reader) (s seen) {
	t.Helper()
	for _, by := range [][]string{nil, {store.ByDay}, {store.ByUser, store.ByKind}, {store.ByAccount, store.ByCluster},
		{store.ByHost}, {store.ByClass}, {store.ByClass, store.ByUser}, {"prod_shot", "prod_show", "prod_dept"},
		store.Groupings} {
		s.Stats = append(s.Stats,
			must(r.Stats(ctx, store.StatsQuery{From: at(-1e6).Truncate(24 * time.Hour), To: at(1e6).Truncate(24 * time.Hour),
				By: by}))(t))
	}
	for _, payer := range []facts.Payer{{Owner: "ann"}, {Account: "show/shot", Owner: "bob"}} {
		s.Ledger = append(s.Ledger, must(r.Ledger(ctx, payer.Owner, []string{payer.Account}, at(1e6), pastHalfLife))(t))
	}
	s.Jobs = must(r.Jobs(ctx, store.JobQuery{}))(t)
	for i := range s.Jobs {
		s.Jobs[i].Version = 0
	}
	return s
}

// rounded makes sums in another order comparable: twelve digits must be the same.
func (s seen) rounded() seen {
	round := func(v *float64) {
		if *v != 0 {
			digits := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(*v))))
			*v = math.Round(*v*digits) / digits
		}
	}
	for _, rows := range s.Stats {
		for i := range rows {
			r := &rows[i]
			for _, v := range []*float64{&r.Slots, &r.CPU, &r.Memory, &r.Secondary, &r.Preempted, &r.Killed, &r.Failed,
				&r.Charged} {
				round(v)
			}
		}
	}
	for _, days := range s.Ledger {
		for i := range days {
			for _, v := range []*float64{&days[i].Wall, &days[i].Charge, &days[i].Decayed} {
				round(v)
			}
		}
	}
	for i := range s.Jobs {
		round(&s.Jobs[i].MeanItemSeconds)
	}
	return s
}

func compaction(term store.Term, jobs []facts.JobID, limit int) store.Compaction {
	return store.Compaction{Epoch: term.Epoch(), Jobs: jobs, Before: at(1e6), At: at(1e6), HalfLife: pastHalfLife,
		Limit: limit}
}

func auditOf(t testing.TB, s *Store) AuditReport {
	t.Helper()
	url, err := renamed(template, "qb", s.lead.Database)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Audit(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 {
		t.Errorf("the audit finds %+v", report.Problems)
	}
	return report
}

// Whatever the chunks are, reports, ledgers, listings and the audit say the same before, between and after them.
func TestCompactionChangesNoAnswer(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		before := look(t, s).rounded()
		if len(before.Stats[0]) != 1 || before.Stats[0][0].Attempts != 16 || len(before.Ledger[0]) < 4 ||
			len(before.Jobs) != 5 {
			t.Fatalf("the past is %+v", before.Stats)
		}
		report := auditOf(t, s)
		closed := must(s.Closed(ctx, at(1e6), 10))(t)
		if !slices.Equal(closed, []facts.JobID{2, 3, 1, 5}) {
			t.Fatalf("closed are %v", closed)
		}
		if first := must(s.Closed(ctx, at(1e6), 1))(t); !slices.Equal(first, closed[:1]) {
			t.Errorf("the first closed is %v", first)
		}
		var taken int64
		for chunks := 1; ; chunks++ {
			n := must(s.Compact(ctx, compaction(term, closed, 2)))(t)
			taken += n
			if d := diff(before, look(t, s).rounded()); d != "" {
				t.Fatalf("after %d chunks (-before +after):\n%s", chunks, d)
			}
			if now := auditOf(t, s); now.Items != report.Items || now.Attempts != report.Attempts || now.Jobs != report.Jobs {
				t.Errorf("after %d chunks the audit counts %+v, before %+v", chunks, now, report)
			}
			if n == 0 {
				break
			}
			if chunks > 20 {
				t.Fatal("compacting does not end")
			}
		}
		if again := must(s.Compact(ctx, compaction(term, closed, 2)))(t); taken != 15 || again != 0 {
			t.Errorf("%d attempts were compacted, then %d", taken, again)
		}
		if left := must(s.Closed(ctx, at(1e6), 10))(t); left != nil {
			t.Errorf("%v are still to be compacted", left)
		}
		if d := diff(before, look(t, s).rounded()); d != "" {
			t.Errorf("in the end (-before +after):\n%s", d)
		}
		for _, id := range closed {
			if r := recordOf(t, s, id); !r.Compacted || len(r.Attempts) != 0 {
				t.Errorf("the record of job %d: %+v", id, r)
			}
		}
		if r := recordOf(t, s, 4); r.Compacted || len(r.Attempts) != 1 {
			t.Errorf("the record of the active job: %+v", r)
		}
	})
}

// Reports by tags say what was tagged, of rows and of sums alike; what has no tag is a line of its own.
func TestStatsByTags(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		for compacted := range 2 {
			var got []string
			for _, r := range must(s.Stats(ctx,
				store.StatsQuery{From: at(-1e6), To: at(1e6), By: []string{"prod_shot", "prod_show"}}))(t) {
				got = append(got, fmt.Sprintf("%q %d", r.Tags.Map(), r.Attempts))
			}
			want := []string{`map[] 8`, `map["prod_show":"heron"] 4`, `map["prod_shot":"0é \"10\"" "prod_show":"heron"] 4`}
			if d := diff(want, got); d != "" {
				t.Errorf("compacted %d: (-want +got)\n%s", compacted, d)
			}
			for want, values := range map[int64]map[string]string{8: {"prod_show": "heron"},
				4: {"prod_shot": "0\u00e9 \"10\"", "prod_show": "heron"}} {
				tags, _ := facts.TagsOf(values)
				rows := must(s.Stats(ctx, store.StatsQuery{From: at(-1e6), To: at(1e6), Tags: tags}))(t)
				if len(rows) != 1 || rows[0].Attempts != want {
					t.Errorf("compacted %d: of %q there are %+v, want %d attempts", compacted, values, rows, want)
				}
			}
			if rows := must(s.Stats(ctx,
				store.StatsQuery{From: at(-1e6), To: at(1e6), Tags: facts.Tags{"crane"}}))(t); len(rows) != 0 {
				t.Errorf("compacted %d: of a show without work there are %+v", compacted, rows)
			}
			for must(s.Compact(ctx, compaction(term, []facts.JobID{2, 5}, 3)))(t) > 0 {
			}
		}
	})
}

// What the items of compacted jobs became, the marks tell.
func TestCompactedItems(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		for must(s.Compact(ctx, compaction(term, []facts.JobID{1, 2, 3}, 3)))(t) > 0 {
		}
		kinds := func(id facts.JobID) (text string) {
			for _, m := range must(jobRows{s.pool, id}.Marks(ctx))(t) {
				text += fmt.Sprintf("%d-%dx%d %s %s; ", m.First, m.Last, m.Step, m.Kind, m.By)
			}
			return text
		}
		for id, want := range map[facts.JobID]string{1: "0-2x1 complete ; 3-3x1 complete boss; ",
			2: "0-0x1 complete ; 1-1x1 failed ; 2-2x1 killed ; 3-3x1 failed ; ", 3: "0-3x1 killed ann; "} {
			if got := kinds(id); got != want {
				t.Errorf("job %d: %s, want %s", id, got, want)
			}
		}
	})
}

// TestCompactedParentIsLoadedAsSuch: an ended job with compacted attempts, whose items another job waits for, is loaded
// as a job that never runs again.
func TestCompactedParentIsLoadedAsSuch(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		for must(s.Compact(ctx, compaction(term, []facts.JobID{2}, 100)))(t) > 0 {
		}
		child := changed(sampleJob(90), func(j *facts.JobFacts) {
			j.WaitFor = []facts.Link{{End: "complete", Job: 2, Of: facts.OfItems}}
		})
		commit(t, term, facts.PutJob{Job: child})
		loaded := map[facts.JobID]bool{}
		for _, r := range load(t, term).Jobs {
			loaded[r.Job.ID] = r.Compacted
		}
		if compacted, is := loaded[2]; !is || !compacted || loaded[90] {
			t.Errorf("loaded, and whether compacted: %v", loaded)
		}
	})
}

// Removed jobs leave their sums, their count and their numbers.
func TestRemoval(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		before := look(t, s).rounded()
		all := []facts.JobID{1, 2, 3, 4, 5}
		if got := must(s.Remove(ctx, term.Epoch(), at(1e6), all))(t); got != 0 {
			t.Errorf("%d jobs were removed with their attempts", got)
		}
		for must(s.Compact(ctx, compaction(term, []facts.JobID{2, 3, 5}, 100)))(t) > 0 {
		}
		if got := must(s.Expired(ctx, at(5500), 10))(t); !slices.Equal(got, []facts.JobID{2}) {
			t.Errorf("expired are %v", got)
		}
		if got := must(s.Remove(ctx, term.Epoch(), at(1e6), all))(t); got != 3 {
			t.Errorf("%d jobs were removed", got)
		}
		if got := must(s.Remove(ctx, term.Epoch(), at(1e6), all))(t); got != 0 {
			t.Errorf("%d jobs were removed twice", got)
		}
		if gone := must(s.Gone(ctx, []facts.JobID{99, 5, 4, 3, 2, 1}))(t); !slices.Equal(gone, []facts.JobID{2, 3, 5}) {
			t.Errorf("gone are %v", gone)
		}
		after := look(t, s).rounded()
		if d := diff(before.Stats, after.Stats); d != "" {
			t.Errorf("reports changed:\n%s", d)
		}
		if d := diff(before.Ledger, after.Ledger); d != "" {
			t.Errorf("ledgers changed:\n%s", d)
		}
		if len(after.Jobs) != 2 || after.Jobs[0].ID != 4 || after.Jobs[1].ID != 1 {
			t.Errorf("left are %+v", after.Jobs)
		}
		ended := must(s.Ended(ctx, all))(t)
		if _, there := ended[5]; len(ended) != 2 || !ended[1].Equal(at(4*86400)) || !ended[4].IsZero() || there {
			t.Errorf("ended: %v", ended)
		}
		if report := auditOf(t, s); report.Jobs != 0 && report.Removed != 3 {
			t.Errorf("the audit says %+v", report)
		}
		if rows := load(t, term); rows.NextJob != 6 {
			t.Errorf("the next job is %d", rows.NextJob)
		}
	})
}

// A job that an unfinished one waits for can still be taken up again for it.
func TestWaitedForJobsStay(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		child := facts.PutJob{Job: changed(sampleJob(6), func(j *facts.JobFacts) {
			j.Version, j.State, j.WaitFor = 1, facts.Blocked, []facts.Link{{End: "complete", Job: 2}, {End: "done", Job: 99}}
		})}
		commit(t, term, child)
		if got := must(s.Closed(ctx, at(1e6), 10))(t); !slices.Equal(got, []facts.JobID{3, 1, 5}) {
			t.Errorf("closed are %v", got)
		}
		child.Job.Version, child.Job.State, child.Job.FinishedAt = 2, facts.KilledJob, at(1e5)
		commit(t, term, child)
		if got := must(s.Closed(ctx, at(1e6), 10))(t); !slices.Equal(got, []facts.JobID{2, 3, 6, 1, 5}) {
			t.Errorf("when it is over, closed are %v", got)
		}
	})
}

// TestLogsAreRemovedOnce: jobs whose logs were deleted say so until they have ended again.
func TestLogsAreRemovedOnce(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		old := lead(t, s)
		history(t, old)
		for must(s.Compact(ctx, compaction(old, []facts.JobID{3}, 100)))(t) > 0 {
		}
		if got := must(s.WithLogs(ctx, at(1e6), 3))(t); !slices.Equal(got,
			[]store.WithLogs{{Job: 2}, {Job: 3, Compacted: true}, {Job: 1}}) {
			t.Errorf("with logs: %v", got)
		}
		if err := s.LogsRemoved(ctx, old.Epoch(), []facts.JobID{2, 3}, at(7e5), "the disk was full"); err != nil {
			t.Fatal(err)
		}
		if got := must(s.WithLogs(ctx, at(1e6), 3))(t); !slices.Equal(got, []store.WithLogs{{Job: 1}, {Job: 5}}) {
			t.Errorf("then with logs: %v", got)
		}
		for id, want := range map[facts.JobID]store.Past{1: {}, 2: {LogsRemoved: at(7e5)},
			3: {Compacted: true, LogsRemoved: at(7e5)}, 99: {}} {
			if got := must(s.Past(ctx, id))(t); got.Compacted != want.Compacted || !got.LogsRemoved.Equal(want.LogsRemoved) {
				t.Errorf("past of job %d: %+v", id, got)
			}
		}
		var told []string
		for _, e := range historyOf(t, s, 3, store.HistoryPage{}) {
			told = append(told, e.Type)
		}
		slices.Sort(told)
		if !slices.Equal(told, []string{"compacted", "logs-removed"}) {
			t.Errorf("the history of job 3: %v", told)
		}
		job := recordOf(t, s, 2).Job
		again := job
		again.Version, again.State, again.FinishedAt = job.Version+1, facts.Active, time.Time{}
		commit(t, old, facts.PutJob{Job: again})
		if got := must(s.WithLogs(ctx, at(1e6), 3))(t); len(got) != 2 {
			t.Errorf("while it runs again, with logs: %v", got)
		}
		again.Version, again.State, again.FinishedAt = again.Version+1, job.State, at(8e5)
		commit(t, old, facts.PutJob{Job: again})
		if got := must(s.WithLogs(ctx, at(1e6), 3))(t); !slices.Equal(got, []store.WithLogs{{Job: 1}, {Job: 5}, {Job: 2}}) {
			t.Errorf("when it ended again, with logs: %v", got)
		}
		auditOf(t, s)
		terminateLeader(t, s)
		lead(t, s)
		if err := s.LogsRemoved(ctx, old.Epoch(), []facts.JobID{1}, at(9e5), ""); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a replaced leader noted it: %v", err)
		}
	})
}

// TestUpkeepIsFenced: nothing is moved unless the given term is the current one.
func TestUpkeepIsFenced(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		old := lead(t, s)
		history(t, old)
		before := look(t, s).rounded()
		terminateLeader(t, s)
		term := lead(t, s)
		if n, err := s.Compact(ctx, compaction(old, []facts.JobID{1, 2}, 100)); n != 0 || !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a replaced leader compacted %d: %v", n, err)
		}
		if d := diff(before, look(t, s).rounded()); d != "" || len(recordOf(t, s, 1).Attempts) != 7 {
			t.Errorf("it changed\n%s", d)
		}
		if n := must(s.Compact(ctx, compaction(term, []facts.JobID{1, 2}, 100)))(t); n != 11 {
			t.Errorf("the leader compacted %d", n)
		}
		if n, err := s.Remove(ctx, old.Epoch(), at(1e6), []facts.JobID{2}); n != 0 || !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a replaced leader removed %d: %v", n, err)
		}
	})
}

// TestCompactedJobsStayFinal: a job whose attempts are sums cannot run again by any action.
func TestCompactedJobsStayFinal(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		for must(s.Compact(ctx, compaction(term, []facts.JobID{3}, 100)))(t) > 0 {
		}
		job := recordOf(t, s, 3).Job
		job.Version, job.State, job.FinishedAt = job.Version+1, facts.Active, time.Time{}
		if err := term.Commit(ctx, []facts.Write{facts.PutJob{Job: job}}); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("it runs again: %v", err)
		}
	})
}

// A chunk that breaks at any of its statements moves nothing; the next try moves everything once.
func TestCrashInTheMiddleOfAChunk(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	history(t, term)
	before := look(t, p).rounded()
	for table, when := range map[string]string{"usage_day": "INSERT", "item_mark": "INSERT OR DELETE", "job": "UPDATE",
		"attempt": "DELETE"} {
		exec(t, p, `CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''crash''; END'`)
		exec(t, p, `CREATE TRIGGER break AFTER `+when+` ON `+table+` EXECUTE FUNCTION break()`)
		if n, err := p.Compact(ctx, compaction(term, []facts.JobID{1, 2}, 100)); err == nil {
			t.Errorf("%s: compacted %d", table, n)
		}
		exec(t, p, `DROP FUNCTION break CASCADE`)
		if d := diff(before, look(t, p).rounded()); d != "" || auditOf(t, p).Compacted != 0 {
			t.Errorf("a crash at %s changed\n%s", table, d)
		}
	}
	dead, cancel := context.WithCancel(ctx)
	cancel()
	if n, err := p.Compact(dead, compaction(term, []facts.JobID{1, 2}, 100)); err == nil {
		t.Errorf("compacted %d for nobody", n)
	}
	if n := must(p.Compact(ctx, compaction(term, []facts.JobID{1, 2}, 100)))(t); n != 11 {
		t.Errorf("compacted %d", n)
	}
	if d := diff(before, look(t, p).rounded()); d != "" || auditOf(t, p).Compacted != 11 {
		t.Errorf("afterwards\n%s", d)
	}
	if err := term.Check(ctx); err != nil {
		t.Errorf("the term suffered: %v", err)
	}
}

// Marks with outcomes over them say of each item what it became.
func TestOverlaidMarks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const items = 12
		var want [items]facts.MarkKind
		var marks []facts.Mark
		for item := 0; item < items; item++ {
			if rapid.Bool().Draw(r, "marked") {
				last := min(items-1, item+rapid.IntRange(0, 4).Draw(r, "more"))
				kind := rapid.SampledFrom([]facts.MarkKind{facts.MarkKilled, facts.MarkComplete}).Draw(r, "kind")
				marks = append(marks, facts.Mark{First: facts.ItemNo(item), Last: facts.ItemNo(last), Step: 1, Kind: kind,
					By: rapid.SampledFrom([]string{"", "ann"}).Draw(r, "by")})
				for ; item < last; item++ {
					want[item] = kind
				}
				want[item] = kind
			}
		}
		var outcomes []rules.Outcome
		for item := range items {
			if rapid.Bool().Draw(r, "ran") {
				o := rules.OutcomeOf(1, facts.ItemNo(item),
					rapid.SampledFrom([]facts.AttemptState{facts.Done, facts.Killed, facts.Lost}).Draw(r, "state"), at(1))
				outcomes, want[item] = append(outcomes, o), o.Kind
			}
		}
		var got [items]facts.MarkKind
		for _, m := range rules.Overlaid(marks, outcomes) {
			for n := m.First; n <= m.Last; n += facts.ItemNo(m.Step) {
				if got[n] != "" {
					r.Fatalf("item %d has two marks", n)
				}
				got[n] = m.Kind
			}
		}
		if got != want {
			r.Fatalf("%v, want %v", got, want)
		}
	})
}
