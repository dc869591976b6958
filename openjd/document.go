package openjd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxDocument is the size of the largest document that is read, in bytes.
	MaxDocument = 1 << 20
	// maxDepth is how deep the lists and mappings of a document may be nested.
	maxDepth = 128
)

// Syntax is how a document is written.
type Syntax int

// The two syntaxes of a document.
const (
	YAML Syntax = iota
	JSON
)

// SyntaxOf is the syntax of a file by its name: JSON for .json, else YAML.
func SyntaxOf(name string) Syntax {
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		return JSON
	}
	return YAML
}

type kind int

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	mapping
)

var kindNames = [...]string{"null", "a boolean", "an integer", "a number", "a string", "a list", "a mapping"}

func (k kind) String() string { return kindNames[k] }

// A value is a part of a document. Numbers keep their text, as 3.500 is not written again as 3.5.
type value struct {
	kind    kind
	text    string // of a scalar
	items   []*value
	members []member
	line    int
	column  int
}

// A member is a property of a mapping.
type member struct {
	key   string
	value *value
	line  int
	col   int
}

// get is the value of a property, nil if the mapping does not have it.
func (v *value) get(key string) *value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// readDocument reads a document of either syntax.
func readDocument(document []byte, syntax Syntax) (*value, error) {
	if len(document) > MaxDocument {
		reason := fmt.Sprintf("the document has %d bytes, and at most %d are read", len(document), MaxDocument)
		return nil, Problems{{Reason: reason}}
	}
	if at := invalidUTF8(document); at >= 0 {
		line, column := position(document, at)
		return nil, Problems{{Line: line, Column: column, Reason: "the text is not UTF-8; save it as UTF-8"}}
	}
	if syntax == JSON {
		return readJSON(document)
	}
	return readYAML(document)
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, -1 if there is none.
func invalidUTF8(document []byte) int {
	for at := 0; at < len(document); {
		r, size := utf8.DecodeRune(document[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// position is the line and the column of an offset, in characters from 1.
func position(document []byte, at int) (line, column int) {
	before := string(document[:at])
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// plainKind is what a plain scalar is by the core schema of YAML 1.2.
func plainKind(s string) kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return boolean
	case ".nan", ".NaN", ".NAN":
		return float
	}
	switch unsigned := unsign(s); {
	case unsigned == ".inf" || unsigned == ".Inf" || unsigned == ".INF":
		return float
	case digits(unsigned, "0123456789"), len(s) > 2 && s[:2] == "0o" && digits(s[2:], "01234567"),
		len(s) > 2 && s[:2] == "0x" && digits(s[2:], "0123456789abcdefABCDEF"):
		return integer
	case decimal(s):
		return float
	}
	return text
}

func digits(s, alphabet string) bool { return s != "" && strings.Trim(s, alphabet) == "" }

// unsign is a number without its sign.
func unsign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

// decimal says whether a text is a number as the core schema writes it: digits with a point, an exponent, or both.
func decimal(s string) bool {
	mantissa, exponent, scientific := cutExponent(unsign(s))
	if scientific && !digits(unsign(exponent), "0123456789") {
		return false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return digits(whole+fraction, "0123456789") && strings.Count(mantissa, ".") <= 1
}

func cutExponent(s string) (mantissa, exponent string, found bool) {
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		return s[:at], s[at+1:], true
	}
	return s, "", false
}

// parseInt reads an integer of 64 bits, in decimal.
func parseInt(s string) (int64, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err == nil:
		return n, nil
	case isRange(err):
		return 0, fmt.Errorf("%s is outside of the integers of 64 bits, %d to %d", quote(s), math.MinInt64, math.MaxInt64)
	}
	return 0, fmt.Errorf("%s is not an integer", quote(s))
}

// parseFloat reads a finite decimal number.
func parseFloat(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if !decimal(s) {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s is too large for a number", quote(s))
	}
	return f, nil
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}
