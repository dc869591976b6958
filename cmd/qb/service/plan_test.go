package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qb/api"
)

// runPlan is `qb plan FILE` with a snapshot on standard input.
func runPlan(t *testing.T, snapshot, file string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newPlanCommand()
	cmd.SetArgs([]string{file})
	cmd.SetIn(strings.NewReader(snapshot))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

// TestPlanGolden answers every golden case from end to end.
func TestPlanGolden(t *testing.T) {
	data, err := os.ReadFile("../../../smartshare/testdata/smartshare.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Snapshot json.RawMessage
		Expect   struct {
			Jobs      map[string]struct{ Primary, Secondary int }
			FreeSlots int `json:"free_slots"`
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
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) != 47 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			out, err := runPlan(t, string(c.Snapshot), "-")
			if err != nil {
				t.Fatal(err)
			}
			var got api.BalanceDoc
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			for id, want := range c.Expect.Jobs {
				if job := got.Jobs[id]; job.Primary != want.Primary || job.Secondary != want.Secondary {
					t.Errorf("job %s: %+v, want %+v", id, job, want)
				}
			}
			e := c.Expect
			if got.FreeSlots != e.FreeSlots || e.Stops != nil && len(got.Stop) != *e.Stops || e.Lost != nil && got.LostWork != *e.Lost {
				t.Errorf("free %d, %d stops, lost %v; want %+v", got.FreeSlots, len(got.Stop), got.LostWork, e)
			}
			for name, lists := range map[string][2][]string{"stop": {got.Stop, e.Stop}, "promoted": {got.Promoted, e.Promoted},
				"demoted": {got.Demoted, e.Demoted}, "leaving": {got.Leaving, e.Leaving}} {
				if lists[1] != nil && !slices.Equal(slices.Sorted(slices.Values(lists[0])), lists[1]) {
					t.Errorf("%s: %v, want %v", name, lists[0], lists[1])
				}
			}
			if e.Order != nil && !slices.Equal(got.Order, e.Order) {
				t.Errorf("order %v, want %v", got.Order, e.Order)
			}
			for id, want := range e.Immediate {
				if got.Immediate[id] != want {
					t.Errorf("job %s at once %v, want %v", id, got.Immediate[id], want)
				}
			}
		})
	}
}

// TestPlanWords checks the names and the shape of the answer as the contract has them.
func TestPlanWords(t *testing.T) {
	out, err := runPlan(t, `{"now": 1000, "slots": 3, "policy": {"preempt": "passive"}, "jobs": [{"id": "A", "cpus": 1}, {"id": "B", "cpus": 1, "submit": 1}],
		"running": [{"id": "a", "job": "A"}, {"id": "b", "job": "A", "kind": "secondary", "lost_work": 3},
		{"id": "c", "job": "A", "kind": "secondary", "lost_work": 9}]}`, "-")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jobs":{"A":{"primary":1,"secondary":1,"floor":1,"ceiling":100,"start_primary":0,"start_secondary":0,"stop":1},` +
		`"B":{"primary":1,"secondary":0,"floor":1,"ceiling":100,"start_primary":1,"start_secondary":0,"stop":0}},` +
		`"free_slots":0,"stop":["c"],"promoted":[],"demoted":[],"leaving":[],"order":["A","B"],"lost_work":0,` +
		`"starts":[{"job":"B","kind":"primary","host":"pool","at":null,"after":"slots"}],` +
		`"stops":[{"id":"c","why":"primary","for":"B","drain":"policy"}],"preempted":[],"closing":[],"immediate":{"A":[1,2],"B":[0,0]}}`
	var short bytes.Buffer
	if err := json.Compact(&short, []byte(out)); err != nil || strings.TrimSpace(short.String()) != want {
		t.Errorf("got  %s\nwant %s (%v)", short.String(), want, err)
	}
}

// TestPlanReserved: where the policy says so, the plan names the host that is kept for a job which fits nowhere: the
// a host that is free first, or the host that it had.
func TestPlanReserved(t *testing.T) {
	farm := `{"now": 1000, "policy": {%s}, "hosts": [{"name": "a", "slots": 2}, {"name": "b", "slots": 2}],%s
		"jobs": [{"id": "W", "cpus": 1, "slots": 2, "submit": 9},
			{"id": "A", "cpus": 4, "item_seconds": 300}], "running": [
		{"id": "1", "job": "A", "host": "a", "item_started": 800}, {"id": "2", "job": "A", "host": "a", "item_started": 900},
		{"id": "3", "job": "A", "host": "b", "item_started": 800}, {"id": "4", "job": "A", "host": "b", "item_started": 850}]}`
	for _, c := range []struct{ policy, former, want string }{
		{``, ``, `null`},
		{`"reserve": true`, ``, `{"job":"W","kind":"primary","host":"b","slots":2,"at":1150}`},
		{`"reserve": true`, `"reserved": {"host": "a", "job": "W"},`, `{"job":"W","kind":"primary","host":"a","slots":2,"at":1200}`},
	} {
		out, err := runPlan(t, fmt.Sprintf(farm, c.policy, c.former), "-")
		if err != nil {
			t.Fatal(err)
		}
		var got api.BalanceDoc
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(got.Reserved); string(text) != c.want {
			t.Errorf("%s %s: %s, want %s", c.policy, c.former, text, c.want)
		}
	}
}

func TestPlanTagsAndHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "farm.json")
	snapshot := `{"hosts": [{"name": "h1", "slots": 2, "tags": ["gpu", "big"]}, {"name": "h2", "slots": 2, "tags": ["gpu"]}, {"name": "h3", "slots": 2, "up": false}],
		"jobs": [{"id": "A", "cpus": 1, "tags": ["gpu", "big"]}, {"id": "B", "cpus": 1, "tags": ["gpu"], "hosts": ["h2", "h2", "h3"]}, {"id": "C", "cpus": 1, "tags": ["tape"]}]}`
	if err := os.WriteFile(file, []byte(snapshot), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runPlan(t, "", file)
	if err != nil {
		t.Fatal(err)
	}
	var got api.BalanceDoc
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][2]int{"A": {1, 1}, "B": {1, 1}, "C": {0, 0}} {
		if job := got.Jobs[id]; job.Primary != want[0] || job.Secondary != want[1] {
			t.Errorf("job %s: %+v, want %v", id, job, want)
		}
	}
	if got.FreeSlots != 0 || got.Immediate != nil {
		t.Errorf("%d slots free, immediate %v", got.FreeSlots, got.Immediate)
	}
}

// TestPlanByUser: 20 slots, two jobs of ada and one of bob, one primary each: 17 are left. By job that is
// 6, 6 and 5; by user 9 for ada, the first, in two parts, and 8 for bob.
func TestPlanByUser(t *testing.T) {
	for mode, want := range map[string][3]int{"jobs": {6, 6, 5}, "users": {5, 4, 8}, "none": {}} {
		out, err := runPlan(t, `{"slots": 20, "policy": {"mode": "`+mode+`"}, "jobs": [{"id": "A", "user": "ada", "cpus": 1},
			{"id": "B", "user": "ada", "cpus": 1, "submit": 1}, {"id": "C", "user": "bob", "cpus": 1, "submit": 2}]}`, "-")
		if err != nil {
			t.Fatal(err)
		}
		var got api.BalanceDoc
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		for n, id := range []string{"A", "B", "C"} {
			if job := got.Jobs[id]; job.Primary != 1 || job.Secondary != want[n] {
				t.Errorf("%s: job %s: %+v, want %d secondaries", mode, id, job, want[n])
			}
		}
	}
}

func TestPlanRefusals(t *testing.T) {
	for snapshot, want := range map[string]string{
		`{"slots": 3, "jobs": [{"id": "A", "cpus": 1}], "running": [{"id": "x", "job": "Z"}]}`: `standard input: running[0].job: there is no job "Z"`,
		`{`: "standard input: line 1, column 2: not a JSON snapshot",
	} {
		out, err := runPlan(t, snapshot, "-")
		if err == nil || !strings.Contains(err.Error(), want) || out != "" || api.ExitCode(err) != 1 {
			t.Errorf("%s: printed %q, refused with %v", snapshot, out, err)
		}
	}
	if _, err := runPlan(t, "", filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestPlanByPoints: one slot goes to the job with the most points, whatever the priority; below zero counts too.
func TestPlanByPoints(t *testing.T) {
	out, err := runPlan(t, `{"slots": 1, "policy": {"order": ["multifactor", "age", "id"]}, "jobs": [
		{"id": "A", "cpus": 1, "priority": 1, "points": -20, "submit": 1}, {"id": "B", "cpus": 1, "priority": 99, "points": 7, "submit": 3},
		{"id": "C", "cpus": 1, "points": 7, "submit": 2}, {"id": "D", "cpus": 1}]}`, "-")
	if err != nil {
		t.Fatal(err)
	}
	var got api.BalanceDoc
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Order, []string{"C", "B", "D", "A"}) || got.Jobs["C"].Primary != 1 {
		t.Errorf("order %v, jobs %v", got.Order, got.Jobs)
	}
}
