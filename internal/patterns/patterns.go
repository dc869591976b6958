package patterns

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is looked at.
const (
	Most      = 8   // expressions of a kind
	MaxLength = 256 // bytes of an expression
	// bytes of a line that are looked at together; a longer one is looked at in parts that overlap by half
	MaxLine = 8192
	maxTold = 200 // bytes of a line that a message quotes

	// MaxProgram bounds what the expressions of a kind compile to, together, in instructions. "Linear" is linear in
	// instructions times bytes: a repeat makes thousands of them from a few signs. Plain text of the bounds above fits.
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

func compiled(list []string) (all []*Expression, err error) {
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

// Watch looks at the output of one item. It has one user at a time.
type Watch struct {
	Stop func() bool // asked before each expression whether nothing more is to be looked at; nil: it never is

	progress, errors  []*Expression
	highlights, paths []*Expression
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
		to   *[]*Expression
		list []string
	}{{&w.progress, r.Progress}, {&w.errors, r.Errors}, {&w.highlights, r.Highlights}, {&w.paths, r.OutputPaths}} {
		var err error
		if *kind.to, err = compiled(kind.list); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Nothing says that the watch looks for nothing.
func (w *Watch) Nothing() bool {
	return len(w.progress)+len(w.errors)+len(w.highlights)+len(w.paths) == 0
}

// Look looks at a line, or at a part of one.
func (w *Watch) Look(line Piece) {
	if w.failure == "" {
		if at := w.match(w.errors, line); at >= 0 {
			w.failure = Excerpt(line, at, maxTold)
		}
	}
	for _, e := range w.progress {
		if w.stopped() {
			return
		}
		groups, _ := e.Find(line)
		if percent, ok := percentOf(groups); ok {
			w.percent = percent
			break
		}
	}
	w.keep(line)
}

// keep keeps a line that is a highlight, and the paths that it names, each once and as many as there is room for.
func (w *Watch) keep(line Piece) {
	if len(w.foundLines) < MostHighlights {
		if at := w.match(w.highlights, line); at >= 0 {
			w.foundLines = addOnce(w.foundLines, Excerpt(line, at, MaxHighlight))
		}
	}
	for _, e := range w.paths {
		if len(w.foundPaths) == MostPaths || w.stopped() {
			break
		}
		found, _ := e.Find(line)
		if found == nil {
			continue
		}
		// With a sign for bytes that are no UTF-8, or without its control characters, it would be the path of another file,
		// or of none.
		path := strings.TrimSpace(string(found[min(1, len(found)-1)]))
		if len(path) <= MaxPath && utf8.ValidString(path) && path == Clean(path, MaxPath) {
			w.foundPaths = addOnce(w.foundPaths, path)
		}
	}
}

// match says at which byte the first of the expressions that match a line does; -1 if none does.
func (w *Watch) match(list []*Expression, line Piece) int {
	for _, e := range list {
		if w.stopped() {
			break
		}
		if _, at := e.Find(line); at >= 0 {
			return at
		}
	}
	return -1
}

func (w *Watch) stopped() bool { return w.Stop != nil && w.Stop() }

func addOnce(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// Excerpt is what is kept of a line that was matched at a byte: its begin if the match is there, else what is
// around the match.
func Excerpt(line Piece, at, most int) string {
	text, before := line.Text, most/4
	if at < most-before && !line.Later {
		return Clean(string(text[:min(len(text), 2*most)]), most)
	}
	from := max(0, at-before)
	return Clean("…"+strings.ToValidUTF8(string(text[from:min(len(text), from+2*most)]), "\uFFFD"), most)
}

// Clean is text with blanks for control characters, without sequences for a terminal and what is no UTF-8, cut to a
// length in bytes.
func Clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(Plain(text), "\uFFFD"))
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
	counted, whole := len(groups) > 2 && len(groups[2]) > 0, 100.0
	part, err := number(groups[1], counted)
	if err != nil {
		return 0, false
	}
	if counted {
		if whole, err = number(groups[2], true); err != nil || !(whole > 0) {
			return 0, false
		}
	}
	percent := 100 * part / whole
	if !(percent >= 0 && percent <= 100) {
		return 0, false
	}
	return int(percent), true
}

// number reads a number with a decimal point or, as some languages write it, a comma. In counts a comma before three
// digits divides thousands.
func number(text []byte, count bool) (float64, error) {
	digits := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(text)), "%"))
	if count && thousands().MatchString(digits) {
		digits = strings.ReplaceAll(digits, ",", "")
	}
	return strconv.ParseFloat(strings.Replace(digits, ",", ".", 1), 64)
}

var thousands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d*)?$`)
})

// Progress is per cent, 0 while nothing is known.
func (w *Watch) Progress() int { return w.percent }

// Failure is the first line that matched an expression for errors, "" if none did.
func (w *Watch) Failure() string { return w.failure }
