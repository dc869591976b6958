package openjd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

const emptyDocument = "the document is empty; a template is a mapping with specificationVersion and other properties"

// readYAML reads a document of YAML 1.2. The library makes nodes alone, and scalars are resolved here by the core
// schema, since its own rules are a mixture with those of YAML 1.1.
func readYAML(document []byte) (*value, error) {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(document))
	err := decoder.Decode(&root)
	if err == io.EOF || err == nil && len(root.Content) != 1 {
		return nil, Problems{{Reason: emptyDocument}}
	}
	if err != nil {
		return nil, Problems{yamlProblem(err)}
	}
	if err := decoder.Decode(&second); err != io.EOF {
		return nil, Problems{{Reason: "there is a second document after a line \"---\"; a file holds one template"}}
	}
	w := yamlWalk{}
	v := w.value(root.Content[0], "", 1)
	return v, w.problems.err()
}

// yamlProblem says what the library found.
func yamlProblem(err error) Problem {
	p := Problem{Reason: "the document is not YAML: " + err.Error()}
	var at *yaml.LoadError
	if errors.As(err, &at) {
		p.Line = max(at.Mark.Line, 1)
		p.Column = max(at.Mark.Column, 1)
		p.Reason = "the document is not YAML: " + at.Message
	}
	return p
}

// A yamlWalk makes values of nodes.
type yamlWalk struct{ problems Problems }

func (w *yamlWalk) complain(n *yaml.Node, path, format string, args ...any) {
	w.problems = append(w.problems, Problem{path, n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// value is never nil, so that a walk finds all problems at once.
func (w *yamlWalk) value(n *yaml.Node, path string, depth int) *value {
	v := &value{line: n.Line, column: n.Column}
	if depth > maxDepth {
		w.complain(n, "", "the document is nested deeper than %d levels", maxDepth)
		return v
	}
	switch n.Kind {
	case yaml.AliasNode:
		w.complain(n, path, "the alias *%s refers to another part of the document; write that part out", n.Value)
	case yaml.ScalarNode:
		v.kind = w.scalarKind(n, path)
		v.text = n.Value
		if v.kind == integer {
			v.text = inDecimal(n.Value)
		}
	case yaml.SequenceNode:
		v.kind = list
		w.checkTag(n, path, "!!seq")
		for i, item := range n.Content {
			v.items = append(v.items, w.value(item, index(path, i), depth+1))
		}
	case yaml.MappingNode:
		v.kind = mapping
		w.checkTag(n, path, "!!map")
		w.members(v, n, path, depth)
	}
	return v
}

func (w *yamlWalk) members(v *value, n *yaml.Node, path string, depth int) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := join(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			w.complain(key, path, "the name of a property is %s; write a string", shapeOf(key))
			continue
		case key.Tag == "!!merge" || key.Value == "<<" && key.Style == 0:
			w.complain(key, path, "the merge key << is not part of YAML 1.2; write the properties out")
			continue
		case w.scalarKind(key, path) != text:
			w.complain(key, path, "the name of a property is %s, which is not a string; put it in quotes", quote(key.Value))
			continue
		case lines[key.Value] > 0:
			w.complain(key, at, "this property is also in line %d; keep one of the two", lines[key.Value])
			continue
		}
		lines[key.Value] = key.Line
		m := member{key: key.Value, line: key.Line, col: key.Column}
		m.value = w.value(n.Content[i+1], at, depth+1)
		v.members = append(v.members, m)
	}
}

func shapeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "an alias"
}

// scalarKind is what a scalar is: text if it is quoted or in a block, else by its form.
func (w *yamlWalk) scalarKind(n *yaml.Node, path string) kind {
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case tagged && n.Tag == "!!str":
		return text
	case tagged:
		w.complain(n, path, "the tag %s is not known here; leave it out", n.Tag)
		return text
	case n.Tag == "!" || n.Style&^yaml.FlowStyle != 0:
		return text
	}
	return plainKind(n.Value)
}

// inDecimal writes an integer of base 8 or 16 in base 10. If it is too large it stays, and is not taken as an integer.
func inDecimal(s string) string {
	if strings.HasPrefix(s, "0o") || strings.HasPrefix(s, "0x") {
		if n, err := strconv.ParseInt(s, 0, 64); err == nil {
			return fmt.Sprint(n)
		}
	}
	return s
}

func (w *yamlWalk) checkTag(n *yaml.Node, path, own string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != own {
		w.complain(n, path, "the tag %s is not known here; leave it out", n.Tag)
	}
}

// join is the path of a property.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// index is the path of an item.
func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
