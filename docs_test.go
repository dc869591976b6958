package qb_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// benchmarkCommand finds the package and the benchmarks in a command of a document, benchmarkFunc the ones that a
// package declares.
var (
	benchmarkCommand = regexp.MustCompile(`go test \./(\S+) [^\n\x60]*-bench '?([^\s'/\x60]+)`)
	benchmarkFunc    = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)
)

// TestDocsNameBenchmarks: a figure can be measured again by the command beside it.
func TestDocsNameBenchmarks(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range benchmarkCommand.FindAllStringSubmatch(string(text), -1) {
			commands++
			has := benchmarksOf(t, command[1])
			for wanted := range strings.SplitSeq(command[2], "|") {
				if !regexp.MustCompile(`(?m)` + wanted).MatchString(has) {
					t.Errorf("%s: %q: package %s has no benchmark %s", document, command[0], command[1], wanted)
				}
			}
		}
	}
	if commands == 0 {
		t.Error("the documents name no benchmark: the pattern that finds them is wrong")
	}
}

// benchmarksOf is the names of a package's benchmarks, one in a line.
func benchmarksOf(t *testing.T, pkg string) string {
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range benchmarkFunc.FindAllStringSubmatch(string(text), -1) {
			names.WriteString(name[1] + "\n")
		}
	}
	return names.String()
}

// TestPythonReadmeListsFunctions: the table of functions with Qube's names has exactly the ones that the client has.
func TestPythonReadmeListsFunctions(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, client, found := strings.Cut(read("python/qb.py"), "\n# ---- Qube!'s names ----\n")
	_, readme, also := strings.Cut(read("python/README.md"), "\n| | functions |\n")
	if !found || !also {
		t.Fatal("the part of the client with Qube's names, or its table in the README, has another beginning")
	}
	table, _, _ := strings.Cut(readme, "\n\n")
	listed := map[string]bool{}
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(table, -1) {
		for name := range strings.FieldsSeq(strings.Trim(quoted, "`")) {
			if !strings.HasPrefix(name, "\"") { // an example of an argument
				listed[name] = true
			}
		}
	}
	for _, def := range regexp.MustCompile(`(?m)^def ([a-zA-Z]\w*)\(`).FindAllStringSubmatch(client, -1) {
		if def[1] != "map" && !listed[def[1]] { // map has a chapter of its own
			t.Errorf("python/README.md does not list %s", def[1])
		}
	}
	for name := range listed {
		if !regexp.MustCompile(`(?m)^(def|class) ` + name + `\b|^(\w+ = )*` + name + `\b.* = `).MatchString(read("python/qb.py")) {
			t.Errorf("python/README.md lists %s, which the client has not", name)
		}
	}
}
