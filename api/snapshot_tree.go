package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// treeNode is a JSON value that keeps doubled members and the text of numbers. Kind is the first letter of
// its text: { [ " 0 (any number) t (true or false) n (null).
type treeNode struct {
	kind  byte
	text  string
	names []string // of an object's members
	items []*treeNode
}

// treeDepth is as deep as a snapshot may nest.
const treeDepth = 8

// String shows a value shortly, for errors.
func (n *treeNode) String() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	case '"':
		if len(n.text) > 40 {
			return strconv.Quote(n.text[:40]) + "…"
		}
		return strconv.Quote(n.text)
	}
	return n.text
}

// parseTree reads exactly one JSON value.
func parseTree(data []byte) (*treeNode, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	tree, err := readTree(d, treeDepth)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is something after the end of the object")
		}
	}
	if err == nil {
		return tree, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	before := data[:min(int(d.InputOffset()), len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return nil, Errorf(KindInvalid, "line %d, column %d: not a JSON snapshot: %v", line, column, err)
}

func readTree(d *json.Decoder, depth int) (*treeNode, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Number:
		return &treeNode{kind: '0', text: v.String()}, nil
	case string:
		return &treeNode{kind: '"', text: v}, nil
	case bool:
		return &treeNode{kind: 't', text: strconv.FormatBool(v)}, nil
	case json.Delim:
		if depth == 0 {
			return nil, errors.New("it nests too deep")
		}
		return readItems(d, &treeNode{kind: byte(v)}, depth-1)
	}
	return &treeNode{kind: 'n'}, nil
}

// readItems reads what is between the brackets of an object or a list.
func readItems(d *json.Decoder, n *treeNode, depth int) (*treeNode, error) {
	for d.More() {
		if n.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.(string))
		}
		item, err := readTree(d, depth)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}
