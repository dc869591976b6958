package output

import (
	"fmt"
	"strings"
)

// ShellQuote writes a word so that a shell reads it back as it is, on one line and without control characters.
func ShellQuote(word string) string {
	switch {
	case word != "" && !strings.ContainsFunc(word, needsQuotes):
		return word
	case !strings.ContainsFunc(word, unprintable):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func needsQuotes(r rune) bool {
	safe := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+./:,@%", r)
	return !safe
}
