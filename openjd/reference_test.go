package openjd

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A referenceCase is a template with values, and what the reference implementation and this package say of it.
type referenceCase struct {
	seed     uint64
	mutated  bool
	document []byte
	values   map[string]string
	theirs   verdict
	ours     verdict
}

// A verdict says whether a template and its values make a job, and which one.
type verdict struct {
	Stage  string            `json:"stage"` // of the error: read or job
	Error  string            `json:"error"`
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
	Steps  []struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
		Tasks []struct {
			Number int64             `json:"number"`
			Values map[string]string `json:"values"`
		} `json:"tasks"`
	} `json:"steps"`
}

// A difference is a known one, and its reason.
type difference struct {
	pattern string
	reason  string
}

const (
	referenceFolder = "QB_OPENJD_REFERENCE" // names the folder of its source
	referenceCases  = 5000
	templateFolder  = "/tmpl/dir"
	workingFolder   = "/home/user"
)

// TestMain leaves out the comparison with the reference implementation unless make openjd-reference says where it is.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(referenceFolder) == "" {
		_ = flag.Set("test.skip", "^TestReference$") // testing has that flag
	}
	os.Exit(m.Run())
}

// TestReference compares this package with the reference implementation of March 2024 (openjd-model-for-python 0.4.2),
// for templates of the base language.
func TestReference(t *testing.T) {
	cases := make([]referenceCase, referenceCases)
	words := referenceWords(t)
	for i := range cases {
		cases[i] = makeReferenceCase(t, words, uint64(i))
	}
	askReference(t, os.Getenv(referenceFolder), cases)
	used := map[string]int{}
	accepted, refusedByOne := 0, 0
	for _, c := range cases {
		switch {
		case c.ours.Error != "" && !c.mutated:
			t.Errorf("seed %d is right, and refused: %s\n%s\n%v", c.seed, c.ours.Error, c.document, c.values)
		case c.ours.Error == "" && c.theirs.Error == "":
			accepted++
			if what := c.compare(); what != "" {
				c.judge(t, otherJobs, fmt.Sprintf("%s %v", c.document, c.values), used)
			}
		case c.ours.Error == "" || c.theirs.Error == "":
			refusedByOne++
			if c.ours.Error != "" {
				c.judge(t, refusedByUs, c.ours.Error, used)
			} else {
				c.judge(t, refusedByThem, c.theirs.Error, used)
			}
		}
	}
	for _, d := range slices.Concat(refusedByUs, refusedByThem, otherJobs) {
		t.Logf("%5d %s: %s", used[d.pattern], d.pattern, d.reason)
	}
	t.Logf("%d templates: both accept %d, both refuse %d, one refuses %d, as is known",
		len(cases), accepted, len(cases)-accepted-refusedByOne, refusedByOne)
}

// judge finds the known difference that a case shows, by its error, or by the template and the values.
func (c referenceCase) judge(t *testing.T, known []difference, text string, used map[string]int) {
	t.Helper()
	for _, d := range known {
		if regexp.MustCompile(d.pattern).MatchString(text) {
			used[d.pattern]++
			return
		}
	}
	t.Errorf("seed %d: %s\n  the reference: %q\n  here: %q\n%s\n%v",
		c.seed, c.compare(), c.theirs.Error, c.ours.Error, c.document, c.values)
}

// compare says in what the jobs of a case differ.
func (c referenceCase) compare() string {
	switch {
	case c.ours.Name != c.theirs.Name:
		return fmt.Sprintf("the name is %q, and theirs %q", c.ours.Name, c.theirs.Name)
	case !maps.Equal(c.ours.Values, c.theirs.Values):
		return fmt.Sprintf("the values are %q, and theirs %q", c.ours.Values, c.theirs.Values)
	}
	ours, theirs := fmt.Sprintf("%+v", c.ours.Steps), fmt.Sprintf("%+v", c.theirs.Steps)
	if ours != theirs {
		return fmt.Sprintf("the steps are %s, and theirs %s", ours, theirs)
	}
	return ""
}

// askReference fills in what the reference says of the cases, and then what this package says.
func askReference(t *testing.T, folder string, cases []referenceCase) {
	t.Helper()
	var questions bytes.Buffer
	for _, c := range cases {
		q, err := json.Marshal(map[string]any{
			"template": json.RawMessage(c.document), "values": c.values,
			"templateDir": templateFolder, "workingDir": workingFolder,
		})
		if err != nil {
			t.Fatal(err)
		}
		questions.Write(append(q, '\n'))
	}
	// The packages that the reference needs are those of Debian's Python.
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/reference.py", folder)
	cmd.Stdin = &questions
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the reference: %v; it needs python3-pydantic 1.10 and python3-yaml", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("the reference has %d answers for %d templates", len(lines), len(cases))
	}
	for i := range cases {
		c := &cases[i]
		if err := json.Unmarshal([]byte(lines[i]), &c.theirs); err != nil {
			t.Fatalf("%v: %s", err, lines[i])
		}
		c.ours = c.judged()
	}
}

// judged is what this package says of a case, of the tasks whose values the reference gave.
func (c *referenceCase) judged() (v verdict) {
	v.Stage = "read"
	template, err := ReadJob(c.document, JSON)
	if err != nil {
		v.Error = err.Error()
		return v
	}
	v.Stage = "job"
	j, err := CreateJob(template, Submission{Values: c.values, TemplateDir: templateFolder, WorkingDir: workingFolder})
	if err != nil {
		v.Error = err.Error()
		return v
	}
	v.Name = j.Name
	v.Values = map[string]string{}
	for _, p := range j.Values {
		v.Values[p.Name] = p.Value
	}
	v.Steps = slices.Clone(c.theirs.Steps)
	for i, s := range j.Steps {
		if i >= len(v.Steps) {
			continue
		}
		of := &v.Steps[i]
		of.Name = s.Name
		of.Count = s.Space.Len()
		of.Tasks = slices.Clone(of.Tasks)
		for k := range of.Tasks {
			task := map[string]string{}
			if of.Tasks[k].Number < of.Count {
				for _, p := range s.Space.At(of.Tasks[k].Number) {
					task[p.Name] = p.Value
				}
			}
			of.Tasks[k].Values = task
		}
	}
	return v
}

// refusedByUs are what this package alone refuses, by its error.
var refusedByUs = []difference{
	{`is null; give it a value`, "null is not the same as a property that is left out; newer cases refuse it"},
	{`(timeout|notifyPeriodInSeconds|decimals): is (a number|a boolean|a string); write an integer`,
		"the reference takes what Python can turn into an integer"},
	{`(min|max|singleStepDelta): is a (string|boolean); write a number`, "the same for numbers"},
	{`range\[\d\]: is empty`, "a value of a task parameter has at least one character"},
	{`"[^"]*"…? is not (an integer|a number)`,
		"the reference takes what Python reads as a number, and does not check references in ranges once they are resolved"},
	{`is outside of the integers of 64 bits`, "a newer rule; Python's integers have no limit"},
	{`hostRequirements: (has neither amounts nor attributes|is a list|is a string)`,
		"the reference loses this check, as pydantic fills in what is missing"},
	{`is named twice; the names differ in more than case`, "a newer rule: a requirement is named once"},
	{`P\d: has \d+ characters, and at most 1024`, "the reference checks the length of defaults alone"},
	{`"1\\n" is not a range`, "the grammar of ranges has tabs and spaces alone"},
	{`is (less than min|more than max)Value, 0`, "the reference takes 0 for no limit"},
	{`is not the name of a file alone, without folders`, "the reference has the check on its list"},
	{`\{\{Param \.P0\}\} is not the name of a value`, "the grammar of references has no blank before a point"},
}

// refusedByThem is what the reference alone refuses, by its error.
var refusedByThem = []difference{
	{`str type expected`, "a number where a format string is expected is taken as its text here"},
	{`args\[\d\]:\n\tstring does not match`, "newer cases have scripts of several lines as arguments"},
	{`Values must be from`, "values of attributes are compared without case"},
	{`Unexpected '\+'`, "a newer rule: an INT is its number, also in a range"},
	{`0 < minLength`, "newer cases accept 0"},
	{`decimals:\n\tensure this value is greater than 0`, "the language has no such limit"},
	{`must have more than one term`, "the grammar allows one expression in parentheses"},
	{`control:\n\tfield required`, "control of userInterface may be left out since 2025"},
	{`variables -> \w+:\n\tVariable Session\.`, "newer cases use the names of the session in variables of environments"},
}

// otherJobs are templates and values of which both make a job, but not the same.
var otherJobs = []difference{
	{`P\d:[^ \]]*\.\.`, "a newer rule: a relative PATH is joined and made short"},
	{`"?P\d"?:"?(007|-0|\+4| 5 )|"default":"(007|-0|\+4| 5 )"`,
		"a newer rule: an INT is its number, not the text that was given"},
	{`[":\[, ](\+\d|\d+\.|\.\d|\\t1|00\d|1e[12])["\] ,}]`, "the reference writes a FLOAT as Python's decimals do"},
	{`\d:-\d`, "a range that goes down has its values in increasing order here"},
}
