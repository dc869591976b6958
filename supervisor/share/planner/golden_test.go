package planner

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"testing"

	"qb/supervisor/job/facts"
)

// goldenCase is one case of smartshare.json. `qb plan` reads the same file through the strict reader; this
// test looks at Balance alone, so it reads loosely.
type goldenCase struct {
	Name     string
	Snapshot struct {
		Now     float64
		Slots   int
		Hosts   []map[string]any
		Cluster string
		Policy  map[string]any
		Jobs    []map[string]any
		Running []map[string]any
	}
	Expect struct {
		Jobs      map[string]struct{ Primary, Secondary int }
		Free      int `json:"free_slots"`
		Stops     *int
		Stop      []string
		Lost      *float64
		Immediate map[string][2]int
		Promoted  []string
		Demoted   []string
		Leaving   []string
		Order     []string
	}
}

func readGolden(t *testing.T) []goldenCase {
	t.Helper()
	data, err := os.ReadFile("../../../smartshare/testdata/smartshare.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func member[T any](m map[string]any, name string, otherwise T) T {
	v, ok := m[name]
	if !ok || v == nil {
		return otherwise
	}
	switch any(otherwise).(type) {
	case int:
		return any(int(v.(float64))).(T)
	case int64:
		return any(int64(v.(float64))).(T)
	}
	return v.(T)
}

func (c *goldenCase) snapshot() Snapshot {
	in := &c.Snapshot
	s := Snapshot{Now: in.Now, Cluster: in.Cluster, Policy: SharePolicy{
		Mode: member(in.Policy, "mode", "jobs"), Preempt: member(in.Policy, "preempt", "aggressive"),
		DefaultMaxCPUs: member(in.Policy, "default_max_cpus", -1), MaxCPUsLimit: member(in.Policy, "max_cpus_limit", 100),
		ShareUnit: member(in.Policy, "share_unit", "slots"), Promote: true,
		Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	if list, ok := in.Policy["order"].([]any); ok {
		s.Policy.Order = nil
		for _, term := range list {
			s.Policy.Order = append(s.Policy.Order, term.(string))
		}
	}
	if in.Hosts == nil {
		s.Hosts = []SnapHost{{Name: "pool", Slots: in.Slots, Memory: -1, Up: true}}
	}
	for _, h := range in.Hosts {
		s.Hosts = append(s.Hosts, SnapHost{Name: h["name"].(string), Slots: member(h, "slots", 0),
			Memory: member(h, "memory", int64(-1)), Up: true})
	}
	hostIndex := func(name string) int {
		return slices.IndexFunc(s.Hosts, func(h SnapHost) bool { return h.Name == name })
	}
	for _, j := range in.Jobs {
		s.Jobs = append(s.Jobs, goldenJob(j, hostIndex))
	}
	for _, r := range in.Running {
		s.Running = append(s.Running, goldenInstance(r, &s, hostIndex))
	}
	return s
}

func goldenJob(j map[string]any, hostIndex func(string) int) SnapJob {
	job := SnapJob{ID: j["id"].(string), Priority: member(j, "priority", 9999), Submit: member(j, "submit", int64(0)),
		Cluster: member(j, "cluster", "/"), CPUs: member(j, "cpus", 1), Remaining: member(j, "remaining", -1),
		Agenda: member(j, "agenda", true), Slots: member(j, "slots", 1), Memory: member(j, "memory", int64(0)),
		Weight: member(j, "weight", 1.0), Fairshare: member(j, "fairshare", 1.0), VTime: member(j, "vtime", 0.0)}
	switch width := j["max_cpus"].(type) {
	case string:
		n := -1
		job.MaxCPUs = &n
	case float64:
		n := int(width)
		job.MaxCPUs = &n
	}
	if names, ok := j["hosts"].([]any); ok {
		job.Eligible = []int{}
		for _, name := range names {
			job.Eligible = append(job.Eligible, hostIndex(name.(string)))
		}
	}
	return job
}

func goldenInstance(r map[string]any, s *Snapshot, hostIndex func(string) int) SnapInstance {
	i := SnapInstance{ID: r["id"].(string), Kind: facts.ParseKind(member(r, "kind", "primary")),
		Job: slices.IndexFunc(s.Jobs, func(j SnapJob) bool { return j.ID == r["job"] })}
	if name, ok := r["host"].(string); ok {
		i.Host = hostIndex(name)
	}
	if began, ok := r["item_started"].(float64); ok {
		i.HasItem, i.ItemStarted, i.LostWork = true, began, s.Now-began
	}
	return i
}

// TestGolden balances every case of smartshare.json, none left out.
func TestGolden(t *testing.T) {
	cases := readGolden(t)
	if len(cases) != 47 {
		t.Fatalf("%d golden cases, want 47", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := c.snapshot()
			checkGolden(t, &c, s, Balance(s))
		})
	}
}

func checkGolden(t *testing.T, c *goldenCase, s Snapshot, p Plan) {
	equal := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	jobs, immediate := make(map[string]string), make(map[string]string)
	for j := range s.Jobs {
		jobs[s.Jobs[j].ID] = fmt.Sprint(p.Jobs[j].JobCounts)
		if p.Immediate != nil {
			immediate[s.Jobs[j].ID] = fmt.Sprint(p.Immediate[j])
		}
	}
	want, wantNow := make(map[string]string), make(map[string]string)
	for id, counts := range c.Expect.Jobs {
		want[id] = fmt.Sprint(JobCounts(counts))
	}
	equal("jobs", jobs, want)
	equal("free", p.Free, c.Expect.Free)
	if c.Expect.Stops != nil {
		equal("stops", len(p.Stop), *c.Expect.Stops)
	}
	if c.Expect.Lost != nil {
		equal("lost", p.LostWork, *c.Expect.Lost)
	}
	if c.Expect.Immediate != nil {
		for id, n := range c.Expect.Immediate {
			wantNow[id] = fmt.Sprint(JobCounts{n[0], n[1]})
		}
		equal("immediate", immediate, wantNow)
	}
	sameIDs := func(what string, got []int, want []string) {
		t.Helper()
		var ids []string
		for _, i := range got {
			ids = append(ids, s.Running[i].ID)
		}
		sort.Strings(ids)
		if want != nil {
			equal(what, ids, want)
		}
	}
	sameIDs("stop", p.Stop, c.Expect.Stop)
	sameIDs("promoted", p.Promoted, c.Expect.Promoted)
	sameIDs("demoted", p.Demoted, c.Expect.Demoted)
	sameIDs("leaving", p.Leaving, c.Expect.Leaving)
	if c.Expect.Order != nil {
		var order []string
		for _, j := range p.Order {
			order = append(order, s.Jobs[j].ID)
		}
		equal("order", order, c.Expect.Order)
	}
}
