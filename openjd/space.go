package openjd

import (
	"fmt"
	"math"
	"strings"
)

// A TaskValue is the value of a task parameter for one task.
type TaskValue struct {
	Name  string
	Type  TaskType
	Value string
}

// A Space are the tasks of a step. A task is a number from 0 up to Len, and its values are computed of it.
type Space struct {
	names []string // in the order of their definition
	kinds map[string]TaskType
	root  dimension
	unit  int64 // tasks as the specification counts them, where a chunk is several
	chunk Chunk
}

// A Chunk says how large the chunks of a space are.
type Chunk struct {
	Size    int64 // the most values of one; 0: there are no chunks
	Seconds int64 // that one should take, so that Submission.ChunkSizes may give another size; 0: the size is fixed
}

// Chunk says how large the chunks are.
func (s *Space) Chunk() Chunk { return s.chunk }

// Len is the number of tasks; a chunk is one task.
func (s *Space) Len() int64 { return s.root.count() }

// Values is the number of combinations of values, where each value of a chunk counts.
func (s *Space) Values() int64 { return s.unit }

// Parameters are the names and the types of the task parameters.
func (s *Space) Parameters() []TaskValue {
	out := make([]TaskValue, len(s.names))
	for i, name := range s.names {
		out[i] = TaskValue{Name: name, Type: s.kinds[name]}
	}
	return out
}

// At are the values of the n-th task, from 0. Tasks are in row-major order: the last parameter changes fastest.
func (s *Space) At(n int64) []TaskValue {
	values := map[string]string{}
	s.root.fill(n, values)
	out := s.Parameters()
	for i := range out {
		out[i].Value = values[out[i].Name]
	}
	return out
}

// Label is a short text for the values of a task, such as "Frame=12,Camera=left".
func Label(values []TaskValue) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.Name + "=" + v.Value
	}
	return strings.Join(words, ",")
}

// A dimension of a space has numbered points, each of which gives parameters their values.
type dimension interface {
	count() int64
	fill(n int64, values map[string]string)
}

// An axis is one parameter.
type axis struct {
	name string
	n    int64
	at   func(n int64) string
}

func (a axis) count() int64                           { return a.n }
func (a axis) fill(n int64, values map[string]string) { values[a.name] = a.at(n) }

// A grid has all combinations of its parts. A grid without parts has one point.
type grid struct {
	parts []dimension
	n     int64
}

func (g grid) count() int64 { return g.n }

func (g grid) fill(n int64, values map[string]string) {
	for i := len(g.parts) - 1; i >= 0; i-- {
		size := g.parts[i].count()
		g.parts[i].fill(n%size, values)
		n /= size
	}
}

// A bundle advances its parts together.
type bundle struct{ parts []dimension }

func (b bundle) count() int64 { return b.parts[0].count() }

func (b bundle) fill(n int64, values map[string]string) {
	for _, p := range b.parts {
		p.fill(n, values)
	}
}

// newGrid multiplies the counts of its parts.
func newGrid(parts []dimension) (grid, error) {
	n := int64(1)
	for _, p := range parts {
		if p.count() > math.MaxInt64/n {
			return grid{}, fmt.Errorf("the parameters have more than %d combinations", math.MaxInt64)
		}
		n *= p.count()
	}
	return grid{parts, n}, nil
}

// createSpace makes the space of a step. Chunks that should take a time get the size; 0: that of the template.
func createSpace(t *spaceTemplate, values map[string]string, size int64) (*Space, Problems) {
	s := &Space{kinds: map[string]TaskType{}, root: grid{n: 1}, unit: 1}
	if t == nil {
		return s, nil
	}
	var problems Problems
	tasks := map[string]dimension{}
	singles := map[string]dimension{} // with chunks of one value
	for _, p := range t.parameters {
		s.names = append(s.names, p.name)
		s.kinds[p.name] = p.kind
		var found Problems
		if p.kind == TaskChunk {
			s.chunk, found = p.chunk(values, size)
			problems = append(problems, found...)
		}
		d, single, found := p.create(values, s.chunk.Size)
		problems = append(problems, found...)
		tasks[p.name] = d
		singles[p.name] = single
	}
	if len(problems) > 0 {
		return nil, problems
	}
	c := t.combination
	if c == nil {
		c = &combination{}
		for _, name := range s.names {
			c.children = append(c.children, &combination{name: name})
		}
	}
	root, err := c.create(tasks)
	if err == nil {
		var unit dimension
		unit, err = c.create(singles)
		if err == nil {
			s.unit = unit.count()
		}
	}
	if err != nil {
		return nil, Problems{t.place.problem("%v", err)}
	}
	s.root = root
	return s, nil
}

// create makes a dimension of a combination.
func (c *combination) create(axes map[string]dimension) (dimension, error) {
	if c.name != "" {
		return axes[c.name], nil
	}
	parts := make([]dimension, len(c.children))
	for i, child := range c.children {
		d, err := child.create(axes)
		if err != nil {
			return nil, err
		}
		parts[i] = d
	}
	if !c.zip {
		return newGrid(parts)
	}
	for i, p := range parts {
		if p.count() != parts[0].count() {
			first := strings.Join(c.children[0].names(), " * ")
			other := strings.Join(c.children[i].names(), " * ")
			return nil, fmt.Errorf("%s has %d values and %s has %d; what is combined in parentheses has equally many",
				first, parts[0].count(), other, p.count())
		}
	}
	return bundle{parts}, nil
}

// chunk is how the values of a CHUNK[INT] are divided.
func (p *taskParameter) chunk(values map[string]string, size int64) (c Chunk, problems Problems) {
	most, err := p.chunks.count.resolve(values)
	if err == nil {
		c.Seconds, err = p.chunks.runtime.resolve(values)
	}
	if err != nil {
		return Chunk{Size: 1}, Problems{p.place.problem("chunks: %v", err)}
	}
	if c.Size = most; c.Seconds > 0 && size > 0 {
		c.Size = size
	}
	return c, nil
}

// create makes the dimension of a parameter, and the one with chunks of a single value.
func (p *taskParameter) create(values map[string]string, most int64) (tasks, singles dimension, problems Problems) {
	if !p.integers() {
		list, problems := p.resolveList(values)
		if len(problems) > 0 {
			return nil, nil, problems
		}
		a := axis{p.name, int64(len(list)), func(n int64) string { return list[n] }}
		return a, a, nil
	}
	r, problems := p.resolveRange(values)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	single := axis{p.name, r.Len(), func(n int64) string { return fmt.Sprint(r.At(n)) }}
	if p.kind != TaskChunk {
		return single, single, nil
	}
	c := newChunked(r, most, p.chunks.contiguous)
	return axis{p.name, c.count(), c.at}, single, nil
}

// resolveRange are the values of a parameter of integers.
func (p *taskParameter) resolveRange(values map[string]string) (*Range, Problems) {
	if p.expression != nil {
		s, err := p.expression.Resolve(values)
		if err == nil {
			var r *Range
			r, err = ParseRange(s)
			if err == nil {
				return r, nil
			}
		}
		return nil, Problems{p.expression.problem("%v", err)}
	}
	list, problems := p.resolveList(values)
	if len(problems) > 0 {
		return nil, problems
	}
	numbers := make([]int64, len(list))
	for i, s := range list {
		numbers[i], _ = parseInt(s)
	}
	r, err := listRange(numbers)
	if err != nil {
		return nil, Problems{p.place.problem("%v", err)}
	}
	return r, nil
}

// resolveList are the values of a list.
func (p *taskParameter) resolveList(values map[string]string) (out []string, problems Problems) {
	for _, f := range p.list {
		s, err := f.Resolve(values)
		if err == nil {
			s, err = p.normal(s)
		}
		if err == nil && len([]rune(s)) > maxParameterText {
			err = fmt.Errorf("%s has more than %d characters", quote(s), maxParameterText)
		}
		if err != nil {
			problems = append(problems, f.problem("%v", err))
			continue
		}
		out = append(out, s)
	}
	return out, problems
}
