package openjdjobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/openjd"
)

// exampleTypes is a folder as supervisor_types names one.
const exampleTypes = "../../../examples/types"

// TestExampleTypesStartTheirItems: each folder of examples/types is a type of a site, and its items start the
// application for the numbers of the range, one each, with names as they are.
func TestExampleTypesStartTheirItems(t *testing.T) {
	folders, err := os.ReadDir(exampleTypes)
	if err != nil {
		t.Fatal(err)
	}
	left := exampleArguments(t)
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		cases := left[f.Name()]
		if len(cases) == 0 {
			t.Errorf("examples/types/%s has no case in this test", f.Name())
		}
		delete(left, f.Name())
		for _, c := range cases {
			t.Run(f.Name(), c.run)
		}
	}
	for name := range left {
		t.Errorf("examples/types/%s is missing", name)
	}
}

// exampleCase is a submission of a type, and the arguments that it should make, with NUMBER and 000N for its number.
type exampleCase struct {
	of      string
	work    string
	values  map[string]string
	wanted  []string
	refusal string // what an item says instead of starting the program
}

// exampleArguments are the cases of each type. Files are in folders whose names a shell would change.
func exampleArguments(t *testing.T) map[string][]exampleCase {
	work := filepath.Join(t.TempDir(), `it's "a" $(exit 1) show`)
	out := filepath.Join(filepath.Dir(work), "the pictures")
	for _, folder := range []string{work, out} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.ma", "a.nk", "a.usd", "a.0001.ass", "a.0003.ass", "a.0005.ass"} {
		if err := os.WriteFile(filepath.Join(work, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	maya, nuke, husk := work+"/a.ma", work+"/a.nk", work+"/a.usd"
	all := map[string][]exampleCase{
		"maya": {
			{values: map[string]string{"Scene": maya},
				wanted: []string{"-r", "file", "-s", "NUMBER", "-e", "NUMBER", "-b", "1", maya}},
			{values: map[string]string{"Scene": maya, "Project": work, "Output": out, "Camera": "a b", "Renderer": "arnold"},
				wanted: []string{"-r", "arnold", "-s", "NUMBER", "-e", "NUMBER", "-b", "1",
					"-proj", work, "-rd", out, "-cam", "a b", maya}},
			{values: map[string]string{"Scene": maya, "Camera": "-x"}, refusal: "the camera -x begins with -"},
			{values: map[string]string{"Scene": maya, "Renderer": "-x"}, refusal: "the renderer -x begins with -"},
		},
		"nuke": {
			{values: map[string]string{"Script": nuke}, wanted: []string{"-F", "NUMBER", "-x", nuke}},
			{values: map[string]string{"Script": nuke, "Write": "Write 1"},
				wanted: []string{"-F", "NUMBER", "-X", "Write 1", "-x", nuke}},
			{values: map[string]string{"Script": nuke, "Write": "-x"}, refusal: "the Write node -x begins with -"},
		},
		"husk": {
			{values: map[string]string{"Scene": husk}, wanted: []string{"--frame", "NUMBER", "--frame-count", "1", husk}},
			{values: map[string]string{"Scene": husk, "Output": out + "/a.####.exr", "Camera": "/cameras/a b"},
				wanted: []string{"--frame", "NUMBER", "--frame-count", "1", "--output", out + "/a.000N.exr",
					"--camera", "/cameras/a b", husk}},
			{values: map[string]string{"Scene": husk, "Output": out + "/a.$F.exr"}, refusal: "a.$F.exr has a dollar sign"},
			{values: map[string]string{"Scene": husk, "Output": out + "/a,b.#.exr"}, refusal: "a,b.#.exr has a dollar sign"},
			{values: map[string]string{"Scene": husk, "Output": out + "/a.exr"}, refusal: "a.exr has no # for the digits"},
		},
		"kick": {
			{values: map[string]string{"Scene": work + "/a.####.ass", "Output": out + "/a.####.exr"},
				wanted: []string{"-i", work + "/a.000N.ass", "-o", out + "/a.000N.exr", "-dw", "-v", "2"}},
			{values: map[string]string{"Scene": work + "/a.0001.ass", "Output": out + "/#.exr"}, refusal: "has no # for the digits"},
			{values: map[string]string{"Scene": work + "/b.####.ass", "Output": out + "/#.exr"}, refusal: "is missing: there is no"},
		},
	}
	for name, cases := range all {
		for n := range cases {
			cases[n].of = name
			cases[n].work = out
			cases[n].values["Frames"] = "1-5:2"
		}
	}
	return all
}

// run reads the type as the farm does, and runs all items.
func (c exampleCase) run(t *testing.T) {
	found, err := FindType(exampleTypes, c.of)
	if err != nil || !found.Site {
		t.Fatal(found.Site, err)
	}
	if _, err := regexp.Compile(found.Job.RegexErrors); err != nil {
		t.Error(err)
	}
	program := filepath.Join(c.work, "program "+c.of)
	if err := os.WriteFile(program, []byte(recorder), 0o777); err != nil {
		t.Fatal(err)
	}
	c.values["Program"] = program
	j := Read(Fill(&api.OpenJDRequest{Values: c.values}, found), Site{})
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	made, err := j.Submissions()
	if err != nil || len(made) != 1 || made[0].Range != "0-2" || !strings.HasPrefix(made[0].Reservations, "license.") {
		t.Fatal(made, err)
	}
	step := j.job.Steps[0]
	for n, number := range []string{"1", "3", "5"} {
		if got := c.arguments(t, j.job, step.Space.At(int64(n))); !slices.Equal(got, c.expected(number)) {
			t.Errorf("item %d of %s has the arguments %q instead of %q", n, c.of, got, c.expected(number))
		}
	}
}

func (c exampleCase) expected(number string) []string {
	var out []string
	for _, word := range c.wanted {
		out = append(out, strings.NewReplacer("NUMBER", number, "000N", "000"+number).Replace(word))
	}
	return out
}

// recorder is in the place of the application: it writes down its arguments, and makes the picture of a name that it
// is given.
const recorder = `#!/bin/bash
printf '%s\0' "$@" > "$0.arguments"
while [ $# -gt 1 ]; do
  case $1 in -o | --output) : > "$2" ;; esac
  shift
done
`

// arguments runs the action of an item, and returns what its program was started with.
func (c exampleCase) arguments(t *testing.T, job *openjd.Job, task []openjd.TaskValue) []string {
	script := job.Steps[0].Script
	file := filepath.Join(t.TempDir(), "run")
	values := job.Symbols(nil)
	for name, value := range openjd.TaskSymbols(task, nil) {
		values[name] = value
	}
	values["Task.File.Run"] = file
	resolve := func(f openjd.Format) string {
		text, err := f.Resolve(values)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if err := os.WriteFile(file, []byte(resolve(script.Files[0].Data)), 0o666); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, a := range script.OnRun.Args {
		words = append(words, resolve(a))
	}
	os.Remove(c.values["Program"] + ".arguments") // of the item before
	out, err := exec.Command(resolve(script.OnRun.Command), words...).CombinedOutput()
	if c.refusal != "" && err != nil && strings.Contains(string(out), c.refusal) {
		if _, err := os.Stat(c.values["Program"] + ".arguments"); err == nil {
			t.Error("the program was started")
		}
		return nil
	}
	if err != nil || c.refusal != "" {
		t.Fatalf("%v: %s (wanted the refusal %q)", err, out, c.refusal)
	}
	text, err := os.ReadFile(c.values["Program"] + ".arguments")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
