package agenda

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"qb/internal/units"
)

// Limits of a range. The number of items has its limit in the configuration, below MaxItems.
const (
	MaxItems   = 100_000_000 // of one job, whatever the configuration says
	maxNumber  = 999_999_999_999_999
	maxLabel   = 4096 // bytes
	maxPadding = 32   // digits
)

// RangeError is an element of a range that cannot be understood.
type RangeError struct {
	Element string
	Place   int // among the elements, from 1
	Column  int // of its first character, from 1
	Reason  string
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("range element %d (column %d) %s: %s", e.Place, e.Column, units.Quoted(e.Element), e.Reason)
}

// LimitError is a job of more items than one job may have. Count is what was asked for, repeated entries
// included, as it is known before anything is expanded.
type LimitError struct {
	Count, Limit int64
	Saturated    bool // Count is a lower bound
}

func (e *LimitError) Error() string {
	least := ""
	if e.Saturated {
		least = "at least "
	}
	return fmt.Sprintf("the job would have %s%s items, more than the %s that supervisor_max_items allows: "+
		"submit fewer (a step, as in 1-1000x10, or several jobs) or have supervisor_max_items raised",
		least, Grouped(e.Count), Grouped(e.Limit))
}

// progression is count numbers: first, first+step, and so on. The step of a single number is 1; step 0
// is not a progression of numbers (see segment).
type progression struct{ first, step, count int64 }

func (p progression) last() int64 { return p.first + (p.count-1)*p.step }
func (p progression) low() int64  { return min(p.first, p.last()) }
func (p progression) high() int64 { return max(p.first, p.last()) }

// position is the place of v among the numbers.
func (p progression) position(v int64) (int64, bool) {
	if v < p.low() || v > p.high() || (v-p.first)%p.step != 0 {
		return 0, false
	}
	return (v - p.first) / p.step, true
}

// append writes the progression as a range would have it.
func (p progression) append(text []byte) []byte {
	text = strconv.AppendInt(text, p.first, 10)
	if p.count == 1 {
		return text
	}
	text = strconv.AppendInt(append(text, '-'), p.last(), 10)
	if step := max(p.step, -p.step); step != 1 {
		text = strconv.AppendInt(append(text, 'x'), step, 10)
	}
	return text
}

// element is what is between two commas: a label, or numbers.
type element struct {
	label string // "" for numbers
	progression
}

// eachElement calls do for each element of a range in turn. It allocates nothing unless it fails.
func eachElement(text string, do func(element)) error {
	rest := text
	for place := 1; ; place++ {
		raw, tail, more := strings.Cut(rest, ",")
		word := strings.TrimSpace(raw)
		e, reason := parseElement(word)
		if reason != "" {
			before := len(text) - len(rest) + strings.Index(raw, word)
			return &RangeError{word, place, utf8.RuneCountInString(text[:before]) + 1, reason}
		}
		do(e)
		if !more {
			return nil
		}
		rest = tail
	}
}

// countEntries is the number of entries of a range, repeated ones included.
func countEntries(text string) (count int64, saturated bool, err error) {
	err = eachElement(text, func(e element) {
		if count > math.MaxInt64-e.count {
			count, saturated = math.MaxInt64, true
			return
		}
		count += e.count
	})
	return count, saturated, err
}

// parseElement reads one element without blanks around it; a reason that is not empty refuses it.
func parseElement(word string) (element, string) {
	if word == "" {
		return element{}, "is empty; remove the comma or write a number or label there"
	}
	first, _ := utf8.DecodeRuneInString(word)
	if !startsNumber(first) {
		return parseLabel(word)
	}
	from, rest, reason := cutNumber(word)
	if reason != "" {
		return element{}, reason
	}
	single := element{progression: progression{from, 1, 1}}
	switch {
	case rest == "":
		return single, ""
	case rest == "-":
		return element{}, fmt.Sprintf("has no last number; write %d alone or %d-%d", from, from, from+9)
	case rest[0] == 'x' || rest[0] == 'X':
		return element{}, fmt.Sprintf("has a step but no last number; write %d-%d%s or %d alone", from, from+9, rest, from)
	case rest[0] != '-':
		return element{}, notUnderstood(rest)
	}
	to, rest, reason := cutNumber(rest[1:])
	if reason != "" {
		return element{}, reason
	}
	step, reason := cutStep(rest, from, to)
	if reason != "" {
		return element{}, reason
	}
	if to < from {
		step = -step
	}
	return element{progression: progression{from, step, (to-from)/step + 1}}, ""
}

func parseLabel(word string) (element, string) {
	switch {
	case len(word) > maxLabel:
		return element{}, fmt.Sprintf("is a label of %d bytes; the limit is %d, name it more briefly", len(word), maxLabel)
	case !utf8.ValidString(word):
		return element{}, "is not valid UTF-8; write the label in UTF-8"
	case strings.IndexByte(word, 0) >= 0:
		return element{}, "holds a NUL byte; remove it"
	}
	return element{label: word, progression: progression{count: 1}}, ""
}

// startsNumber says whether an element that begins so must be a number or range. Other dashes and digits
// than those of ASCII come from pasted text; they are refused later rather than taken for labels.
func startsNumber(r rune) bool {
	return r == '+' || r == '\u2212' || unicode.IsDigit(r) || unicode.Is(unicode.Pd, r)
}

// cutNumber reads the number at the start of text.
func cutNumber(text string) (number int64, rest, reason string) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 {
		digits = text[1:]
	}
	rest = strings.TrimLeft(digits, "0123456789")
	digits = digits[:len(digits)-len(rest)]
	if digits == "" {
		return 0, "", notUnderstood(text)
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number > maxNumber {
		return 0, "", "has a number of more than 15 digits; use smaller numbers, or labels that start with a letter"
	}
	if text[0] == '-' {
		number = -number
	}
	return number, rest, ""
}

// cutStep reads what follows the two numbers of a range: nothing, or x and a step.
func cutStep(text string, from, to int64) (step int64, reason string) {
	if text == "" {
		return 1, ""
	}
	if text[0] != 'x' {
		return 0, notUnderstood(text)
	}
	if len(text) > 1 && text[1] == '-' {
		return 0, fmt.Sprintf("has a negative step; steps are positive, and %d-%d runs the other way round", to, from)
	}
	step, rest, reason := cutNumber(text[1:])
	switch {
	case len(text) == 1:
		return 0, fmt.Sprintf("has no step after the x; write %d-%d or %d-%dx2", from, to, from, to)
	case reason != "":
		return 0, reason
	case rest != "":
		return 0, notUnderstood(rest)
	case step == 0:
		return 0, fmt.Sprintf("has a step of 0; write %d-%d or %d-%dx2", from, to, from, to)
	}
	return step, ""
}

func notUnderstood(rest string) string {
	return fmt.Sprintf("starts as a number, but %s is not understood; write 5, 1-100, 1-100x5, 100-1 or -10-10, "+
		"and start a label with a letter", units.Quoted(rest))
}

// Grouped writes a number of things with commas between thousands.
func Grouped[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
