package openjd

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// soon fails a test whose input takes long: input is from users, and reading it must not stop a server.
func soon(t *testing.T, what string, most time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %v, more than %v", what, took, most)
	}
}

// TestBadInput: documents that are made to be costly are refused, soon, with a reason.
func TestBadInput(t *testing.T) {
	mib := strings.Repeat
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'z'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	var keys, chain strings.Builder
	keys.WriteString("specificationVersion: jobtemplate-2023-09\nname: J\nsteps: [{name: S, script: {actions: {onRun: {command: c}}}}]\n")
	for i := range 60_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	inputs := []struct{ name, text, reason string }{
		{"brackets", mib("[", 1<<20), "YAML"},
		{"braces", mib("{a: ", 1<<18), "YAML"},
		{"dashes", mib("- ", 1<<19), "YAML"},
		{"quotes", mib("'", 1<<20), "is a string"},
		{"closed brackets", mib("[", 5000) + mib("]", 5000), "nested deeper than 128 levels"},
		{"too large", mib("a", 1<<20+1), "at most 1048576 are read"},
		{"an alias bomb", bomb, "the alias *a refers to another part"},
		{"60,000 properties", keys.String(), "and 59900 more problems"},
		{"not UTF-8", "name: \"\xff\"", "line 1, column 8: the text is not UTF-8"},
		{"control characters", "name: a\x01b", "not YAML"},
		{"a list of lists", mib("- [a, b, c]\n", 1<<16), "is a list"},
	}
	for _, in := range inputs {
		for _, syntax := range []Syntax{YAML, JSON} {
			soon(t, in.name, time.Minute, func() {
				_, err := Read([]byte(in.text), syntax, nil)
				switch {
				case err == nil:
					t.Errorf("%s: is accepted", in.name)
				case syntax == YAML && !strings.Contains(err.Error(), in.reason):
					t.Errorf("%s: the problem is %.300v, and should have %q", in.name, err, in.reason)
				}
			})
		}
	}
	deep := strings.Repeat("[", 129) + strings.Repeat("]", 129)
	if _, err := Read([]byte(deep), JSON, nil); err == nil || !strings.Contains(err.Error(), "nested deeper than 128 levels") {
		t.Errorf("brackets in JSON: %v", err)
	}
	chain.WriteString("specificationVersion: jobtemplate-2023-09\nname: J\nsteps:\n")
	for i := range 7000 {
		fmt.Fprintf(&chain, "- {name: s%d, dependencies: [{dependsOn: s%d}], script: {actions: {onRun: {command: c}}}}\n", i, (i+1)%7000)
	}
	soon(t, "a cycle of 7,000 steps", time.Minute, func() {
		if _, err := Read([]byte(chain.String()), YAML, nil); err == nil || !strings.Contains(err.Error(), "form a cycle") {
			t.Errorf("a cycle of 7,000 steps: %.300v", err)
		}
	})
}

func spaceOf(t testing.TB, text string, s Submission) (*Space, error) {
	t.Helper()
	document := "specificationVersion: jobtemplate-2023-09\nname: J\nextensions: [TASK_CHUNKING]\nsteps:\n- name: S\n" +
		"  script: {actions: {onRun: {command: c}}}\n  parameterSpace:\n    taskParameterDefinitions:\n" + text
	template, err := ReadJob([]byte(document), YAML)
	if err != nil {
		return nil, err
	}
	j, err := CreateJob(template, s)
	if err != nil {
		return nil, err
	}
	return j.Steps[0].Space, nil
}

// TestMillionTasks: a step of a million tasks costs what a step of one task costs, as no task is made.
func TestMillionTasks(t *testing.T) {
	best := time.Duration(math.MaxInt64)
	for range 20 {
		began := time.Now()
		s, err := spaceOf(t, "    - {name: F, type: INT, range: \"1-1000\"}\n    - {name: G, type: INT, range: \"1-1000\"}\n", Submission{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Label(s.At(999_999)); s.Len() != 1_000_000 || got != "F=1000,G=1000" {
			t.Errorf("%d tasks, the last one %s", s.Len(), got)
		}
		best = min(best, time.Since(began))
	}
	t.Logf("a step of a million tasks takes %v", best)
	if best > 10*time.Millisecond {
		t.Errorf("a step of a million tasks took %v, more than 10 ms", best)
	}
}

// TestLargeSpaces: what is too much is counted and refused, or counted and left as a number.
func TestLargeSpaces(t *testing.T) {
	trillion := "    - {name: F, type: INT, range: \"1-1000000000000\"}\n"
	s, err := spaceOf(t, trillion, Submission{})
	if err != nil || s.Len() != 1_000_000_000_000 || Label(s.At(s.Len()-1)) != "F=1000000000000" {
		t.Errorf("a trillion tasks: %v", err)
	}
	_, err = spaceOf(t, trillion, Submission{MaxTasks: 1_000_000})
	if err == nil || !strings.Contains(err.Error(), "has 1000000000000 tasks, and the job would have more than 1000000") {
		t.Errorf("a trillion tasks where a million are allowed: %v", err)
	}
	list := "    - {name: P%d, type: INT, range: [" + strings.Repeat("1,", 1024) + "]}\n"
	text := ""
	for i := range 16 {
		text += fmt.Sprintf(list, i)
	}
	_, err = spaceOf(t, text, Submission{})
	if err == nil || !strings.Contains(err.Error(), "more than 9223372036854775807 combinations") {
		t.Errorf("1024 to the 16th tasks: %v", err)
	}
	for _, constraint := range []string{"CONTIGUOUS", "NONCONTIGUOUS"} {
		chunks := "    - {name: F, type: 'CHUNK[INT]', range: '1-1000000000000', chunks: {defaultTaskCount: 7, rangeConstraint: " + constraint + "}}\n"
		soon(t, "chunks of a trillion", time.Minute, func() {
			s, err := spaceOf(t, chunks, Submission{})
			if err != nil || s.Len() != 142857142858 || Label(s.At(s.Len()-1)) != "F=999999999995-1000000000000" {
				t.Errorf("%s chunks of a trillion: %v, %d, %s", constraint, err, s.Len(), Label(s.At(s.Len()-1)))
			}
		})
	}
	elements := strings.Repeat("1,", 20_000) + "1"
	if _, err := ParseRange(elements); err == nil || !strings.Contains(err.Error(), "has 20001 elements, and at most 10000") {
		t.Errorf("20,001 elements: %v", err)
	}
}

// TestStandsAlone: the package is built in an empty module with nothing but its one library.
func TestStandsAlone(t *testing.T) {
	dir := t.TempDir()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module := "module example.com/openjd\n\ngo 1.26.0\n\nrequire go.yaml.in/yaml/v4 v4.0.0\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(sums)) {
		if strings.HasPrefix(line, "go.yaml.in/yaml/v4 ") {
			own = append(own, line)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(strings.Join(own, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("the package does not build alone: %v\n%s", err, out)
	}
}
