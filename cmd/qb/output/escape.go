package output

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape shows control characters, invalid bytes and the ones that turn the direction of text as escape
// sequences of Go, so that a name cannot repaint a terminal or forge a line.
func Escape(s string) string {
	if plain(s) || !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case unprintable(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// plain says that a text has no other characters than the ones of ASCII that a terminal shows in one cell each, as
// almost every text of a list.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// unprintable includes U+FFFD, as which an invalid byte is read.
func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
