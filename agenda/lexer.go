package agenda

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells the words of requirements apart.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted
	tokenSign // operators and parentheses, in their canonical form: = for == and eq, and for &&
)

type token struct {
	kind   tokenKind
	text   string // of quoted text without its quotes
	offset int    // in bytes
}

// The languages that this grammar serves, as errors name them.
const (
	requirements = "requirements"
	filterText   = "filter"
)

// Longest first, so that <= is not read as <.
var signs = []struct{ written, means string }{
	{"<<", "<<"}, {">>", ">>"}, {"<>", ""}, {"=<", ""}, {"=>", ""},
	{"&&", "and"}, {"||", "or"}, {"==", "="}, {"!=", "!="}, {"<=", "<="}, {">=", ">="},
	{"=", "="}, {"<", "<"}, {">", ">"}, {"!", "not"}, {"(", "("}, {")", ")"}, {"&", "&"}, {"|", "|"},
}

// Words that are operators, in any case of letters.
var wordSigns = map[string]string{
	"and": "and", "or": "or", "not": "not", "in": "in", "has": "has",
	"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
	"min": "min", "max": "max", "add": "add", "sub": "sub", "mul": "mul", "div": "div", "mod": "mod", "xor": "xor",
}

// lex cuts a text of the language into tokens; the last one is always tokenEnd.
func lex(language, text string) ([]token, *SyntaxError) {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return nil, complaint(language, text, 0, "the text is not valid UTF-8 or holds a NUL byte; write it in UTF-8")
	}
	var tokens []token
	for at := 0; ; {
		at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		if at == len(text) {
			return append(tokens, token{tokenEnd, "", at}), nil
		}
		t, length, err := lexOne(language, text, at)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		at += length
	}
}

func lexOne(language, text string, at int) (token, int, *SyntaxError) {
	if text[at] == '"' || text[at] == '\'' {
		quoted, length := unquote(text[at:])
		if length == 0 {
			return token{}, 0, complaint(language, text, at, "the quoted text does not end; close it with %c", text[at])
		}
		return token{tokenQuoted, quoted, at}, length, nil
	}
	for _, sign := range signs {
		if !strings.HasPrefix(text[at:], sign.written) {
			continue
		}
		if sign.means == "" {
			return token{}, 0, complaint(language, text, at,
				"%s is not an operator here; there are and, or, not, =, !=, <, <=, >, >=, in, has, and arithmetic such as add",
				sign.written)
		}
		return token{tokenSign, sign.means, at}, len(sign.written), nil
	}
	length := len(text[at:])
	if end := strings.IndexFunc(text[at:], endsWord); end >= 0 {
		length = end
	}
	word := text[at : at+length]
	if means, ok := wordSigns[strings.ToLower(word)]; ok {
		return token{tokenSign, means, at}, length, nil
	}
	return token{tokenWord, word, at}, length, nil
}

func endsWord(r rune) bool {
	return unicode.IsSpace(r) || r < utf8.RuneSelf && strings.IndexByte(`()"'=!<>&|`, byte(r)) >= 0
}

// unquote reads the quoted text at the start of text. A backslash means itself but before the quote
// and another backslash, so that paths may be written as they are. length is 0 if it does not end.
func unquote(text string) (content string, length int) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return b.String(), i + 1
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == quote || text[i+1] == '\\'):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", 0
}

// quote writes text so that it is read back as a literal: bare if it can be.
func quote(text string) string {
	_, operator := wordSigns[strings.ToLower(text)]
	bare := text != "" && !operator && !namesProperty(text) && strings.IndexFunc(text, endsWord) < 0
	if bare {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// namesProperty says whether a bare word means a property.
func namesProperty(word string) bool {
	return strings.HasPrefix(word, "host.") || strings.HasPrefix(word, "job.")
}
