package openjd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// readJSON reads a document of JSON by its tokens, so that duplicate properties are found and numbers keep their text.
func readJSON(document []byte) (*value, error) {
	document = bytes.TrimPrefix(document, []byte("\ufeff"))
	w := jsonWalk{document: document, tokens: json.NewDecoder(bytes.NewReader(document)), line: 1}
	w.tokens.UseNumber()
	v, err := w.next("", 1)
	if err == nil {
		at := w.start()
		if _, tail := w.tokens.Token(); tail != io.EOF {
			err = w.fail(at, "there is more after the end of the document; a file holds one template")
		}
	}
	if err != nil {
		return nil, err
	}
	return v, w.problems.err()
}

// A jsonWalk makes values of tokens.
type jsonWalk struct {
	document []byte
	tokens   *json.Decoder
	problems Problems

	offset int // up to which lines are counted
	line   int
	column int // characters before offset in its line
}

// start is where the next token begins.
func (w *jsonWalk) start() int {
	at := int(w.tokens.InputOffset())
	for at < len(w.document) && strings.IndexByte(" \t\r\n,:", w.document[at]) >= 0 {
		at++
	}
	return at
}

// place is the line and the column of an offset that is not before the last one.
func (w *jsonWalk) place(at int) (line, column int) {
	at = min(at, len(w.document))
	for ; w.offset < at; w.offset++ {
		switch b := w.document[w.offset]; {
		case b == '\n':
			w.line++
			w.column = 0
		case utf8.RuneStart(b):
			w.column++
		}
	}
	return w.line, w.column + 1
}

func (w *jsonWalk) fail(at int, format string, args ...any) error {
	line, column := w.place(at)
	return Problems{{Line: line, Column: column, Reason: fmt.Sprintf(format, args...)}}
}

// next reads one value. An error ends the reading, as what follows has no meaning then.
func (w *jsonWalk) next(path string, depth int) (*value, error) {
	at := w.start()
	if depth > maxDepth {
		return nil, w.fail(at, "the document is nested deeper than %d levels", maxDepth)
	}
	token, err := w.tokens.Token()
	if err == io.EOF {
		return nil, w.fail(at, "the document is not JSON: it ends too early")
	}
	if err != nil {
		return nil, w.fail(at, "the document is not JSON: %v", err)
	}
	v := &value{}
	v.line, v.column = w.place(at)
	switch token := token.(type) {
	case nil:
		v.kind = null
	case bool:
		v.kind = boolean
		v.text = fmt.Sprint(token)
	case string:
		v.kind = text
		v.text = token
	case json.Number:
		v.kind = integer
		v.text = token.String()
		if strings.ContainsAny(v.text, ".eE") {
			v.kind = float
		}
	case json.Delim:
		if token == '[' {
			err = w.items(v, path, depth)
		} else {
			err = w.members(v, path, depth)
		}
	}
	return v, err
}

func (w *jsonWalk) items(v *value, path string, depth int) error {
	v.kind = list
	for w.tokens.More() {
		item, err := w.next(index(path, len(v.items)), depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	return w.end()
}

func (w *jsonWalk) members(v *value, path string, depth int) error {
	v.kind = mapping
	lines := map[string]int{}
	for w.tokens.More() {
		at := w.start()
		token, err := w.tokens.Token()
		if err != nil {
			return w.fail(at, "the document is not JSON: %v", err)
		}
		m := member{}
		m.key, _ = token.(string)
		m.line, m.col = w.place(at)
		m.value, err = w.next(join(path, m.key), depth+1)
		if err != nil {
			return err
		}
		if first := lines[m.key]; first > 0 {
			reason := fmt.Sprintf("this property is also in line %d; keep one of the two", first)
			w.problems = append(w.problems, Problem{join(path, m.key), m.line, m.col, reason})
			continue
		}
		lines[m.key] = m.line
		v.members = append(v.members, m)
	}
	return w.end()
}

// end reads the bracket that closes a list or a mapping.
func (w *jsonWalk) end() error {
	at := w.start()
	if _, err := w.tokens.Token(); err == io.EOF {
		return w.fail(at, "the document is not JSON: it ends too early")
	} else if err != nil {
		return w.fail(at, "the document is not JSON: %v", err)
	}
	return nil
}
