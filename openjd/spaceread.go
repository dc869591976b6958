package openjd

import (
	"fmt"
	"math"
	"strings"
)

// maxListed is the number of values in the list of a task parameter (3.4.1).
const maxListed = 1024

// space reads the parameters of a step's tasks (3.4).
func (r *reader) space(v *value, path string) *spaceTemplate {
	t := &spaceTemplate{place: Format{path: path, line: v.line, column: v.column}}
	o := r.object(v, path, "taskParameterDefinitions", "combination")
	if o == nil {
		return t
	}
	definitions, at := o.need("taskParameterDefinitions")
	named := map[string]bool{}
	chunked := ""
	if definitions != nil {
		for i, item := range r.list(definitions, at, 1, 16) {
			p := r.taskParameter(item, index(at, i))
			if p == nil {
				continue
			}
			switch {
			case named[p.name]:
				r.complain(item, join(index(at, i), "name"), "%s is defined twice", p.name)
			case p.kind == TaskChunk && chunked != "":
				r.complain(item, join(index(at, i), "type"), "%s is a second CHUNK[INT], beside %s; a step has at most one",
					p.name, chunked)
			}
			if p.kind == TaskChunk {
				chunked = p.name
			}
			named[p.name] = true
			t.parameters = append(t.parameters, p)
		}
	}
	if c, combinationPath := o.child("combination"); c != nil {
		t.combination = r.combination(c, combinationPath, named, chunked)
	}
	return t
}

// taskParameter reads a parameter of tasks (3.4.1).
func (r *reader) taskParameter(v *value, path string) *taskParameter {
	p := &taskParameter{place: Format{path: path, line: v.line, column: v.column}}
	names := []string{"name", "type", "range"}
	kindOf := v.get("type")
	if kindOf != nil {
		types := []string{string(TaskInt), string(TaskFloat), string(TaskString), string(TaskPath)}
		if kindOf.text == string(TaskChunk) && !r.has(TaskChunking) {
			r.complain(kindOf, join(path, "type"), "CHUNK[INT] needs the extension %s; name it in extensions", TaskChunking)
			return nil
		}
		p.kind = TaskType(r.choice(kindOf, join(path, "type"), append(types, string(TaskChunk))...))
	}
	if p.kind == TaskChunk {
		names = append(names, "chunks")
	}
	o := r.object(v, path, names...)
	if o == nil {
		return nil
	}
	o.need("type")
	if name, at := o.need("name"); name != nil {
		p.name = r.identifier(name, at)
	}
	if values, at := o.need("range"); values != nil && p.kind != "" {
		r.taskRange(values, at, p)
	}
	if p.kind == TaskChunk {
		if c, at := o.need("chunks"); c != nil {
			p.chunks = r.chunks(c, at)
		}
	}
	return p
}

// integers says that a task parameter has integers as its values.
func (p *taskParameter) integers() bool { return p.kind == TaskInt || p.kind == TaskChunk }

// taskRange reads the values of a task parameter: a list, or for integers also an expression.
func (r *reader) taskRange(v *value, path string, p *taskParameter) {
	s := scope{where: "the range of a parameter"}
	if v.kind == text && p.integers() {
		f := r.format(v, path, formatRule{least: 1}, s)
		p.expression = &f
		if f.Literal() && f.parts != nil {
			if _, err := ParseRange(v.text); err != nil {
				r.complain(v, path, "%v", err)
			}
		}
		return
	}
	if v.kind == text {
		r.complain(v, path, "is a string; write a list of values, as only INT and CHUNK[INT] have range expressions")
		return
	}
	for i, item := range r.list(v, path, 1, maxListed) {
		at := index(path, i)
		if reason := p.wrongKind(item.kind); reason != "" {
			r.complain(item, at, "is %s; write %s", item.kind, reason)
			continue
		}
		f := r.format(item, at, formatRule{least: 1, most: maxParameterText}, s)
		if f.Literal() && f.parts != nil {
			if _, err := p.normal(f.Text); err != nil {
				r.complain(item, at, "%v", err)
			}
		}
		p.list = append(p.list, f)
	}
}

// wrongKind is what to write instead of a value of a kind that a parameter cannot have, "" if it can.
func (p *taskParameter) wrongKind(k kind) string {
	switch {
	case p.integers() && k != integer && k != text:
		return "an integer"
	case p.kind == TaskFloat && k != integer && k != float && k != text:
		return "a number"
	}
	return ""
}

// normal is a value of a task parameter as tasks see it.
func (p *taskParameter) normal(s string) (string, error) {
	switch {
	case p.integers():
		n, err := parseInt(s)
		return fmt.Sprint(n), err
	case p.kind == TaskFloat:
		_, err := parseFloat(s)
		return strings.TrimSpace(s), err
	}
	return s, nil
}

// chunks reads how a CHUNK[INT] is divided (3.4.1.5).
func (r *reader) chunks(v *value, path string) *chunks {
	c := &chunks{}
	o := r.object(v, path, "defaultTaskCount", "targetRuntimeSeconds", "rangeConstraint")
	if o == nil {
		return c
	}
	s := scope{where: "the size of a chunk"}
	if count, at := o.need("defaultTaskCount"); count != nil {
		c.count = r.count(count, at, 1, math.MaxInt64, TaskChunking, s)
	}
	if runtime, at := o.child("targetRuntimeSeconds"); runtime != nil {
		c.runtime = r.count(runtime, at, 0, math.MaxInt64, TaskChunking, s)
	}
	if constraint, at := o.need("rangeConstraint"); constraint != nil {
		c.contiguous = r.choice(constraint, at, "CONTIGUOUS", "NONCONTIGUOUS") == "CONTIGUOUS"
	}
	return c
}
