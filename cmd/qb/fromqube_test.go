package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/qube"
	"qb/supervisor/job/facts"
)

var updateDocs = flag.Bool("update", false, "write docs/from-qube.md anew")

const fromQubeFile = "../../docs/from-qube.md"

// word is what qb has for a word of Qube's.
type word struct{ kind, name, ours, note string }

func (w word) verdict() string {
	switch {
	case w.ours == "-":
		return "not taken"
	case w.ours == "=" && w.note == "":
		return "same"
	default:
		return "different"
	}
}

// rows are the lines of a table of tab-separated fields.
func rows(t *testing.T, name string) (all [][]string) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return all
}

// TestFromQube: docs/from-qube.md says of each word of Qube's what qb has, and qb has it.
func TestFromQube(t *testing.T) {
	words, notes := qubesCommands(t), map[word]string{}
	for _, row := range rows(t, "qube/testdata/vocabulary.tsv") {
		if len(row) != 4 || row[2] == "" {
			t.Fatalf("vocabulary.tsv: %q has not four fields", row)
		}
		w := word{row[0], row[1], row[2], row[3]}
		if w.kind == "command" || w.kind == "option" {
			notes[word{kind: w.kind, name: w.name}] = w.note
			continue
		}
		words = append(words, w)
	}
	for i, w := range words {
		note, ok := notes[word{kind: w.kind, name: w.name}]
		if ok && w.ours == "=" {
			words[i].note = note
			delete(notes, word{kind: w.kind, name: w.name})
		}
	}
	for w := range notes {
		t.Errorf("vocabulary.tsv says how qb's %s %s differs, but qb has none", w.kind, w.name)
	}
	for _, name := range qube.Settings() {
		known, _ := qube.Setting(name)
		words = append(words, word{"setting", name, cmp.Or(known.Setting, "-"), known.Note})
	}
	words = checkWords(t, words)
	got := document(words)
	if *updateDocs {
		if err := os.WriteFile(fromQubeFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(fromQubeFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the tables and the commands say; go test ./cmd/qb -run TestFromQube -update writes it anew", fromQubeFile)
	}
}

// qubesCommands are Qube's commands and options, and whether the commands have them; if not, the answer to who types them.
func qubesCommands(t *testing.T) (words []word) {
	for _, row := range rows(t, "qube/testdata/qube.tsv") {
		name, options, cmd := row[0], strings.Fields(row[1]), newRoot()
		for part := range strings.FieldsSeq(name) {
			if cmd != nil {
				cmd = commandline.Child(cmd, part)
			}
		}
		if len(options) == 0 {
			if !strings.Contains(name, " ") && cmd != nil && !slices.Contains(linkedCommands(), name) {
				t.Errorf("Qube has qb%s, and qb has %s: it needs a link, as main.go lists them", name, name)
			}
			answer, _ := qube.Command(name)
			words = append(words, word{"command", name, had(cmd != nil), answer})
			continue
		}
		have := map[string]bool{}
		if cmd != nil {
			commandline.VisitOptions(cmd, func(f *pflag.Flag) { have[f.Name] = true })
		}
		for _, option := range options {
			_, answer, _ := qube.Option(name, option)
			switch {
			case have[option]:
				answer = ""
			case cmd == nil:
				answer = "there is no such command"
			}
			words = append(words, word{"option", name + " " + option, had(have[option]), answer})
		}
	}
	return words
}

func had(have bool) string {
	if have {
		return "="
	}
	return "-"
}

// checkWords holds what the tables say to what there is, and adds to functions of Python why they are missing.
func checkWords(t *testing.T, words []word) []word {
	functions, missing := pythonFunctions(t)
	there := map[string]map[string]bool{
		"attribute": membersOf(api.Job{}, api.SubmitRequest{}), "state": statesThere(), "flag": setOf(facts.Flags), "setting": setOf(config.Names()), "python": functions,
	}
	for _, a := range facts.Attributes {
		there["attribute"][a.Name] = true
	}
	for i, w := range words {
		have, checked := there[w.kind]
		if !checked {
			continue
		}
		name := w.name
		if w.ours != "=" && w.ours != "-" {
			name = w.ours
		}
		if have[strings.TrimPrefix(name, "host ")] == (w.ours == "-") {
			t.Errorf("%s %s is %s by the tables; qb has it: %v", w.kind, w.name, w.verdict(), w.ours == "-")
		}
		if w.kind == "python" && w.ours == "-" {
			words[i].note = cmp.Or(missing[w.name], "the farm has no such order")
		}
	}
	return words
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// membersOf are the names in JSON of the members of some types.
func membersOf(values ...any) map[string]bool {
	set := map[string]bool{}
	for _, value := range values {
		for field := range reflect.TypeOf(value).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			set[name] = true
		}
	}
	return set
}

// statesThere are the states of jobs, items, attempts and hosts in the REST document.
func statesThere() map[string]bool {
	set := map[string]bool{}
	for _, value := range []any{api.Job{}, api.Item{}, api.Attempt{}, api.Host{}} {
		for field := range reflect.TypeOf(value).Fields() {
			if field.Name == "Status" || field.Name == "State" {
				maps.Copy(set, setOf(strings.Split(field.Tag.Get("enum"), ",")))
			}
		}
	}
	return set
}

var (
	defined  = regexp.MustCompile(`(?m)^(?:def|class) (\w+)`)
	assigned = regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) = `)
	ordering = regexp.MustCompile(`(?m)^def (\w+)\(\*\w+: Any\)[^\n]*\n[^\n]*\n    return _ordered(?:_work)?\("(\w+)"`)
	notTaken = regexp.MustCompile(`(?m)^    "(\w+)": "(.*)",$`)
)

// pythonFunctions are the functions of the Python module that have an effect, and why Qube's other ones are missing.
func pythonFunctions(t *testing.T) (have map[string]bool, missing map[string]string) {
	data, err := os.ReadFile("../../python/qb.py")
	if err != nil {
		t.Fatal(err)
	}
	source := string(data)
	have, missing = map[string]bool{}, map[string]string{}
	for _, found := range defined.FindAllStringSubmatch(source, -1) {
		have[found[1]] = true
	}
	orders := ordering.FindAllStringSubmatch(source, -1)
	if len(orders) < 15 {
		t.Fatalf("found only %d orders in qb.py", len(orders))
	}
	for _, found := range orders {
		have[found[1]] = slices.Contains(facts.Actions, facts.Action(found[2]))
	}
	for _, found := range assigned.FindAllStringSubmatch(source, -1) {
		for name := range strings.SplitSeq(found[1], ", ") {
			have[name] = have[name] || name == "retirework" && have["completework"]
		}
	}
	table := source[strings.Index(source, "_NOT_TAKEN = {"):]
	for _, found := range notTaken.FindAllStringSubmatch(table[:strings.Index(table, "\n}")], -1) {
		missing[found[1]] = found[2]
	}
	return have, missing
}

var sections = []struct{ kind, title, columns string }{
	{"command", "Commands", "command"}, {"option", "Options", ""}, {"attribute", "Attributes of a job", "attribute"},
	{"state", "States", "state"}, {"flag", "Flags of a job", "flag"}, {"setting", "Settings of qb.conf", "setting"}, {"python", "Functions of Python", "function"},
}

// document writes docs/from-qube.md.
func document(words []word) string {
	var b strings.Builder
	b.WriteString(`# From Qube! to qb

What qb has of the words of Qube!: *same*; *different*, and how; *not taken*, and what there is instead. What is accepted without an effect counts as not taken.
This page is made of the tables in [cmd/qb/qube](../cmd/qb/qube) and of the commands, attributes, flags and settings themselves;
a test compares it with them. A command or option that qb has not answers on the command line with the same text.

| | same | different | not taken | all |
| --- | --- | --- | --- | --- |
`)
	for _, s := range sections {
		count := map[string]int{}
		for _, w := range words {
			if w.kind == s.kind {
				count[w.verdict()]++
			}
		}
		same, different, none := count["same"], count["different"], count["not taken"]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", s.title, same, different, none, same+different+none)
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		of := slices.DeleteFunc(slices.Clone(words), func(w word) bool { return w.kind != s.kind })
		if s.kind == "option" {
			writeOptions(&b, of)
			continue
		}
		fmt.Fprintf(&b, "\n| %s | | in qb |\n| --- | --- | --- |\n", s.columns)
		for _, w := range of {
			name, ours := w.name, ""
			if s.kind == "command" {
				name = "qb" + name
			}
			if w.ours != "=" && w.ours != "-" {
				ours = "`" + w.ours + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, w.verdict(), cell(strings.Trim(ours+"; "+w.note, "; ")))
		}
	}
	return b.String()
}

// cell is a text in a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// writeOptions writes one table for each command; options with the same answer share a line.
func writeOptions(b *strings.Builder, words []word) {
	for len(words) > 0 {
		command := words[0].name[:strings.LastIndex(words[0].name, " ")]
		end := slices.IndexFunc(words, func(w word) bool { return w.name[:strings.LastIndex(w.name, " ")] != command })
		if end < 0 {
			end = len(words)
		}
		fmt.Fprintf(b, "\n### qb%s\n\n| options | | in qb |\n| --- | --- | --- |\n", command)
		var lines []word
		for _, w := range words[:end] {
			option := "`-" + w.name[strings.LastIndex(w.name, " ")+1:] + "`"
			at := slices.IndexFunc(lines, func(l word) bool { return l.ours == w.ours && l.note == w.note })
			if at < 0 {
				lines = append(lines, word{w.kind, option, w.ours, w.note})
				continue
			}
			lines[at].name += " " + option
		}
		for _, l := range lines {
			fmt.Fprintf(b, "| %s | %s | %s |\n", l.name, l.verdict(), cell(l.note))
		}
		words = words[end:]
	}
}
