package config

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"qb/api"
	"qb/cmd/qb/output"
	workersettings "qb/worker/settings"
)

// A qbwrk.conf of Qube!'s has sections of NAME = VALUE lines: [default] and [linux] for all hosts, [HOST] for one,
// [HOST[01-05]] for several, and templates, which others name behind a colon: [HOST] : TEMPLATE.

// qbwrkSection is one of its sections.
type qbwrkSection struct {
	name  string
	line  int
	from  []string // templates
	lines []qubeLine
}

// mostLines bounds a section with its templates, which may name others.
const mostLines = 10_000

var qbwrkHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[([^\[\]]+(?:\[[0-9]+-[0-9]+\])?[^\[\]]*)\]\s*(?::\s*(.*))?$`)
})

// ImportWorkers writes a qbwrk.conf of Qube's as a file for supervisor_worker_configfile, with what each line has
// become, or why it has no effect, as comments.
func ImportWorkers(name string, out io.Writer) error {
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	sections, err := qbwrkSections(name, text)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from a qbwrk.conf of Qube!'s, for supervisor_worker_configfile.\n")
	named, templates := map[string]*qbwrkSection{}, map[string]bool{}
	for n := range sections {
		s := &sections[n]
		for _, from := range s.from {
			if named[from] == nil {
				return api.Errorf(api.KindInvalid, "%s:%d: [%s] names %q, which has no section above it", name, s.line, s.name,
					from)
			}
			templates[from] = true
			if s.lines = append(slices.Clone(named[from].lines), s.lines...); len(s.lines) > mostLines {
				return api.Errorf(api.KindInvalid, "%s:%d: [%s] has more than %d lines with its templates", name, s.line,
					output.Escape(s.name), mostLines)
			}
		}
		named[s.name] = s
	}
	for _, s := range merged(sections, templates) {
		s.write(&b)
	}
	if _, err := workersOf(name, b.String()); err != nil {
		return err
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// merged are the sections that qb has: what holds for all hosts is one, and templates are in the ones that name them.
func merged(sections []qbwrkSection, templates map[string]bool) []qbwrkSection {
	all := qbwrkSection{name: "default"}
	var list []qbwrkSection
	for _, s := range sections {
		switch {
		case s.name == "default" || s.name == "linux":
			all.lines = append(all.lines, s.lines...)
		case s.name == "osx" || s.name == "winnt" || s.name == "global_config" || templates[s.name]:
		default:
			list = append(list, s)
		}
	}
	return append([]qbwrkSection{all}, list...)
}

func qbwrkSections(name, text string) (list []qbwrkSection, err error) {
	number := 0
	for raw := range strings.Lines(text) {
		number++
		line := strings.TrimSpace(withoutComment(raw))
		if line == "" {
			continue
		}
		if head := qbwrkHead().FindStringSubmatch(line); head != nil {
			list = append(list, qbwrkSection{name: strings.TrimSpace(head[1]), line: number,
				from: strings.FieldsFunc(head[2], func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })})
			continue
		}
		pair := qubePair().FindStringSubmatch(line)
		if pair == nil || len(list) == 0 {
			return nil, api.Errorf(api.KindInvalid, "%s:%d: %q is neither a [section] nor NAME = VALUE below one", name, number,
				line)
		}
		one := qubeLine{number: number, key: strings.ToLower(pair[1]), value: strings.Trim(pair[2], `"`)}
		list[len(list)-1].lines = append(list[len(list)-1].lines, one)
	}
	return list, nil
}

// write writes the section as TOML; of several lines of one key the last counts.
func (s qbwrkSection) write(b *strings.Builder) {
	all := (&Keys{}).settings()
	written, notes := map[string]string{}, []string{}
	for _, line := range s.lines {
		say := func(format string, args ...any) {
			notes = append(notes, fmt.Sprintf("# line %d: %s: %s\n", line.number, line.key,
				output.Escape(fmt.Sprintf(format, args...))))
		}
		if strings.Contains(line.value, "$") || strings.HasPrefix(line.value, "{") {
			say("no effect: macros and values of several lines are not read; write the value out")
			continue
		}
		one, to, err := line.translate(all, say)
		switch {
		case err != nil:
			say("no effect: %v", err)
		case one == "":
		case !slices.Contains(workersettings.CentralKeys, to):
			say("no effect: %s comes only from the worker's own qb.conf", to)
		default:
			written[to] = one
		}
	}
	head := "default"
	if s.name != "default" {
		head = "host." + tomlString(s.name)
	}
	fmt.Fprintf(b, "\n[%s]\n%s", head, strings.Join(notes, ""))
	for _, key := range slices.Sorted(maps.Keys(written)) {
		b.WriteString(written[key] + "\n")
	}
}
