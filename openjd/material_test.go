package openjd

import (
	"bufio"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testdata/material are templates of others, unchanged, with their licences; README.md and INDEX.tsv there say whence.

// TestConformance checks the official cases: templates are accepted or refused as their name says. Cases that are run
// are checked and made into jobs here; package session runs them. The score is printed by make openjd.
func TestConformance(t *testing.T) {
	scores := map[string]*[3]int{} // passed, failed, skipped
	for _, name := range conformanceCases(t) {
		rest := strings.TrimPrefix(name, "testdata/material/conformance/2023-09/")
		folder := filepath.Dir(rest)
		if scores[folder] == nil {
			scores[folder] = &[3]int{}
		}
		verdict, reason := judge(name)
		switch verdict {
		case "passed":
			scores[folder][0]++
		case "skipped":
			scores[folder][2]++
		default:
			scores[folder][1]++
			t.Errorf("%s: %s", rest, reason)
		}
	}
	var lines []string
	for folder, s := range scores {
		lines = append(lines, fmt.Sprintf("%-36s %3d passed %3d failed %3d not supported", folder, s[0], s[1], s[2]))
	}
	slices.Sort(lines)
	for _, l := range lines {
		t.Log(l)
	}
}

func conformanceCases(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("testdata/material/conformance", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) == ".yaml" {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases of conformance: %v", err)
	}
	return names
}

// judge runs one case: its templates are read, and a job is made of those of a run.
func judge(name string) (verdict, reason string) {
	invalid := strings.Contains(name, ".invalid.")
	text, err := os.ReadFile(name)
	if err != nil {
		return "failed", err.Error()
	}
	if strings.HasSuffix(name, ".test.yaml") {
		err = makeRun(text)
	} else {
		_, err = Read(text, YAML, nil)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "is not supported"):
		return "skipped", err.Error()
	case invalid && err == nil:
		return "failed", "is accepted, and must be refused"
	case !invalid && err != nil:
		return "failed", err.Error()
	}
	return "passed", ""
}

// makeRun makes the job of a case that is run, and expands its tasks.
func makeRun(text []byte) error {
	root, err := readDocument(text, YAML)
	if err != nil {
		return err
	}
	read := func(v *value) (Document, error) {
		r := &reader{offered: Extensions()}
		d := r.document(v)
		return d, r.problems.err()
	}
	d, err := read(root.get("template"))
	if err != nil {
		return err
	}
	s := Submission{Values: map[string]string{}, TemplateDir: "/template", WorkingDir: "/work"}
	if v := root.get("parameters"); v != nil {
		for _, m := range v.members {
			s.Values[m.key] = m.value.text
		}
	}
	if v := root.get("environments"); v != nil {
		for _, item := range v.items {
			e, err := read(item)
			if err != nil {
				return err
			}
			s.Environments = append(s.Environments, e.Environment)
		}
	}
	j, err := CreateJob(d.Job, s)
	if err != nil {
		return err
	}
	for _, step := range j.Steps {
		for n := range min(step.Space.Len(), 1000) {
			step.Space.At(n)
		}
	}
	return nil
}

// refusedMaterial are the templates of INDEX.tsv that are refused, with a part of the reason.
var refusedMaterial = map[string]string{
	"dcc-submitters/3ds-max/max_submitter/adaptor_override_environment.yaml":        "environment: is not a property here",
	"dcc-submitters/cinema-4d/cinema4d_submitter/adaptor_override_environment.yaml": "environment: is not a property here",
	"dcc-submitters/nuke/nuke_submitter/adaptor_override_environment.yaml":          "environment: is not a property here",
	"job-bundles/nuke_render-2026/template.yaml":                                    "the extension EXPR is not supported",
	"job-bundles/task_chunking/basic_non_contiguous_chunks-2026/template.yaml":      "line 31, column 7: the document is not YAML",
}

// TestMaterial reads each template of the index: those of submitters, bundles and samples are accepted, and a job is
// made of each with values for what has no default.
func TestMaterial(t *testing.T) {
	f, err := os.Open("testdata/material/INDEX.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	jobs := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		columns := strings.Split(lines.Text(), "\t")
		name := columns[0]
		reason := refusedMaterial[name]
		isTemplate := columns[1] == "job template" || columns[1] == "env template" || reason != ""
		if strings.HasPrefix(name, "conformance/") || !isTemplate {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata/material", name))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(text, SyntaxOf(name), nil)
		switch {
		case reason != "" && (err == nil || !strings.Contains(err.Error(), reason)):
			t.Errorf("%s: the problem is %v, and should have %q", name, err, reason)
		case reason == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case d.Job != nil && err == nil:
			makeMaterial(t, name, d.Job)
			jobs++
		}
	}
	if jobs < 25 {
		t.Errorf("jobs were made of %d templates only", jobs)
	}
}

func makeMaterial(t *testing.T, name string, template *JobTemplate) {
	t.Helper()
	s := Submission{Values: map[string]string{}, TemplateDir: "/template", WorkingDir: "/work"}
	for _, p := range template.Parameters {
		if p.Default == nil || p.Type == Path && absolute(*p.Default) {
			fallback := map[Type]string{Int: "1", Float: "1.5", String: "1-3", Path: "file"}[p.Type]
			s.Values[p.Name] = cmp.Or(strings.Join(p.Allowed[:min(1, len(p.Allowed))], ""), fallback)
		}
	}
	j, err := CreateJob(template, s)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, step := range j.Steps {
		last := step.Space.At(step.Space.Len() - 1)
		if len(last) != len(step.Space.Parameters()) {
			t.Errorf("%s: the last task of %s has the values %v", name, step.Name, last)
		}
	}
}
