package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// The numbers of a listing: live outweighs done, done a final end, that a mark, and a mark pending.
func TestItemCounts(t *testing.T) {
	marks := []facts.Mark{{First: 0, Last: 6, Step: 1, Kind: facts.MarkKilled},
		{First: 8, Last: 8, Step: 1, Kind: facts.MarkComplete}}
	touched := []facts.Write{
		start(1, 0, 1), start(1, 1, 1), start(1, 2, 1), start(1, 3, 1), start(1, 4, 1),
		ended(1, 1, 1, facts.Done, facts.Never), ended(1, 2, 1, facts.Failed, facts.Never),
		ended(1, 3, 1, facts.Killed, facts.Never), ended(1, 4, 1, facts.Preempted, facts.ByItself),
	}
	for _, tc := range []struct {
		name   string
		state  facts.JobState
		writes []facts.Write
		marks  []facts.Mark
		status string
		want   facts.ItemCounts
	}{
		{"untouched", facts.Active, nil, nil, "pending", facts.ItemCounts{Total: 10, Pending: 10}},
		{"touched", facts.Active, touched, nil, "running",
			facts.ItemCounts{Total: 10, Pending: 6, Running: 1, Complete: 1, Failed: 1, Killed: 1}},
		{"marked", facts.Active, touched, marks, "running",
			facts.ItemCounts{Total: 10, Pending: 2, Running: 1, Complete: 2, Failed: 1, Killed: 4}},
		{"blocked", facts.Blocked, touched, marks, "blocked",
			facts.ItemCounts{Total: 10, Blocked: 2, Running: 1, Complete: 2, Failed: 1, Killed: 4}},
		{"suspended", facts.Suspended, nil, nil, "suspended", facts.ItemCounts{Total: 10, Pending: 10}},
		{"all marked blocked", facts.Active, nil, []facts.Mark{{First: 0, Last: 9, Step: 1, Kind: facts.MarkBlocked}},
			"pending", facts.ItemCounts{Total: 10, Blocked: 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onPostgres(t, func(t *testing.T, s *Store) {
				job := changed(sampleJob(1), func(j *facts.JobFacts) { j.State = tc.state })
				commit(t, lead(t, s), append([]facts.Write{facts.PutJob{Job: job}, facts.ChangeMarks{Job: 1, Add: tc.marks}},
					tc.writes...)...)
				views := must(s.Jobs(ctx, store.JobQuery{}))(t)
				if len(views) != 1 || views[0].Status != tc.status {
					t.Fatalf("listed %+v", views)
				}
				if diff := cmp.Diff(tc.want, views[0].Items); diff != "" {
					t.Errorf("counts (-want +got):\n%s", diff)
				}
				if tc.writes != nil && (!views[0].StartedAt.Equal(at(1)) || views[0].MeanItemSeconds != 1) {
					t.Errorf("started %v, mean %v", views[0].StartedAt, views[0].MeanItemSeconds)
				}
			})
		})
	}
}

// A list takes what the caller knows of a row as it is, in the row's place, and counts the others.
func TestKnownJobsInAList(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		for id := facts.JobID(1); id <= 3; id++ {
			commit(t, term, facts.PutJob{Job: changed(sampleJob(id), func(j *facts.JobFacts) { j.Submission = fmt.Sprint(id) })})
		}
		got := must(s.Jobs(ctx, store.JobQuery{Known: func(row facts.JobFacts) (facts.JobView, bool) {
			return facts.JobView{JobFacts: row, Status: "known", Items: facts.ItemCounts{Total: 77}}, row.ID == 2
		}}))(t)
		var list []string
		for _, v := range got {
			list = append(list, fmt.Sprint(v.ID, v.Status, v.Items.Total))
		}
		if diff := cmp.Diff([]string{"3pending10", "2known77", "1pending10"}, list); diff != "" {
			t.Error(diff)
		}
	})
}

// Attempts are not read for jobs that are known: their count costs as much as there are.
func TestListOfKnownJobsReadsNoAttempts(t *testing.T) {
	s := emptyPostgres(t)
	commit(t, lead(t, s), facts.PutJob{Job: sampleJob(1)})
	conn := must(s.pool.Acquire(ctx))(t)
	defer conn.Release()
	tx := must(conn.Begin(ctx))(t)
	defer func() { _ = tx.Rollback(ctx) }()
	must(tx.Exec(ctx, "LOCK TABLE attempt"))(t)
	patient, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	known := func(row facts.JobFacts) (facts.JobView, bool) { return facts.JobView{JobFacts: row}, true }
	if got := must(s.Jobs(patient, store.JobQuery{Known: known}))(t); len(got) != 1 {
		t.Errorf("listed %d jobs", len(got))
	}
}

// The filters of a list, alone and together.
func TestJobFilters(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		show := func(value string) facts.Tags {
			tags, _ := facts.TagsOf(map[string]string{"prod_show": value, "prod_shot": "s1"})
			return tags
		}
		for n, j := range []facts.JobFacts{
			{Name: "a", Cluster: "/", State: facts.Active},
			{Name: "b", Cluster: "/film", State: facts.Active, Tags: show("heron, the movie")},
			{Name: "b", Cluster: "/film/char", State: facts.Complete, FinishedAt: at(5), Tags: show("heron")},
			{Name: "a", Cluster: "/film0", State: facts.KilledJob, FinishedAt: at(7)},
			{Name: "c", Cluster: "/film-x", State: facts.Blocked},
		} {
			row := changed(sampleJob(facts.JobID(n+1)), func(to *facts.JobFacts) {
				to.Submission, to.Name, to.Cluster, to.State, to.FinishedAt, to.Tags = fmt.Sprint(n), j.Name, j.Cluster, j.State,
					j.FinishedAt, j.Tags
			})
			commit(t, term, facts.PutJob{Job: row}, facts.NoteChange{Jobs: []facts.JobID{row.ID}, At: at(float64(n) + 0.5)})
		}
		commit(t, term, facts.NoteChange{Jobs: []facts.JobID{1, 3}, At: at(9.5)})
		for _, tc := range []struct {
			q    store.JobQuery
			want string
		}{
			{store.JobQuery{Name: "b"}, "[3 2]"},
			{store.JobQuery{Cluster: "/film"}, "[3 2]"},
			{store.JobQuery{Cluster: "/"}, "[5 4 3 2 1]"},
			{store.JobQuery{Tags: show("heron, the movie")}, "[2]"},
			{store.JobQuery{ChangedSince: at(4)}, "[5 3 1]"},
			{store.JobQuery{ChangedSince: at(4.8)}, "[5 3 1]"},
			{store.JobQuery{ChangedSince: at(9.2), Limit: 1}, "[3]"},
			{store.JobQuery{ChangedSince: at(10)}, "[]"},
			{store.JobQuery{FinishedSince: at(6)}, "[5 4 2 1]"},
			{store.JobQuery{FinishedSince: at(5), Name: "b", Cluster: "/film/char"}, "[3]"},
			{store.JobQuery{FinishedSince: at(6), ChangedSince: at(3), Before: 4, States: []facts.JobState{facts.Active}},
				"[1]"},
		} {
			ids := []facts.JobID{}
			for _, v := range must(s.Jobs(ctx, tc.q))(t) {
				ids = append(ids, v.ID)
			}
			refs := []facts.JobID{}
			for _, r := range must(s.JobRefs(ctx, tc.q))(t) {
				refs = append(refs, r.ID)
			}
			if got := fmt.Sprint(ids); got != tc.want || fmt.Sprint(refs) != tc.want {
				t.Errorf("%+v: %v, in short %v, want %s", tc.q, got, refs, tc.want)
			}
		}
		if got := must(s.LastChange(ctx))(t); !got.Equal(at(9).Truncate(time.Second)) {
			t.Errorf("the last change was at %v", got)
		}
	})
}

// Pages by key hold every job once, whatever is added meanwhile.
func TestJobPages(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		for id := facts.JobID(1); id <= 9; id++ {
			job := changed(sampleJob(id), func(j *facts.JobFacts) {
				j.User, j.Submission = []string{"ann", "bob"}[id%2], fmt.Sprintf("s%d", id)
				if id%3 == 0 {
					j.State, j.FinishedAt = facts.Complete, at(5)
				}
			})
			commit(t, term, facts.PutJob{Job: job})
		}
		ids := func(q store.JobQuery) (list []facts.JobID) {
			for _, v := range must(s.Jobs(ctx, q))(t) {
				list = append(list, v.ID)
			}
			return list
		}
		for _, tc := range []struct {
			q    store.JobQuery
			want []facts.JobID
		}{
			{store.JobQuery{}, []facts.JobID{9, 8, 7, 6, 5, 4, 3, 2, 1}},
			{store.JobQuery{Limit: 4}, []facts.JobID{9, 8, 7, 6}},
			{store.JobQuery{Limit: 4, Before: 6}, []facts.JobID{5, 4, 3, 2}},
			{store.JobQuery{Limit: 4, Before: 2}, []facts.JobID{1}},
			{store.JobQuery{Before: 1}, nil},
			{store.JobQuery{User: "ann"}, []facts.JobID{8, 6, 4, 2}},
			{store.JobQuery{User: "ann", Limit: 2, Before: 8}, []facts.JobID{6, 4}},
			{store.JobQuery{User: "nobody"}, nil},
			{store.JobQuery{States: []facts.JobState{facts.Complete}}, []facts.JobID{9, 6, 3}},
			{store.JobQuery{States: []facts.JobState{facts.Complete, facts.Active}, User: "bob"}, []facts.JobID{9, 7, 5, 3, 1}},
			{store.JobQuery{IDs: []facts.JobID{2, 3, 77}}, []facts.JobID{3, 2}},
			{store.JobQuery{IDs: []facts.JobID{}}, nil},
		} {
			if diff := cmp.Diff(tc.want, ids(tc.q)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tc.q, diff)
			}
		}
		states := must(s.JobStates(ctx, []facts.JobID{3, 4, 77}))(t)
		if diff := cmp.Diff(map[facts.JobID]facts.JobState{3: facts.Complete, 4: facts.Active}, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		for token, want := range map[string]facts.JobID{"s3": 3, "s4": 4, "": 0, "none": 0} {
			if got := must(s.Submission(ctx, token))(t); got != want {
				t.Errorf("submission %q made job %d, want %d", token, got, want)
			}
		}
	})
}

// TestJobIsReadAsOfOneMoment: an instance continues with its next item while the job is read. No part of the answer
// shows the new attempt next to the old one as still live, whichever was read first, and the job's own row is of the
// same moment.
func TestJobIsReadAsOfOneMoment(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		job := sampleJob(1)
		commit(t, term, facts.PutJob{Job: job}, start(1, 0, 1))
		var live []facts.AttemptID
		var version int64
		part := func(ctx context.Context, rows store.JobRows, item facts.ItemNo) {
			for _, a := range must(rows.Latest(ctx, item, item))(t) {
				if a.State.Live() {
					live = append(live, a.AttemptID)
				}
			}
		}
		found, err := s.ReadJob(ctx, 1, func(ctx context.Context, j facts.JobFacts, rows store.JobRows) error {
			version = j.Version
			part(ctx, rows, 0)
			changed := job
			changed.Version++
			commit(t, term, ended(1, 0, 1, facts.Failed, facts.ByItself), start(1, 3, 1), facts.PutJob{Job: changed},
				facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 2, Last: 2, Step: 1, Kind: facts.MarkKilled}}})
			part(ctx, rows, 3)
			if marks := must(rows.Marks(ctx))(t); len(marks) != 0 {
				t.Errorf("marks of later: %+v", marks)
			}
			if earlier := must(rows.FailedBefore(ctx, 0, 9))(t); len(earlier) != 0 {
				t.Errorf("failures of later: %+v", earlier)
			}
			if all := must(rows.Attempts(ctx, facts.AttemptID{}, 0))(t); len(all) != 1 || !all[0].State.Live() {
				t.Errorf("attempts of later: %+v", all)
			}
			return nil
		})
		if err != nil || !found || version != job.Version || len(live) != 1 || live[0] != attemptID(1, 0, 1) {
			t.Errorf("found %v, %v; version %d; live %v", found, err, version, live)
		}
		if found, err := s.ReadJob(ctx, 2, nil); found || err != nil {
			t.Errorf("a job that is not there: %v, %v", found, err)
		}
	})
}

func TestAttemptPagesAndHistory(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		commit(t, term, facts.PutJob{Job: sampleJob(1)}, facts.PutJob{Job: sampleJob(2)},
			facts.AddEvent{Event: facts.EventFacts{At: at(0), Type: "modified", Job: 1, Item: -1, Instance: -1, By: "ann",
				Why: facts.Why{Cause: "priority"}}},
			facts.AddEvent{Event: facts.EventFacts{At: at(0), Type: "host-lock", Item: -1, Instance: -1, Host: "h1"}},
			start(1, 0, 1), ended(1, 0, 1, facts.Failed, facts.ByItself),
			facts.StartAttempt{Attempt: started(attemptID(1, 0, 2), at(2))}, start(1, 3, 1), start(2, 0, 1),
			facts.AddEvent{Event: facts.EventFacts{At: at(2), Type: "promoted", Job: 1, Item: 0, Instance: 0, Host: "h1"}})
		names := func(list []facts.AttemptFacts) (out []string) {
			for _, a := range list {
				out = append(out, fmt.Sprintf("%d/%d", a.Item, a.Number))
			}
			return out
		}
		all := must(s.Attempts(ctx, 1, facts.AttemptID{}, 0))(t)
		if diff := cmp.Diff([]string{"0/1", "0/2", "3/1"}, names(all)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"0/2"}, names(must(s.Attempts(ctx, 1, attemptID(1, 0, 1), 1))(t))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"0/2", "3/1"}, names(must(s.Latest(ctx, 1, 0, 9))(t))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"3/1"}, names(must(s.Latest(ctx, 1, 1, 3))(t))); diff != "" {
			t.Error(diff)
		}
		var lines []string
		history := historyOf(t, s, 1, store.HistoryPage{})
		for _, e := range history {
			lines = append(lines, fmt.Sprintf("%s %d", e.Type, e.Item))
		}
		want := []string{"modified -1", "item-started 0", "item-started 3", "promoted 0", "item-failed 0", "item-started 0"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		for name, c := range map[string]struct {
			page    store.HistoryPage
			want    []store.HistoryLine
			earlier int
		}{
			"the newest two":        {store.HistoryPage{Limit: 2}, history[4:], 4},
			"two before these":      {store.HistoryPage{Limit: 2, Before: history[4].Place}, history[2:4], 2},
			"all before the fourth": {store.HistoryPage{Before: history[3].Place}, history[:3], 0},
			"none before the first": {store.HistoryPage{Before: history[0].Place}, history[:0], 0},
			"two from the first": {store.HistoryPage{Limit: 2, After: store.HistoryCursor{At: time.UnixMicro(0)}},
				history[:2], 0},
			"what comes after the last": {store.HistoryPage{After: history[5].Place}, history[:0], 0},
			"what comes after the 4th":  {store.HistoryPage{After: history[3].Place}, history[4:], 0},
		} {
			got, earlier, err := s.History(ctx, 1, c.page)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" || earlier != c.earlier {
				t.Errorf("%s: %v, %d earlier (-want +got):\n%s", name, err, earlier, diff)
			}
		}
		for _, l := range history {
			if place, err := store.ParseHistoryPlace(l.Place.String()); err != nil || place != l.Place {
				t.Errorf("%v reads %v, %v", l.Place, place, err)
			}
		}
		if got := historyOf(t, s, 99, store.HistoryPage{}); len(got) != 0 {
			t.Errorf("history of no job: %+v", got)
		}
	})
}

// TestSpareTokensOfHosts: repeated enrolment, or enrolment of invented hosts, neither fills the table nor hides other
// hosts' tokens.
func TestSpareTokensOfHosts(t *testing.T) {
	token := func(id, host string, made float64, used float64) store.Token {
		one := store.Token{ID: id, MAC: make([]byte, 32), Seal: []byte{}, User: "u", Role: "worker", CreatedAt: at(made),
			ExpiresAt: at(1000), HostKey: host}
		if used > 0 {
			one.LastUsed = at(used)
		}
		return one
	}
	onPostgres(t, func(t *testing.T, s *Store) {
		list := []store.Token{token("shared", "", 0, 0), token("made up", "k1", 10, 0), token("just made", "k2", 90, 0),
			token("used", "k3", 1, 5)}
		ended := token("ended", "k4", 2, 3)
		ended.ExpiresAt = at(40)
		for n := range 2 * rules.KeptTokens {
			list = append(list, token(fmt.Sprintf("again%02d", n), "k5", 20, 30+float64(n)))
		}
		over := store.Token{ID: "session", MAC: make([]byte, 32), Seal: []byte{}, User: "u", Role: "user",
			SessionOf: "shared", CreatedAt: at(2), ExpiresAt: at(40)}
		for _, one := range append(list, ended, over) {
			if err := s.CreateToken(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		good := must(s.GoodTokens(ctx, at(95)))(t)
		if n := len(good); n != len(list) || good[0].ID != "shared" || good[n-1].ID != "made up" ||
			good[n-2].ID != "just made" {
			t.Errorf("good are %+v", good)
		}
		if got, _, err := s.Token(ctx, "session"); err != nil || got.SessionOf != "shared" {
			t.Errorf("%+v, %v", got, err)
		}
		if n := must(s.DropSpareTokens(ctx, at(50)))(t); n != rules.KeptTokens+3 {
			t.Errorf("%d were deleted", n)
		}
		want := []string{"just made", "shared", "used"}
		for n := rules.KeptTokens; n < 2*rules.KeptTokens; n++ {
			want = append(want, fmt.Sprintf("again%02d", n))
		}
		var left []string
		for _, one := range must(s.Tokens(ctx))(t) {
			left = append(left, one.ID)
		}
		slices.Sort(left)
		slices.Sort(want)
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

func TestTokens(t *testing.T) {
	hash := make([]byte, 32)
	token := store.Token{ID: "a1", MAC: hash, User: "ann", Role: "user", CreatedAt: at(0), ExpiresAt: at(100),
		Seal: []byte("a1")}
	later := store.Token{ID: "a0", MAC: hash, User: "bob", Role: "admin", CreatedAt: at(1), ExpiresAt: at(100),
		Seal: []byte("a0")}
	onPostgres(t, func(t *testing.T, s *Store) {
		for _, one := range []store.Token{later, token} {
			if err := s.CreateToken(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateToken(ctx, token); err == nil {
			t.Error("an id was given twice")
		}
		if diff := cmp.Diff([]store.Token{token, later}, must(s.Tokens(ctx))(t)); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
		for _, when := range []float64{7, 5} {
			if err := s.TouchTokens(ctx, map[string]time.Time{"a1": at(when), "zz": at(when)}); err != nil {
				t.Fatal(err)
			}
		}
		shorter := later
		shorter.ExpiresAt, shorter.Seal = at(90), []byte("a0 shorter")
		for n, want := range []bool{true, false} { // then it is not as it was before
			if done := must(s.ChangeToken(ctx, later, shorter))(t); done != want {
				t.Errorf("shortened a0 the %d. time: %v", n+1, done)
			}
		}
		if got, _, err := s.Token(ctx, "a0"); err != nil || !cmp.Equal(got, shorter) {
			t.Errorf("shortened to %+v, %v", got, err)
		}
		for when, want := range map[float64]int{1: 2, 89: 2, 90: 1, 99: 1, 100: 0} {
			if got := must(s.GoodTokens(ctx, at(when)))(t); len(got) != want || want == 2 && got[0].ID != "a0" {
				t.Errorf("at %v good are %+v, want %d", when, got, want)
			}
		}
		if known := must(s.RevokeToken(ctx, "a1"))(t); !known {
			t.Error("a1 is unknown")
		}
		if known := must(s.RevokeToken(ctx, "zz"))(t); known {
			t.Error("zz is known")
		}
		got, known, err := s.Token(ctx, "a1")
		token := token
		token.LastUsed, token.Revoked, token.Seal = at(7), true, []byte{}
		if diff := cmp.Diff(token, got); diff != "" || !known || err != nil {
			t.Errorf("known %v, error %v, token (-want +got):\n%s", known, err, diff)
		}
		if _, known, err := s.Token(ctx, "zz\x00"); known || err != nil {
			t.Errorf("a token that is not there: %v, %v", known, err)
		}
	})
}

// An agenda that is no longer understood does not hide the other jobs.
func TestUnreadableAgenda(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		odd := changed(sampleJob(2), func(j *facts.JobFacts) { j.Agenda = agenda.Spec{Range: "1-10x0"} })
		commit(t, lead(t, s), facts.PutJob{Job: sampleJob(1)}, facts.PutJob{Job: odd}, start(2, 0, 1))
		views := must(s.Jobs(ctx, store.JobQuery{}))(t)
		if len(views) != 2 || views[0].Items != (facts.ItemCounts{Total: 1, Running: 1}) || views[1].Items.Total != 10 {
			t.Errorf("listed %+v", views)
		}
	})
}

// A list counts a long range and does not keep it: a page of a thousand would be 1 GB.
func TestListKeepsNoLongRange(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		long := "1" + strings.Repeat(",1", rules.LongRange)
		commit(t, lead(t, s), facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) {
			j.Agenda = agenda.Spec{Range: long + ",2-5"}
		})})
		for brief, want := range map[bool]string{true: "", false: long + ",2-5"} {
			views := must(s.Jobs(ctx, store.JobQuery{Brief: brief}))(t)
			if len(views) != 1 || views[0].Items.Total != 5 || views[0].Agenda.Range != want {
				t.Errorf("brief %v: %d items, a range of %d bytes", brief, views[0].Items.Total, len(views[0].Agenda.Range))
			}
		}
	})
}

// TestNeedsOfPastJobs: what a job learned about its memory can be read from its rows: from measured peaks, from limits
// that were too low, and after its attempts have become sums.
func TestNeedsOfPastJobs(t *testing.T) {
	const mb = 1 << 20
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		job := func(id facts.JobID, reservations string) facts.PutJob {
			return facts.PutJob{Job: changed(sampleJob(id), func(j *facts.JobFacts) {
				j.Submission, j.Reservations, j.State, j.FinishedAt = fmt.Sprint(id), reservations, facts.FailedJob, at(9)
			})}
		}
		writes := []facts.Write{job(1, ""), job(2, "host.memory=500MB"), job(3, "host.memory=1MB"), job(4, "")}
		peak := func(id facts.JobID, item int, state facts.AttemptState, why facts.Reason, bytes int64) {
			end := ended(id, facts.ItemNo(item), 1, state, facts.Never)
			end.Peak, end.Reason = bytes, why
			writes = append(writes, start(id, facts.ItemNo(item), 1), end)
		}
		for n := range 10 {
			peak(1, n, facts.Done, "", int64(n+1)*30*mb)
			peak(2, n, facts.Done, "", int64(n+1)*30*mb)
		}
		peak(3, 0, facts.Failed, facts.ReasonMemoryLimit, 3*mb)
		commit(t, term, writes...)
		largest := items.MemoryPolicy{Quantile: 1}
		check := func(what string, q store.JobQuery, want ...facts.JobMemory) {
			t.Helper()
			var got []facts.JobMemory
			for _, v := range must(s.Jobs(ctx, q))(t) {
				got = append([]facts.JobMemory{v.Memory}, got...)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", what, d)
			}
		}
		want := []facts.JobMemory{{Need: 300 * mb, LargestPeak: 300 * mb, Returned: 10},
			{Requested: 500 * mb, Need: 500 * mb, LargestPeak: 300 * mb, Returned: 10},
			{Requested: mb, Need: 3 * mb, LargestPeak: 3 * mb, RanOut: 1}, {}}
		check("rows", needsBy(largest, 0), want...)
		want[1].Need = 500 * mb * 2 / 3
		trimmed := needsBy(items.MemoryPolicy{Quantile: 1, Trim: true}, 0)
		trimmed.IDs = []facts.JobID{2}
		check("trimmed", trimmed, want[1])
		want[1].Need = 500 * mb
		for n := range 2 {
			past := must(s.Compact(ctx, store.Compaction{Epoch: term.Epoch(), Jobs: []facts.JobID{1, 2, 3}, Before: at(10),
				At: at(10), HalfLife: time.Hour, Limit: 12}))(t)
			check(fmt.Sprintf("%d attempts are sums, after %d turns", past, n+1), needsBy(largest, 0), want...)
		}
	})
}

// needsBy asks for jobs with their needs by a policy, where the largest host has so many bytes.
func needsBy(p items.MemoryPolicy, largest int64) store.JobQuery {
	return store.JobQuery{Quantile: p.Quantile, Memory: func(reservations string, past facts.PastMemory) facts.JobMemory {
		return p.Past(reservations, past, largest)
	}}
}

// The quantile of the peaks, with its margin, from the 20th on.
func TestNeedOfAPastJobByQuantile(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		writes := []facts.Write{facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) {
			j.Agenda = agenda.Spec{Range: "1-100"}
		})}}
		for n := range facts.ItemNo(100) {
			end := ended(1, n, 1, facts.Done, facts.Never)
			end.Peak = int64(n+1) * 1000
			writes = append(writes, start(1, n, 1), end)
		}
		commit(t, term, writes...)
		q := needsBy(items.MemoryPolicy{Quantile: 0.95, Margin: 1.1}, 0)
		if got := must(s.Jobs(ctx, q))(t)[0].Memory; got.Need != 104_500 || got.LargestPeak != 100_000 ||
			got.Returned != 100 {
			t.Errorf("%+v, want a need of 104,500 as of N7", got)
		}
	})
}

// historyOf is a page of a job's history.
func historyOf(t *testing.T, s store.Reader, job facts.JobID, page store.HistoryPage) []store.HistoryLine {
	t.Helper()
	lines, _, err := s.History(ctx, job, page)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestNonsenseIsNoPlace: what no row can have is refused before the database is asked.
func TestNonsenseIsNoPlace(t *testing.T) {
	for _, bad := range []string{"1", "1.2.3", "1.2.3.4.5", "x.1.1.1", " 1.2.3.4", "1.2.3.4 ", "-1.0.0.0",
		"9223372036854775807.0.0.0",
		"1.9999999999.0.0", "1.0.0.9999999999", "1.-1.0.0", "1.0.99999999999999999999.0"} {
		if place, err := store.ParseHistoryPlace(bad); err == nil {
			t.Errorf("%q reads %v", bad, place)
		}
	}
}
