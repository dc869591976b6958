package config

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/cmd/qb/qube"
)

// A file in Qube!'s form has one NAME = VALUE a line, whose values need no quotes. It is made TOML line by line, so
// that each setting keeps the number of its line.

// qubeLine is a line of a file in Qube's form.
type qubeLine struct {
	number     int // from 1
	key, value string
	quoted     bool
}

var qubePair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)\s*=\s*(.*)$`)
})

// qubeLines reads a text in Qube's form; false for one with what only TOML has: tables, lists, single quotes.
func qubeLines(text string) (lines []qubeLine, ok bool) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(withoutComment(line))
		if line == "" {
			continue
		}
		pair := qubePair().FindStringSubmatch(line)
		if pair == nil || strings.HasPrefix(pair[2], "[") || strings.HasPrefix(pair[2], "{") ||
			strings.HasPrefix(pair[2], "'") {
			return nil, false
		}
		one := qubeLine{number: number, key: strings.ToLower(pair[1]), value: pair[2]}
		if inner, begins := strings.CutPrefix(one.value, `"`); begins {
			if inner, one.quoted = strings.CutSuffix(inner, `"`); one.quoted {
				one.value = inner
			}
		}
		lines = append(lines, one)
	}
	return lines, true
}

// withoutComment cuts a line at a # that is not within double quotes.
func withoutComment(line string) string {
	quoted := false
	for i, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '#' && !quoted:
			return line[:i]
		}
	}
	return line
}

// inQubesForm says whether a text is in Qube's form: it has a setting that only Qube has, or it is no TOML and has no
// quotes. A file has one form: what is TOML except for a value without quotes is a mistake.
func inQubesForm(text string) (lines []qubeLine, ok bool) {
	lines, ok = qubeLines(text)
	if !ok || len(lines) == 0 {
		return nil, false
	}
	names := Names()
	for _, line := range lines {
		if _, known := qube.Setting(line.key); known && !slices.Contains(names, line.key) {
			return lines, true
		}
	}
	var any map[string]any
	_, err := toml.Decode(text, &any)
	return lines, err != nil && !slices.ContainsFunc(lines, func(line qubeLine) bool { return line.quoted })
}

// translated is a file in Qube's form as TOML, and what is to be said of it.
type translated struct {
	text     string // line by line
	notes    []note
	problems problems
	taken    int
}

// note is what changed in meaning, or has no effect.
type note struct {
	line int
	text string
}

// fromQube makes TOML of lines in Qube's form.
func fromQube(name string, lines []qubeLine, all []setting) (t translated) {
	written := make([]string, 0, len(lines))
	at := map[string]int{} // setting → line
	for _, line := range lines {
		for len(written) < line.number-1 {
			written = append(written, "")
		}
		say := func(format string, args ...any) {
			t.notes = append(t.notes, note{line.number, line.key + ": " + fmt.Sprintf(format, args...)})
		}
		one, to, err := line.translate(all, say)
		if err != nil {
			t.problems = append(t.problems, problem{line.number, fmt.Sprintf("%s:%d: %s", name, line.number, err)})
		}
		if before, twice := at[to]; twice && to != "" {
			say("line %d sets %s too; this line counts", before, to)
			written[before-1] = ""
		}
		if at[to] = line.number; one != "" {
			t.taken++
		}
		written = append(written, one)
	}
	t.text = strings.Join(written, "\n") + "\n"
	return t
}

// translate makes a line of TOML, "" for one without effect.
func (line qubeLine) translate(all []setting, say func(string, ...any)) (written, to string, err error) {
	if !utf8.ValidString(line.value) || strings.ContainsFunc(line.value, unicode.IsControl) {
		return "", "", fmt.Errorf("key %q: the value has characters that are no text", line.key)
	}
	to = line.key
	n := slices.IndexFunc(all, func(s setting) bool { return s.key == line.key })
	if n < 0 {
		known, ok := qube.Setting(line.key)
		if !ok {
			return "", "", fmt.Errorf("unknown key %q: neither qb nor Qube has it%s", line.key,
				output.DidYouMean("", line.key, keysOf(all)))
		}
		if to = known.Setting; to == "" {
			say("no effect: %s", known.Note)
			return "", "", nil
		}
		say("taken as %s: %s", to, known.Note)
		n = slices.IndexFunc(all, func(s setting) bool { return s.key == to })
	}
	value, changed, ok := qube.Value(line.key, line.value)
	if changed != "" {
		say("%s", changed)
	}
	if !ok {
		say("no effect: qb has nothing like %q", line.value)
		return "", "", nil
	}
	return to + " = " + tomlWord(all[n].value, value), to, nil
}

// tomlWord writes an unquoted value as TOML; what cannot be a value of the setting becomes a text, so that it is
// refused as that.
func tomlWord(field reflect.Value, value string) string {
	var err error
	switch written := tomlText(field, value); {
	case written != value:
		return written
	case field.Kind() == reflect.Bool:
		_, err = strconv.ParseBool(value)
	case field.CanInt():
		_, err = strconv.ParseInt(value, 10, 64)
	case field.CanFloat():
		_, err = strconv.ParseFloat(value, 64)
	}
	if err != nil || value == "" {
		return tomlString(value)
	}
	return value
}

// unquoted is what to write for a line of TOML whose value is a word without quotes; "" for another mistake.
func unquoted(text string, number int) string {
	lines := strings.Split(text, "\n")
	if number < 1 || number > len(lines) {
		return ""
	}
	pair := qubePair().FindStringSubmatch(strings.TrimSpace(withoutComment(lines[number-1])))
	if pair == nil || pair[2] == "" || strings.ContainsAny(pair[2][:1], `"'[{`) {
		return ""
	}
	return pair[1] + " = " + tomlString(pair[2])
}

// Import writes a file in Qube's form as TOML, with what changed in meaning or has no effect as comments.
func Import(name string, out io.Writer) error {
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	lines, ok := qubeLines(text)
	if !ok {
		return api.Errorf(api.KindInvalid,
			"%s: not in the form of Qube!'s qb.conf, one NAME = VALUE a line; check a TOML file with qb config check", name)
	}
	c := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	t := fromQube(name, lines, c.settings())
	if len(t.problems) > 0 {
		return t.problems.error()
	}
	bad, err := c.take(name, t.text)
	if err != nil {
		return err
	}
	if err := append(bad, c.refused(c.invalid())...).error(); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from a qb.conf of Qube!'s: %d settings taken.\n", t.taken)
	written := strings.Split(t.text, "\n")
	for _, line := range lines {
		for _, n := range t.notes {
			if n.line == line.number {
				fmt.Fprintf(&b, "# line %d: %s\n", n.line, output.Escape(n.text))
			}
		}
		if line.number <= len(written) && written[line.number-1] != "" {
			b.WriteString(written[line.number-1] + "\n")
		}
	}
	_, err = io.WriteString(out, b.String())
	return err
}
