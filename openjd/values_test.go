package openjd

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestReadValues(t *testing.T) {
	for text, want := range map[string]string{
		"A: 1\nB: x\nC: 1.50\nD: true\n": "map[A:1 B:x C:1.50 D:true] map[]",
		`{"A": 1, "B": "x"}`:             "map[A:1 B:x] map[]",
		"parameterValues:\n- {name: A, value: 1}\n- {name: 'deadline:priority', value: 50}\n": "map[A:1] map[deadline:priority:50]",
		"parameterValues: 5\n":           "map[parameterValues:5] map[]",
		"A: [1]\n":                       "line 1, column 4: A: is a list; write a string or a number",
		"A:\n":                           "line 1, column 3: A: is null; write a string or a number",
		"- 1\n":                          "line 1, column 1: the document is a list; write a mapping of names of parameters to values",
		"parameterValues: [{name: A}]\n": "line 1, column 19: parameterValues[0].value: is missing",
		"parameterValues: [{name: A, default: 1}]\n": "line 1, column 19: parameterValues[0].value: is missing\nline 1, column 29: parameterValues[0].default: is not a property here; there are name, value",
	} {
		values, farm, err := ReadValues([]byte(text), YAML)
		got := fmt.Sprint(values, " ", farm)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q is\n%s\nnot\n%s", text, got, want)
		}
	}
	text, err := os.ReadFile("testdata/material/dcc-submitters/maya/renderman/parameter_values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values, farm, err := ReadValues(text, YAML)
	if err != nil || len(values) == 0 || farm["deadline:priority"] == "" {
		t.Errorf("a file of a submitter: %v, %v, %v", values, farm, err)
	}
}

func TestReadTasks(t *testing.T) {
	tasks, err := ReadTasks([]byte(`[{"F": 1, "G": "x"}, {"F": "2"}]`), JSON)
	if got := fmt.Sprint(tasks); err != nil || got != "[map[F:1 G:x] map[F:2]]" {
		t.Errorf("%s, %v", got, err)
	}
	for text, want := range map[string]string{
		`{"F": 1}`:      "is a mapping; write a list",
		`[]`:            "is an empty list",
		`[1]`:           "[0]: is an integer",
		`[{"F": true}]`: "[0].F: is a boolean",
		`[{"F": {}}]`:   "[0].F: is a mapping",
	} {
		if _, err := ReadTasks([]byte(text), JSON); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}

func TestTaskOfChoice(t *testing.T) {
	s, err := spaceOf(t, "    - {name: F, type: INT, range: \"1-9\"}\n    - {name: G, type: STRING, range: [x]}\n"+
		"    - {name: C, type: 'CHUNK[INT]', range: '1-9', chunks: {defaultTaskCount: 3, rangeConstraint: CONTIGUOUS}}\n", Submission{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"F": "007", "G": "y", "C": "1-3"}, "F=7,G=y,C=1-3"},
		{map[string]string{"F": "1", "G": "y"}, "the task parameter C has no value"},
		{map[string]string{"F": "x", "G": "y", "C": "1"}, `the task parameter F: "x" is not an integer`},
		{map[string]string{"F": "1", "G": "y", "C": "a"}, `the task parameter C: a number is missing in "a"`},
		{map[string]string{"H": "1"}, `the step has no task parameter "H"; it has F, G, C`},
	} {
		values, err := s.Task(c.values)
		got := Label(values)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v is %s, not %s", c.values, got, c.want)
		}
	}
}

// TestPathMapping: the longest source, whole parts of paths, Windows without case.
func TestPathMapping(t *testing.T) {
	rules, err := ReadPathRules([]byte(`{"version": "pathmapping-1.0", "path_mapping_rules": [
		{"source_path_format": "POSIX", "source_path": "/proj", "destination_path": "/mnt/a"},
		{"source_path_format": "POSIX", "source_path": "/proj/tex/", "destination_path": "/mnt/tex/"},
		{"source_path_format": "WINDOWS", "source_path": "Z:\\Show", "destination_path": "/mnt/show"},
		{"source_path_format": "WINDOWS", "source_path": "\\\\server\\vol", "destination_path": "/vol"},
		{"source_path_format": "POSIX", "source_path": "rel", "destination_path": "/rel"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/proj/a/b": "/mnt/a/a/b", "/proj": "/mnt/a", "/project/a": "/project/a", "/proj/tex/x": "/mnt/tex/x", "/Proj/a": "/Proj/a",
		`z:\show\a\b`: "/mnt/show/a/b", "Z:/SHOW/a": "/mnt/show/a", `Z:\showreel`: `Z:\showreel`, `\\SERVER\vol\x`: "/vol/x",
		"rel/a": "/rel/a", "/rel/a": "/rel/a", `/proj\a`: `/proj\a`, "//proj/a": "/mnt/a/a", "": "",
	} {
		if got := MapPath(rules, path); got != want {
			t.Errorf("%s becomes %s, not %s", path, got, want)
		}
	}
	again, err := ReadPathRules(WritePathRules(rules))
	if err != nil || fmt.Sprint(again) != fmt.Sprint(rules) {
		t.Errorf("%v, %v", again, err)
	}
	if got := string(WritePathRules(nil)); !strings.Contains(got, `"path_mapping_rules": []`) {
		t.Errorf("no rules are %s", got)
	}
	for text, want := range map[string]string{
		"[]": "not JSON with version", `{"version": "2"}`: `the version is "2"`,
		`{"version": "pathmapping-1.0", "path_mapping_rules": [{"source_path_format": "MAC"}]}`:   `source_path_format of rule 1 is "MAC"`,
		`{"version": "pathmapping-1.0", "path_mapping_rules": [{"source_path_format": "POSIX"}]}`: "rule 1 has no source_path",
	} {
		if _, err := ReadPathRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}

// TestSymbols: PATH values are mapped, raw values and strings are not.
func TestSymbols(t *testing.T) {
	rules := []PathRule{{"POSIX", "/a", "/b"}}
	j := &Job{Values: []Value{{"P", Path, "/a/x"}, {"S", String, "/a/x"}}}
	got := fmt.Sprint(j.Symbols(rules), TaskSymbols([]TaskValue{{"T", TaskPath, "/a/y"}, {"U", TaskString, "/a/y"}}, rules))
	want := "map[Param.P:/b/x Param.S:/a/x RawParam.P:/a/x RawParam.S:/a/x] " +
		"map[Task.Param.T:/b/y Task.Param.U:/a/y Task.RawParam.T:/a/y Task.RawParam.U:/a/y]"
	if got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
