package session

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"qb/openjd"
)

// A runCase is an official case that is run: a template, what is submitted with it, and the output that it has.
type runCase struct {
	Template     yaml.Node
	Environments []yaml.Node
	Parameters   map[string]string
	PathMapping  yaml.Node `yaml:"pathMapping"`
	RunOn        []string  `yaml:"runOn"`
	Expected     struct {
		Output      []any
		OutputPosix []any `yaml:"output_posix"`
		Forbidden   []string
		TaskFailure *struct {
			ExitCode *int `yaml:"exitCode"`
		} `yaml:"taskFailure"`
	}
}

// TestConformanceRuns runs the official cases that have an output.
func TestConformanceRuns(t *testing.T) {
	withPython(t)
	passed, failed, unsupported := map[string]int{}, map[string]int{}, map[string]int{}
	err := filepath.WalkDir("../testdata/material/conformance/2023-09", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".test.yaml") {
			return err
		}
		rest, _ := filepath.Rel("../testdata/material/conformance/2023-09", name)
		folder := filepath.Dir(rest)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		reason, known := runOfficial(t, text, strings.Contains(name, ".invalid."))
		switch {
		case !known:
			unsupported[folder]++
		case reason == "":
			passed[folder]++
		default:
			failed[folder]++
			t.Errorf("%s: %s", rest, reason)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for folder := range merged(passed, failed, unsupported) {
		lines = append(lines, fmt.Sprintf("%-30s run %3d passed %3d failed %3d not supported", folder, passed[folder], failed[folder], unsupported[folder]))
	}
	slices.Sort(lines)
	for _, l := range lines {
		t.Log(l)
	}
}

func merged(all ...map[string]int) map[string]bool {
	out := map[string]bool{}
	for _, m := range all {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

// withPython has the command python of the cases be python3.
func withPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python"); err == nil {
		return
	}
	python3, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(python3, filepath.Join(dir, "python")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// runOfficial runs one case; known is false if it needs an extension that is not supported.
func runOfficial(t *testing.T, text []byte, invalid bool) (reason string, known bool) {
	t.Helper()
	var c runCase
	if err := yaml.Unmarshal(text, &c); err != nil {
		return err.Error(), true
	}
	j, rules, err := c.job()
	if err != nil {
		switch {
		case strings.Contains(err.Error(), "is not supported"):
			return "", false
		case invalid:
			return "", true
		}
		return err.Error(), true
	}
	r := newTrial(t)
	r.config.Environ = os.Environ()
	r.config.Rules = rules
	var failed error
	for n := range j.Steps {
		if failed = r.runStep(context.Background(), j, n); failed != nil {
			break
		}
	}
	if invalid && failed == nil {
		return "the run succeeds, and must fail", true
	}
	return c.compare(r.text(), failed, invalid), true
}

func (c *runCase) job() (*openjd.Job, []openjd.PathRule, error) {
	text := func(n yaml.Node) []byte {
		out, err := yaml.Marshal(&n)
		if err != nil {
			panic(err)
		}
		return out
	}
	d, err := openjd.ReadJob(text(c.Template), openjd.YAML)
	if err != nil {
		return nil, nil, err
	}
	s := openjd.Submission{Values: c.Parameters, TemplateDir: "/template", WorkingDir: "/work"}
	for _, n := range c.Environments {
		e, err := openjd.ReadEnvironment(text(n), openjd.YAML)
		if err != nil {
			return nil, nil, err
		}
		s.Environments = append(s.Environments, e)
	}
	var rules []openjd.PathRule
	if c.PathMapping.Kind != 0 {
		var list []struct {
			Format      string `yaml:"source_path_format"`
			Source      string `yaml:"source_path"`
			Destination string `yaml:"destination_path"`
		}
		if err := c.PathMapping.Decode(&list); err != nil {
			return nil, nil, err
		}
		for _, l := range list {
			rules = append(rules, openjd.PathRule{Format: l.Format, Source: l.Source, Destination: l.Destination})
		}
	}
	j, err := openjd.CreateJob(d, s)
	return j, rules, err
}

// compare says what of the output is not as the case expects.
func (c *runCase) compare(output string, failed error, invalid bool) string {
	for _, want := range slices.Concat(c.Expected.Output, c.Expected.OutputPosix) {
		if w, ok := want.(string); ok && !strings.Contains(output, w) {
			return fmt.Sprintf("the output has no %q:\n%s", w, output)
		}
	}
	for _, w := range c.Expected.Forbidden {
		if strings.Contains(output, w) {
			return fmt.Sprintf("the output has %q:\n%s", w, output)
		}
	}
	expectsFailure := c.Expected.TaskFailure != nil
	switch {
	case failed != nil && !expectsFailure && !invalid:
		return fmt.Sprintf("%v:\n%s", failed, output)
	case failed == nil && expectsFailure:
		return "the run succeeds, and a task must fail"
	case expectsFailure && c.Expected.TaskFailure.ExitCode != nil &&
		!strings.Contains(output, fmt.Sprintf("exited with code: %d", *c.Expected.TaskFailure.ExitCode)):
		return "the exit code is another one:\n" + output
	}
	return ""
}
