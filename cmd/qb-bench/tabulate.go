package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

// tabulation is qb-bench tables, which measures the tables of a document and writes them into it, between a line
// `<!-- table NAME -->` and the next `<!-- end of table -->`. It runs in the root of the sources.
type tabulation struct {
	document, only string
	rounds         int
	out            io.Writer
}

// figures are what one run, or one benchmark, has measured.
type figures map[string]float64

func newTablesCommand() *cobra.Command {
	var t tabulation
	cmd := &cobra.Command{
		Use: "tables", Short: "Measure the tables of docs/benchmarks.md, and write them into it",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.out = cmd.ErrOrStderr()
			return t.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&t.document, "document", "docs/benchmarks.md", "`FILE` that has the tables")
	cmd.Flags().StringVar(&t.only, "table", "", "only the tables `a,b`")
	cmd.Flags().IntVar(&t.rounds, "rounds", 3, "`N` times that each is measured; the medians are written")
	return cmd
}

func (t *tabulation) run(ctx context.Context) error {
	chosen, err := chosenTables(t.only)
	if err != nil {
		return err
	}
	if t.rounds < 1 {
		return api.Errorf(api.KindUsage, "-rounds %d: use at least 1", t.rounds)
	}
	minutes := 0.0
	for _, one := range chosen {
		minutes += one.minutes * float64(t.rounds)
	}
	fmt.Fprintf(t.out, "this takes about %.0f minutes on a machine of two cores with nothing else to do\n", minutes)
	for _, one := range chosen {
		began, before := time.Now(), loadAverage()
		labels, rounds, err := t.measure(ctx, one)
		if err != nil {
			return fmt.Errorf("table %s: %w", one.name, err)
		}
		text := one.text(labels, rounds) + "\n" + t.source(ctx, one, began, before)
		if err := replaceTable(t.document, one.name, text); err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%s\n", text)
	}
	return nil
}

func chosenTables(only string) ([]table, error) {
	if only == "" {
		return tables, nil
	}
	var chosen []table
	for name := range strings.SplitSeq(only, ",") {
		n := slices.IndexFunc(tables, func(one table) bool { return one.name == name })
		if n < 0 {
			return nil, api.Errorf(api.KindUsage, "there is no table %q; lines such as %q in the document name them", name,
				tableBegin(tables[0].name))
		}
		chosen = append(chosen, tables[n])
	}
	return chosen, nil
}

// measure has the figures of each row, by round. Rows take turns, so that what else the machine does meets all alike.
func (t *tabulation) measure(ctx context.Context, one table) (labels []string, rounds []map[string]figures, err error) {
	for n := range t.rounds {
		round := map[string]figures{}
		if one.test != nil {
			var names []string
			if names, err = t.benchmark(ctx, one.test, round); err != nil {
				return nil, nil, err
			}
			labels = names
		}
		for _, row := range one.rows {
			if n == 0 {
				labels = append(labels, row.label)
			}
			fmt.Fprintf(t.out, "%s, round %d: qb bench %s\n", one.name, n+1, row.options)
			if round[row.label], err = t.bench(ctx, strings.Fields(row.options)); err != nil {
				return nil, nil, err
			}
		}
		rounds = append(rounds, round)
	}
	return labels, rounds, nil
}

// bench runs this program.
func (t *tabulation) bench(ctx context.Context, options []string) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	said, err := t.command(ctx, self, options...)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(said, &object); err != nil {
		return nil, fmt.Errorf("qb bench %v printed no JSON object: %w", options, err)
	}
	f := figures{}
	f.flatten("", object)
	f.derive()
	return f, nil
}

// flatten names a member of a member a.b.
func (f figures) flatten(prefix string, object map[string]any) {
	for name, value := range object {
		switch value := value.(type) {
		case float64:
			f[prefix+name] = value
		case map[string]any:
			f.flatten(prefix+name+".", value)
		}
	}
}

// derive adds what follows from the others.
func (f figures) derive() {
	if items := f["items"]; items > 0 {
		f["supervisor_us"] = 1e6 * f["supervisor_cpu_seconds"] / items
		f["postgres_us"] = 1e6 * f["postgres_cpu_seconds"] / items
		f["hosts_us"] = 1e6 * f["hosts_cpu_seconds"] / items
	} else if f["seconds"] > 0 { // the items of arrivals alone are not counted
		delete(f, "items_per_second")
	}
	if seconds := f["seconds"]; seconds > 0 {
		f["other_cores"] = f["other_cpu_seconds"] / seconds
	}
	f["supervisor_mb"] = f["supervisor_rss"] / 1e6
	f["hosts_mb"] = f["hosts_rss"] / 1e6
	f["full.mean_percent"] = 100 * f["full.mean"]
	f["full.least_percent"] = 100 * f["full.least"]
	if f["arrivals.job_cpu_ms"] == 0 {
		delete(f, "arrivals.job_cpu_ms")
	}
}

// benchmark runs benchmarks of a package and returns their names in order.
func (t *tabulation) benchmark(ctx context.Context, of []string, round map[string]figures) ([]string, error) {
	args := testArgs(of)
	fmt.Fprintln(t.out, "go", strings.Join(args, " "))
	said, err := t.command(ctx, "go", args...)
	if err != nil {
		return nil, err
	}
	names := readBenchmarks(said, round)
	if len(names) == 0 {
		return nil, fmt.Errorf("go %v ran no benchmark", args)
	}
	return names, nil
}

func testArgs(of []string) []string {
	return []string{"test", of[0], "-run", "^$", "-bench", of[1], "-benchtime", of[2], "-cpu", "1", "-timeout", "60m"}
}

// readBenchmarks reads what go test prints: a name, how often, then pairs of a value and its unit.
func readBenchmarks(said []byte, round map[string]figures) (names []string) {
	for lines := bufio.NewScanner(bytes.NewReader(said)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.ReplaceAll(strings.TrimPrefix(words[0], "Benchmark"), "_", " ")
		f := figures{}
		for n := 2; n+1 < len(words); n += 2 {
			if value, err := strconv.ParseFloat(words[n], 64); err == nil {
				f[words[n+1]] = value
			}
		}
		round[name] = f
		names = append(names, name)
	}
	return names
}

func (t *tabulation) command(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s%s", program, args, err, said, log.String())
	}
	return said, nil
}

// text is the table in Markdown; each figure is the median of its rounds.
func (one *table) text(labels []string, rounds []map[string]figures) string {
	var b strings.Builder
	heads, rules := "| "+one.first, "| ---"
	for _, c := range one.columns {
		heads += " | " + c.head
		rules += " | ---"
	}
	fmt.Fprintf(&b, "%s |\n%s |\n", heads, rules)
	for _, label := range labels {
		fmt.Fprintf(&b, "| %s", label)
		for _, c := range one.columns {
			b.WriteString(" | " + c.cell(label, rounds))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func (c *column) cell(label string, rounds []map[string]figures) string {
	var shown []any
	for _, member := range c.of {
		var values []float64
		for _, round := range rounds {
			if v, ok := round[label][member]; ok {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			return ""
		}
		shown = append(shown, median(values))
	}
	return thousands().ReplaceAllStringFunc(fmt.Sprintf(c.format, shown...), grouped)
}

var thousands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]{4,}(\.[0-9]+)?`) })

// grouped sets a comma before each three digits.
func grouped(number string) string {
	whole, rest, fraction := strings.Cut(number, ".")
	for n := len(whole) - 3; n > 0; n -= 3 {
		whole = whole[:n] + "," + whole[n:]
	}
	if fraction {
		return whole + "." + rest
	}
	return whole
}

// source says what was measured, when, and how busy the machine was.
func (t *tabulation) source(ctx context.Context, one table, began time.Time, before float64) string {
	commit := t.commit(ctx)
	how := "each row is `qb bench` with options of `cmd/qb-bench/tables.go`"
	if one.test != nil {
		args := testArgs(one.test)
		args[3], args[5] = "'"+args[3]+"'", "'"+args[5]+"'"
		how = "`go " + strings.Join(args[:8], " ") + "`"
	}
	rounds := fmt.Sprintf("medians of %d rounds", t.rounds)
	if t.rounds == 1 {
		rounds = "one round"
	}
	return fmt.Sprintf("`make benchmarks TABLE=%s`: %s; %s.\nCommit %s, %s, %d cores, load %.1f at the begin and %.1f at the end, %s.\n",
		one.name, how, rounds, commit, began.UTC().Format(time.DateOnly), runtime.NumCPU(), before, loadAverage(),
		time.Since(began).Round(time.Second))
}

// commit is what was measured; the document itself does not count as a change.
func (t *tabulation) commit(ctx context.Context) string {
	said, err := t.command(ctx, "git", "rev-parse", "--short=8", "HEAD")
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(said))
	if _, err := t.command(ctx, "git", "diff", "--quiet", "HEAD", "--", ".", ":(exclude)docs"); err != nil {
		commit += " with changes"
	}
	return commit
}

// replaceTable writes a table into its place in a document.
func replaceTable(document, name, text string) error {
	was, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(was), tableBegin(name))
	_, after, ends := strings.Cut(rest, tableEnd)
	if !found || !ends {
		return api.Errorf(api.KindUsage, "%s has no line %q with a line %q below it", document, tableBegin(name), tableEnd)
	}
	return os.WriteFile(document, []byte(before+tableBegin(name)+"\n"+text+tableEnd+after), 0o644)
}

const tableEnd = "<!-- end of table -->"

func tableBegin(name string) string { return "<!-- table " + name + " -->" }
