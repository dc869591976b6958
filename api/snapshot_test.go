package api

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestReadSnapshotRefuses names the place of each mistake.
func TestReadSnapshotRefuses(t *testing.T) {
	farm := func(running string) string {
		return `{"now": 100, "hosts": [{"name": "h1", "slots": 2, "memory": 10}, {"name": "h2", "slots": 1}],
			"jobs": [{"id": "A", "cpus": 1, "remaining": 2}, {"id": "B", "cpus": 1, "slots": 2, "memory": 6}], "running": [` + running + `]}`
	}
	for name, c := range map[string]struct{ snapshot, want string }{
		"nothing":           {``, "line 1, column 1: not a JSON snapshot: the text ends too early"},
		"half":              {"{\n  \"slots\": 3,", "line 2, column 14: not a JSON snapshot: the text ends too early"},
		"no JSON":           {`{"slots": 3; }`, "line 1, column"},
		"more":              {`{"slots": 1} {}`, "something after the end"},
		"deep":              {`{"jobs": [[[[[[[[[]]]]]]]]]}`, "jobs[0]: must be an object, is a list"},
		"list":              {`[]`, "snapshot: must be an object, is a list"},
		"unknown":           {`{"slots": 1, "job": []}`, "job: unknown member"},
		"unknown of a job":  {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "prio": 3}]}`, "jobs[0].prio: unknown member"},
		"unknown of policy": {`{"slots": 1, "policy": {"preemption": "passive"}}`, "policy.preemption: unknown member"},
		"twice":             {`{"slots": 1, "slots": 2}`, "slots: is there twice"},
		"no slots":          {`{}`, "slots: missing"},
		"slots and hosts":   {`{"slots": 1, "hosts": []}`, "hosts: a snapshot has slots (one pool) or hosts, not both"},
		"negative":          {`{"slots": -1}`, "slots: must not be negative, is -1"},
		"negative memory":   {`{"hosts": [{"name": "h", "slots": 1, "memory": -5}]}`, "hosts[0].memory: must not be negative"},
		"fraction":          {`{"slots": 1.5}`, "slots: must be a whole number, is 1.5"},
		"string":            {`{"slots": "1"}`, `slots: must be a number, is "1"`},
		"too many":          {`{"slots": 1e12}`, "slots: must be at most 1000000000"},
		"no id":             {`{"slots": 1, "jobs": [{"cpus": 1}]}`, "jobs[0].id: missing"},
		"no cpus":           {`{"slots": 1, "jobs": [{"id": "A"}]}`, "jobs[0].cpus: missing"},
		"width":             {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "max_cpus": "all"}]}`, `jobs[0].max_cpus: must be a whole number or "*", is "all"`},
		"no weight":         {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "weight": 0}]}`, "jobs[0].weight: must be above 0"},
		"no slots of a job": {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "slots": 0}]}`, "jobs[0].slots: an instance takes at least 1 slot"},
		"job twice":         {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1}, {"id": "A", "cpus": 1}]}`, `jobs[1].id: "A" is also jobs[0]`},
		"hosts of a pool":   {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "hosts": ["h"]}]}`, `jobs[0].hosts[0]: there is no host "h"`},
		"mode":              {`{"slots": 1, "policy": {"mode": "all"}}`, `policy.mode: must be one of jobs, users, none, is "all"`},
		"points":            {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1, "points": "many"}]}`, `jobs[0].points: must be a number, is "many"`},
		"order":             {`{"slots": 1, "policy": {"order": ["age", "luck"]}}`, `policy.order[1]: must be one of`},
		"order twice":       {`{"slots": 1, "policy": {"order": ["age", "age"]}}`, `policy.order[1]: "age" is there twice`},
		"host twice":        {`{"hosts": [{"name": "h", "slots": 1}, {"name": "h", "slots": 1}]}`, `hosts[1].name: "h" is also hosts[0]`},
		"unknown job":       {farm(`{"id": "x", "job": "C", "host": "h1"}`), `running[0].job: there is no job "C"`},
		"unknown host":      {farm(`{"id": "x", "job": "A", "host": "h3"}`), `running[0].host: there is no host "h3"`},
		"no host":           {farm(`{"id": "x", "job": "A"}`), "running[0].host: missing"},
		"kind":              {farm(`{"id": "x", "job": "A", "host": "h1", "kind": "third"}`), "running[0].kind: must be one of primary, secondary"},
		"instance twice":    {farm(`{"id": "x", "job": "A", "host": "h1"}, {"id": "x", "job": "A", "host": "h2"}`), `running[1].id: "x" is also running[0]`},
		"over slots":        {farm(`{"id": "x", "job": "A", "host": "h2"}, {"id": "y", "job": "A", "host": "h2"}`), "running[1].host: with it 2 slots of host h2 are in use, but it has only 1"},
		"over wide slots":   {farm(`{"id": "x", "job": "B", "host": "h2"}`), "running[0].host: with it 2 slots of host h2"},
		"over memory": {`{"hosts": [{"name": "h", "slots": 4, "memory": 10}], "jobs": [{"id": "A", "cpus": 1, "memory": 6}],
			"running": [{"id": "x", "job": "A", "host": "h"}, {"id": "y", "job": "A", "host": "h"}]}`, "running[1].host: with it 12 bytes of host h are in use, but it has only 10"},
		"over promised memory": {`{"hosts": [{"name": "h", "slots": 4, "memory": 10}], "jobs": [{"id": "A", "cpus": 1, "memory": 1}],
			"running": [{"id": "x", "job": "A", "host": "h", "memory": 6}, {"id": "y", "job": "A", "host": "h", "memory": 5}]}`, "running[1].host: with it 11 bytes of host h are in use, but it has only 10"},
		"promised memory": {farm(`{"id": "x", "job": "A", "host": "h1", "memory": -1}`), "running[0].memory: must not be negative"},
		"over pool": {`{"slots": 1, "jobs": [{"id": "A", "cpus": 1}], "running": [{"id": "x", "job": "A"}, {"id": "y", "job": "A"}]}`,
			"running[1]: with it 2 slots are in use, but there are only 1"},
		"over items": {`{"slots": 3, "jobs": [{"id": "A", "cpus": 1, "remaining": 1}],
			"running": [{"id": "x", "job": "A", "item_started": 0}, {"id": "y", "job": "A", "lost_work": 3}]}`,
			"running[1]: job A has 2 instances with an item, but only 1 items remain"},
		"future":          {farm(`{"id": "x", "job": "A", "host": "h1", "item_started": 101}`), "running[0].item_started: 101 is after now (100)"},
		"future instance": {farm(`{"id": "x", "job": "A", "host": "h1", "started": 101}`), "running[0].started: 101 is after now (100)"},
		"flag":            {farm(`{"id": "x", "job": "A", "host": "h1", "protected": 1}`), "running[0].protected: must be true or false, is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSnapshot([]byte(c.snapshot))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err != nil && ExitCode(err) != 1 {
				t.Errorf("exit code %d", ExitCode(err))
			}
		})
	}
}

func TestReadSnapshotDefaults(t *testing.T) {
	doc, err := ReadSnapshot([]byte(`{"hosts": [{"name": "h", "slots": 1}], "jobs": [{"id": "A", "cpus": 1}, {"id": "B", "cpus": 1, "max_cpus": "*"},
		{"id": "C", "cpus": 1, "max_cpus": -7, "remaining": null}], "running": [{"id": "x", "job": "A", "host": "h"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	star := -1
	job := SnapshotJob{ID: "A", Priority: 9999, Cluster: "/", CPUs: 1, Agenda: true, Slots: 1, Tags: []string{}, Weight: 1, Fairshare: 1}
	b, c := job, job
	b.ID, b.MaxCPUs, c.ID, c.MaxCPUs = "B", &star, "C", &star
	want := SnapshotDoc{Cluster: "/", Policy: DefaultSnapshotPolicy(), Jobs: []SnapshotJob{job, b, c},
		Hosts:   []SnapshotHost{{Name: "h", Slots: 1, Tags: []string{}, Cluster: "/", Up: true}},
		Running: []SnapshotInstance{{ID: "x", Job: "A", Kind: "primary", Host: "h"}}}
	if !reflect.DeepEqual(doc, want) {
		t.Errorf("got  %+v\nwant %+v", doc, want)
	}
}

// TestSnapshotRoundTrip: what is written is read back as it was.
func TestSnapshotRoundTrip(t *testing.T) {
	data, err := os.ReadFile("../smartshare/testdata/smartshare.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Snapshot json.RawMessage
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	cases = append(cases, struct {
		Name     string
		Snapshot json.RawMessage
	}{"promised", json.RawMessage(`{"hosts": [{"name": "h", "slots": 1, "memory": 9}], "jobs": [{"id": "A", "cpus": 1}],
		"running": [{"id": "x", "job": "A", "host": "h", "memory": 7}]}`)})
	for _, c := range cases {
		doc, err := ReadSnapshot(c.Snapshot)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		text, _ := json.Marshal(doc)
		again, err := ReadSnapshot(text)
		if err != nil || !reflect.DeepEqual(doc, again) {
			t.Errorf("%s: read back %v as %+v", c.Name, err, again)
		}
	}
}

// FuzzReadSnapshot: no text makes it panic, and what it accepts it accepts again.
func FuzzReadSnapshot(f *testing.F) {
	f.Add([]byte(`{"slots": 3, "jobs": [{"id": "A", "cpus": 1, "max_cpus": "*"}], "running": [{"id": "x", "job": "A", "item_started": null}]}`))
	f.Add([]byte(`{"hosts": [{"name": "h", "slots": 1}], "policy": {"order": ["age"], "default_max_cpus": "*"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := ReadSnapshot(data)
		if err != nil {
			return
		}
		text, _ := json.Marshal(doc)
		if _, err := ReadSnapshot(text); err != nil {
			t.Errorf("refused what it read: %v\n%s", err, text)
		}
	})
}
