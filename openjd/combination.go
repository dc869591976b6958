package openjd

import (
	"fmt"
	"slices"
	"strings"
)

// maxCombination is the longest combination expression, in characters (3.4.3).
const maxCombination = 1280

// A combination says how the values of task parameters are combined: by name, as a product, or value by value.
type combination struct {
	name     string // of a parameter
	children []*combination
	zip      bool // value by value
}

// combination reads a combination expression.
func (r *reader) combination(v *value, path string, named map[string]bool, chunked string) *combination {
	before := len(r.problems)
	s := r.string(v, path, 1, maxCombination, anyControl)
	if len(r.problems) > before {
		return nil
	}
	c, err := parseCombination(s)
	if err != nil {
		r.complain(v, path, "%v", err)
		return nil
	}
	used := map[string]bool{}
	for _, name := range c.names() {
		switch {
		case !named[name]:
			r.complain(v, path, "%s is not defined; taskParameterDefinitions has no such name", name)
		case used[name]:
			r.complain(v, path, "%s is used twice; each parameter is used once", name)
		}
		used[name] = true
	}
	var unused []string
	for name := range named {
		if !used[name] {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	if len(unused) > 0 {
		r.complain(v, path, "%s is not used; each parameter is used once", strings.Join(unused, ", "))
	}
	if chunked != "" && c.zips(chunked) {
		r.complain(v, path, "%s is a CHUNK[INT], which cannot be combined in parentheses", chunked)
	}
	return c
}

// names are the parameters of an expression, in its order.
func (c *combination) names() []string {
	if c.name != "" {
		return []string{c.name}
	}
	var out []string
	for _, child := range c.children {
		out = append(out, child.names()...)
	}
	return out
}

// zips says whether a parameter is combined value by value.
func (c *combination) zips(name string) bool {
	if c.zip && len(c.children) > 1 {
		return slices.Contains(c.names(), name)
	}
	return slices.ContainsFunc(c.children, func(child *combination) bool { return child.zips(name) })
}

// parseCombination reads an expression such as "(A, B) * C".
func parseCombination(s string) (*combination, error) {
	p := &combinationParser{rest: s}
	c, err := p.product(1)
	if err == nil && p.peek() != "" {
		err = fmt.Errorf("%s is not expected after a parameter; write * between parameters", quote(p.peek()))
	}
	return c, err
}

type combinationParser struct{ rest string }

// peek is the next sign or name, "" at the end.
func (p *combinationParser) peek() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" {
		return ""
	}
	n := 0
	for n < len(p.rest) && isIdentifier("_"+p.rest[n:n+1]) {
		n++
	}
	if n == 0 {
		r := []rune(p.rest)[:1]
		return string(r)
	}
	return p.rest[:n]
}

func (p *combinationParser) take() string {
	word := p.peek()
	p.rest = p.rest[len(word):]
	return word
}

// product reads elements with * between them.
func (p *combinationParser) product(depth int) (*combination, error) {
	out := &combination{}
	for {
		c, err := p.element(depth)
		if err != nil {
			return nil, err
		}
		out.children = append(out.children, c)
		if p.peek() != "*" {
			break
		}
		p.take()
	}
	if len(out.children) == 1 {
		return out.children[0], nil
	}
	return out, nil
}

// element reads a name, or expressions in parentheses that are combined value by value.
func (p *combinationParser) element(depth int) (*combination, error) {
	word := p.take()
	switch {
	case word == "":
		return nil, fmt.Errorf("the expression ends where the name of a parameter is expected")
	case isIdentifier(word):
		return &combination{name: word}, nil
	case word != "(":
		return nil, fmt.Errorf("%s is not expected; write the name of a parameter, or ( )", quote(word))
	case depth > maxDepth:
		return nil, fmt.Errorf("the parentheses are nested deeper than %d levels", maxDepth)
	}
	out := &combination{zip: true}
	for {
		c, err := p.product(depth + 1)
		if err != nil {
			return nil, err
		}
		out.children = append(out.children, c)
		switch next := p.take(); next {
		case ",":
		case ")":
			return out, nil
		case "":
			return nil, fmt.Errorf("a ) is missing")
		default:
			return nil, fmt.Errorf("%s is not expected; write *, a comma or )", quote(next))
		}
	}
}
