package postgres

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Reports by class put hosts with the same slots, memory, GPUs and speed together, whatever they are called, and divide
// exactly what reports by host divide, of rows and of sums alike; a host without a row has no class.
func TestStatsByClass(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		commit(t, term, facts.PutHost{Host: facts.HostFacts{ID: "h1", Slots: 16, Memory: 64<<30 - 7, Cluster: "/a", Spec: 1}},
			facts.PutHost{Host: facts.HostFacts{ID: "h2", Slots: 16, Memory: 64<<30 + 9, Cluster: "/b",
				Groups: []string{"old"}}},
			facts.PutHost{Host: facts.HostFacts{ID: "h9", Slots: 32, Memory: 5 << 29, Resources: map[string]int{"gpus": 2},
				Spec: 1.5}})
		history(t, term)
		query := func(by ...string) (lines []string) {
			for _, r := range must(s.Stats(ctx, store.StatsQuery{From: at(-1e6), To: at(1e6), By: by}))(t) {
				lines = append(lines, fmt.Sprintf("%q %d %.6f %.6f %.6f", r.Class, r.Attempts, r.Slots, r.CPU, r.Charged))
			}
			return lines
		}
		want := query(store.ByClass)
		if len(want) != 2 {
			t.Fatalf("classes %q", want)
		}
		for chunk := range 10 {
			sums := map[string]store.StatsRow{}
			for _, r := range must(s.Stats(ctx, store.StatsQuery{From: at(-1e6), To: at(1e6), By: []string{store.ByHost}}))(t) {
				class := map[string]string{"h1": "16 slots, 64 GiB", "h2": "16 slots, 64 GiB"}[r.Host]
				sum := sums[class]
				sum.Attempts, sum.Slots, sum.CPU, sum.Charged = sum.Attempts+r.Attempts, sum.Slots+r.Slots, sum.CPU+r.CPU,
					sum.Charged+r.Charged
				sums[class] = sum
			}
			var hosts []string
			for _, class := range []string{"", "16 slots, 64 GiB"} {
				r := sums[class]
				hosts = append(hosts, fmt.Sprintf("%q %d %.6f %.6f %.6f", class, r.Attempts, r.Slots, r.CPU, r.Charged))
			}
			if got := query(store.ByClass); !slices.Equal(got, want) || !slices.Equal(hosts, want) {
				t.Fatalf("after %d chunks by class\n%q, by host\n%q, want\n%q", chunk, got, hosts, want)
			}
			if rows := query(store.ByClass, store.ByHost); len(rows) != 3 {
				t.Errorf("by class and host: %q", rows)
			}
			if must(s.Compact(ctx, compaction(term, []facts.JobID{1, 2, 3, 5}, 2)))(t) == 0 {
				return
			}
		}
		t.Error("compacting does not end")
	})
}

func TestClassOf(t *testing.T) {
	for want, h := range map[string]facts.HostFacts{
		"16 slots, 64 GiB":                  {ID: "a", Slots: 16, Memory: 64<<30 - 1<<28, Spec: 1},
		"32 slots, 3 GiB, 2 GPUs, spec 1.5": {Slots: 32, Memory: 5 << 29, Resources: map[string]int{"gpus": 2}, Spec: 1.5},
		"2 slots, 512 MiB":                  {Slots: 2, Memory: 512<<20 - 1},
		"1 slot, memory unknown":            {Slots: 1},
	} {
		if got := rules.ClassOf(h); got != want {
			t.Errorf("%+v is %q, want %q", h, got, want)
		}
	}
}

// What became of attempts is counted apart: work with a result by its kind, what was preempted, what an order killed,
// and what failed or was lost, of rows and of daily sums alike. Each row's fractions are those of its attempts.
func TestStatsDivideByEnd(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		r := rand.New(rand.NewPCG(7, 1))
		counted := map[facts.AttemptState]string{facts.Killed: "killed", facts.Preempted: "preempted", facts.Failed: "failed",
			facts.Lost: "failed"}
		ends := slices.Sorted(maps.Keys(counted))
		active := func(version int64, state facts.JobState) facts.PutJob {
			return facts.PutJob{Job: changed(sampleJob(1), func(j *facts.JobFacts) {
				j.Agenda, j.Version, j.State = agenda.Spec{Range: "1-30"}, version, state
				if state.Final() {
					j.FinishedAt = at(5000)
				}
			})}
		}
		writes, want := []facts.Write{active(1, facts.Active)}, map[string]int64{}
		for item := range facts.ItemNo(30) {
			for number := 1; ; number++ {
				a, state, again := started(attemptID(1, item, number), at(float64(100*number))), ends[r.IntN(len(ends))],
					facts.ByItself
				kind := r.IntN(2)
				if a.Kind = []facts.Kind{facts.Primary, facts.Secondary}[kind]; r.IntN(3) == 0 {
					state, again = []facts.AttemptState{facts.Done, facts.Killed, facts.Failed}[r.IntN(3)], facts.Never
				}
				end := facts.EndAttempt{ID: a.AttemptID, From: facts.Running, State: state, Again: again,
					EndedAt: at(float64(100*number + 50)), Wall: 50}
				if state != facts.Done {
					end.Reason = facts.ReasonExit
				}
				writes = append(writes, facts.StartAttempt{Attempt: a}, end)
				want[cmp.Or(counted[state], []string{"primary", "secondary"}[kind])]++
				if again == facts.Never {
					break
				}
			}
		}
		commit(t, term, append(writes, active(2, facts.KilledJob))...)
		for {
			got := map[string]int64{}
			for _, row := range must(s.Stats(ctx,
				store.StatsQuery{From: at(-1e6), To: at(1e6), By: []string{store.ByKind}}))(t) {
				got[row.Kind] = row.Attempts
				part := map[string]float64{"secondary": row.Secondary, "preempted": row.Preempted, "killed": row.Killed,
					"failed": row.Failed}
				for kind, slots := range part {
					if (slots == row.Slots) != (kind == row.Kind) || slots != 0 && kind != row.Kind {
						t.Errorf("of %s %v slot-seconds, %v are %s", row.Kind, row.Slots, slots, kind)
					}
				}
			}
			if len(want) != 5 || !maps.Equal(got, want) {
				t.Fatalf("attempts by end %v, want %v", got, want)
			}
			if must(s.Compact(ctx, compaction(term, []facts.JobID{1}, 20)))(t) == 0 {
				return
			}
		}
	})
}
