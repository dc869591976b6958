package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"qb/agenda"
	"qb/supervisor/farm"
)

// TestAttackTagsStopHistory: names as long as users of earlier releases could make them become sums like others.
func TestAttackTagsStopHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		history(t, term)
		long := func(n int) string { return fmt.Sprint(n, strings.Repeat("\\長", 250)) }
		var tags farm.Tags
		for n := range tags {
			tags[n] = long(n)
		}
		poison := changed(sampleJob(6), func(j *farm.JobFacts) {
			j.Agenda, j.State, j.FinishedAt = agenda.Spec{Range: "1"}, farm.Complete, at(200)
			j.User, j.Cluster, j.Account, j.Tags = long(1), "/"+long(2), long(3), tags
		})
		a := started(attemptID(6, 0, 1), at(100))
		a.Host, a.Owner = farm.HostID(long(4)), poison.User
		commit(t, term, farm.PutJob{Job: poison}, farm.StartAttempt{Attempt: a}, farm.EndAttempt{ID: a.AttemptID, From: farm.Running,
			State: farm.Done, EndedAt: at(200), Wall: 100, CPU: 50, Peak: 1, Charge: farm.Charge{CPU: 100}, Charged: true})
		before := look(t, s).rounded()
		closed := must(s.Upkeep.Closed(ctx, at(1e6), 10))(t)
		for must(s.Upkeep.Compact(ctx, compaction(term, closed, 2)))(t) > 0 {
			continue
		}
		if left := must(s.Upkeep.Closed(ctx, at(1e6), 10))(t); left != nil {
			t.Errorf("%v are still to be compacted", left)
		}
		if d := diff(before, look(t, s).rounded()); d != "" {
			t.Errorf("the books changed (-before +after):\n%s", d)
		}
	})
}

// A job whose rows cannot become sums is named as such, and can be left out.
func TestSpoiledRowsAreTold(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		history(t, term)
		closed := must(s.Upkeep.Closed(ctx, at(1e6), 10))(t)
		commit(t, term, farm.StartAttempt{Attempt: started(attemptID(3, 3, 1), at(100))})
		if _, err := s.Upkeep.Compact(ctx, compaction(term, closed, 100)); !errors.Is(err, ErrRows) {
			t.Errorf("a live attempt of a closed job: %v", err)
		}
		left := must(s.Upkeep.Closed(ctx, at(1e6), 10, closed[0], 3))(t)
		if want := slices.DeleteFunc(slices.Clone(closed[1:]), func(id farm.JobID) bool { return id == 3 }); !slices.Equal(left, want) {
			t.Errorf("without %v and 3: %v, want %v", closed[0], left, want)
		}
	})
}

// TestAttackAnswersOfOthers: whatever one owner is answered, another's answers stay their day.
func TestAttackAnswersOfOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, s subject) {
		term := lead(t, s)
		commit(t, term, answerTo("ann", "credit", "{}", at(0)))
		many := make([]farm.Write, answerPlaces+10)
		for n := range many {
			many[n] = answerTo("mallory", fmt.Sprint(n), "{}", at(1))
		}
		commit(t, term, many...)
		commit(t, term, answerTo("mallory", "large", strings.Repeat("x", 2*answerPlaces*answerPlace/100), at(2)))
		if _, known, err := s.Answer(ctx, "ann", "credit"); !known || err != nil {
			t.Errorf("another's answer is gone: %v", err)
		}
		if _, known, _ := s.Answer(ctx, "mallory", "0"); known {
			t.Error("the flood is kept beyond its owner's places")
		}
	})
}
