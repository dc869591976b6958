package output

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printDelimited prints a row as a line with a character between its fields, and the heading before the first.
func (l *Lister[T]) printDelimited(row *T) {
	if l.count == 1 && !l.options.noHeaders {
		fmt.Fprintln(l.out, strings.Join(Names(l.columns), l.options.delimit))
	}
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = withoutDelimiter(Escape(c.of(row)), l.options.delimit)
	}
	fmt.Fprintln(l.out, strings.Join(cells, l.options.delimit))
}

// withoutDelimiter writes the delimiter within a text as an escape sequence: no name makes a field of its own.
func withoutDelimiter(text, delimit string) string {
	r, _ := utf8.DecodeRuneInString(delimit)
	escape := `\x` + strconv.FormatInt(int64(r)|0x100, 16)[1:]
	if r >= utf8.RuneSelf {
		escape = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
	}
	return strings.ReplaceAll(text, delimit, escape)
}
