package patterns

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of what is looked at.
const (
	Most      = 8    // expressions of a kind
	MaxLength = 256  // bytes of an expression
	MaxLine   = 4096 // bytes of a line; what follows is not looked at
	maxTold   = 200  // of a line that is told

	// MaxProgram bounds what the expressions of a kind compile to, together, in instructions. "Linear" is linear in instructions times
	// bytes: a repeat makes thousands of them from a few signs. Plain text of the bounds above fits.
	MaxProgram = 2500

	MostHighlights = 20   // lines that are kept of an item
	MaxHighlight   = 400  // bytes of each
	MostPaths      = 50   // output paths that are kept of an item
	MaxPath        = 1024 // bytes of each; a longer one is left out
)

// Rules are a job's expressions for lines of its output.
type Rules struct {
	Progress    []string `json:"progress,omitempty"`
	Errors      []string `json:"errors,omitempty"`
	Highlights  []string `json:"highlights,omitempty"`
	OutputPaths []string `json:"outputpaths,omitempty"`
}

// Split is the expressions of an attribute: one in each line.
func Split(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, "\r"); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// Check refuses expressions that cannot be used.
func Check(text string) error {
	_, err := compiled(Split(text))
	return err
}

func compiled(list []string) (all []*regexp.Regexp, err error) {
	if len(list) > Most {
		return nil, fmt.Errorf("%d expressions; at most %d, one in each line", len(list), Most)
	}
	total := 0
	for _, text := range list {
		re, size, err := compile(text)
		if err != nil {
			return nil, err
		}
		if total += size; total > MaxProgram {
			return nil, fmt.Errorf("the expressions compile to %d instructions up to %q, which has %d; at most %d together; write fewer, or smaller repeats", total, text, size, MaxProgram)
		}
		all = append(all, re)
	}
	return all, nil
}

// Compile reads one expression that stands by itself.
func Compile(text string) (*regexp.Regexp, error) {
	re, _, err := compile(text)
	return re, err
}

// compile says how many instructions an expression has, too.
func compile(text string) (re *regexp.Regexp, size int, err error) {
	if len(text) > MaxLength {
		return nil, 0, fmt.Errorf("an expression of %d bytes; at most %d", len(text), MaxLength)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	if size = len(program.Inst); size > MaxProgram {
		return nil, size, fmt.Errorf("%q compiles to %d instructions; at most %d; write smaller repeats", text, size, MaxProgram)
	}
	if re, err = regexp.Compile(text); err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	return re, size, nil
}

// Watch looks at the output of one item. It has one user at a time.
type Watch struct {
	Stop func() bool // asked before each expression whether nothing more is to be looked at; nil: it never is

	progress, errors  []*regexp.Regexp
	highlights, paths []*regexp.Regexp
	percent           int
	failure           string
	foundLines        []string
	foundPaths        []string
}

// New makes a watch of a job's expressions; nil if there are none.
func New(r Rules) (*Watch, error) {
	if len(r.Progress)+len(r.Errors)+len(r.Highlights)+len(r.OutputPaths) == 0 {
		return nil, nil
	}
	w := &Watch{}
	for _, kind := range []struct {
		to   *[]*regexp.Regexp
		list []string
	}{{&w.progress, r.Progress}, {&w.errors, r.Errors}, {&w.highlights, r.Highlights}, {&w.paths, r.OutputPaths}} {
		var err error
		if *kind.to, err = compiled(kind.list); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Look looks at a line.
func (w *Watch) Look(line []byte) {
	if w.failure == "" && w.matches(w.errors, line) {
		w.failure = strings.ToValidUTF8(string(line[:min(len(line), maxTold)]), "�")
	}
	for _, re := range w.progress {
		if w.stopped() {
			return
		}
		if percent, ok := percentOf(re.FindSubmatch(line)); ok {
			w.percent = percent
			break
		}
	}
	w.keep(line)
}

// keep keeps a line that is a highlight, and the paths that it names, each once and as many as there is room for.
func (w *Watch) keep(line []byte) {
	if len(w.foundLines) < MostHighlights && w.matches(w.highlights, line) {
		w.foundLines = addOnce(w.foundLines, Clean(string(line), MaxHighlight))
	}
	for _, re := range w.paths {
		if len(w.foundPaths) == MostPaths || w.stopped() {
			break
		}
		found := re.FindSubmatch(line)
		if found == nil {
			continue
		}
		if path := found[min(1, len(found)-1)]; len(path) <= MaxPath {
			w.foundPaths = addOnce(w.foundPaths, Clean(string(path), MaxPath))
		}
	}
}

// matches says whether a line matches one of the expressions.
func (w *Watch) matches(list []*regexp.Regexp, line []byte) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return !w.stopped() && re.Match(line) })
}

func (w *Watch) stopped() bool { return w.Stop != nil && w.Stop() }

func addOnce(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// Clean is text without control characters and what is no UTF-8, cut to a length in bytes.
func Clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return strings.TrimSpace(text)
}

// Highlights are lines that matched an expression for them, the first ones.
func (w *Watch) Highlights() []string { return w.foundLines }

// OutputPaths are the paths that were found: the first group of an expression, or all that it matched.
func (w *Watch) OutputPaths() []string { return w.foundPaths }

// percentOf reads a match: one group is per cent, of two the first is so many of the second.
func percentOf(groups [][]byte) (int, bool) {
	if len(groups) < 2 {
		return 0, false
	}
	part, err := strconv.ParseFloat(strings.TrimSuffix(string(groups[1]), "%"), 64)
	if err != nil {
		return 0, false
	}
	whole := 100.0
	if len(groups) > 2 && len(groups[2]) > 0 {
		if whole, err = strconv.ParseFloat(string(groups[2]), 64); err != nil || !(whole > 0) {
			return 0, false
		}
	}
	percent := 100 * part / whole
	if !(percent >= 0 && percent <= 100) {
		return 0, false
	}
	return int(percent), true
}

// Progress is per cent, 0 while nothing is known.
func (w *Watch) Progress() int { return w.percent }

// Failure is the first line that matched an expression for errors, "" if none did.
func (w *Watch) Failure() string { return w.failure }
