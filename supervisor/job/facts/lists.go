package facts

import (
	"errors"
	"fmt"
	"strings"

	"qb/internal/units"
)

// Quotes is what quotes mean in a list that is written as one text.
type Quotes int

// Without quotes every comma separates, as in names of hosts.
const (
	NoQuotes Quotes = iota
	// entries are lines for a shell: commas within its quotes, or after a backslash, are theirs, and quotes stay
	ShellQuotes
	// an entry with commas is between quotes, which are taken off; a quote is doubled within its own kind
	AroundQuotes
)

// Split reads a list that was written as one text.
func (a *Attribute) Split(text string) ([]string, error) {
	cut := map[Quotes]func(string) (int, string, error){ShellQuotes: shellEntry,
		AroundQuotes: quotedEntry}[a.Entries.Quotes]
	if cut == nil {
		return SplitList(text), nil
	}
	var entries []string
	for rest := text; ; {
		end, entry, err := cut(rest)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", len([]rune(text[:len(text)-len(rest)]))+1, err)
		}
		if entry != "" {
			entries = append(entries, entry)
		}
		if end == len(rest) {
			return entries, nil
		}
		rest = rest[end+1:]
	}
}

// shellEntry is the first entry of a list of lines for a shell, and where it ends.
func shellEntry(text string) (end int, entry string, err error) {
	quote := byte(0)
	for end = 0; end < len(text); end++ {
		switch c := text[end]; {
		case c == '\\' && quote != '\'':
			end++
		case quote == 0 && c == ',':
			return end, strings.TrimSpace(text[:end]), nil
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	if quote != 0 {
		return 0, "", fmt.Errorf("%s has a quote (%c) that is not closed; commas within quotes belong to a command, others separate commands", units.Quoted(text), quote)
	}
	return len(text), strings.TrimSpace(text), nil
}

// quotedEntry is the first entry of a list of paths, and where it ends.
func quotedEntry(text string) (end int, entry string, err error) {
	begin := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	if begin == len(text) || text[begin] != '"' && text[begin] != '\'' {
		if end = strings.IndexByte(text, ','); end < 0 {
			end = len(text)
		}
		return end, strings.TrimSpace(text[:end]), nil
	}
	quote := text[begin : begin+1]
	var out strings.Builder
	for at := begin + 1; ; {
		n := strings.Index(text[at:], quote)
		if n < 0 {
			return 0, "", fmt.Errorf("%s begins with a quote that is not closed; write an entry with a comma as \"a,b\"",
				units.Quoted(text))
		}
		out.WriteString(text[at : at+n])
		at += n + 1
		if strings.HasPrefix(text[at:], quote) {
			out.WriteString(quote)
			at++
			continue
		}
		tail := text[at:]
		if end = strings.IndexByte(tail, ','); end < 0 {
			end = len(tail)
		}
		out.WriteString(strings.TrimRight(tail[:end], " \t\r\n")) // as :SIZE
		if out.Len() == 0 {
			return 0, "", errors.New("quotes with nothing in them; leave them out")
		}
		return at + end, out.String(), nil
	}
}
