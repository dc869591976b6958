package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is UTF-8 wherever it goes. encoding/json makes other bytes the replacement character without a word, on both
// ways, so that what comes behind it cannot tell: CheckText is asked before it encodes, CheckJSON before it decodes.

// maxDepth is how deep encoding/json decodes. Deeper JSON is refused anyway, and a decoder of tokens would keep each
// level.
const maxDepth = 10_000

const (
	textWayOut = "qb takes text in UTF-8 alone: write it in UTF-8, or rename what it names"
	nulWayOut  = "no process and no row can hold it: leave it out"
)

// CheckText refuses a request with a text that is not UTF-8 or has the character NUL, and names the text by its member
// and the number of its word.
func CheckText(request any) error {
	if request == nil {
		return nil
	}
	return checkText("", "", reflect.ValueOf(request))
}

// isText says whether a text arrives as it is, in a row and in a process.
func isText(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// notText is the refusal of a text. What is shown of it is not the text itself where that can be a secret.
func notText(member, place, text, shown string) error {
	e := Errorf(KindInvalid, "%s%s is not UTF-8; %s", place, shown, textWayOut)
	if utf8.ValidString(text) {
		e = Errorf(KindInvalid, "%s%s has the character NUL; %s", place, shown, nulWayOut)
	}
	e.Member = member
	return e
}

// quoted is the begin of a text, with escapes for what is none.
func quoted(text string) string { return strconv.Quote(text[:min(len(text), 200)]) }

// checkText checks a value below a member of the request; place names it for people.
func checkText(member, place string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); !isText(text) {
			return notText(member, strings.TrimPrefix(place+": ", ": "), text, quoted(text))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkText(member, place, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 { // in JSON it is base64
			return nil
		}
		for n := range v.Len() {
			if err := checkText(member, fmt.Sprintf("%s, word %d", place, n+1), v.Index(n)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return checkMap(member, place, v)
	case reflect.Struct:
		return checkStruct(member, place, v)
	}
	return nil
}

func checkMap(member, place string, v reflect.Value) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		name := key.String()
		if !isText(name) {
			return notText(member, strings.TrimPrefix(place+": the name ", ": "), name, quoted(name))
		}
		at := strings.TrimPrefix(place+" "+name, " ")
		if text := v.MapIndex(key); text.Kind() == reflect.String && !isText(text.String()) {
			return notText(member, at+": ", text.String(), "its value")
		} else if err := checkText(member, at, text); err != nil {
			return err
		}
	}
	return nil
}

func checkStruct(member, place string, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		top, at := member, place
		if name != "" {
			top, at = cmp.Or(member, name), strings.TrimPrefix(place+" "+name, " ")
		}
		if err := checkText(top, at, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// checkParams is CheckText for what an address has.
func checkParams(params Params) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !isText(params[name]) {
			return notText(name, name+": ", params[name], quoted(params[name]))
		}
	}
	return nil
}

// CheckJSON refuses JSON with text that a decoder would change: bytes that are not UTF-8, and halves of surrogate
// pairs.
func CheckJSON(data []byte) error {
	at, what := firstBad(data), "a byte that is not UTF-8"
	if half := firstHalf(data); half >= 0 && (at < 0 || half < at) {
		at, what = half, `\u and half of a surrogate pair, which is no character`
	}
	if at < 0 {
		return nil
	}
	member := memberAt(data, at)
	e := Errorf(KindInvalid, "%sbyte %d is %s; %s", strings.TrimPrefix(member+": ", ": "), at, what, textWayOut)
	e.Member = member
	return e
}

// firstBad is the index of the first byte that is not UTF-8, -1 if there is none.
func firstBad(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// firstHalf is the index of the first escape of half a surrogate pair, -1 if there is none.
func firstHalf(data []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 {
			return -1
		}
		at += next
		first, ok := escaped(data[at:])
		if !ok {
			at += 2
		} else if !utf16.IsSurrogate(first) {
			at += len(`\u0000`)
		} else if second, ok := escaped(data[at+len(`\u0000`):]); !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return at
		} else {
			at += 2 * len(`\u0000`)
		}
		if at >= len(data) {
			return -1
		}
	}
}

// escaped is the number of an escape such as \u0000 with which a text begins.
func escaped(data []byte) (rune, bool) {
	if len(data) < len(`\u0000`) || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 32)
	return rune(n), err == nil
}

// memberAt is the member of the outermost object that contains an index of JSON; empty if none is known, as in JSON
// that is nested deeper than encoding/json decodes.
func memberAt(data []byte, at int) string {
	d := json.NewDecoder(bytes.NewReader(data))
	depth, member, name := 0, "", true
	for {
		token, err := d.Token()
		if err != nil || depth > maxDepth {
			return ""
		}
		switch delim, _ := token.(json.Delim); {
		case delim == '{' || delim == '[':
			depth++
		case delim == '}' || delim == ']':
			depth--
			name = name || depth == 1
		case depth == 1 && name:
			member, _ = token.(string)
			name = false
			if d.InputOffset() > int64(at) { // the name itself
				return ""
			}
			continue
		case depth == 1:
			name = true
		}
		if d.InputOffset() > int64(at) {
			return member
		}
	}
}
