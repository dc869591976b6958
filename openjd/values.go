package openjd

import (
	"fmt"
	"slices"
	"strings"
)

// ReadValues reads the values of a job's parameters: a mapping of names to values, or the parameter_values file of a
// bundle. Of the latter, values whose name has a colon are of a farm, such as deadline:priority, and returned apart.
func ReadValues(document []byte, syntax Syntax) (values, ofFarm map[string]string, err error) {
	root, err := readDocument(document, syntax)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{}
	values = map[string]string{}
	ofFarm = map[string]string{}
	take := func(v *value, name, path string) {
		if v.kind == list || v.kind == mapping || v.kind == null {
			r.complain(v, path, "is %s; write a string or a number", v.kind)
			return
		}
		if strings.Contains(name, ":") {
			ofFarm[name] = v.text
			return
		}
		values[name] = v.text
	}
	bundle := root.get("parameterValues")
	switch {
	case root.kind != mapping:
		r.complain(root, "", "the document is %s; write a mapping of names of parameters to values", root.kind)
	case bundle != nil && bundle.kind == list:
		for i, item := range bundle.items {
			o := r.object(item, index("parameterValues", i), "name", "value")
			if o == nil {
				continue
			}
			name, at := o.need("name")
			v, valueAt := o.need("value")
			if name != nil && v != nil {
				take(v, r.string(name, at, 1, 0, noControl), valueAt)
			}
		}
	default:
		for _, m := range root.members {
			take(m.value, m.key, m.key)
		}
	}
	return values, ofFarm, r.problems.err()
}

// ReadTasks reads a list of tasks, each a mapping of the names of its parameters to their values.
func ReadTasks(document []byte, syntax Syntax) ([]map[string]string, error) {
	root, err := readDocument(document, syntax)
	if err != nil {
		return nil, err
	}
	r := &reader{}
	var tasks []map[string]string
	for i, item := range r.list(root, "", 1, 0) {
		if item.kind != mapping {
			r.complain(item, index("", i), "is %s; write a mapping of names of parameters to values", item.kind)
			continue
		}
		task := map[string]string{}
		for _, m := range item.members {
			if k := m.value.kind; k != text && k != integer && k != float {
				r.complain(m.value, join(index("", i), m.key), "is %s; write a string or a number", k)
				continue
			}
			task[m.key] = m.value.text
		}
		tasks = append(tasks, task)
	}
	return tasks, r.problems.err()
}

// Task is a task with values of a user's choice, which have the types of the space's parameters.
func (s *Space) Task(values map[string]string) ([]TaskValue, error) {
	for name := range values {
		if !slices.Contains(s.names, name) {
			return nil, fmt.Errorf("the step has no task parameter %s; it has %s", quote(name), orNone(s.names))
		}
	}
	out := s.Parameters()
	for i, p := range out {
		v, given := values[p.Name]
		if !given {
			return nil, fmt.Errorf("the task parameter %s has no value", p.Name)
		}
		var err error
		if p.Type == TaskChunk {
			_, err = ParseRange(v)
		} else {
			v, err = (&taskParameter{kind: p.Type}).normal(v)
		}
		if err != nil {
			return nil, fmt.Errorf("the task parameter %s: %w", p.Name, err)
		}
		out[i].Value = v
	}
	return out, nil
}
