package agenda

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError is a mistake in requirements or reservations. Error shows it in three lines, the last of
// which points at the column.
type SyntaxError struct {
	Language string // requirements or reservations
	Text     string
	Column   int // in characters, from 1
	Reason   string
}

func (e *SyntaxError) Error() string {
	line, caret := e.excerpt()
	return fmt.Sprintf("%s, column %d: %s\n  %s\n  %s^", e.Language, e.Column, e.Reason, line, strings.Repeat(" ", caret))
}

// excerpt is the part of the text around the column, each character one column wide, and the place of
// the column in it.
func (e *SyntaxError) excerpt() (line string, caret int) {
	const before, after = 60, 30
	shown := make([]rune, 0, len(e.Text))
	for _, r := range e.Text {
		if !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r) {
			r = '·'
		}
		shown = append(shown, r)
	}
	caret = min(e.Column-1, len(shown))
	from, to := max(caret-before, 0), min(caret+after, len(shown))
	line = string(shown[from:to])
	if from > 0 {
		line, from = "…"+line, from-1
	}
	if to < len(shown) {
		line += "…"
	}
	return line, caret - from
}

// complaint makes a SyntaxError of a byte offset.
func complaint(language, text string, offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{language, text, utf8.RuneCountInString(text[:offset]) + 1, fmt.Sprintf(format, args...)}
}

// suggestion is "; did you mean …?" with the nearest of the names, or "" if none is near.
func suggestion(word string, names []string) string {
	if best := Nearest(word, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// Nearest is the name that a mistyped word most probably meant, "" if none is near.
func Nearest(word string, names []string) string {
	best, nearest := "", max(len(word)/3, 1)+1
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name), nearest); d < nearest {
			best, nearest = name, d
		}
	}
	return best
}

// distance is the number of letters to change, add, remove or swap with their neighbour to make one word
// of the other, or most if it is not less.
func distance(a, b string, most int) int {
	if len(a) > 100 || len(b) > 100 || len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := old[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, old[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return min(old[len(b)], most)
}
