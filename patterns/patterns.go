package patterns

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of what is looked at.
const (
	Most      = 8    // expressions of a kind
	MaxLength = 256  // bytes of an expression
	MaxLine   = 4096 // bytes of a line; what follows is not looked at
	maxTold   = 200  // of a line that is told
)

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
	for _, text := range list {
		re, err := Compile(text)
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return all, nil
}

// Compile reads one expression.
func Compile(text string) (*regexp.Regexp, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("an expression of %d bytes; at most %d", len(text), MaxLength)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	return re, nil
}

// Watch looks at the output of one item. It has one user at a time.
type Watch struct {
	progress, errors []*regexp.Regexp
	percent          int
	failure          string
}

// New makes a watch of expressions for progress and for errors; nil if there are none.
func New(progress, errors []string) (*Watch, error) {
	if len(progress)+len(errors) == 0 {
		return nil, nil
	}
	w := &Watch{}
	var err error
	if w.progress, err = compiled(progress); err != nil {
		return nil, err
	}
	if w.errors, err = compiled(errors); err != nil {
		return nil, err
	}
	return w, nil
}

// Look looks at a line.
func (w *Watch) Look(line []byte) {
	if w.failure == "" {
		for _, re := range w.errors {
			if re.Match(line) {
				w.failure = strings.ToValidUTF8(string(line[:min(len(line), maxTold)]), "�")
				break
			}
		}
	}
	for _, re := range w.progress {
		if percent, ok := percentOf(re.FindSubmatch(line)); ok {
			w.percent = percent
			break
		}
	}
}

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
