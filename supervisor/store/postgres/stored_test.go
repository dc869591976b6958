package postgres

import (
	"strings"
	"testing"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// largeJob has texts of every kind.
func largeJob(id facts.JobID) facts.JobFacts {
	return changed(sampleJob(id), func(j *facts.JobFacts) {
		j.Command, j.Env = []string{"render", strings.Repeat("ü", 5000)},
			map[string]string{"A": strings.Repeat("x", 3000), "B": ""}
		j.Submission, j.Cwd, j.Dependency, j.Requirements, j.Restrictions, j.HostOrder = "token", "/show", "complete-job-900",
			"host.memory > 4", "/a/*", "+host.x"
		j.Hosts, j.OmitHosts, j.Groups, j.Flags = []string{"h1", "h2"}, []string{"h3"}, []string{"g"}, []string{"auto"}
	})
}

// An owner's jobs are summed up as the farm reckons them, ended ones included, until their rows go.
func TestStored(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		first, second := largeJob(1), changed(sampleJob(2), func(j *facts.JobFacts) {
			j.State, j.FinishedAt = facts.Complete, at(5)
		})
		commit(t, term, facts.PutJob{Job: first}, facts.PutJob{Job: second},
			facts.PutJob{Job: changed(sampleJob(3), func(j *facts.JobFacts) {
				j.User = "bob"
			})})
		want := func(jobs ...facts.JobFacts) {
			t.Helper()
			sum := int64(0)
			for _, j := range jobs {
				sum += j.Stored()
			}
			if got := must(s.Stored(ctx, "ann"))(t); got != sum {
				t.Errorf("%d bytes, want %d", got, sum)
			}
		}
		want(first, second)
		first.Version, first.Hosts = 2, []string{strings.Repeat("h", 200)}
		commit(t, term, facts.PutJob{Job: first})
		want(first, second)
		moved := must(s.Compact(ctx, store.Compaction{Epoch: term.Epoch(), Jobs: []facts.JobID{2}, Before: at(1e6),
			At: at(1e6), Limit: 10}))(t)
		if moved != 0 || must(s.Remove(ctx, term.Epoch(), at(1e6), []facts.JobID{2}))(t) != 1 {
			t.Fatal("the ended job is not removed")
		}
		want(first)
		if got := must(s.Stored(ctx, "nobody"))(t); got != 0 {
			t.Errorf("nobody has %d bytes", got)
		}
	})
}
