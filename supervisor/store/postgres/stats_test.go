package postgres

import (
	"fmt"
	"slices"
	"testing"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Reports by class put hosts with the same slots, memory, GPUs and speed together, whatever they are called, and divide
// exactly what reports by host divide, of rows and of sums alike; a host without a row has no class.
func TestStatsByClass(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		term := lead(t, s)
		commit(t, term, facts.PutHost{Host: facts.HostFacts{ID: "h1", Slots: 16, Memory: 64<<30 - 7, Cluster: "/a", Spec: 1}},
			facts.PutHost{Host: facts.HostFacts{ID: "h2", Slots: 16, Memory: 64<<30 + 9, Cluster: "/b", Groups: []string{"old"}}},
			facts.PutHost{Host: facts.HostFacts{ID: "h9", Slots: 32, Memory: 5 << 29, Resources: map[string]int{"gpus": 2}, Spec: 1.5}})
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
				class := map[string]string{"h1": "16 slots, 64 GB", "h2": "16 slots, 64 GB"}[r.Host]
				sum := sums[class]
				sum.Attempts, sum.Slots, sum.CPU, sum.Charged = sum.Attempts+r.Attempts, sum.Slots+r.Slots, sum.CPU+r.CPU, sum.Charged+r.Charged
				sums[class] = sum
			}
			var hosts []string
			for _, class := range []string{"", "16 slots, 64 GB"} {
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
		"16 slots, 64 GB":                  {ID: "a", Slots: 16, Memory: 64<<30 - 1<<28, Spec: 1},
		"32 slots, 3 GB, 2 GPUs, spec 1.5": {Slots: 32, Memory: 5 << 29, Resources: map[string]int{"gpus": 2}, Spec: 1.5},
		"1 slot, 0 GB":                     {Slots: 1},
	} {
		if got := rules.ClassOf(h); got != want {
			t.Errorf("%+v is %q, want %q", h, got, want)
		}
	}
}
