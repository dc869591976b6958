package openjd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A testCase is a case of testdata/cases. A file has cases separated by empty lines; a case begins with its section
// of the specification and its name, and has lines of a word and its value:
//
//	[3.4.1.1.1] blanks around the bounds
//	task {name: F, type: INT, range: " 1 - 3 "}
//	tasks F=1 F=2 F=3
//
// A case makes a template: top, param, task, combination, step, env, stepenv, action, file, host and ext add to it,
// raw is a line of a whole document. value and attach are of a submission. What is expected is accept, refuse with a
// part of the problem, nojob the same when the job is made, tasks, count, values, name, arg, or log.
type testCase struct {
	section string
	name    string
	lines   [][2]string
}

// repeats is how a case writes a long text: @{x*129} is x 129 times.
var repeats = regexp.MustCompile(`@\{([^*]+)\*(\d+)\}`)

func repeated(s string) string {
	parts := repeats.FindStringSubmatch(s)
	n, _ := strconv.Atoi(parts[2])
	return strings.Repeat(parts[1], n)
}

func (c testCase) all(word string) (values []string) {
	for _, l := range c.lines {
		if l[0] == word {
			values = append(values, l[1])
		}
	}
	return values
}

func readCases(t *testing.T) []testCase {
	t.Helper()
	names, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases []testCase
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			block = strings.Trim(block, "\n")
			if block == "" {
				continue
			}
			lines := strings.Split(block, "\n")
			section, title, ok := strings.Cut(strings.TrimPrefix(lines[0], "["), "] ")
			if !ok {
				t.Fatalf("%s: %q is no header of a case", name, lines[0])
			}
			c := testCase{section: section, name: title}
			for _, l := range lines[1:] {
				word, value, _ := strings.Cut(l, " ")
				value = repeats.ReplaceAllStringFunc(value, repeated)
				c.lines = append(c.lines, [2]string{word, value})
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// document makes the text of a case's template.
func (c testCase) document() string {
	if raw := c.all("raw"); raw != nil {
		return strings.Join(raw, "\n") + "\n"
	}
	var b strings.Builder
	top := c.all("top")
	add := func(key, line string) {
		if !slices.ContainsFunc(top, func(l string) bool { return strings.HasPrefix(l, key+":") }) {
			b.WriteString(line + "\n")
		}
	}
	list := func(indent, key string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "%s%s:\n", indent, key)
			for _, item := range items {
				fmt.Fprintf(&b, "%s- %s\n", indent, item)
			}
		}
	}
	for _, l := range top {
		b.WriteString(l + "\n")
	}
	for _, e := range c.all("ext") {
		fmt.Fprintf(&b, "extensions: [%s]\n", e)
	}
	list("", "parameterDefinitions", c.all("param"))
	if env := c.all("environment"); env != nil {
		add("specificationVersion", "specificationVersion: environment-2023-09")
		fmt.Fprintf(&b, "environment: %s\n", env[0])
		return b.String()
	}
	add("specificationVersion", "specificationVersion: jobtemplate-2023-09")
	add("name", "name: Job")
	list("", "jobEnvironments", c.all("env"))
	if slices.ContainsFunc(top, func(l string) bool { return strings.HasPrefix(l, "steps:") }) {
		return b.String()
	}
	b.WriteString("steps:\n- " + strings.Join(append(c.all("step"), c.stepName()), "\n  ") + "\n")
	list("  ", "stepEnvironments", c.all("stepenv"))
	for _, h := range c.all("host") {
		fmt.Fprintf(&b, "  hostRequirements: %s\n", h)
	}
	if tasks := c.all("task"); tasks != nil {
		b.WriteString("  parameterSpace:\n")
		list("    ", "taskParameterDefinitions", tasks)
		for _, e := range c.all("combination") {
			fmt.Fprintf(&b, "    combination: %q\n", e)
		}
	}
	c.script(&b)
	for _, other := range c.all("more") {
		fmt.Fprintf(&b, "- %s\n", other)
	}
	return b.String()
}

func (c testCase) stepName() string {
	for _, l := range c.all("step") {
		if strings.HasPrefix(l, "name:") {
			return "description: text"
		}
	}
	return "name: S"
}

func (c testCase) script(b *strings.Builder) {
	for _, l := range c.all("step") {
		for _, key := range []string{"script", "bash", "python", "cmd", "node", "powershell"} {
			if strings.HasPrefix(l, key+":") {
				return
			}
		}
	}
	action := c.all("action")
	if action == nil {
		action = []string{"{command: run}"}
	}
	fmt.Fprintf(b, "  script:\n    actions: {onRun: %s}\n", action[0])
	if files := c.all("file"); files != nil {
		b.WriteString("    embeddedFiles:\n")
		for _, f := range files {
			fmt.Fprintf(b, "    - %s\n", f)
		}
	}
}

// submission is what a case submits beside its template.
func (c testCase) submission(t *testing.T) Submission {
	t.Helper()
	s := Submission{Values: map[string]string{}, TemplateDir: "/tmpl/dir", WorkingDir: "/home/user"}
	for _, v := range c.all("value") {
		name, value, _ := strings.Cut(v, "=")
		s.Values[name] = value
	}
	for _, p := range c.all("attach") {
		text := "specificationVersion: environment-2023-09\nparameterDefinitions: [" + p + "]\n" +
			"environment: {name: E, variables: {V: '{{RawParam.A}}'}}\n"
		e, err := ReadEnvironment([]byte(text), YAML)
		if err != nil {
			t.Fatalf("the attached template: %v\n%s", err, text)
		}
		s.Environments = append(s.Environments, e)
	}
	return s
}

func TestCases(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 400 {
		t.Errorf("there are %d cases, and at least 400 are wanted", len(cases))
	}
	seen := map[string]bool{}
	for _, c := range cases {
		id := c.section + " " + c.name
		if seen[id] {
			t.Errorf("two cases are %q", id)
		}
		seen[id] = true
		t.Run(id, func(t *testing.T) { c.run(t) })
	}
}

func (c testCase) run(t *testing.T) {
	text := c.document()
	syntax := YAML
	if c.all("json") != nil {
		syntax = JSON
	}
	d, err := Read([]byte(text), syntax, nil)
	if refusals := c.all("refuse"); refusals != nil {
		for _, part := range refusals {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the problem is %v, and should have %q\n%s", err, part, text)
			}
		}
		return
	}
	if err != nil {
		t.Fatalf("refused: %v\n%s", err, text)
	}
	if c.all("accept") != nil {
		return
	}
	if d.Job == nil {
		t.Fatalf("expects nothing of an environment template\n%s", text)
	}
	j, err := CreateJob(d.Job, c.submission(t))
	if refusals := c.all("nojob"); refusals != nil {
		for _, part := range refusals {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the problem is %v, and should have %q\n%s", err, part, text)
			}
		}
		return
	}
	if err != nil {
		t.Fatalf("no job: %v\n%s", err, text)
	}
	c.compare(t, j)
}

// compare checks what a case says of its job.
func (c testCase) compare(t *testing.T, j *Job) {
	t.Helper()
	expected := 0
	equal := func(word, got string) {
		t.Helper()
		for _, want := range c.all(word) {
			expected++
			if got != want {
				t.Errorf("%s is %q, not %q", word, got, want)
			}
		}
	}
	step := j.Steps[0]
	equal("job", "") // that there is one
	equal("name", j.Name)
	equal("count", fmt.Sprint(step.Space.Len()))
	equal("values", fmt.Sprint(step.Space.Values()))
	var labels []string
	for n := range min(step.Space.Len(), 100) {
		labels = append(labels, Label(step.Space.At(n)))
	}
	equal("tasks", strings.Join(labels, " "))
	var values []string
	for _, v := range j.Values {
		values = append(values, v.Name+"="+v.Value)
	}
	equal("parameters", strings.Join(values, " "))
	symbols := j.Symbols(nil)
	for k, v := range TaskSymbols(step.Space.At(0), nil) {
		symbols[k] = v
	}
	if c.all("arg") != nil {
		arg, err := step.Script.OnRun.Args[0].Resolve(symbols)
		if err != nil {
			t.Error(err)
		}
		equal("arg", arg)
	}
	equal("limits", fmt.Sprintf("timeout %d notify %d", step.Script.OnRun.Seconds(false), step.Script.OnRun.Notify()))
	var needs []string
	for _, a := range step.Amounts {
		needs = append(needs, a.Name+bound(" from ", a.Min)+bound(" to ", a.Max))
	}
	for _, a := range step.Attributes {
		needs = append(needs, fmt.Sprintf("%s any %v all %v", a.Name, a.AnyOf, a.AllOf))
	}
	equal("needs", strings.Join(needs, "; "))
	if expected == 0 {
		t.Error("the case expects nothing")
	}
}

func bound(word string, n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(word, *n)
}

// TestSections: each section of the specification has a case of ours.
func TestSections(t *testing.T) {
	missing := map[string]bool{}
	for _, s := range sections {
		missing[s] = true
	}
	for _, c := range readCases(t) {
		if !slices.Contains(sections, c.section) {
			t.Errorf("%s %s: there is no such section", c.section, c.name)
		}
		delete(missing, c.section)
	}
	for s := range missing {
		t.Errorf("section %s has no case", s)
	}
}

// sections are those of the template schemas of revision 2023-09 that say what a template may have, without those of
// EXPR alone.
var sections = []string{
	"1", "1.1", "1.1.1", "1.1.2", "1.2", "1.2.1",
	"2", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13",
	"2.14", "2.15", "2.16",
	"3", "3.1", "3.2", "3.3", "3.3.1", "3.3.1.1", "3.3.2", "3.3.2.1", "3.3.2.2",
	"3.4", "3.4.1", "3.4.1.1", "3.4.1.1.1", "3.4.1.2", "3.4.1.3", "3.4.1.4", "3.4.1.5", "3.4.2", "3.4.3",
	"3.5", "3.5.1", "3.6",
	"4", "4.1", "4.2", "4.3", "4.4", "4.4.1", "4.4.2",
	"5", "5.1", "5.2", "5.3", "5.3.1", "5.3.2",
	"6", "6.1", "6.1.1", "6.1.2",
	"7.1", "7.2", "7.3", "7.3.1", "7.4", "8",
}
