package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRun are the reasons for which an example may not be run.
var notRun = []string{
	"needs systemd",
	"needs several machines",
	"needs a farm of its own",
	"needs a browser",
	"needs a terminal",
	"needs a provider of single sign-on",
	"changes the machine",
	"takes minutes",
	"a farm runs already",
	"is a file of another program",
	"is a picture or a formula",
}

// mostNotRun is how many examples may have such a reason. It may only shrink.
const mostNotRun = 28

// languages are the languages that examples may be in. A text is a picture, or what was printed.
var languages = []string{"sh", "console", "python", "toml", "json", "sql", "ini", "text"}

// marks are the comments that say how an example is run.
var marks = []string{"run first", "run as", "on another machine", "not run", "run by", "written to", "printed", "sent to", "answer to", "found in", "numbers vary"}

// example is a fenced block of a document.
type example struct {
	document string
	line     int
	lang     string
	text     string
	marks    [][2]string // a word of marks and what is behind it
}

func (e example) at() string { return fmt.Sprintf("%s:%d", e.document, e.line) }

// mark is what is behind a mark of the example.
func (e example) mark(name string) (value string, ok bool) {
	for _, m := range e.marks {
		if m[0] == name {
			return m[1], true
		}
	}
	return "", false
}

// excused says that nothing of the example is run.
func (e example) excused() bool {
	reason, ok := e.mark("not run")
	return ok && !strings.HasPrefix(reason, ",")
}

// documentsOf are the documents of a repository, in the order in which they are read: the README first.
func documentsOf(t *testing.T, root string) []string {
	documents := []string{"README.md", "python/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			name, _ := filepath.Rel(root, path)
			documents = append(documents, name)
		}
		return err
	})
	if err != nil || len(documents) < 20 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	return documents
}

var (
	fence    = regexp.MustCompile("^( *)```+ *(.*)$")
	listItem = regexp.MustCompile(`^ *([-*]|[0-9]+\.) `)
)

// examplesOf finds the examples of a document. An indented example, without a fence, has no language and is a problem.
func examplesOf(document, text string) (all []example, problems []string) {
	lines := strings.Split(text, "\n")
	var marks [][2]string
	inList, blank := false, true
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch found := fence.FindStringSubmatch(line); {
		case found != nil:
			e := example{document: document, line: i + 1, lang: found[2], marks: marks}
			for i++; i < len(lines) && !fence.MatchString(lines[i]); i++ {
				e.text += strings.TrimPrefix(lines[i], found[1]) + "\n"
			}
			all, marks = append(all, e), nil
		case strings.HasPrefix(line, "<!--"):
			comment := line
			for ; !strings.Contains(comment, "-->") && i+1 < len(lines); i++ {
				comment += "\n" + lines[i+1]
			}
			comment = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(comment, "<!--"), "-->"))
			marks = append(marks, markOf(comment))
		default:
			for _, m := range marks {
				if m[0] != "" {
					problems = append(problems, fmt.Sprintf("%s:%d: no example follows the mark %q", document, i+1, m[0]))
				}
			}
			marks = nil
			indented := strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != ""
			if indented && blank && !inList {
				problems = append(problems, fmt.Sprintf("%s:%d: an indented example has no language; write it between fences", document, i+1))
			}
			if listItem.MatchString(line) {
				inList = true
			} else if blank && line != "" && !strings.HasPrefix(line, " ") {
				inList = false
			}
		}
		blank = strings.TrimSpace(line) == ""
	}
	return all, problems
}

// markOf reads a comment: the mark, and what is behind it.
func markOf(comment string) [2]string {
	for _, name := range marks {
		if rest, ok := strings.CutPrefix(comment, name); ok {
			return [2]string{name, strings.TrimSpace(strings.TrimPrefix(rest, ":"))}
		}
	}
	return [2]string{"", comment}
}

// problems are what keeps an example from being run or excused.
func (e example) problems(root string) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if !slices.Contains(languages, e.lang) {
		say("its language is %q; known are %s", e.lang, strings.Join(languages, ", "))
	}
	for _, m := range e.marks {
		if m[0] == "" {
			say("there is no mark %q; there are %s", m[1], strings.Join(marks, ", "))
		}
		if m[0] != "not run" {
			continue
		}
		lines, reason, some := strings.Cut(strings.TrimPrefix(m[1], ","), ": ")
		if !strings.HasPrefix(m[1], ",") {
			lines, reason, some = "", m[1], true
		}
		if !some || !slices.Contains(notRun, reason) {
			say("%q is no reason for not running it; there are: %s", reason, strings.Join(notRun, ", "))
		}
		if !strings.Contains("\n"+e.text, "\n"+strings.TrimSpace(lines)) {
			say("no line of it begins with %q", lines)
		}
	}
	_, written := e.mark("written to")
	_, printed := e.mark("printed")
	_, sent := e.mark("sent to")
	_, answered := e.mark("answer to")
	_, found := e.mark("found in")
	file, byTest := e.mark("run by")
	if byTest {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			say("%v", err)
			return all
		}
		for line := range strings.Lines(e.text) {
			if command, _, _ := strings.Cut(strings.TrimSpace(line), "  #"); !strings.Contains(string(text), command) {
				say("%s has no line %q", file, command)
			}
		}
	}
	if e.excused() || byTest || written || printed {
		return all
	}
	switch {
	case e.lang == "json" && !sent && !answered && !found:
		say("say where this JSON is sent to, what it is the answer to, or why that is not tried")
	case e.lang == "text" || e.lang == "ini":
		say("say what printed it, which test shows it, or why it is not tried")
	case e.lang == "console" && len(e.session()) == 0:
		say("a session begins with a command behind \"$ \"")
	case e.lang == "sh" && strings.HasPrefix(e.text, "$ "):
		say("commands with their output are in the language console")
	}
	return all
}

// skips says whether a line is not run, though the rest of the example is.
func (e example) skips(line string) bool {
	return slices.ContainsFunc(e.marks, func(m [2]string) bool {
		prefix, partly := strings.CutPrefix(m[1], ",")
		words, _, _ := strings.Cut(prefix, ": ")
		return m[0] == "not run" && partly && strings.HasPrefix(line, strings.TrimSpace(words))
	})
}

// bash is the script that runs the example.
func (e example) bash() string {
	var script strings.Builder
	for line := range strings.Lines(e.text) {
		if !e.skips(line) {
			script.WriteString(line)
		}
	}
	heredoc := func(command string) string {
		return command + " <<'END OF EXAMPLE'\n" + script.String() + "END OF EXAMPLE\n"
	}
	switch e.lang {
	case "python":
		return heredoc("cat > example.py") + "python3 example.py"
	case "toml":
		return heredoc("cat > example.conf") + "qb config check example.conf"
	case "sql":
		return heredoc(`psql -X -q -v ON_ERROR_STOP=1 "$DATABASE_URL"`)
	}
	return script.String()
}

// docCommand is a command of a session and what it prints.
type docCommand struct {
	command, printed string
	skipped          bool
}

// session are the commands of an example in the language console.
func (e example) session() (all []docCommand) {
	for line := range strings.Lines(e.text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, docCommand{command: strings.TrimSpace(command), skipped: e.skips(line)})
		} else if len(all) > 0 {
			all[len(all)-1].printed += line
		}
	}
	return all
}

var (
	numbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)
	spaces  = regexp.MustCompile(` {2,}`)
)

// outputPattern is the pattern of an output that a document shows. Columns may be wider.
func outputPattern(shown string, vary bool) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(tidied(shown)) {
		if line = strings.TrimSuffix(line, "\n"); strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(.*\n)*?`)
			continue
		}
		if vary {
			line = numbers.ReplaceAllString(line, "\x00")
		}
		line = strings.ReplaceAll(regexp.QuoteMeta(line), "\x00", numbers.String())
		line = spaces.ReplaceAllString(line, ` +`)
		pattern.WriteString(strings.ReplaceAll(line, "…", ".*") + "\n")
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`)
}

// tidied is an output without blanks at the ends of its lines, and without lines that are empty at its begin and end.
func tidied(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// Each of these is a document that the rules refuse, and why.
func TestDocRulesBite(t *testing.T) {
	for document, want := range map[string]string{
		"a\n\n    qb jobs\n":                                                       "indented example",
		"```\nqb jobs\n```\n":                                                      `language is ""`,
		"```bash\nqb jobs\n```\n":                                                  `language is "bash"`,
		"```sh\n$ qb jobs\nid\n```\n":                                              "language console",
		"```console\nid name\n```\n":                                               "begins with a command",
		"<!-- not run: too hard -->\n```sh\nqb jobs\n```\n":                        "no reason",
		"<!-- not run, qb kill: needs systemd -->\n```sh\nqb jobs\n```\n":          "no line of it begins",
		"<!-- note: later -->\n```sh\nqb jobs\n```\n":                              "no mark",
		"<!-- not run: needs systemd -->\n\ntext\n":                                "no example follows",
		"```json\n{}\n```\n":                                                       "sent to",
		"```text\nid name\n```\n":                                                  "what printed it",
		"<!-- run by cmd/qb/testdata/script/restore.txtar -->\n```sh\nqb x\n```\n": "no line",
		"<!-- run by cmd/qb/testdata/none.txtar -->\n```sh\nqb x\n```\n":           "no such file",
	} {
		examples, problems := examplesOf("x.md", document)
		for _, e := range examples {
			problems = append(problems, e.problems("../..")...)
		}
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%q: %q, want one with %q", document, problems, want)
		}
	}
	examples, problems := examplesOf("x.md", "- a\n\n    qb in a list\n\n<!-- numbers vary -->\n```console\n$ qb jobs\nid  3\n```\n")
	if len(problems) > 0 || len(examples) != 1 || len(examples[0].problems("../..")) > 0 {
		t.Errorf("%+v, %q", examples, problems)
	}
}

// What a document shows, what is printed, and whether they agree.
func TestDocOutputs(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		vary, agree    bool
	}{
		{"id  name\n 1  a\n", "id   name \n 1   a\n", false, true},
		{"id  name\n 1  a\n", "id  name\n 2  a\n", false, false},
		{"id  name\n 1  a 1.5 s\n", "id  name\n 12  a 3 s\n", true, true},
		{"1 item\n", "1 job\n", true, false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", false, true},
		{"a\n…\nd\n", "a\nb\nc\n", false, false},
		{"lost … of it\n", "lost 3 (all) of it\n", false, true},
		{"a\n", "a\nb\n", false, false},
		{"", "a\n", false, false},
		{"a (b) [c]\n", "a (b) [c]\n", true, true},
	} {
		if got := outputPattern(c.shown, c.vary).MatchString(tidied(c.printed)); got != c.agree {
			t.Errorf("%q and %q, numbers vary %v: %v", c.shown, c.printed, c.vary, got)
		}
	}
}
