package worker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"qb/internal/pathmap"
	"qb/worker/core"
)

// A token is a name that is replaced by a value of the item within the command. Values are padded as the
// submission asked.
type tokens []struct{ name, value string }

func itemTokens(item core.Item) tokens {
	d := item.Desired
	if !item.Spec.Agenda {
		return nil
	}
	step, end := cmp.Or(d.Step, "1"), cmp.Or(d.End, d.Start)
	return tokens{
		{"QB_FRAME_NUMBER", d.Start}, {"QB_FRAME_START", d.Start}, {"QB_FRAME_END", end},
		{"QB_FRAME_STEP", step}, {"QB_FRAME_RANGE", d.Name},
		{"QB_PADDED_FRAME_NUMBER", d.Start}, {"QB_PADDED_FRAME_START", d.Start},
		{"QB_PADDED_FRAME_END", end}, {"QB_PADDED_FRAME_STEP", step},
	}
}

// with is the tokens of an item of several numbers with one of these.
func (t tokens) with(number string) tokens {
	one := slices.Clone(t)
	for n := range one {
		if strings.HasSuffix(one[n].name, "FRAME_NUMBER") {
			one[n].value = number
		}
	}
	return one
}

// tokenBegin is what all names of tokens begin with.
const tokenBegin = "QB_"

// next finds the first token in s at or after from. It looks at each place once, however many tokens there are.
func (t tokens) next(s string, from int) (at int, name, value string) {
	for at = from; ; at++ {
		step := strings.Index(s[at:], tokenBegin)
		if step < 0 {
			return -1, "", ""
		}
		at += step
		for _, token := range t {
			if strings.HasPrefix(s[at:], token.name) {
				return at, token.name, token.value
			}
		}
	}
}

// replaced is s with something in the place of each token, of at most so many bytes. With gets what is between the
// token and the one before, all that is before it, and its name and value. What takes its place is never looked at
// again.
func (t tokens) replaced(s string, most int, with func(between, before, name, value string) string) (string, error) {
	var out strings.Builder
	from := 0
	for len(t) > 0 {
		at, name, value := t.next(s, from)
		if at < 0 {
			break
		}
		place := with(s[from:at], s[:at], name, value)
		if out.Len()+at-from+len(place) > most {
			return "", pathmap.ErrLong
		}
		out.WriteString(s[from:at])
		out.WriteString(place)
		from = at + len(name)
	}
	if out.Len()+len(s)-from > most {
		return "", pathmap.ErrLong
	}
	if from == 0 {
		return s, nil
	}
	out.WriteString(s[from:])
	return out.String(), nil
}

// inArgument puts the values in place of the tokens. A token after a $ is left for the shell that the command itself
// may be, as in sh -c 'render $QB_FRAME_NUMBER': the environment has it.
func (t tokens) inArgument(s string, most int) (string, error) {
	return t.replaced(s, most, func(_, before, name, value string) string {
		if expanded(before) {
			return name
		}
		return value
	})
}

// inShell does the same within a line for /bin/sh. A value with any character that could mean something
// to the shell is not written into the line at all: the environment holds it, and a quoted expansion of
// the variable is in its place, so that the shell never parses it, whatever quotes surround it. A
// token that the line itself expands, as in $QB_FRAME_NUMBER, is left to the shell.
func (t tokens) inShell(line string, most int) (string, error) {
	var quotes quoteState
	return t.replaced(line, most, func(between, before, name, value string) string {
		quotes.read(between)
		quotes.escaped = false
		switch {
		case expanded(before):
			return name
		case plainForShell(value):
			return value
		case quotes.quote == '"':
			return "${" + name + "}"
		case quotes.quote == '\'':
			return `'"${` + name + `}"'`
		}
		return `"${` + name + `}"`
	})
}

// expanded says that what follows is the name of a variable that a shell expands.
func expanded(before string) bool {
	return strings.HasSuffix(before, "$") || strings.HasSuffix(before, "${")
}

func plainForShell(value string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-"
	return value != "" && strings.Trim(value, plain) == ""
}

// quoteState follows a shell line's quotes. It need not understand nesting: all that hangs on it is how
// an expansion is quoted, not whether a value is parsed.
type quoteState struct {
	quote   byte
	escaped bool
}

func (q *quoteState) read(s string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case q.escaped:
			q.escaped = false
		case c == '\\' && q.quote != '\'':
			q.escaped = true
		case q.quote == 0 && (c == '"' || c == '\''):
			q.quote = c
		case c == q.quote:
			q.quote = 0
		}
	}
}

// unpadded takes the leading zeros off a number; a label stays as it is.
func unpadded(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return s
}
