package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The document has a place for each table that the command makes, and for no other.
func TestTablesOfDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	var there, made []string
	for _, found := range regexp.MustCompile(`(?m)^<!-- table (\S+) -->$`).FindAllStringSubmatch(string(text), -1) {
		there = append(there, found[1])
	}
	for _, one := range tables {
		made = append(made, one.name)
		if (one.test == nil) == (one.rows == nil) || one.minutes <= 0 || len(one.columns) == 0 {
			t.Errorf("table %s is of runs or of benchmarks, takes some time, and has columns", one.name)
		}
		for _, c := range one.columns {
			if strings.Count(c.format, "%") != len(c.of) {
				t.Errorf("table %s: %q shows another number of figures than %v", one.name, c.format, c.of)
			}
		}
	}
	if !slices.Equal(there, made) {
		t.Errorf("the document has places for\n%v\nthe command makes\n%v", there, made)
	}
	if ends := strings.Count(string(text), tableEnd); ends != len(there) {
		t.Errorf("%d tables begin, %d end", len(there), ends)
	}
}

// Figures of runs are the medians of the rounds, and what a row has not measured is left out.
func TestTextOfTable(t *testing.T) {
	one := table{first: "farm", columns: []column{
		{"items", "%.0f", []string{"items_per_second"}}, {"waits", "%.1f / %.1f", []string{"refill_ms.p50", "refill_ms.p99"}}}}
	var rounds []map[string]figures
	for _, n := range []float64{3, 1, 2} {
		f := figures{}
		f.flatten("", map[string]any{"items_per_second": 12345 * n, "refill_ms": map[string]any{"p50": n, "p99": 10 * n}, "name": "x"})
		rounds = append(rounds, map[string]figures{"a": f, "b": {"items_per_second": n}})
	}
	want := "| farm | items | waits |\n| --- | --- | --- |\n| a | 24,690 | 2.0 / 20.0 |\n| b | 2 |  |\n"
	if got := one.text([]string{"a", "b"}, rounds); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	f := figures{"items": 10, "seconds": 2, "supervisor_cpu_seconds": 1e-4, "other_cpu_seconds": 1, "supervisor_rss": 5e6, "full.least": 0.5}
	f.derive()
	alone := figures{"items": 0, "seconds": 2, "items_per_second": 0}
	alone.derive()
	if _, shown := alone["items_per_second"]; shown {
		t.Errorf("%v of a run that counts no items", alone)
	}
	if f["supervisor_us"] != 10 || f["other_cores"] != 0.5 || f["supervisor_mb"] != 5 || f["full.least_percent"] != 50 {
		t.Errorf("%v", f)
	}
}

func TestReadBenchmarks(t *testing.T) {
	round := map[string]figures{}
	names := readBenchmarks([]byte("goos: linux\nBenchmarkReads/the_list  \t20\t 51000 ns/op\t 12.5 cpu-µs/op\nPASS\nok qb 1.2s\n"), round)
	if !slices.Equal(names, []string{"Reads/the list"}) || round["Reads/the list"]["cpu-µs/op"] != 12.5 || round["Reads/the list"]["ns/op"] != 51000 {
		t.Errorf("%v %v", names, round)
	}
}

// Only the text between the two lines of a table is written.
func TestReplaceTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "d.md")
	text := "a\n<!-- table x -->\nold\n<!-- end of table -->\nb\n<!-- table y -->\n<!-- end of table -->\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(file, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != strings.Replace(text, "old", "new", 1) {
		t.Errorf("%s", got)
	}
	if err := replaceTable(file, "z", ""); err == nil || !strings.Contains(err.Error(), "<!-- table z -->") {
		t.Errorf("a table without a place: %v", err)
	}
	if _, err := chosenTables("real,nosuch"); err == nil || !strings.Contains(err.Error(), "throughput") {
		t.Errorf("a table that is not there: %v", err)
	}
}
