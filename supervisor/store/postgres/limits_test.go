package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// TestAttackTagsStopHistory: names of any length become sums like others.
func TestAttackTagsStopHistory(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		long := func(n int) string { return fmt.Sprint(n, strings.Repeat("\\長", 250)) }
		var tags facts.Tags
		for n := range tags {
			tags[n] = long(n)
		}
		poison := changed(sampleJob(6), func(j *facts.JobFacts) {
			j.Agenda, j.State, j.FinishedAt = agenda.Spec{Range: "1"}, facts.Complete, at(200)
			j.User, j.Cluster, j.Account, j.Tags = long(1), "/"+long(2), long(3), tags
		})
		a := started(attemptID(6, 0, 1), at(100))
		a.Host, a.Owner = facts.HostID(long(4)), poison.User
		commit(t, term, facts.PutJob{Job: poison}, facts.StartAttempt{Attempt: a},
			facts.EndAttempt{ID: a.AttemptID, From: facts.Running,
				State: facts.Done, EndedAt: at(200), Wall: 100, CPU: 50, Peak: 1, Charge: facts.Charge{CPU: 100}, Charged: true})
		before := look(t, s).rounded()
		closed := must(s.Closed(ctx, at(1e6), 10))(t)
		for must(s.Compact(ctx, compaction(term, closed, 2)))(t) > 0 {
			continue
		}
		if left := must(s.Closed(ctx, at(1e6), 10))(t); left != nil {
			t.Errorf("%v are still to be compacted", left)
		}
		if d := diff(before, look(t, s).rounded()); d != "" {
			t.Errorf("the books changed (-before +after):\n%s", d)
		}
	})
}

// A job whose rows cannot become sums is named as such, and can be left out.
func TestSpoiledRowsAreTold(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		history(t, term)
		commit(t, term, facts.StartAttempt{Attempt: started(attemptID(3, 3, 1), at(100))})
		closed := must(s.Closed(ctx, at(1e6), 10))(t) // it does not look at attempts
		if !slices.Contains(closed, 3) {
			t.Errorf("closed are %v", closed)
		}
		if _, err := s.Compact(ctx, compaction(term, closed, 100)); !errors.Is(err, store.ErrRows) {
			t.Errorf("a live attempt of a closed job: %v", err)
		}
		left := must(s.Closed(ctx, at(1e6), 10, closed[0], 3))(t)
		if want := slices.DeleteFunc(slices.Clone(closed[1:]), func(id facts.JobID) bool {
			return id == 3
		}); !slices.Equal(left, want) {
			t.Errorf("without %v and 3: %v, want %v", closed[0], left, want)
		}
	})
}

// TestAttackAnswersOfOthers: whatever one owner is answered, another's answers stay their day.
func TestAttackAnswersOfOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		commit(t, term, answerTo("ann", "credit", "{}", at(0)))
		many := make([]facts.Write, rules.AnswerPlaces+10)
		for n := range many {
			many[n] = answerTo("mallory", fmt.Sprint(n), "{}", at(1))
		}
		commit(t, term, many...)
		commit(t, term, answerTo("mallory", "large", strings.Repeat("x", 2*rules.AnswerPlaces*rules.AnswerPlace/100), at(2)))
		if _, known, err := s.Answer(ctx, "ann", "credit"); !known || err != nil {
			t.Errorf("another's answer is gone: %v", err)
		}
		if _, known, _ := s.Answer(ctx, "mallory", "0"); known {
			t.Error("the flood is kept beyond its owner's places")
		}
	})
}

// The trail is listed newest first, narrowed and paged; a change and its row are one; rows are only added.
func TestAuditTrail(t *testing.T) {
	row := func(who string, n float64) facts.AuditFacts {
		return facts.AuditFacts{At: at(n), Who: who, Origin: "unix:1", Verb: "submit", Object: "job 1", Outcome: "done",
			Detail: `{"n": "é"}`, Request: "r"}
	}
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		first := must(s.AuditLog(ctx, store.AuditQuery{Limit: 1}))(t)
		after := int64(0)
		if len(first) > 0 {
			after = first[0].ID
		}
		commit(t, term, facts.AddAudit{Audit: row("ann", 1)}, facts.AddAudit{Audit: row("bob", 2)})
		if err := s.AddAudits(ctx, []facts.AuditFacts{row("ann", 3)}); err != nil {
			t.Fatal(err)
		}
		names := func(q store.AuditQuery) (got string) {
			for _, r := range must(s.AuditLog(ctx, q))(t) {
				if r.ID > after {
					got += r.Who + fmt.Sprint(r.At.Unix()-at(0).Unix())
				}
			}
			return got
		}
		all := must(s.AuditLog(ctx, store.AuditQuery{Limit: 3}))(t)
		for want, q := range map[string]store.AuditQuery{"ann3bob2ann1": {}, "ann3ann1": {User: "ann"},
			"ann3bob2": {Since: at(2)}, "ann1": {Before: all[1].ID}} {
			if got := names(q); got != want {
				t.Errorf("%+v: %s, want %s", q, got, want)
			}
		}
		token := store.Token{ID: fmt.Sprint("id", after), MAC: make([]byte, 32), Seal: []byte{}, User: "ann", Role: "user",
			CreatedAt: at(0), ExpiresAt: at(9)}
		if err := s.CreateToken(ctx, token, row("cy", 4)); err != nil || names(store.AuditQuery{User: "cy"}) != "cy4" {
			t.Errorf("a token's row: %v", err)
		}
		if err := s.CreateToken(ctx, token, row("cy", 5)); err == nil || names(store.AuditQuery{User: "cy"}) != "cy4" {
			t.Errorf("a token that was not made left a row: %v", err)
		}
		if known, err := s.RevokeToken(ctx, "none", row("dee", 6)); known || err != nil ||
			names(store.AuditQuery{User: "dee"}) != "" {
			t.Errorf("a token that is not there: %v, %v, or left a row", known, err)
		}
	})
	p := openPostgres(t, newDatabase(t))
	if err := p.AddAudits(ctx,
		[]facts.AuditFacts{{At: time.Now(), Outcome: "done"},
			{At: time.Now().AddDate(0, 0, -60), Outcome: "done"}}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"UPDATE audit SET who = 'x'", "DELETE FROM audit", "TRUNCATE audit"} {
		if _, err := p.pool.Exec(ctx, sql); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
	if n := must(p.ForgetAudits(ctx, time.Now().AddDate(0, 0, -30), 10))(t); n != 1 {
		t.Errorf("%d old rows were removed", n)
	}
}
