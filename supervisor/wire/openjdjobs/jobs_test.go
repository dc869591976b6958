package openjdjobs

import (
	"fmt"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/farm/profiles"
)

const chunky = `specificationVersion: jobtemplate-2023-09
extensions: [TASK_CHUNKING]
name: Shot 7
steps:
- name: Render
  parameterSpace:
    taskParameterDefinitions:
    - {name: F, type: "CHUNK[INT]", range: 1-1000, chunks: {defaultTaskCount: 10, targetRuntimeSeconds: %s, rangeConstraint: CONTIGUOUS}}
  script: {actions: {onRun: {command: "true"}}}
`

// TestChunksByTime: a chunk gets the size with which it takes its time by what earlier jobs took, and the host divides
// the values into the same chunks.
func TestChunksByTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target  string
		learned map[int64]float64 // seconds of a chunk, by its size
		size    int64
	}{
		"nothing is known":               {"60", nil, 10},
		"no target":                      {"0", map[int64]float64{10: 1}, 10},
		"short values":                   {"60", map[int64]float64{10: 5}, 120},
		"long values":                    {"60", map[int64]float64{10: 1200}, 1},
		"near enough":                    {"60", map[int64]float64{10: 58}, 10},
		"with a load time, known better": {"60", map[int64]float64{10: 35, 17: 42, 24: 59}, 24},
		"more than there is":             {"1000000", map[int64]float64{10: 1}, 1000},
	} {
		site := Site{Seconds: func() map[string]float64 {
			learned := map[string]float64{}
			for size, seconds := range c.learned {
				learned[fmt.Sprintf("%d:%s", size, profiles.Name("Render", "Shot 7"))] = seconds
			}
			return learned
		}}
		j := Read(&api.OpenJDRequest{Template: api.OpenJDDocument{Text: fmt.Sprintf(chunky, c.target)}}, site)
		requests, err := j.Submissions()
		if err != nil {
			t.Fatal(name, err, j.Err())
		}
		items := (1000 + c.size - 1) / c.size
		want := "0"
		if items > 1 {
			want = fmt.Sprintf("0-%d", items-1)
		}
		if requests[0].Range != want || (c.size != 10) != (len(j.Remarks) == 1) {
			t.Errorf("%s: the range is %s, and not %s; %v", name, requests[0].Range, want, j.Remarks)
		}
		data, err := Unpack(requests[0].Env[Variable])
		if err != nil {
			t.Fatal(name, err)
		}
		if made, err := data.Job(); err != nil || made.Steps[0].Space.Len() != items {
			t.Errorf("%s: the host has %d chunks, the farm %d: %v", name, made.Steps[0].Space.Len(), items, err)
		}
	}
}

// TestLabels: each step gets a label that links can name, and no two the same.
func TestLabels(t *testing.T) {
	t.Parallel()
	names := []string{"a,b", "step 1", "step 1.", "7", "7: x", "plain", strings.Repeat("n", 64)}
	var steps []string
	for _, name := range names {
		steps = append(steps, fmt.Sprintf(`{"name":%q,"script":{"actions":{"onRun":{"command":"true"}}}}`, name))
	}
	text := `{"specificationVersion":"jobtemplate-2023-09","name":"j","steps":[` + strings.Join(steps, ",") + `]}`
	j := Read(&api.OpenJDRequest{Template: api.OpenJDDocument{Text: text, Syntax: "json"}}, Site{})
	requests, err := j.Submissions()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n, r := range requests {
		if seen[r.Label] || strings.Contains(r.Label, ",") || (n == 5 || n == 1) && r.Label != names[n] {
			t.Errorf("%q has the label %q", names[n], r.Label)
		}
		seen[r.Label] = true
	}
}

// TestPaths: the farm sees the paths of a job, and of which systems they are.
func TestPaths(t *testing.T) {
	t.Parallel()
	text := `{"specificationVersion":"jobtemplate-2023-09","name":"j","parameterDefinitions":[{"name":"A","type":"PATH"},{"name":"B","type":"PATH","default":""}],` +
		`"steps":[{"name":"s","script":{"actions":{"onRun":{"command":"true"}}}}]}`
	for _, c := range []struct{ a, b, system, paths string }{
		{"/mnt/a", "", "linux", "/mnt/a"}, {`P:\a`, "/b", "windows", "P:\\a\n/b"}, {`\\nas\a`, "", "windows", `\\nas\a`},
	} {
		j := Read(&api.OpenJDRequest{Template: api.OpenJDDocument{Text: text}, Values: map[string]string{"A": c.a, "B": c.b},
			Job: &api.SubmitRequest{Env: map[string]string{"X": "y", Variable: "of another job", PathsVariable: "/x"}}}, Site{})
		requests, err := j.Submissions()
		if err != nil {
			t.Fatal(err)
		}
		if r := requests[0]; r.System != c.system || r.Env[PathsVariable] != c.paths || r.Env["X"] != "y" ||
			len(r.Env[Variable]) < 100 {
			t.Errorf("%+v: %s, %q", c, r.System, r.Env[PathsVariable])
		}
	}
}
