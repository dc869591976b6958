package postgres

import (
	"testing"

	"qb/supervisor/job/facts"
)

// What was found in the output of an attempt comes with its end, is read with it, and goes with it.
func TestFound(t *testing.T) {
	onPostgres(t, func(t *testing.T, p *Store) {
		term := lead(t, p)
		end := ended(1, 0, 1, facts.Failed, facts.ByItself)
		end.Found = facts.Found{Highlights: []string{"a warning", "\x00\xff"}, OutputPaths: []string{"/out/1.exr"}}
		second := ended(1, 0, 2, facts.Done, facts.Never)
		second.Found.OutputPaths = []string{"/out/2.exr"}
		commit(t, term, facts.PutJob{Job: sampleJob(1)}, start(1, 0, 1), end, start(1, 0, 2), second, start(1, 1, 1),
			ended(1, 1, 1, facts.Done, facts.Never))
		id := func(item facts.ItemNo, number int) facts.AttemptID {
			return facts.AttemptID{Job: 1, Item: item, Number: number}
		}
		rows := jobRows{p.pool, 1}
		all := must(rows.Found(ctx, id(0, 1), id(1, 1)))(t)
		want := map[facts.AttemptID]facts.Found{
			id(0, 1): {Highlights: []string{"a warning", "\uFFFD\uFFFD"}, OutputPaths: []string{"/out/1.exr"}},
			id(0, 2): {Highlights: []string{}, OutputPaths: []string{"/out/2.exr"}},
		}
		if d := diff(want, all); d != "" {
			t.Error(d)
		}
		if some := must(rows.Found(ctx, id(0, 2), id(0, 2)))(t); len(some) != 1 {
			t.Errorf("of one attempt: %+v", some)
		}
		commit(t, term, facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) {
			j.Version, j.State, j.FinishedAt = 2, facts.Complete, at(1e5)
		})})
		must(p.Compact(ctx, compaction(term, []facts.JobID{1}, 1)))(t)
		if left := must(rows.Found(ctx, id(0, 1), id(9, 9)))(t); len(left) != 0 {
			t.Errorf("of attempts that are gone: %+v", left)
		}
	})
}
